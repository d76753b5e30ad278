package spend_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy/spend"
)

// TestReach: at the moment it names, what is spent is enough, and a nanosecond
// before it is not.
func TestReach(t *testing.T) {
	zero := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		second := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 40000).Draw(t, name)) * time.Second
		}
		var segs []guard.Segment
		for range rapid.IntRange(1, 5).Draw(t, "segments") {
			rate, err := guard.ParseRate(rapid.SampledFrom([]string{"240CNY/h", "0.35CNY/month", "1CNY/s", "7.77CNY/h", "3USD/h"}).Draw(t, "rate"))
			if err != nil {
				t.Fatal(err)
			}
			s := guard.Segment{Resource: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")},
				State: guard.StateRunning, Rate: rate, From: zero.Add(second("from")),
				Granularity: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "granularity"),
				Minimum:     rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "minimum")}
			if rapid.Bool().Draw(t, "ends") {
				s.To = s.From.Add(second("lasts"))
			}
			segs = append(segs, s)
		}
		amount := guard.MustMoney(rapid.SampledFrom([]string{"1CNY", "240CNY", "1000CNY", "0.01CNY"}).Draw(t, "amount"))
		from := zero.Add(second("at"))
		enough := func(at time.Time) bool {
			n, err := spend.Spent(segs, at).In("CNY").Cmp(amount)
			return err == nil && n >= 0
		}
		at, ok := spend.Reach(segs, amount, from)
		switch {
		case !ok && enough(from.Add(spend.Horizon)):
			t.Fatal("it is reached, and Reach says never")
		case !ok:
		case at.Before(from) || !enough(at):
			t.Fatalf("not enough at %s", at)
		case at.After(from) && enough(at.Add(-1)):
			t.Fatalf("enough before %s", at)
		}
	})
}
