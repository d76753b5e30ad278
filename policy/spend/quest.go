package spend

import (
	"math/big"
	"sort"
)

// quest looks for the moment at which pieces, all of known rate and of one
// currency, come to owe more than an amount. It asks often, so it counts in whole
// parts of the rates' common denominator.
type quest struct {
	ps      []piece
	perNano []*big.Int
	whole   *big.Int // parts in one of the currency
	most    *big.Int // what they may owe, in parts
	ended   *big.Int // what the pieces that are left out owe

	total, product, nanos big.Int
}

func newQuest(ps []piece) *quest {
	q := &quest{ps: ps, whole: big.NewInt(1), ended: new(big.Int)}
	for _, p := range ps {
		g := new(big.Int).GCD(nil, nil, q.whole, p.perNano.Denom())
		q.whole.Mul(q.whole, g.Quo(p.perNano.Denom(), g))
	}
	for _, p := range ps {
		n := new(big.Int).Quo(q.whole, p.perNano.Denom())
		q.perNano = append(q.perNano, n.Mul(n, p.perNano.Num()))
	}
	return q
}

// parts is an amount in whole parts, rounded down.
func (q *quest) parts(amount *big.Rat) *big.Int {
	n := new(big.Int).Mul(amount.Num(), q.whole)
	return n.Div(n, amount.Denom())
}

// owed is what the pieces owe at t. It holds until it is asked again.
func (q *quest) owed(t int64) *big.Int {
	q.total.Set(q.ended)
	for i, p := range q.ps {
		if n := p.billed(t); n > 0 {
			q.total.Add(&q.total, q.product.Mul(q.perNano[i], q.nanos.SetInt64(n)))
		}
	}
	return &q.total
}

func (q *quest) over(t int64) bool { return q.owed(t).Cmp(q.most) > 0 }

// first is the first moment over the amount, in a stretch that begins before it and
// ends after it.
func (q *quest) first(lo, hi int64) int64 {
	q.settle(lo)
	lo, hi = q.narrow(lo, hi)
	// What is owed never falls, so it is found by halving.
	return lo + int64(sort.Search(int(hi-lo), func(d int) bool { return q.over(lo + int64(d)) }))
}

// settle leaves out the pieces that are over at lo: they owe the same ever after.
func (q *quest) settle(lo int64) {
	var ps []piece
	var perNano []*big.Int
	for i, p := range q.ps {
		if p.to <= lo {
			q.ended.Add(q.ended, q.product.Mul(q.perNano[i], q.nanos.SetInt64(p.billed(lo))))
			continue
		}
		ps, perNano = append(ps, p), append(perNano, q.perNano[i])
	}
	q.ps, q.perNano = ps, perNano
}

// narrow moves lo and hi towards where the open pieces would cross if each went on
// from lo evenly; they do, but for the unit that each has begun.
func (q *quest) narrow(lo, hi int64) (from, to int64) {
	pace, unit := new(big.Int), int64(0)
	for i, p := range q.ps {
		if p.to == forever {
			pace.Add(pace, q.perNano[i])
			unit = max(unit, p.unit, p.first)
		}
	}
	if pace.Sign() <= 0 {
		return lo, hi
	}
	left := new(big.Int).Sub(q.most, q.owed(lo))
	if left.Quo(left, pace); !left.IsInt64() || left.Sign() < 0 || left.Int64() > hi-lo {
		return lo, hi
	}
	about := lo + left.Int64()
	for _, t := range []int64{about - 2*unit - 1, about, about + 1, about + 2*unit + 1} {
		switch {
		case t <= lo || t >= hi:
		case q.over(t):
			return lo, t
		default:
			lo = t
		}
	}
	return lo, hi
}
