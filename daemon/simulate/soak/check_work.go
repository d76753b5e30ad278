package soak

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// stint is a stretch in which a box does one thing, by the script.
type stint struct {
	span
	works    bool
	told     bool // what its monitor tells can be believed
	lost     bool // its monitor tells nothing, or the same again and again
	sort     guard.Rule
	instant  bool
	interval time.Duration
	tx, rx   float64 // bytes a second
}

const (
	bootGrace = 20 * time.Minute
	goesOn    = 10 * time.Minute // what counts only where it goes on is looked at for that long
	sorted    = 30 * time.Minute // another sort of idle counts after that
)

// stints are what a box does from its first word on, in order, bursts among them.
func (b *life) stints() []stint {
	if b.does != nil {
		return b.does
	}
	b.does = []stint{}
	var bursts []stint
	now := stint{interval: time.Minute, instant: true}
	begin := never
	end := func(at time.Duration) {
		if begin < at {
			now.span = span{begin, at}
			b.does = append(b.does, now)
		}
	}
	for i, e := range b.account.Script.Timeline {
		switch {
		case e.ID != b.spec.ID:
		case e.Signals != nil:
			end(e.At)
			begin = e.At
			now = now.then(e.Signals)
		case e.Pulse != nil && len(e.Pulse.Of) > 0:
			until := never
			for _, later := range b.account.Script.Timeline[i+1:] {
				if later.ID == b.spec.ID && later.Pulse != nil {
					until = later.At
					break
				}
			}
			for at := e.At; at < min(until, b.gone, maxWeek); at += e.Pulse.Every {
				bursts = append(bursts, stint{span: span{at, min(at+e.Pulse.For, until)}, works: true})
			}
		}
	}
	end(never)
	b.does = append(b.does, bursts...)
	return b.does
}

// maxWeek is longer than any week.
const maxWeek = 30 * 24 * time.Hour

// then is what a box does when its monitor tells something else.
func (s stint) then(told *fake.Signals) stint {
	if told.Lost != "" {
		s.works, s.told, s.lost = false, false, true
		return s
	}
	number := func(name string) (float64, bool) {
		r, ok := told.Of[name]
		return r.All.V, ok && r.All.OK
	}
	over := func(name string, least float64) bool { v, ok := number(name); return ok && v >= least }
	under := func(name string, most float64) bool { v, ok := number(name); return ok && v < most }
	out := stint{told: true, instant: told.Basis != guard.Average && told.Basis != guard.Summary, interval: cmp.Or(told.Interval, s.interval)}
	for _, v := range told.Of["gpu_util"].Each {
		real := v.OK && v.V >= 0 && v.V <= 100
		out.told = out.told && real
		out.works = out.works || real && v.V >= 2
	}
	out.works = out.works || over("cpu_cores", 1) || over("rx_bytes_s", 200e3) || over("tx_bytes_s", 200e3) || over("disk_bytes_s", 2e6) ||
		under("heartbeat_age", 600) || under("session_input_age", 1800)
	processes, seen := number("processes")
	switch {
	case !seen:
		out.sort = guard.RuleIdleBlind
	case processes > 0:
		out.sort = guard.RuleIdleResident
	default:
		out.sort = guard.RuleIdleEmpty
	}
	out.tx, _ = number("tx_bytes_s")
	out.rx, _ = number("rx_bytes_s")
	return out
}

// powered are the stretches in which a box really runs, and the boots in them.
func (j *judge) powered(b *life) (runs []span, boots []time.Duration) {
	type turn struct {
		at time.Duration
		on bool
	}
	turns := []turn{{min(b.born, 0), b.spec.State == "" || b.spec.State == "running"}}
	if b.born != never {
		turns[0].at = b.born
	}
	for _, e := range b.account.Script.Timeline {
		switch {
		case e.ID != b.spec.ID || e.At >= b.gone:
		case e.State != "":
			turns = append(turns, turn{e.At, e.State == "running"})
		case e.Reclaim != nil && e.Reclaim.Stop:
			turns = append(turns, turn{e.At, false})
		case e.Reboot:
			boots = append(boots, e.At)
		}
	}
	for _, c := range b.calls {
		if c.Call.Call == fake.CallStop && done(c) {
			turns = append(turns, turn{j.offset(c.At), false})
		}
	}
	slices.SortStableFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	for _, t := range turns {
		n := len(runs)
		running := n > 0 && runs[n-1].to == b.gone
		switch {
		case t.on && !running:
			runs = append(runs, span{t.at, b.gone})
			boots = append(boots, t.at)
		case !t.on && running:
			runs[n-1].to = t.at
		}
	}
	return runs, boots
}

