package fake

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"guard"
)

// kept is how long a monitor keeps its readings.
const kept = 24 * time.Hour

// watch is what a monitor sees of one thing, over time. A reading stands for the
// interval that ends with it, so that it tells what was just before its own time.
type watch struct {
	start time.Time // of the cloud: readings are at multiples of their interval from it
	marks []mark    // oldest first, each from its time on
}

// mark is what holds from a moment on.
type mark struct {
	at      time.Time
	running bool
	ran     bool // it did, at some time
	gpus    int
	lost    SignalLoss
	held    wireSample // the last reading before it got frozen or stuck
	told    Signals    // Of, GPUProcesses, MIG, Basis, Interval and CounterBits of it
	offset  time.Duration
	pulse   Pulse
	pulsed  time.Time     // when its first burst began
	only    time.Time     // of a trace's row: the time of its one reading
	step    time.Duration // of the trace
	boot    int
	tally
}

// tally is what counters have counted until a mark.
type tally struct {
	rx, tx         uint64    // where the network's counters began
	rxOn, txOn     float64   // bytes since then
	sent, received float64   // bytes of all the time: what is billed
	energy         []float64 // joules of each GPU
}

func newWatch(start, at time.Time, running bool, gpus int) *watch {
	first := mark{at: at, running: running, ran: running, gpus: gpus, boot: 1}
	first.told = Signals{Basis: guard.Instantaneous, Interval: time.Minute, CounterBits: 64}
	return &watch{start: start, marks: []mark{first}}
}

// change begins a new mark. One that comes before the thing's creation holds from then on.
func (w *watch) change(at time.Time, f func(m *mark)) {
	m := w.marks[len(w.marks)-1]
	if !at.After(m.at) {
		f(&w.marks[len(w.marks)-1])
		return
	}
	m.tally, m.at = m.until(at), at
	f(&m)
	w.marks = append(w.marks, m)
}

// runs notes that the thing runs, or does not. What is started again has booted.
func (w *watch) runs(at time.Time, running bool) {
	if w.marks[len(w.marks)-1].running == running {
		return
	}
	w.change(at, func(m *mark) {
		if running && m.ran {
			m.reboot()
		}
		m.running, m.ran = running, m.ran || running
	})
}

// reboot begins all counters anew.
func (m *mark) reboot() {
	m.boot++
	m.rx, m.tx, m.rxOn, m.txOn, m.energy = 0, 0, 0, 0, nil
}

// happen takes in an event.
func (w *watch) happen(e Event, at time.Time) {
	var held wireSample
	if e.Signals != nil && (e.Signals.Lost == SignalsFrozen || e.Signals.Lost == SignalsStuck) {
		held = w.latest(at)
	}
	w.change(at, func(m *mark) {
		switch {
		case e.Signals != nil:
			m.tell(*e.Signals, held)
		case e.SampleOffset != nil:
			m.offset = *e.SampleOffset
		case e.Pulse != nil:
			m.pulse, m.pulsed = *e.Pulse, at
		case e.Reboot:
			m.reboot()
		}
	})
}

func (m *mark) tell(s Signals, held wireSample) {
	m.lost, m.held, m.only = s.Lost, held, time.Time{}
	if s.Lost != "" {
		return
	}
	m.told.Of, m.told.GPUProcesses, m.told.MIG = s.Of, s.GPUProcesses, s.MIG
	if s.Basis != "" {
		m.told.Basis = s.Basis
	}
	if s.Interval > 0 {
		m.told.Interval = s.Interval
	}
	if s.CounterBits > 0 {
		m.told.CounterBits = s.CounterBits
	}
	if s.RxStart != nil {
		m.rx, m.rxOn = *s.RxStart, 0
	}
	if s.TxStart != nil {
		m.tx, m.txOn = *s.TxStart, 0
	}
}

// row lets one reading of a trace hold from now until its time.
func (m *mark) row(of map[string]Reading, step time.Duration, at time.Time) {
	m.lost, m.held, m.only, m.step = "", nil, at, step
	m.told.Of = of
}

// burst is how long the pulse was on from one time to another.
func (m *mark) burst(from, to time.Time) time.Duration {
	p := m.pulse
	if len(p.Of) == 0 || p.Every <= 0 {
		return 0
	}
	on := func(t time.Time) time.Duration {
		d := max(t.Sub(m.pulsed), 0)
		return d/p.Every*p.For + min(d%p.Every, p.For)
	}
	return on(to) - on(from)
}

