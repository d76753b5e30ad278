package activity

import (
	"fmt"
	"slices"
	"time"

	"guard"
)

// next is the span after one more sample. One that does not tell leaves it as it is.
func (s Span) next(is tri, r *reading) Span {
	switch is {
	case no:
		turns := s.Turns
		if s.On() {
			turns = turns.over(s.Seen, r.start)
		}
		return Span{End: r.At, Turns: turns}
	case unknown:
		return s
	}
	if !s.On() || r.start.Sub(s.End) > max(Hole, 3*r.Interval) {
		s = Span{Since: later(r.start, s.End), Turns: s.Turns}
		s.End = s.Since
	}
	// Readings are never exactly an interval apart; twice that is one that is missing.
	if more := r.At.Sub(s.End); more <= r.Interval+r.Interval/2 {
		s.Seen += more
	} else {
		s.Seen += r.Interval
	}
	s.End, s.Turns = r.At, s.Turns.again(s.Since, s.Seen)
	return s
}

// spans takes a judged sample into everything that lasts.
func (s *State) spans(r *reading) {
	busy := r.works == yes || r.other != ""
	idle, quiet := not(r.works), not(r.works)
	switch {
	case busy || r.suspect:
		idle = no
	case r.silent:
		idle = unknown
	}
	if r.suspect {
		quiet = no
	}
	idle, quiet = r.sure(idle), r.sure(quiet)
	if busy {
		s.Worked, s.Work = r.At, r.other
		if r.works == yes {
			s.Work = r.why.word()
		}
	}
	if busy || idle != unknown && !r.suspect {
		s.At = r.At
	}
	s.Idle = s.Idle.next(idle, r)
	s.sort(r, idle)
	s.GPUsQuiet = s.GPUsQuiet.next(quiet, r)
	s.park(r, quiet)
	s.Hung = s.Hung.next(r.sure(r.hangs()), r)
	s.Hung.Why = word(s.Hung.On(), "pinned at next to no power, without disk or network")
	s.Phantom = s.Phantom.next(r.sure(r.phantom()), r)
	s.Phantom.Why = word(s.Phantom.On(), "utilisation, and no GPU process alive")
	s.unused()
}

// sure is a condition as far as it was seen at its time.
func (r *reading) sure(is tri) tri {
	if r.recalled && is == yes {
		return unknown
	}
	return is
}

