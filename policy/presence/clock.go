package presence

import (
	"slices"
	"time"

	"guard"
)

// Lasts is how long what a provider told of the time holds on the elapsed axis,
// which no step touches: within that, a machine's own clock strays less than Skew.
const Lasts = 24 * time.Hour

// Clock is what one provider told of the time, with the last complete answers, and
// how far guard's wall clock was from it. The ledger keeps one for each account, as
// the value named ClockName.
type Clock struct {
	// Offset is guard's wall clock minus the provider's. It includes the time the
	// answer took and the provider's rounding to seconds.
	Offset time.Duration `json:"offset"`
	At     time.Time     `json:"at"` // by guard's wall clock
	// Boot is the boot that the elapsed times below count in.
	Boot string `json:"boot,omitzero"`
	// Sure is the provider's time that two readings agree on, and Odd one that does
	// not go with it and was read once.
	Sure guard.Instant `json:"sure,omitzero"`
	Odd  guard.Instant `json:"odd,omitzero"`
}

// ClockName is the name of an account's Clock among the ledger's values.
func ClockName(account string) string { return "clock/" + account }

// Agrees reports whether the two clocks tell the same time, as far as releases
// are concerned: within Skew. A clock that was never compared agrees with
// nothing.
func (c Clock) Agrees() bool { return !c.At.IsZero() && c.Offset.Abs() <= Skew }

// Hear takes in what a provider tells of the time, read at an instant. What does not
// go with what is sure becomes sure when a reading at least two polls later says the
// same, so that one odd answer moves nothing. A clock of another boot begins anew.
func (c Clock) Hear(told time.Time, at guard.Instant, boot string, poll time.Duration) Clock {
	if c.Boot != boot || at.Before(c.Sure) || at.Before(c.Odd) {
		c = Clock{Boot: boot}
	}
	c.Offset, c.At = at.Wall.Sub(told), at.Wall
	heard := guard.Instant{Wall: told.UTC(), Elapsed: at.Elapsed}
	switch {
	case goesWith(c.Sure, heard), goesWith(c.Odd, heard) && heard.Sub(c.Odd) >= 2*poll:
		c.Sure, c.Odd = heard, guard.Instant{}
	case !goesWith(c.Odd, heard):
		c.Odd = heard
	}
	return c
}

// goesWith reports whether a clock that told the one can have told the other.
func goesWith(earlier, later guard.Instant) bool {
	return !earlier.IsZero() && earlier.Add(later.Sub(earlier)).Wall.Sub(later.Wall).Abs() <= Skew
}

// Now is an instant as the providers tell the time: its wall time is that on which
// most of the clocks agree, carried on by the time that has elapsed, where guard's
// own is farther from it than Skew. Where they do not say, the instant is as it was:
// clocks count that are sure, of this boot (which must be known) and no older than
// Lasts.
func Now(clocks []Clock, boot string, at guard.Instant) guard.Instant {
	var told []time.Time
	for _, c := range clocks {
		age := at.Sub(c.Sure)
		if boot != "" && c.Boot == boot && !c.Sure.IsZero() && age >= 0 && age <= Lasts {
			told = append(told, c.Sure.Add(age).Wall)
		}
	}
	if len(told) == 0 {
		return at
	}
	slices.SortFunc(told, time.Time.Compare)
	middle, agree := told[len(told)/2], 0
	for _, t := range told {
		if t.Sub(middle).Abs() <= Skew {
			agree++
		}
	}
	if 2*agree > len(told) && middle.Sub(at.Wall).Abs() > Skew {
		at.Wall = middle
	}
	return at
}
