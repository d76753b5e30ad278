package presence

import "time"

// Clock is how far guard's wall clock is from a provider's own, measured with
// the last complete answer. The ledger keeps one for each account, as the value
// named ClockName.
type Clock struct {
	// Offset is guard's wall clock minus the provider's. It includes the time the
	// answer took and the provider's rounding to seconds.
	Offset time.Duration `json:"offset"`
	At     time.Time     `json:"at"` // by guard's wall clock
}

// ClockName is the name of an account's Clock among the ledger's values.
func ClockName(account string) string { return "clock/" + account }

// Agrees reports whether the two clocks tell the same time, as far as releases
// are concerned: within Skew. A clock that was never compared agrees with
// nothing.
func (c Clock) Agrees() bool { return !c.At.IsZero() && c.Offset.Abs() <= Skew }
