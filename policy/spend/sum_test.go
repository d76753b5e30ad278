package spend

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

// TestDaysAreTheWhole: however a stretch of time is cut into days, and things into
// leases, the parts come to exactly what each lease and each thing has spent in all.
func TestDaysAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leases := []string{"", "a", "b"}
		segs := drawSegments(t, false)
		for i := range segs {
			segs[i].Lease = rapid.SampledFrom(leases).Draw(t, "lease")
		}
		end := t0.Add(time.Duration(rapid.IntRange(0, 7200).Draw(t, "end")) * time.Second)
		cuts := []time.Time{t0.Add(-time.Hour), end}
		for range rapid.IntRange(0, 5).Draw(t, "cuts") {
			cuts = append(cuts, t0.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(t0))).Draw(t, "cut"))))
		}
		slices.SortFunc(cuts, time.Time.Compare)

		var all Sum
		for _, lease := range leases {
			own := slices.DeleteFunc(slices.Clone(segs), func(s guard.Segment) bool { return s.Lease != lease })
			var days Sum
			for i := range cuts[1:] {
				var day Sum
				day.Add(own, cuts[i], cuts[i+1])
				days.Join(day)
			}
			want := Spent(own, end)
			same(t, days.Total(), want)
			all.Join(days)
		}
		exact := map[string]*big.Rat{}
		for _, lease := range leases {
			own := slices.DeleteFunc(slices.Clone(segs), func(s guard.Segment) bool { return s.Lease != lease })
			for _, p := range pieces(own) {
				if n := p.billed(end.UnixNano()); p.perNano != nil {
					c := p.seg.Rate.Currency()
					if exact[c] == nil {
						exact[c] = new(big.Rat)
					}
					exact[c].Add(exact[c], new(big.Rat).Mul(p.perNano, new(big.Rat).SetInt64(n)))
				}
			}
		}
		for c, want := range exact {
			if all.known[c].Cmp(want) != 0 {
				t.Fatalf("all leases together spent %s %s, and the sum is %s", want, c, all.known[c])
			}
		}
	})
}

func same(t *rapid.T, got, want Total) {
	t.Helper()
	for _, m := range want.Known {
		if !got.In(m.Currency()).Equal(m) {
			t.Fatalf("the days come to %s, and %s was spent", got.Known, want.Known)
		}
	}
	for _, p := range want.Unknown {
		if !slices.ContainsFunc(got.Unknown, func(q Part) bool { return q.Resource == p.Resource }) {
			t.Fatalf("that %s has no known price is not said of any day", p.Resource)
		}
	}
}

// What bills at an unknown price is said of the days in which it did, and of no other.
func TestUnknownIsOfItsDays(t *testing.T) {
	segs := []guard.Segment{seg("i", guard.Rate{}, time.Hour, 2*time.Hour)}
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{{0, time.Hour, 0}, {0, time.Hour + 1, 1}, {2 * time.Hour, 3 * time.Hour, 0}, {time.Hour, 3 * time.Hour, 1}} {
		var s Sum
		s.Add(segs, t0.Add(c.from), t0.Add(c.to))
		if got := len(s.Total().Unknown); got != c.want {
			t.Errorf("from %s to %s: %d parts of unknown price, want %d", c.from, c.to, got, c.want)
		}
	}
}
