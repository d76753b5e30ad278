package egress

import (
	"time"

	"guard"
)

// absurd is what no counter of bytes comes to: a line of 100 Gbit/s takes eleven years.
const absurd = 1 << 62

// brisk is a rate in bytes a second at which a counter that begins anew in one boot may
// have moved since, whatever it moved at before.
const brisk = 100e6

// step is one reading of an interface after another.
type step struct {
	from guard.Counter // as last believed; 0 at the last sample where the boot is new
	at   time.Time
	// since is from when on its bytes may have been sent: from, or before where it stood
	// still until then.
	since time.Time
	// before is what was believed in the boot before, where the boot is new.
	before *guard.Counter
	// odd is a reading since then that was not believed.
	odd  *guard.Counter
	same bool // the boot is known to be the same
	// most is what the line carries, and shown what it has been seen to carry, in bytes
	// a second.
	most, shown float64
	// hole is how long nothing may be read before a jump is one over a hole.
	hole time.Duration
}

// moved is what a counter did in a step.
type moved struct {
	bytes uint64
	from  time.Time // since when they may have been sent
	// jump is what it moved before that, over a hole, and is in doubt.
	jump          uint64
	stands        uint64 // what it is to be counted on from
	resets, wraps int
	// doubt: a second reading has to agree first. wrong: no line carries that much.
	doubt, wrong bool
}

// move judges one counter. Pick finds it in another reading.
func (s step) move(bits int, a, b uint64, pick func(guard.Counter) uint64) moved {
	if b > absurd {
		return moved{doubt: true, wrong: true}
	}
	m := moved{stands: b, from: s.since}
	switch {
	case b >= a:
		m.bytes = b - a
	case b == 0:
		// Not told, or begun anew: then it is soon above 0, and below what it was.
		return moved{stands: a, from: s.since}
	case s.wraps(bits, a, b):
		m.bytes, m.wraps = b+1<<32-a, 1
	case b >= a/2:
		// Far more likely it ran backwards than that it began anew and sent this much.
		return s.elsewhere(b, pick)
	case s.same && (s.odd == nil || b < pick(*s.odd)):
		// In one boot a counter seldom begins anew: a second reading has to show that it
		// is none of long ago, from a clock that was ahead.
		return moved{doubt: true}
	case s.same && !carries(max(brisk, 2*s.shown), b, s.at.Sub(s.from.At)):
		// More than it has begun anew with, as far as anything shows: it tells of long ago.
		return s.elsewhere(b, pick)
	default:
		m.bytes, m.resets = b, 1
	}
	switch {
	case carries(s.most, m.bytes, s.at.Sub(s.since)):
		return s.judge(m, b, pick)
	case s.before != nil && b >= pick(*s.before) && carries(s.most, b-pick(*s.before), s.at.Sub(s.before.At)):
		m.bytes = b - pick(*s.before) // another boot was told, and there was none
		return m
	}
	return s.elsewhere(b, pick)
}

// elsewhere is for a counter that stands where it cannot have come to: where it stood
// there the time before, too, it counts on from that.
func (s step) elsewhere(b uint64, pick func(guard.Counter) uint64) moved {
	if s.odd != nil && b >= pick(*s.odd) && carries(s.most, b-pick(*s.odd), s.at.Sub(s.odd.At)) {
		return moved{bytes: b - pick(*s.odd), stands: b, from: s.since}
	}
	return moved{doubt: true, wrong: true}
}

// wraps reports whether a counter that fell has run over at 2³². Where nobody tells how
// wide it is, that wants one boot and a fall from the upper half to the lower; one of 64
// bits never runs over.
func (s step) wraps(bits int, a, b uint64) bool {
	if a >= 1<<32 || bits != 0 && bits != 32 || s.before != nil {
		return false
	}
	if bits == 32 {
		return carries(s.most, b+1<<32-a, s.at.Sub(s.from.At))
	}
	return s.same && a >= 1<<31 && b < 1<<31
}

// carries reports whether a line of a rate in bytes a second carries so many bytes in a
// time. Two readings are seldom taken at exactly the times that they are stamped with.
func carries(rate float64, bytes uint64, took time.Duration) bool {
	return float64(bytes) <= rate*(took.Seconds()+1)
}