// values are a field's value between bursts and in one.
func (m *mark) values(field string, gpu int) (between, in Value) {
	between = m.told.Of[field].of(gpu)
	if r, ok := m.pulse.Of[field]; ok {
		return between, r.of(gpu)
	}
	return between, between
}

// until is what the counters have counted at a time after the mark.
func (m *mark) until(at time.Time) tally {
	out := m.tally
	if !m.running {
		return out
	}
	on := m.burst(m.at, at)
	off := at.Sub(m.at) - on
	adds := func(field string, gpu int) float64 {
		between, in := m.values(field, gpu)
		return between.rate()*off.Seconds() + in.rate()*on.Seconds()
	}
	rx, tx := adds("rx_bytes_s", 0), adds("tx_bytes_s", 0)
	out.rxOn, out.txOn, out.received, out.sent = out.rxOn+rx, out.txOn+tx, out.received+rx, out.sent+tx
	out.energy = slices.Clone(out.energy)
	for i := range max(len(out.energy), m.powered()) {
		if i >= len(out.energy) {
			out.energy = append(out.energy, 0)
		}
		out.energy[i] += adds("gpu_power_w", i)
	}
	return out
}

// powered is how many GPUs may draw power that is told.
func (m *mark) powered() int {
	r, ok := m.told.Of["gpu_power_w"]
	switch {
	case !ok:
		return 0
	case r.Each != nil:
		return len(r.Each)
	}
	return m.gpus
}

// interval is what a reading stands for.
func (m *mark) interval() time.Duration {
	if !m.only.IsZero() {
		return m.step
	}
	return m.told.Interval
}

// counter is a network counter as its interface shows it.
func (m *mark) counter(from uint64, on float64) uint64 {
	n := from + uint64(on)
	if m.told.CounterBits == 32 {
		n &= 1<<32 - 1
	}
	return n
}

// samples are the readings that came in after a time, however they are stamped, and up
// to now, oldest first. What is frozen is told whenever it is asked for.
func (w *watch) samples(since, now time.Time) []wireSample {
	from := now.Add(-kept)
	if since.After(from) {
		from = since
	}
	var out []wireSample
	w.each(from, now, func(at time.Time, i int) { out = append(out, w.reading(at, i)) })
	if m := w.marks[len(w.marks)-1]; m.running && m.lost == SignalsFrozen && m.held != nil && now.After(m.at) {
		out = append(out, m.held)
	}
	return out
}

// latest is the last reading up to a time; nil where there is none.
func (w *watch) latest(at time.Time) wireSample {
	var last wireSample
	for i := len(w.marks) - 1; i >= 0 && last == nil; i-- {
		from, to := w.marks[i].at, at
		if i+1 < len(w.marks) && w.marks[i+1].at.Before(at) {
			to = w.marks[i+1].at
		}
		var when time.Time
		w.each(from, to, func(t time.Time, _ int) { when = t })
		if !when.IsZero() {
			last = w.reading(when, i)
		}
	}
	return last
}

// each calls fn with the time of every reading after from and up to to, and its mark.
func (w *watch) each(from, to time.Time, fn func(at time.Time, i int)) {
	first, _ := slices.BinarySearchFunc(w.marks, from, func(m mark, t time.Time) int { return m.at.Compare(t) })
	for i := max(first-1, 0); i < len(w.marks) && w.marks[i].at.Before(to); i++ {
		m := &w.marks[i]
		lo, hi := m.at, to
		if from.After(lo) {
			lo = from
		}
		if i+1 < len(w.marks) && w.marks[i+1].at.Before(to) {
			hi = w.marks[i+1].at
		}
		switch {
		case !m.running, m.lost == SignalsMissing, m.lost == SignalsFrozen, m.lost == SignalsStuck && m.held == nil,
			m.lost == "" && len(m.told.Of) == 0 && m.told.GPUProcesses == nil:
		case !m.only.IsZero():
			if m.only.After(lo) && !m.only.After(hi) {
				fn(m.only, i)
			}
		default:
			for t := w.grid(lo, m.told.Interval); !t.After(hi); t = t.Add(m.told.Interval) {
				fn(t, i)
			}
		}
	}
}

