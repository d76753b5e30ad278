package soak

import (
	"cmp"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// doing is what a box does for a while, and what its monitor makes of it. The numbers
// are far from every threshold, so that nobody can argue whether it works.
type doing struct {
	util, mem, watts float64 // of each GPU, or of the first where one is set
	one              bool
	processes        float64
	more             map[string]float64 // numbers of the whole box
	lost             fake.SignalLoss
	garbage          *fake.Value // in place of the first GPU's utilisation
}

// The doings: those that tell of rest, those that tell of work, and those that tell
// nothing that can be believed.
var (
	rests = []doing{
		{mem: 3, watts: 70},
		{mem: 40_000, watts: 118, processes: 1},
	}
	works = []doing{
		{util: 93, mem: 61_000, watts: 540, processes: 1},
		{util: 88, mem: 61_000, watts: 500, processes: 1, one: true},
		{mem: 3, watts: 70, more: map[string]float64{"cpu_cores": 6}},
		{mem: 3, watts: 70, more: map[string]float64{"heartbeat_age": 60}},
		{mem: 3, watts: 70, more: map[string]float64{"rx_bytes_s": 30e6, "disk_bytes_s": 30e6}},
		{mem: 40_000, watts: 118, processes: 1, more: map[string]float64{"tx_bytes_s": 4e6}},
		{mem: 3, watts: 70, more: map[string]float64{"sessions": 1, "session_input_age": 300}},
	}
	lies = []doing{
		{lost: fake.SignalsMissing},
		{lost: fake.SignalsFrozen},
		{lost: fake.SignalsStuck},
		{mem: 3, watts: 70, garbage: &fake.Value{Gauge: guard.Known(37_100)}},
		{mem: 3, watts: 70, garbage: &fake.Value{Word: "N/A"}},
		{mem: 3, watts: 70, garbage: &fake.Value{}},
	}
)

// jump is where a network counter stands that its traffic has not brought there: that of
// another interface. No line moves as much between two readings, but one does over a hole
// of a quarter of an hour.
const jump = 9_000_000_000_000

// kit is how a box is watched.
type kit struct {
	gpus     int
	blind    bool // nobody tells of processes
	basis    guard.Basis
	interval time.Duration
}

// tells is what the monitor tells of a doing.
func (k kit) tells(do doing) *fake.Signals {
	if do.lost != "" {
		return &fake.Signals{Lost: do.lost}
	}
	of := map[string]fake.Reading{"gpu_mem_total_mib": fake.Every(81_559), "gpu_power_limit_w": fake.Every(700),
		"cpu_cores": fake.Every(0.1), "rx_bytes_s": fake.Every(2_000), "tx_bytes_s": fake.Every(8_000), "disk_bytes_s": fake.Every(0)}
	each := func(name string, at, rest float64) {
		r := fake.Reading{Each: []fake.Value{fake.Num(at)}}
		for range k.gpus - 1 {
			r.Each = append(r.Each, fake.Num(rest))
		}
		of[name] = r
	}
	if do.one {
		each("gpu_util", do.util, 0)
		each("gpu_mem_mib", do.mem, 3)
		each("gpu_power_w", do.watts, 70)
	} else {
		each("gpu_util", do.util, do.util)
		each("gpu_mem_mib", do.mem, do.mem)
		each("gpu_power_w", do.watts, do.watts)
	}
	if do.garbage != nil {
		of["gpu_util"].Each[0] = *do.garbage
	}
	if !k.blind {
		of["processes"] = fake.Every(do.processes)
	}
	for name, v := range do.more {
		of[name] = fake.Every(v)
	}
	return &fake.Signals{Of: of, Basis: k.basis, Interval: k.interval}
}

// labour draws what boxes do, what guard makes of that, and what is left behind. It
// comes last, so that weeks without it are what they were.
func (d *drawer) labour() {
	met := func(f Family) bool { return d.k.Chance[f] > 0 && d.times(f) > 0 }
	if met(Work) {
		for i := range d.w.Accounts {
			s := &d.w.Accounts[i].Script
			if met(Traffic) {
				d.carriage(s)
			}
			for range d.each0(SignalFaults) {
				d.fault(s, SignalFaults)
			}
			d.works(s)
		}
		d.guessVetoes()
	}
	if met(Guesses) {
		d.guesses()
	}
	if met(Leftovers) {
		d.leftovers()
	}
}

// each0 is how often a family that weeks of old do not know occurs.
func (d *drawer) each0(f Family) int {
	if d.k.Chance[f] == 0 {
		return 0
	}
	return d.times(f)
}

// works draws the days of an account's boxes.
func (d *drawer) works(s *fake.Script) {
	gpus := map[string]int{}
	for _, r := range d.w.instances(Account{Script: *s}) {
		gpus[r.ID] = cmp.Or(r.GPUs, 1)
	}
	for _, b := range d.boxes {
		if b.account == s.Account && b.gpu && d.chance("watched", 80) {
			d.day(s, b, gpus[b.id])
		}
	}
	slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.Faults, func(a, b fake.Fault) int { return cmp.Compare(a.From, b.From) })
}

