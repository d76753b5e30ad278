package meter

import (
	"testing"
	"time"

	"guard"
)

// ahead is what a box that bills nothing else is paid ahead with.
func (b *bench) ahead(amount string, from time.Duration, renews guard.Tri) func(*guard.Observed) {
	return func(o *guard.Observed) {
		o.Resource.Lump = guard.Lump{From: b.wall(from), Until: b.wall(from + 720*hour), Renews: renews}
		if amount != "" {
			o.Resource.Lump.Amount = guard.MustMoney(amount)
		}
	}
}

var free = guard.Rate{Amount: guard.ZeroMoney("CNY"), Per: time.Hour, Free: true, Source: "api"}

// TestALumpIsPaidOnce: through restarts and readings again, for the lease that covers it,
// and again when it is renewed.
func TestALumpIsPaidOnce(t *testing.T) {
	b := newBench(t)
	b.lease("i-1", "7000 CNY", 0, nil)
	for i := range 4 {
		b.see(guard.Instance, "i-1", time.Duration(i)*hour, free, b.ahead("3000 CNY", 0, guard.Yes))
		b.once(time.Duration(i)*hour + time.Minute)
		b.restart()
		b.once(time.Duration(i)*hour + 2*time.Minute)
	}
	if got := b.owes("i-1", 700*hour); got != "3000.00 CNY" {
		t.Errorf("owes %s", got)
	}
	// The next month fits under the cap, the one after does not.
	if d := b.budget("i-1"); !d.Limit.Equal(b.wall(1440 * hour)) {
		t.Errorf("its cap is reached at %v", d.Limit)
	}
	b.see(guard.Instance, "i-1", 721*hour, free, b.ahead("3000 CNY", 720*hour, guard.No))
	b.once(721 * hour)
	if got := b.owes("i-1", 730*hour); got != "6000.00 CNY" {
		t.Errorf("renewed it owes %s", got)
	}
	for _, d := range b.plan("i-1").Deadlines {
		if d.Reason == guard.DeadlineBudget {
			t.Errorf("it does not renew again, and its cap is reached: %+v", d)
		}
	}
}

// TestALumpOfUnknownAmount is no lump of nothing.
func TestALumpOfUnknownAmount(t *testing.T) {
	b := newBench(t)
	b.lease("i-1", "7000 CNY", 0, nil)
	b.see(guard.Instance, "i-1", 0, free, b.ahead("", 0, guard.Yes))
	b.once(time.Minute)
	if p := b.plan("i-1"); len(p.Unknown) == 0 {
		t.Errorf("nothing is said to be unknown: %+v", p)
	}
	b.see(guard.Instance, "i-1", hour, free, b.ahead("3000 CNY", 0, guard.Yes))
	b.once(hour)
	if got := b.owes("i-1", 2*hour); got != "3000.00 CNY" || len(b.plan("i-1").Unknown) > 0 {
		t.Errorf("owes %s, unknown: %v", got, b.plan("i-1").Unknown)
	}
}

// TestALumpToldNoMore: what was paid was paid, and nobody says that it will be again.
func TestALumpToldNoMore(t *testing.T) {
	b := newBench(t)
	b.lease("i-1", "5000 CNY", 0, nil)
	b.see(guard.Instance, "i-1", 0, free, b.ahead("3000 CNY", 0, guard.Yes))
	b.once(time.Minute)
	b.once(2 * time.Minute)
	if d := b.budget("i-1"); !d.Limit.Equal(b.wall(720 * hour)) {
		t.Fatalf("its cap is reached at %v", d.Limit)
	}
	b.see(guard.Instance, "i-1", hour, free, func(o *guard.Observed) { o.Resource.Lump, o.Pending = guard.Lump{}, nil })
	b.once(hour)
	for _, d := range b.plan("i-1").Deadlines {
		if d.Reason == guard.DeadlineBudget {
			t.Errorf("nobody says that it renews, and its cap is reached: %+v", d)
		}
	}
	if got := b.owes("i-1", 2*hour); got != "3000.00 CNY" {
		t.Errorf("owes %s", got)
	}
}
