package spend

import (
	"math/big"
	"time"

	"guard"
)

const (
	// BilledAgain is how far apart two readings of a bill must be to be two.
	BilledAgain = 30 * time.Minute
	// billedWithin is how near, in percent of it, a bill is to the price that it confirms.
	billedWithin = 5
)

// billed puts an odd rate in force that the provider's own bill confirms in two readings,
// from when it was reported first (law 8).
func (f *folder) billed() {
	b, n := f.in.Bill, len(f.life)
	if f.odd == nil || n == 0 || b.Last.Read.Sub(b.Before.Read) < BilledAgain || !f.confirms(b.Before) || !f.confirms(b.Last) {
		return
	}
	open := f.life[n-1]
	first := n - 1
	for ; first > 0 && f.life[first].From.After(f.oddSince); first-- {
		if f.life[first-1].State != open.State {
			break
		}
	}
	if !open.To.IsZero() || !f.oddIn(open.State) || f.life[first].From.After(f.oddSince) {
		return // it was not in one state all the time: which one's price it is cannot be told
	}
	for i := f.split(first, f.oddSince); i < len(f.life); i++ {
		f.life[i].Rate, f.life[i].Provisional, f.life[i].Was = *f.odd, 0, nil
	}
	f.tell(EventBilled, f.in.At, open.Rate, *f.odd)
	f.believe()
}

// confirms reports whether a reading of the bill, of a time since the odd rate is reported,
// is what that rate makes.
func (f *folder) confirms(b guard.Billed) bool {
	if !b.Amount.IsPositive() || b.Amount.Currency() != f.odd.Currency() || b.From.Before(f.oddSince) || !b.From.Before(b.To) {
		return false
	}
	want := f.odd.Over(b.To.Sub(b.From))
	if want == nil {
		return false
	}
	off := new(big.Rat).Sub(b.Amount.Rat(), want)
	return off.Abs(off).Cmp(want.Mul(want, big.NewRat(billedWithin, 100))) <= 0
}
