package policy

import (
	"slices"
	"time"

	"guard"
	"guard/policy/presence"
)

// CeilingOf is until when a lease may last at most, counted from when its instance
// was first registered; false where no life is set.
func (r Rules) CeilingOf(l guard.Lease) (time.Time, bool) {
	if r.Ceilings.TTL <= 0 {
		return time.Time{}, false
	}
	return l.Since().Add(r.Ceilings.TTL), true
}

// MoneyCeiling is what a lease may cost at most in a currency, from the provider's
// start. Ok is false where the currency has none; configured tells whether any has,
// so that what bills in another one is refused rather than left without a bound.
func (r Rules) MoneyCeiling(currency string) (m guard.Money, ok, configured bool) {
	i := slices.IndexFunc(r.Ceilings.Budget, func(m guard.Money) bool { return m.Currency() == currency })
	if i < 0 {
		return guard.Money{}, false, len(r.Ceilings.Budget) > 0
	}
	return r.Ceilings.Budget[i], true, true
}

// Follow returns a new lease as the one that comes after an older one of the same
// ID. Where that was of this very instance, its beginning goes on to count, so that
// nobody gets past a ceiling by registering again what was thought gone. Only a
// creation time that the provider tells says so: where it tells none, an ID may be
// another thing's.
func Follow(l, old guard.Lease) guard.Lease {
	known := !old.ResourceCreated.IsZero() && !l.ResourceCreated.IsZero()
	if known && presence.SameCreation(old.ResourceCreated, l.ResourceCreated) && old.Since().Before(l.Since()) {
		l.FirstRegistered = old.Since()
	}
	return l
}