// placed is from when on a box runs or is stopped: one may come in another state, such as
// hibernating, in which it does neither.
func (b *life) placed() time.Duration {
	if s := b.spec.State; s == "" || s == "running" || s == "stopped" {
		return b.born
	}
	for _, e := range b.account.Script.Timeline {
		if e.ID == b.spec.ID && (e.State != "" || e.Reclaim != nil && e.Reclaim.Stop) {
			return e.At
		}
	}
	return never
}

// still is since when a box is stopped, by a moment, never where it is in another state;
// false where it runs.
func (j *judge) still(b *life, at time.Duration) (time.Duration, bool) {
	since := b.placed()
	runs, _ := j.powered(b)
	for _, r := range runs {
		if r.from <= at && at < r.to {
			return 0, false
		}
		if r.to <= at {
			since = r.to
		}
	}
	return since, true
}

// quiet is since when nothing worked on a box, by a moment, and for how much of that
// its monitor told so.
func (j *judge) quiet(b *life, at time.Duration) (since, seen time.Duration) {
	since = b.born
	_, boots := j.powered(b)
	for _, t := range boots {
		if t <= at {
			since = max(since, t)
		}
	}
	for _, s := range b.stints() {
		if s.works && s.from < at {
			since = max(since, min(s.to, at))
		}
	}
	for _, s := range b.stints() {
		if s.told && !s.works {
			seen += max(0, min(s.to, at)-max(s.from, since))
		}
	}
	return since, seen
}

// guess is how a rule that guesses is set.
func (j *judge) guess(rule guard.Rule) Guess {
	if g, ok := j.week.Guesses[rule]; ok {
		return g
	}
	return map[guard.Rule]Guess{
		guard.RuleIdleEmpty:      {30 * time.Minute, time.Hour, guard.ActStop},
		guard.RuleIdleResident:   {time.Hour, 2 * time.Hour, guard.ActAlert},
		guard.RuleIdleBlind:      {3 * time.Hour, 3 * time.Hour, guard.ActAlert},
		guard.RuleStoppedBilling: {24 * time.Hour, 24 * time.Hour, guard.ActAlert},
	}[rule]
}

// sorts are the rules that may judge a box at a moment: those of what was loaded on it
// lately, and where that has changed the one of what nobody can know.
func (b *life) sorts(at time.Duration) []guard.Rule {
	rules := map[guard.Rule]bool{}
	for _, s := range b.stints() {
		if s.told && s.from < at && s.to > at-2*sorted {
			rules[s.sort] = true
		}
	}
	if len(rules) > 1 {
		rules[guard.RuleIdleBlind] = true
	}
	return slices.Sorted(maps.Keys(rules))
}

// slop is how far what a monitor tells of a box lags behind.
func (b *life) slop() time.Duration {
	d := time.Minute
	for _, s := range b.stints() {
		d = max(d, s.interval)
	}
	return 2*d + 30*time.Second
}

// guessed holds law 6 for each stop, which only guesses order: the box had really done
// nothing for as long as a rule that stops waits, its monitor had told so for all of
// that, a stop saves something there, somebody has the box, no veto covers the rule, and
// people had notice, also after an absence (laws 8 and 9).
func (j *judge) guessed(b *life) {
	for _, c := range b.calls {
		if c.Call.Call != fake.CallStop {
			continue
		}
		at := j.offset(c.At)
		if !saves(b.account.Script) {
			j.wrong(6, "wrong release", at, b.id, "it is stopped where a stop saves nothing")
		}
		since, seen := j.quiet(b, at)
		var asked []guard.Rule
		wait := never
		for _, rule := range b.sorts(at) {
			if g := j.guess(rule); g.Then == guard.ActStop && min(b.vetoed(rule, at), b.vetoed(rule, at-1)) <= at+j.slack()+time.Second {
				asked, wait = append(asked, rule), min(wait, g.Act)
			}
		}
		said, leased := b.claim(at)
		switch {
		case len(asked) == 0:
			j.wrong(6, "wrong release", at, b.id, "it is stopped, and of the rules %v none stops it, or they are vetoed", b.sorts(at))
			continue
		case at-since < wait-b.slop():
			j.wrong(6, "wrong release", at, b.id, "it is stopped by a guess, and worked until %s: the rules %v wait for %s", since, asked, wait)
		case seen < wait-b.slop():
			j.wrong(1, "wrong release", at, b.id, "it is stopped by a guess, and of the time since %s only %s were told of: the rules %v wait for %s", since, seen, asked, wait)
		case !leased && !(j.week.Adopt != nil && b.adoptable()):
			j.wrong(6, "wrong release", at, b.id, "it is stopped by a guess, and nobody has registered it")
		}
		for _, s := range j.dead {
			if s.to-s.from > farAway+retryAtLeast && at >= s.to && at < s.to+freshNotice-time.Second && !j.steps() {
				j.wrong(8, "wrong release", at, b.id, "it is stopped by a guess %s after an absence of %s, without fresh notice", at-s.to, s.to-s.from)
			}
		}
		need := min(j.graceOf(said), cmp.Or(j.week.Grace, defaultGrace)) - reactionTime
		heard := slices.ContainsFunc(j.h.Posts, func(p post) bool {
			return p.Stored && j.offset(p.At) <= at-need && strings.Contains(p.Text+"\n"+p.Blocks, b.id)
		})
		if !heard {
			j.wrong(9, "message lost", at, b.id, "it is stopped by a guess, and %s before nobody had heard of it", need)
		}
	}
}