func not(t tri) tri {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

func word(is bool, s string) string {
	if is {
		return s
	}
	return ""
}

// sort says what sort of idle it is. Where nobody tells the processes, or how much
// memory is in use although no process is told of (a container sees only its own), it
// cannot be known that nothing is loaded.
func (s *State) sort(r *reading, idle tri) {
	if !s.Idle.On() {
		s.Sort, s.Sorted, s.Held = "", time.Time{}, false
		return
	}
	if idle != yes {
		return
	}
	loaded, measured := false, len(r.gpus) > 0
	for _, l := range r.gpus {
		loaded = loaded || l.mem.OK && l.mem.V > light(l.total)
		measured = measured && l.mem.OK
	}
	sort := Blind
	switch {
	case r.alive.OK && (r.alive.V > 0 || loaded):
		sort = Resident
	case r.alive.OK && measured:
		sort = Empty
	}
	if sort != s.Sort || s.Sorted.Before(s.Idle.Since) {
		s.Sort, s.Sorted = sort, later(s.Idle.Since, later(r.start, s.Heard))
	}
	s.Held = loaded && r.alive.OK && r.alive.V == 0
	s.Idle.Why = word(s.Held, "memory held, and no process alive that holds it")
}

// park tells GPUs that wait for something else from those that nothing uses.
func (s *State) park(r *reading, quiet tri) {
	is := quiet
	if is == yes && !r.goes {
		if is = no; r.silent {
			is = unknown
		}
	}
	before := s.Parked
	s.Parked = before.next(is, r)
	if !s.Parked.Since.Equal(before.Since) {
		s.Came, before = 0, Span{}
	}
	if is != yes {
		return
	}
	s.Came += r.Rx.Or(0) * (s.Parked.Seen - before.Seen).Seconds()
	if r.other == "" {
		return // it goes on, although not just now: what it was stands
	}
	s.Parked.Why = r.other
	if s.Came >= guard.GB {
		s.Parked.Why += fmt.Sprintf(", %s came in so far", size(s.Came))
	}
}

// hangs: the disk decides. A run that writes a checkpoint each step looks hung on its
// GPUs alone for nearly all of its time, so where disk or network is not known nothing
// is called hung. Where no process is alive nothing hangs: see phantom.
func (r *reading) hangs() tri {
	const still = 1e6 // bytes a second
	if r.pinned != yes {
		return r.pinned
	}
	if r.alive.OK && r.alive.V == 0 {
		return no
	}
	switch {
	case r.Disk.V >= still, r.Rx.V >= still, r.Tx.V >= still:
		return no
	case !r.Disk.OK || !r.Rx.OK || !r.Tx.OK:
		return unknown
	}
	return yes
}

// phantom: a process that is not in the table of processes any more keeps a GPU at
// work, or seems to.
func (r *reading) phantom() tri {
	if !r.alive.OK {
		return unknown
	}
	if r.alive.V > 0 {
		return no
	}
	is := no
	for _, l := range r.gpus {
		switch {
		case l.works == yes && l.util.OK && l.util.V >= phantomUtil:
			return yes
		case !l.util.OK:
			is = unknown
		}
	}
	return is
}

// phantomUtil is the utilisation (percent) that no process at all cannot be behind.
const phantomUtil = 2

// unused gathers the GPUs of no use: the one that has been so for longest, and those
// that have been for about as long.
func (s *State) unused() {
	s.Underused, s.Unused = Span{}, nil
	most := time.Duration(0)
	for _, k := range s.GPUs {
		most = max(most, k.Beside)
	}
	if most == 0 {
		return
	}
	s.Unused = s.UnusedFor(most - most/10)
	for _, i := range s.Unused {
		k := s.GPUs[i]
		if !s.Underused.On() || k.Since.Before(s.Underused.Since) {
			s.Underused.Since = k.Since
		}
	}
	s.Underused.Seen, s.Underused.End = most, s.At
	s.Underused.Why = fmt.Sprintf("gpu %s did nothing and holds nothing", indexes(s.Unused))
}

// UnusedFor are the GPUs (by index) that did nothing and held nothing while others of
// the box worked for at least that long.
func (s State) UnusedFor(d time.Duration) []int {
	var out []int
	for i, k := range s.GPUs {
		if !k.Since.IsZero() && k.Beside >= d {
			out = append(out, i)
		}
	}
	return out
}

// Same reports whether judgements rest on the same in both: what only grows older (At,
// Seen, and the like) is no difference.
func (s State) Same(o State) bool {
	return s.Idle.same(o.Idle) && s.Sort == o.Sort && s.Sorted.Equal(o.Sorted) && s.Held == o.Held &&
		s.GPUsQuiet.same(o.GPUsQuiet) && s.Parked.same(o.Parked) &&
		s.Hung.same(o.Hung) && s.Phantom.same(o.Phantom) &&
		s.Underused.Since.Equal(o.Underused.Since) && slices.Equal(s.Unused, o.Unused) &&
		s.Lost.Since.Equal(o.Lost.Since) && s.Lost.Why == o.Lost.Why && s.Lost.Usual() == o.Lost.Usual() &&
		s.Boot == o.Boot && s.Source == o.Source && s.Heard.IsZero() == o.Heard.IsZero() &&
		s.Doubt() == o.Doubt() && slices.Equal(s.Untold(), o.Untold())
}

// same: both began together and missed equally much, and are as usual.
func (s Span) same(o Span) bool {
	return s.Since.Equal(o.Since) && s.Usual() == o.Usual() && (!s.On() || s.End.Sub(o.End) == s.Seen-o.Seen)
}

// Covered is how much of a span was seen, 0 to 1, at the end of the newest sample.
func (s State) Covered(x Span) float64 {
	end := later(x.End, s.Heard)
	if !x.On() || !end.After(x.Since) {
		return 0
	}
	return min(1, float64(x.Seen)/float64(end.Sub(x.Since)))
}

// Fresh reports whether the newest sample that told something is no older than three
// of its intervals.
func (s State) Fresh(at time.Time) bool {
	return !s.At.IsZero() && at.Sub(s.At) <= 3*s.Interval
}

// Ready reports whether the box may be judged at all: it runs, and has for Busy.Boot. A
// box of which nobody tells when it booted counts from its first sample.
func (s State) Ready(at time.Time, b Busy, box Box) bool {
	up := later(s.BootAt, box.Created)
	if up.IsZero() {
		up = s.From
	}
	return box.Running && !s.Heard.IsZero() && at.Sub(up) >= b.Boot
}

// Reached is when a span has been seen for as long as d: in the past where it has, and
// else the soonest that it can be, if every sample from at on has it. Holes count for
// nothing. Zero where the span does not hold.
func (s State) Reached(x Span, d time.Duration, at time.Time) (when time.Time, is bool) {
	if !x.On() {
		return time.Time{}, false
	}
	if x.Seen >= d {
		return later(x.Since.Add(d), x.End.Add(d-x.Seen)), true
	}
	end := x.End
	if at.Sub(end) > s.Interval+s.Interval/2 {
		end = at
	}
	return later(end.Add(d-x.Seen), at.Add(time.Second)), false
}

// Doubt says why the quiet that samples show must not be acted on without a person; ""
// where it may. Readings of an instant miss the bursts between them. Five minutes
// apart they prove nothing; closer ones prove a quiet that is twice as long as the
// longest pause that there was between two pieces of work, and where something is loaded,
// which may work in bursts, a quiet of [sure] readings. An energy counter sums up what was
// between the readings, bursts and all. And where nobody tells of CPU, network and disk, a
// download or a build goes unseen; where nobody tells whether those type who are logged
// in, they may.
func (s State) Doubt() string {
	if !s.told(cpuSignal, s.Heard) && !s.told(netSignal, s.Heard) && !s.told(diskSignal, s.Heard) {
		return "low confidence: nobody tells of its CPU, network and disk, so a download or a build would go unseen"
	}
	if s.Someone {
		return "low confidence: somebody is logged in, and nobody tells when they last typed"
	}
	if s.Basis != guard.Instantaneous || s.summed() {
		return ""
	}
	switch {
	case s.Interval >= 5*time.Minute:
		return fmt.Sprintf("low confidence: one instant each %s misses what is between", short(s.Interval))
	case s.Idle.On() && s.Pause > 0 && s.Idle.Seen < 2*s.Pause:
		return fmt.Sprintf("low confidence: work came after pauses of %s, and single instants may miss it", short(s.Pause))
	case s.Idle.On() && s.Sort != Empty && s.Idle.Seen < sure*s.Interval:
		return fmt.Sprintf("low confidence: one instant each %s misses bursts, until %d of them were quiet (%s)", short(s.Interval), sure, short(sure*s.Interval))
	}
	return ""
}

// sure is how many readings of an instant it takes to see one burst of a server that works
// for 6.4 % of the time, as they do in the median, with 99.9 %.
const sure = 108

// Confident reports whether an act may rest on the quiet that samples show; see Doubt.
func (s State) Confident() bool { return s.Doubt() == "" }

// summed: each GPU's energy counter was read with the newest sample.
func (s State) summed() bool {
	for _, k := range s.GPUs {
		if !k.Energy.OK || !k.EnergyAt.Equal(s.Heard) || !k.Floor.OK {
			return false
		}
	}
	return len(s.GPUs) > 0
}

// Untold are the signals that nobody has told for a day, of "cpu", "net", "disk",
// "processes", "memory" and "power": what they would show of work goes unseen.
func (s State) Untold() []string {
	var out []string
	for i, name := range signalNames {
		if !s.told(i, s.Heard) {
			out = append(out, name)
		}
	}
	return out
}