// day draws what one box does until the end of the week.
func (d *drawer) day(s *fake.Script, b rented, gpus int) {
	add := func(e fake.Event) { e.ID = b.id; s.Timeline = append(s.Timeline, e) }
	k := kit{gpus: gpus, blind: d.chance("blind", 15), basis: guard.Average, interval: time.Minute}
	switch d.n("told as", 0, 5) {
	case 1, 2:
		k.basis = guard.Summary
	case 3:
		k.basis = guard.Instantaneous
	case 4:
		k.interval = 5 * time.Minute
	case 5:
		k.basis, k.interval = guard.Instantaneous, 5*time.Minute
	}
	at := b.created
	for i := 0; i < 24 && at < d.w.Length; i++ {
		do, least, most := pick(d.dice, "rests", rests...), 30*time.Minute, 5*time.Hour
		switch n := d.n("does", 0, 9); {
		case n >= 9 && i > 0:
			do, least, most = pick(d.dice, "lies", lies...), 3*time.Minute, 90*time.Minute
		case n >= 6:
			do, least, most = pick(d.dice, "works", works...), 20*time.Minute, 4*time.Hour
		}
		told := k.tells(do)
		if d.chance("counter jumps", 4) && do.lost == "" {
			told.TxStart = new(uint64)
			*told.TxStart = jump
		}
		add(fake.Event{At: at, Signals: told})
		long := d.span("does it for", least, most, time.Minute)
		if do.processes > 0 && do.util == 0 && do.more == nil && d.chance("bursts", 30) {
			every := d.span("every", 20*time.Minute, 100*time.Minute, 5*time.Minute)
			add(fake.Event{At: at, Pulse: &fake.Pulse{Of: map[string]fake.Reading{"gpu_util": fake.Every(95), "gpu_power_w": fake.Every(500)}, Every: every, For: 6 * time.Minute}})
			add(fake.Event{At: at + long, Pulse: &fake.Pulse{}})
		}
		if d.chance("reboot", 5) {
			add(fake.Event{At: at + long/2, Reboot: true})
		}
		at += long
	}
}