// stale reports that what stands still for long can be the cause of a release: its rule
// says so, and in truth it does.
func (j *judge) stale(b *life, at time.Duration) bool {
	g := j.guess(guard.RuleStoppedBilling)
	since, is := j.still(b, at)
	return g.Then == guard.ActRelease && is && at-since >= g.Act-2*b.account.Script.Lag.State-time.Second-j.slack() && b.vetoed(guard.RuleStoppedBilling, at-1) <= at+j.slack()+time.Second
}

// overlooked holds the other side of law 6: what is empty, and told so without a gap, is
// stopped in good weather where the rule says so.
func (j *judge) overlooked() {
	g := j.guess(guard.RuleIdleEmpty)
	if g.Then != guard.ActStop || j.steps() {
		return
	}
	for _, b := range j.boxes {
		if !saves(b.account.Script) || b.muddled || !b.adoptable() || b.account.Script.Self == b.spec.ID || len(b.spec.Protected) > 0 {
			continue
		}
		all := b.stints()
		for i, s := range all {
			if s.works || !s.told || s.sort != guard.RuleIdleEmpty || s.instant || i > 0 && !all[i-1].works {
				continue
			}
			from := max(s.from, b.born+bootGrace, bootGrace)
			by := from + max(g.Act, g.Warn) + j.weekGrace(b) + goesOn + b.slop() + 3*j.poll() + retryAtLeast + b.account.Script.Lag.State + b.account.Script.Lag.Appears
			if by >= min(s.to, b.gone, j.h.Length) || j.excused(b, s.from, by) {
				continue
			}
			j.wrong(6, "missed limit", by, b.id, "it is empty since %s, and told so, and the rule idle_empty stops what is so for %s; it runs on until %s", s.from, g.Act, min(s.to, b.gone))
		}
	}
}

// weekGrace is the longest notice that anybody asks for before something is done to a box.
func (j *judge) weekGrace(b *life) time.Duration {
	return max(j.longestGrace(b), cmp.Or(j.week.Grace, defaultGrace))
}

// excused reports that something may keep a guess from stopping a box in a stretch, or
// another limit comes first.
func (j *judge) excused(b *life, from, to time.Duration) bool {
	said, leased := b.claim(from)
	after, _ := b.claim(to)
	if !leased || said.at != after.at || said.held > from-goesOn || said.guarded || said.expires < to+j.warning()+j.weekGrace(b)+farAway ||
		min(j.ceilingDue(b, said), j.capDue(b, said)) < to+farAway || said.budget.IsSet() && !j.plain(b) || len(j.week.Money) > 0 && !j.plain(b) {
		return true
	}
	_, boots := j.powered(b)
	_, rests := j.still(b, from)
	acts := func(at time.Duration) bool { _, must := j.acts(b.account, at); return must }
	around := func(at time.Duration) bool { return at >= from-farAway && at <= to }
	faults := append(j.storms(b), j.faults(b, fake.CallSignals, fake.CallStop, fake.CallGet, fake.CallProtection)...)
	return rests || !acts(from) || !acts(to) || foreign(j, b, to) || b.vetoed(guard.RuleIdleEmpty, to) > from ||
		j.slackTrouble(from-slackWait, to) || !calm(faults, from-3*farAway, to) || slices.ContainsFunc(boots, func(t time.Duration) bool { return t > from-sorted && t <= to && t > b.born }) ||
		slices.ContainsFunc(j.week.Hits, func(h Hit) bool { return h.CrashAt != "" || h.Reload != nil || around(h.At) }) ||
		slices.ContainsFunc(b.events(), func(e fake.Event) bool { return around(e.At) }) ||
		slices.ContainsFunc(b.orders, around) || slices.ContainsFunc(b.calls, func(c simulateCall) bool { return j.offset(c.At) >= from-farAway && j.offset(c.At) <= to })
}