// grid is the first multiple of an interval after a time.
func (w *watch) grid(after time.Time, interval time.Duration) time.Time {
	d := after.Sub(w.start)
	n := d / interval
	if d < 0 && d%interval != 0 {
		n--
	}
	return w.start.Add((n + 1) * interval)
}

// reading is the one at a time, which is in the mark's part.
func (w *watch) reading(at time.Time, i int) wireSample {
	m := &w.marks[i]
	stamped := stamp(at.Add(m.offset))
	if m.lost == SignalsStuck {
		out := maps.Clone(m.held)
		out["at"] = stamped
		return out
	}
	out := wireSample{"at": stamped, "interval_s": m.interval().Seconds(), "basis": m.told.Basis, "boot": "boot-" + strconv.Itoa(m.boot)}
	for name, f := range signalFields {
		_, held := m.told.Of[name]
		if _, pulsed := m.pulse.Of[name]; held || pulsed {
			w.field(out, name, f, at, i)
		}
	}
	counted := m.until(at)
	if len(counted.energy) > 0 {
		energy := make([]Value, len(counted.energy))
		for g, joules := range counted.energy {
			if m.told.Of["gpu_power_w"].of(g).OK {
				energy[g] = Num(joules)
			}
		}
		out["gpu_energy_j"] = energy
	}
	_, rx := m.told.Of["rx_bytes_s"]
	_, tx := m.told.Of["tx_bytes_s"]
	if rx || tx {
		out["nics"] = []any{map[string]any{"name": "eth0", "bits": m.told.CounterBits,
			"rx": m.counter(counted.rx, counted.rxOn), "tx": m.counter(counted.tx, counted.txOn)}}
	}
	if m.told.GPUProcesses != nil {
		out["gpu_processes"] = processes(m.told.GPUProcesses)
	}
	if m.told.MIG {
		out["mig"] = true
	}
	return out
}

// field puts what a reading tells of a field into it.
func (w *watch) field(out wireSample, name string, f signalField, at time.Time, i int) {
	if !f.gpu {
		out[name] = w.seen(name, 0, at, i).now
		return
	}
	m := &w.marks[i]
	all := make([]seen, max(m.gpus, len(m.told.Of[name].Each), len(m.pulse.Of[name].Each)))
	for g := range all {
		all[g] = w.seen(name, g, at, i)
	}
	column := func(of func(s seen) Value) []Value {
		vs := make([]Value, len(all))
		for g, s := range all {
			vs[g] = of(s)
		}
		return vs
	}
	out[name] = column(func(s seen) Value { return s.now })
	if name == "gpu_util" && m.told.Basis == guard.Summary {
		out["gpu_util_max"] = column(func(s seen) Value { return s.most })
		out["gpu_busy"] = column(func(s seen) Value { return s.busy })
	}
}

// seen is what a reading tells of one number: the value, the highest one in the
// interval, and the share of it at 2 or more.
type seen struct{ now, most, busy Value }

func (w *watch) seen(name string, gpu int, at time.Time, i int) seen {
	m := &w.marks[i]
	now, in := m.values(name, gpu)
	if m.burst(at.Add(-1), at) > 0 {
		now = in
	}
	out := seen{now: now}
	if m.told.Basis == guard.Instantaneous || !signalFields[name].mean {
		return out
	}
	var sum, span, busy, most float64
	add := func(v Value, d time.Duration) {
		if !v.OK || d <= 0 {
			return
		}
		if span == 0 || v.V > most {
			most = v.V
		}
		sum, span = sum+v.V*d.Seconds(), span+d.Seconds()
		if v.V >= 2 {
			busy += d.Seconds()
		}
	}
	from := at.Add(-m.interval())
	for hi := at; i >= 0 && hi.After(from); i-- {
		p, lo := &w.marks[i], from
		if p.at.After(lo) {
			lo = p.at
		}
		if p.running {
			on := p.burst(lo, hi)
			between, in := p.values(name, gpu)
			add(between, hi.Sub(lo)-on)
			add(in, on)
		}
		hi = lo
	}
	if span > 0 {
		out = seen{Num(sum / span), Num(most), Num(busy / span)}
	}
	return out
}

func processes(all []GPUProcess) []any {
	out := []any{}
	for _, p := range all {
		one := map[string]any{"pid": p.PID, "util": p.Util, "mem_mib": p.MemMB}
		switch p.Alive {
		case guard.Yes:
			one["alive"] = true
		case guard.No:
			one["alive"] = false
		}
		out = append(out, one)
	}
	return out
}
