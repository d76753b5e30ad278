package policy

import (
	"slices"
	"time"

	"guard"
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
