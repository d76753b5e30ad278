package daemon_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// Whatever the price, the disks, the poll, the billing unit and the time that a
// release takes (declared), spend lands under the cap, and within lead, one
// billing unit and 60 s of burn of it.
func TestBudgetAlwaysLands(t *testing.T) {
	runs, closest, farthest := 0, big.NewRat(1, 1), new(big.Rat)
	rapid.Check(t, func(rt *rapid.T) {
		cents := rapid.IntRange(20, 9800).Draw(rt, "cents per hour")
		budgetHours := rapid.IntRange(3, 6).Draw(rt, "cap in hours of it")
		poll := rapid.SampledFrom([]string{"60s", "7m", "1h"}).Draw(rt, "poll")
		unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(rt, "billing unit")
		takes := rapid.SampledFrom([]time.Duration{fake.AtOnce, 5 * time.Second, 30 * time.Second, 4 * time.Minute}).Draw(rt, "a release takes")
		age := time.Duration(rapid.IntRange(0, 50).Draw(rt, "minutes before guard saw it")) * time.Minute
		disks := rapid.IntRange(0, 3).Draw(rt, "disks")
		s := fake.Script{Account: "lab", ReleaseTakes: takes, Billing: fake.Billing{Granularity: unit, Minimum: time.Minute},
			Lag: fake.Lag{Disappears: time.Minute}}
		box := fake.Resource{ID: "i-1", Created: -age, Rate: &fake.Rate{Amount: fmt.Sprintf("%d.%02d", cents/100, cents%100), Per: "hour"}}
		family := []string{"i-1"}
		for i := range disks {
			id := fmt.Sprintf("v-%d", i)
			box.Attached, family = append(box.Attached, id), append(family, id)
			s.Resources = append(s.Resources, fake.Resource{ID: id, Kind: guard.Volume, SizeGB: 500, Created: -age, GoesWithInstance: true,
				Rate: &fake.Rate{Amount: "0.10", Per: "gb_month"}})
		}
		s.Resources = append(s.Resources, box)

		w := newWorld(t, fmt.Sprintf("mode: enforce\naccounts:\n  - {name: lab, provider: fake, poll: %s, sweep: 10m}\n", poll), s)
		w.until(10 * time.Minute)
		budget := guard.MustMoney(fmt.Sprintf("%dUSD", 1+cents*budgetHours/100))
		w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: budget.String(), TTL: "30d"})
		for w.clouds["lab"].Truth("i-1") != fake.TruthGone {
			w.until(w.offset() + time.Hour)
			if w.offset() > 60*time.Hour {
				rt.Fatalf("never released: %+v", w.item("lab/i-1"))
			}
		}
		spent := w.spent("lab", family...)
		if spent.Cmp(budget.Rat()) > 0 {
			rt.Fatalf("spent %s of %s", spent.FloatString(6), budget)
		}
		// Disks round to their own unit each.
		burn := new(big.Rat).Add(big.NewRat(int64(cents), 100), big.NewRat(int64(disks)*50, 730))
		slack := max(takes, 0) + unit + 60*time.Second
		most := burn.Mul(burn, big.NewRat(int64(slack), int64(time.Hour)))
		left := new(big.Rat).Sub(budget.Rat(), spent)
		if left.Cmp(most) > 0 {
			rt.Fatalf("unspent %s of %s, at most %s (lead, a unit and 60 s of burn) was promised", left.FloatString(6), budget, most.FloatString(6))
		}
		runs++
		share := new(big.Rat).Quo(left, budget.Rat())
		if share.Cmp(closest) < 0 {
			closest = share
		}
		if share.Cmp(farthest) > 0 {
			farthest = share
		}
	})
	percent := func(r *big.Rat) string { return new(big.Rat).Mul(r, big.NewRat(100, 1)).FloatString(3) + " %" }
	t.Logf("%d runs landed under their caps; unspent between %s and %s of the cap", runs, percent(closest), percent(farthest))
}
