package guard_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

// TestKnownIsWhatTheArithmeticSays: what few digits tell is what the exact product
// tells, whatever the amount, the period and the units.
func TestKnownIsWhatTheArithmeticSays(t *testing.T) {
	most := big.NewRat(1_000_000_000, 1)
	rapid.Check(t, func(t *rapid.T) {
		r := guard.Rate{
			Amount: guard.MustMoney(rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})? USD`).Draw(t, "amount")),
			Per:    time.Duration(rapid.SampledFrom([]int64{1, 3, int64(time.Second), 1001, int64(time.Minute), int64(time.Hour) - 1, int64(time.Hour), int64(guard.Month)}).Draw(t, "per")),
			Units: rapid.OneOf(rapid.StringMatching(`[0-9]{0,9}(\.[0-9]{0,4})?`),
				rapid.SampledFrom([]string{"", "0", "0.000", "-1", "+8", "8", "0xFFFFFFFFF", "1_000_000_000", "1e3", "1/2", ".", "1.2.3", strings.Repeat("0", 20) + "1"})).Draw(t, "units"),
			Free: rapid.Bool().Draw(t, "free"),
		}
		units, ok := big.NewRat(1, 1), true
		if r.Units != "" {
			units, ok = new(big.Rat).SetString(r.Units)
			ok = ok && units.Sign() > 0 && len(r.Units) <= 20 && !strings.ContainsAny(r.Units, "eE/")
		}
		want := ok && r.Free
		if ok && !r.Amount.IsZero() {
			hourly := new(big.Rat).Mul(r.Amount.Rat(), units)
			hourly.Mul(hourly, big.NewRat(int64(time.Hour), int64(r.Per)))
			want = hourly.Cmp(most) < 0
		}
		if r.Known() != want {
			t.Fatalf("%+v is known: %v, want %v", r, r.Known(), want)
		}
		if o := r; !r.Same(o) {
			t.Fatalf("%+v is not the same as itself", r)
		}
	})
}

func BenchmarkRateKnown(b *testing.B) {
	r := guard.Rate{Amount: guard.MustMoney("0.35 CNY"), Per: guard.Month, Source: "api"}.PerGB(500)
	b.ReportAllocs()
	for b.Loop() {
		if !r.Known() {
			b.Fatal("unknown")
		}
	}
}

func TestKnownWorksNothingOut(t *testing.T) {
	r := guard.Rate{Amount: guard.MustMoney("0.35 CNY"), Per: guard.Month, Source: "api"}.PerGB(500)
	if n := testing.AllocsPerRun(100, func() { r.Known() }); n > 3 {
		t.Errorf("%v allocations", n)
	}
}
