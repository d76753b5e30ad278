package spend

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"guard"
)

// Sum adds up exactly what segments owe, by currency, and is rounded once, by Total. The
// zero value is nothing yet.
type Sum struct {
	known   map[string]*big.Rat
	unknown []Part
}

// Add adds what the segments come to owe from one moment to another: what [Spent] tells
// at the second less what it tells at the first, so that the days of a month are the
// month. A unit counts in full to the moment at which it begins. The segments are all
// that there are of whatever they are of: a run of units that is cut in two is not what
// is billed.
func (s *Sum) Add(segs []guard.Segment, from, to time.Time) {
	s.add(segs, from.UnixNano(), to.UnixNano())
}

func (s *Sum) add(segs []guard.Segment, from, to int64) {
	for _, p := range pieces(segs) {
		if p.perNano == nil {
			if p.from < to && p.to > from {
				s.unknown = addPart(s.unknown, Part{Resource: p.seg.Resource, Since: p.seg.From})
			}
			continue
		}
		owed := s.currency(p.seg.Rate.Currency())
		if n := p.billed(to) - p.billed(from); n > 0 {
			owed.Add(owed, new(big.Rat).Mul(p.perNano, new(big.Rat).SetInt64(n)))
		}
	}
}

// currency is what is owed in one so far.
func (s *Sum) currency(code string) *big.Rat {
	if s.known == nil {
		s.known = map[string]*big.Rat{}
	}
	if s.known[code] == nil {
		s.known[code] = new(big.Rat)
	}
	return s.known[code]
}

// Join adds another sum.
func (s *Sum) Join(o Sum) {
	for code, r := range o.known {
		owed := s.currency(code)
		owed.Add(owed, r)
	}
	for _, p := range o.unknown {
		s.unknown = addPart(s.unknown, p)
	}
}

// Total is what it comes to.
func (s *Sum) Total() Total {
	out := Total{Unknown: s.unknown}
	for code, r := range s.known {
		if m, err := guard.MoneyFromRat(r, code); err == nil {
			out.Known = append(out.Known, m)
		}
	}
	slices.SortFunc(out.Known, func(a, b guard.Money) int { return strings.Compare(a.Currency(), b.Currency()) })
	return out
}

// Spent is what the segments owe at a moment. A unit that has started is owed in
// full; segments later than the moment count nothing.
func Spent(segs []guard.Segment, until time.Time) Total {
	var s Sum
	s.add(segs, math.MinInt64, until.UnixNano())
	return s.Total()
}
