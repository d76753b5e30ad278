package presence

import (
	"slices"
	"time"

	"guard"
)

// Lasts is how long what a provider told of the time holds on the elapsed axis,
// which no step touches: within that, a machine's own clock strays less than Skew.
const Lasts = 24 * time.Hour

// Clock is what one provider told of the time, with the last complete answers. The
// ledger keeps one for each account, as the value named ClockName.
type Clock struct {
	// Boot is the boot that the elapsed times below count in.
	Boot string `json:"boot,omitzero"`
	// Sure is the provider's time that two readings agree on, and Odd one that does
	// not go with it and was read once.
	Sure guard.Instant `json:"sure,omitzero"`
	Odd  guard.Instant `json:"odd,omitzero"`
}

// ClockName is the name of an account's Clock among the ledger's values.
func ClockName(account string) string { return "clock/" + account }

// Hear takes in what a provider tells of the time, read at an instant. What does not
// go with what is sure becomes sure when a reading at least two polls later says the
// same, so that one odd answer moves nothing. A clock of another boot begins anew.
func (c Clock) Hear(told time.Time, at guard.Instant, boot string, poll time.Duration) Clock {
	if c.Boot != boot || at.Before(c.Sure) || at.Before(c.Odd) {
		c = Clock{Boot: boot}
	}
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

// last is what the clock told last, carried on to an instant by the time that has
// elapsed; false where that is of another boot, or too old to say anything.
func (c Clock) last(boot string, at guard.Instant) (time.Time, bool) {
	if !c.Odd.IsZero() {
		return carried(c.Odd, c.Boot, boot, at)
	}
	return carried(c.Sure, c.Boot, boot, at)
}

func carried(told guard.Instant, in, boot string, at guard.Instant) (time.Time, bool) {
	age := at.Sub(told)
	return told.Wall.Add(age), boot != "" && in == boot && !told.IsZero() && age <= Lasts
}

// agreed is the time on which most of the clocks that are sure agree within Skew;
// false where they do not.
func agreed(clocks []Clock, boot string, at guard.Instant) (time.Time, bool) {
	var told []time.Time
	for _, c := range clocks {
		if t, ok := carried(c.Sure, c.Boot, boot, at); ok {
			told = append(told, t)
		}
	}
	if len(told) == 0 {
		return time.Time{}, false
	}
	slices.SortFunc(told, time.Time.Compare)
	middle, agree := told[len(told)/2], 0
	for _, t := range told {
		if t.Sub(middle).Abs() <= Skew {
			agree++
		}
	}
	return middle, 2*agree > len(told)
}
