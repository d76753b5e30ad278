package spend

import (
	"math/big"
	"sort"
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
	lo, n := from.UnixNano(), int64(Horizon)
	enough := enough(ps, new(big.Rat).Sub(amount.Rat(), half), lo)
	if !enough(lo + n) {
		return time.Time{}, false
	}
	return time.Unix(0, lo+int64(sort.Search(int(n), func(d int) bool { return enough(lo + int64(d)) }))).UTC(), true
}

// enough tells of moments from lo on whether the pieces owe at least so much. It
// counts in whole parts of their common denominator, since it is asked often.
func enough(ps []piece, least *big.Rat, lo int64) func(t int64) bool {
	den := big.NewInt(1)
	for _, p := range ps {
		g := new(big.Int).GCD(nil, nil, den, p.perNano.Denom())
		den.Mul(den, g.Quo(p.perNano.Denom(), g))
	}
	// Pieces that are over by then owe the same ever after.
	least = new(big.Rat).Mul(new(big.Rat).Sub(least, sum(ended(ps, lo), lo)), new(big.Rat).SetInt(den))
	need := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(least.Num()), least.Denom())) // rounded up
	type part struct {
		p       piece
		perNano *big.Int
	}
	var parts []part
	for _, p := range ps {
		if p.to > lo {
			per := new(big.Int).Quo(den, p.perNano.Denom())
			parts = append(parts, part{p, per.Mul(per, p.perNano.Num())})
		}
	}
	total, product, nanos := new(big.Int), new(big.Int), new(big.Int)
	return func(t int64) bool {
		total.SetInt64(0)
		for _, p := range parts {
			total.Add(total, product.Mul(p.perNano, nanos.SetInt64(p.p.billed(t))))
		}
		return total.Cmp(need) >= 0
	}
}

func ended(ps []piece, t int64) []piece {
	var out []piece
	for _, p := range ps {
		if p.to <= t {
			out = append(out, p)
		}
	}
	return out
}
