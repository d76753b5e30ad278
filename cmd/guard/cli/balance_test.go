package cli

import (
	"testing"
	"time"

	"guard/daemon/wire"
)

func TestWhatIsLeftIsSaid(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 0, 0, 0, time.FixedZone("", 8*3600))
	at, tue, far := now.Add(-2*time.Hour), now.Add(3*24*time.Hour+9*time.Hour+40*time.Minute), now.AddDate(0, 0, 20)
	for want, b := range map[string]*wire.Balance{
		"":                                nil,
		"57.00 CNY left, empty Tue 03:40": {Left: "57.00 CNY", Known: true, Empty: &tue},
		"57.00 CNY left, empty 2026-03-26 18:00 at the latest": {Left: "57.00 CNY", Known: true, Empty: &far, AtLatest: true},
		"57.00 CNY left":          {Left: "57.00 CNY", Known: true},
		"-0.48 USD left, used up": {Left: "-0.48 USD", Known: true, UsedUp: true},
		"57.00 CNY left, empty Tue 03:40 by the reading of 2h ago: the provider says 403": {Left: "57.00 CNY", At: &at, Empty: &tue, Error: "the provider says 403"},
		"balance not known: the provider says 403":                                        {Error: "the provider says 403"},
	} {
		if got := left(now, b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatIsPaidAheadIsSaid(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 0, 0, 0, time.FixedZone("", 8*3600))
	until, amount := now.AddDate(0, 0, 20), "3000.00 CNY"
	for want, it := range map[string]wire.Item{
		"": {},
		"ahead, 3000.00 CNY: cannot stop paying until 2026-03-26 18:00:00 +08:00, in 20d, and is paid again then":           {PaidUntil: &until, Paid: &amount, Renews: "yes"},
		"ahead, 3000.00 CNY: cannot stop paying until 2026-03-26 18:00:00 +08:00, in 20d":                                   {PaidUntil: &until, Paid: &amount, Renews: "no"},
		"ahead, an unknown amount: cannot stop paying until 2026-03-26 18:00:00 +08:00, in 20d, and may be paid again then": {PaidUntil: &until, Renews: "unknown"},
	} {
		if got := paidAhead(now, it); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	past := now.Add(-time.Hour)
	if got := ends(now, wire.Item{Kind: "instance", Lease: "active", Deadline: &past, DeadlineReason: "budget", PaidUntil: &until}); got != "paid until 2026-03-26 18:00" {
		t.Errorf("it ends %q", got)
	}
}
