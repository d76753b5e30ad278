package spend

import (
	"math/big"
	"time"

	"guard"
)

// half is what rounding up to the decimal places of [guard.MoneyFromRat] adds at most.
var half = big.NewRat(1, 2e12)

// Reach is the first moment, not before from, at which what the segments owe, as
// [Spent] rounds it, is at least the amount, with open segments going on for ever.
// Parts in other currencies or of unknown rate are left out. It is false where
// that is not within Horizon of from, or the amount is none.
func Reach(segs []guard.Segment, amount guard.Money, from time.Time) (time.Time, bool) {
	if !amount.IsSet() {
		return time.Time{}, false
	}
	var ps []piece
	for _, p := range pieces(segs) {
		if p.perNano != nil && p.seg.Rate.Currency() == amount.Currency() {
			ps = append(ps, p)
		}
	}
	q := newQuest(ps)
	// At least so much is more than a part less.
	least := q.parts(new(big.Rat).Sub(half, amount.Rat()))
	q.most = least.Not(least)
	lo, hi := from.UnixNano(), from.Add(Horizon).UnixNano()
	switch {
	case q.over(lo):
		return from.UTC(), true
	case !q.over(hi):
		return time.Time{}, false
	}
	return time.Unix(0, q.first(lo, hi)).UTC(), true
}