// guesses draws which guesses do something.
func (d *drawer) guesses() {
	d.w.Guesses = map[guard.Rule]Guess{}
	if d.chance("empty otherwise", 60) {
		d.w.Guesses[guard.RuleIdleEmpty] = Guess{Warn: 20 * time.Minute, Act: pick(d.dice, "empty for", 45*time.Minute, 90*time.Minute, 3*time.Hour),
			Then: pick(d.dice, "empty then", guard.ActStop, guard.ActStop, guard.ActAlert)}
	}
	if d.chance("resident", 60) {
		d.w.Guesses[guard.RuleIdleResident] = Guess{Warn: 40 * time.Minute, Act: pick(d.dice, "resident for", 2*time.Hour, time.Hour), Then: guard.ActStop}
	}
	if d.chance("blind", 40) {
		d.w.Guesses[guard.RuleIdleBlind] = Guess{Warn: time.Hour, Act: pick(d.dice, "blind for", 3*time.Hour, 90*time.Minute), Then: guard.ActStop}
	}
	if d.chance("stopped", 40) {
		d.w.Guesses[guard.RuleStoppedBilling] = Guess{Warn: 30 * time.Minute, Act: pick(d.dice, "stopped for", 2*time.Hour, 6*time.Hour), Then: guard.ActRelease}
	}
}

// guessVetoes draws people who think that a box is needed all the same.
func (d *drawer) guessVetoes() {
	for _, b := range d.boxes {
		if d.chance("a guess is vetoed", 12) {
			at := d.moment("guess vetoed", b.created+time.Hour)
			d.order(Order{At: at, User: "ana", Verb: Veto, ID: b.String(), Rule: pick(d.dice, "guess", guard.RuleIdleEmpty, guard.RuleIdleResident, guard.RuleStoppedBilling),
				By: d.span("guess vetoed for", 10*time.Minute, 6*time.Hour, 10*time.Minute)})
		}
	}
}

// carriage draws what an account's traffic costs.
func (d *drawer) carriage(s *fake.Script) {
	s.Egress = &fake.Traffic{Amount: pick(d.dice, "egress", "0.09", "0.01", "0.12", "unknown"), Per: "gb"}
	if s.Egress.Amount == "unknown" && d.chance("a most", 50) {
		s.Egress.UpTo = "0.12"
	}
	if s.Egress.Amount != "unknown" && d.chance("free", 25) {
		s.Egress.FreeGB = 50
	}
	if d.chance("ingress", 20) {
		s.Ingress = &fake.Traffic{Amount: "0.01", Per: "gb"}
	}
}

// leftovers draws which kinds are deleted, and things of all sorts that may be left behind.
func (d *drawer) leftovers() {
	d.w.Leftovers = map[guard.Kind]Leftover{}
	for _, kind := range []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address} {
		if d.chance("deletes "+string(kind), 70) {
			d.w.Leftovers[kind] = Leftover{After: pick(d.dice, "left for", time.Hour, 10*time.Minute), Grace: pick(d.dice, "told before", time.Hour, 10*time.Minute, 3*time.Hour)}
		}
	}
	for i := range d.w.Accounts {
		s := &d.w.Accounts[i].Script
		for _, r := range slices.Clone(s.Resources) {
			if r.Kind != guard.Volume {
				continue
			}
			if d.chance("copied", 40) {
				c := fake.Resource{ID: "t-" + r.ID, Kind: guard.Snapshot, Scope: r.Scope, Created: r.Created, SizeGB: 50, Source: r.ID, Rate: &fake.Rate{Amount: "0.05", Per: "gb_month"}}
				if d.chance("backs an image", 40) {
					c.UsedBy = []string{"img-" + r.ID}
					s.Resources = append(s.Resources, fake.Resource{ID: "img-" + r.ID, Kind: guard.Image, Scope: r.Scope, Created: r.Created})
				}
				s.Resources = append(s.Resources, c)
			}
		}
		for k := range s.Resources {
			if r := &s.Resources[k]; r.Kind != "" && r.Kind != guard.Instance && r.Tags == nil {
				d.keeps(r)
			}
		}
	}
}

// keeps draws what keeps a thing from being deleted, where something does.
func (d *drawer) keeps(r *fake.Resource) {
	switch d.n("kept by", 0, 11) {
	case 8:
		r.Tags = map[string]string{"guard:keep": "true"}
	case 9:
		r.Tags = map[string]string{guard.TagDeployment: stranger}
	case 10:
		r.Protected = []string{"release"}
	case 11:
		r.Name = "pvc-" + r.ID
	}
}
