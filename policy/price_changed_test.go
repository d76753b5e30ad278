package policy_test

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// TestWorkersAreNoPrice: an endpoint that has more workers, or fewer, has no other price;
// what one worker costs is one, and is told for all that comes and goes since.
func TestWorkersAreNoPrice(t *testing.T) {
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	of := func(n, each string, from, to int) guard.Segment {
		s := guard.Segment{State: guard.StateRunning, From: at(from),
			Rate: guard.Rate{Amount: guard.MustMoney(each + " USD"), Per: time.Hour, Units: n, Unit: guard.UnitWorker}}
		if to > 0 {
			s.To = at(to)
		}
		return s
	}
	for name, c := range map[string]struct {
		segments []guard.Segment
		since    time.Time
	}{
		"more of them":                {[]guard.Segment{of("1", "2", 0, 3), of("40", "2", 3, 0)}, time.Time{}},
		"another price":               {[]guard.Segment{of("1", "2", 0, 3), of("1", "3", 3, 0)}, at(3)},
		"another price, and more":     {[]guard.Segment{of("1", "2", 0, 3), of("40", "3", 3, 0)}, at(3)},
		"another price, then more":    {[]guard.Segment{of("1", "2", 0, 3), of("1", "3", 3, 5), of("9", "3", 5, 0)}, at(3)},
		"more, then another price":    {[]guard.Segment{of("1", "2", 0, 3), of("9", "2", 3, 5), of("9", "3", 5, 0)}, at(5)},
		"as many at the same again":   {[]guard.Segment{of("1", "2", 0, 3), of("9", "2", 3, 5), of("1", "2", 5, 0)}, time.Time{}},
		"the half of them, at double": {[]guard.Segment{of("2", "2", 0, 3), of("1", "4", 3, 0)}, at(3)},
	} {
		id := guard.ResourceID{Account: "pods", Kind: guard.Instance, ID: "serverless/e1"}
		f := policy.Facts{At: at(8), Configured: true, Account: guard.AccountStatus{Name: "pods"},
			Observed: &guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, Bills: guard.Yes}, FirstSeen: zero, Seen: at(8)},
			Lease:    &guard.Lease{ID: "l-1", Resource: id, Status: guard.LeaseActive, RegisteredAt: zero},
			Metered:  guard.Metered{Resource: id, Segments: c.segments}}
		verdicts := policy.Evaluate(policy.DefaultRules(), f).Verdicts
		i := slices.IndexFunc(verdicts, func(v policy.Verdict) bool { return v.Rule == guard.RulePriceChanged })
		switch {
		case c.since.IsZero() != (i < 0):
			t.Errorf("%s: %+v", name, verdicts)
		case i >= 0 && !verdicts[i].Since.Equal(c.since):
			t.Errorf("%s: since %v", name, verdicts[i].Since)
		}
	}
}

// TestWhatIsToldOnceMore: a change of price after its warn and once more at its act, where
// it still stands; what is to come as long before, urgently where it loses something.
func TestWhatIsToldOnceMore(t *testing.T) {
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	id := guard.ResourceID{Account: "pods", Kind: guard.Instance, ID: "p-1"}
	rate := func(amount string) guard.Rate {
		return guard.Rate{Amount: guard.MustMoney(amount + " USD"), Per: time.Hour}
	}
	rules := policy.DefaultRules()
	rules.PriceChanged.Warn, rules.PriceChanged.Act = time.Hour, 5*time.Hour
	rules.RenewsSoon = policy.RenewsSoon{Warn: 20 * time.Hour, Act: 3 * time.Hour}
	rules.ProviderReclaim = policy.ProviderReclaim{Warn: 20 * time.Hour, Act: 3 * time.Hour}
	rules.BalanceLow = policy.BalanceLow{Warn: 20 * time.Hour, Act: 3 * time.Hour}
	stages := func(rule guard.Rule, h int) int {
		o := &guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, Bills: guard.Yes}, FirstSeen: zero, Seen: at(h)}
		o.Resource.Lump = guard.Lump{Amount: guard.MustMoney("9 USD"), From: zero, Until: at(40), Renews: guard.Yes}
		o.Resource.PlatformEnds.At = at(40)
		f := policy.Facts{At: at(h), Configured: true, Account: guard.AccountStatus{Name: "pods"}, Observed: o,
			Lease: &guard.Lease{ID: "l-1", Resource: id, Status: guard.LeaseActive, RegisteredAt: zero},
			Metered: guard.Metered{Resource: id, Segments: []guard.Segment{{State: guard.StateRunning, Rate: rate("2"), From: zero, To: at(10)},
				{State: guard.StateRunning, Rate: rate("3"), From: at(10)}}}}
		if rule == guard.RuleBalanceLow {
			w := &policy.Wallet{AtZero: guard.ZeroDeletes, Burn: []guard.Money{guard.MustMoney("1 USD")}}
			w.Wallet = guard.Wallet{Account: "pods", Balance: guard.Balance{Amount: guard.MustMoney("40 USD")}, Read: zero}
			f = policy.Facts{At: at(h), Configured: true, Account: f.Account, Wallet: w}
		}
		for _, v := range policy.Evaluate(rules, f).Verdicts {
			if v.Rule == rule {
				return len(v.Stages)
			}
		}
		return 0
	}
	for _, c := range []struct {
		rule                guard.Rule
		before, warn, again int
	}{
		{guard.RulePriceChanged, 10, 11, 15},
		{guard.RuleRenewsSoon, 19, 20, 37},
		{guard.RuleProviderReclaim, 19, 20, 37},
		{guard.RuleBalanceLow, 19, 20, 37},
	} {
		for h, want := range map[int]int{c.before: 0, c.warn: 1, c.again - 1: 1, c.again: 2} {
			if got := stages(c.rule, h); got != want {
				t.Errorf("%s: %d stages after %d h, want %d", c.rule, got, h, want)
			}
		}
	}
}
