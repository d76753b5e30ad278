package policy_test

import (
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// TestABalanceIsLowUntilItLastsLonger: what hovers around the limit is told once, what
// cannot be read any more is not over, and what nothing draws on is.
func TestABalanceIsLowUntilItLastsLonger(t *testing.T) {
	rules := policy.DefaultRules()
	open := guard.Finding{Rule: guard.RuleBalanceLow, Subject: "lab", Said: []string{"warn 1d"}}
	for _, c := range []struct {
		name, amount, burn string
		age                time.Duration
		stays              bool
	}{
		{"below the limit", "23 USD", "1 USD", 0, true},
		{"a little above it", "29 USD", "1 USD", 0, true},
		{"well above it", "31 USD", "1 USD", 0, false},
		{"nothing draws on it", "1 USD", "0 USD", 0, false},
		{"used up, and nothing draws on it", "0 USD", "0 USD", 0, true},
		{"well above it, long ago", "60 USD", "1 USD", 2 * time.Hour, true},
	} {
		w := &policy.Wallet{Wallet: guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney(c.amount)}, Read: zero.Add(-c.age)},
			Burn: []guard.Money{guard.MustMoney(c.burn)}}
		f := policy.Facts{At: zero, Configured: true, Account: guard.AccountStatus{Name: "lab"}, Wallet: w}
		if end := policy.Ends(rules, f, open); end.Stays != c.stays || !end.Stays && end.Why == "" {
			t.Errorf("%s: %+v", c.name, end)
		}
	}
	if end := policy.Ends(rules, policy.Facts{At: zero, Account: guard.AccountStatus{Name: "lab"}}, open); end.Stays {
		t.Error("the finding of an account that is not configured any more stays")
	}
}

func TestSoon(t *testing.T) {
	shanghai := time.FixedZone("", 8*3600)
	for _, c := range []struct {
		in   time.Duration
		want string
	}{{89*time.Hour + 40*time.Minute, "Tue 11:40"}, {7 * 24 * time.Hour, "2026-03-13 18:00"}, {-time.Hour, "Fri 17:00"}} {
		if got := policy.Soon(zero.Add(c.in), zero, shanghai); got != c.want {
			t.Errorf("in %v: %s, want %s", c.in, got, c.want)
		}
	}
}
