package policy

import (
	"cmp"
	"slices"

	"guard"
)

// group is what several amounts are shown under.
type group struct {
	name  string
	count int
	sums  []guard.Money
	parts []group
}

// add counts amounts, one a currency.
func (g *group) add(ms ...guard.Money) {
	g.count++
next:
	for _, m := range ms {
		if !m.IsSet() {
			continue
		}
		for i, s := range g.sums {
			if sum, err := s.Add(m); err == nil {
				g.sums[i] = sum
				continue next
			}
		}
		g.sums = append(g.sums, m)
	}
}

// under is the group of a name, made where there is none.
func under(gs []group, name string) ([]group, *group) {
	i := slices.IndexFunc(gs, func(g group) bool { return g.name == name })
	if i < 0 {
		i, gs = len(gs), append(gs, group{name: name})
	}
	return gs, &gs[i]
}

// dearest sorts groups by their money.
func (w digestWriter) dearest(gs []group) {
	slices.SortStableFunc(gs, func(a, b group) int {
		return cmp.Or(w.dearer(a.sums, b.sums), cmp.Compare(a.name, b.name))
	})
}

// dearer compares sums, the greater first: in the base currency, where that is known; what
// is not comes after that, by currency.
func (w digestWriter) dearer(a, b []guard.Money) int {
	place := func(ms []guard.Money) (int, guard.Money) {
		ms = positive(ms)
		if len(ms) == 0 {
			return 2, guard.Money{}
		}
		if sum, ok := w.together(append(ms, guard.ZeroMoney(ms[0].Currency()))); ok {
			return 0, sum
		}
		return 1, slices.MinFunc(ms, func(x, y guard.Money) int { return cmp.Compare(x.Currency(), y.Currency()) })
	}
	i, m := place(a)
	j, n := place(b)
	if i != j || m.Currency() != n.Currency() {
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(m.Currency(), n.Currency()))
	}
	c, _ := n.Cmp(m)
	return c
}
