package policy_test

import (
	"strings"
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
		age, since         time.Duration // since the reading, and the last change of what draws
		at                 guard.AtZero
		stays              bool
	}{
		{"below the limit", "23 USD", "1 USD", 0, time.Hour, guard.ZeroStops, true},
		{"a little above it", "29 USD", "1 USD", 0, time.Hour, guard.ZeroStops, true},
		{"well above it", "31 USD", "1 USD", 0, time.Hour, guard.ZeroStops, false},
		{"nothing draws on it", "1 USD", "0 USD", 0, time.Hour, guard.ZeroStops, false},
		{"nothing draws on it any more, as of the reading", "1 USD", "0 USD", time.Minute, time.Minute, guard.ZeroDeletes, false},
		{"nothing draws on it since after the reading", "0.95 USD", "0 USD", 6 * time.Minute, time.Minute, guard.ZeroDeletes, true},
		{"well above it before more drew on it", "60 USD", "1 USD", 6 * time.Minute, time.Minute, guard.ZeroStops, true},
		{"used up, and nothing draws on it", "0 USD", "0 USD", 0, time.Hour, guard.ZeroStops, true},
		{"used up, which ends nothing", "-1 USD", "1 USD", 0, time.Hour, guard.ZeroNothing, false},
		{"nearly used up, which will end nothing", "1 USD", "1 USD", 0, time.Hour, guard.ZeroNothing, true},
		{"well above it, long ago", "60 USD", "1 USD", 2 * time.Hour, 3 * time.Hour, guard.ZeroStops, true},
	} {
		w := &policy.Wallet{AtZero: c.at, Changed: zero.Add(-c.since), Wallet: guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney(c.amount)}, Read: zero.Add(-c.age)},
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

// TestADayThatIsPaidEveryDay is counted as often as it comes: when nothing is left, what
// pays for a week, and that nothing is over just because the next day is not drawn yet.
func TestADayThatIsPaidEveryDay(t *testing.T) {
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	o := guard.Observed{Resource: guard.Resource{Lump: guard.Lump{Amount: guard.MustMoney("10 CNY"), From: at(-20), Until: at(4), Renews: guard.Yes}}}
	wallet := func(amount string, read int) *policy.Wallet {
		w := &policy.Wallet{AtZero: guard.ZeroDeletes, Wallet: guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney(amount)}, Read: at(read)}}
		w.Draw(o, guard.Metered{})
		w.Add(zero)
		return w
	}
	w := wallet("25 CNY", 0)
	if empty, most := w.Empty(guard.Exchange{}); !empty.Equal(at(52)) || most {
		t.Errorf("25 CNY pay for two days more, until the third is due at %v: %v, %v", at(52), empty, most)
	}
	rules := policy.DefaultRules()
	rules.BalanceLow.Warn = 72 * time.Hour
	f := policy.Facts{At: zero, Configured: true, Account: guard.AccountStatus{Name: "lab"}, Wallet: w}
	out, lines := policy.Evaluate(rules, f), ""
	for _, v := range out.Verdicts {
		if v.Rule == guard.RuleBalanceLow {
			lines = strings.Join(v.Stages[0].Lines, "\n")
		}
	}
	if !strings.Contains(lines, "pay in 45 CNY") && !strings.Contains(lines, "pay in 45.00 CNY") {
		t.Errorf("seven days cost 70 CNY, and 25 are there:\n%s", lines)
	}
	open := guard.Finding{Rule: guard.RuleBalanceLow, Subject: "lab", Said: []string{"warn 1d"}}
	o.Resource.Lump.From, o.Resource.Lump.Until, o.Resource.Lump.Amount = at(-1000), zero, guard.MustMoney("200 CNY")
	f.Wallet = wallet("150 CNY", 0)
	if end := policy.Ends(rules, f, open); !end.Stays {
		t.Errorf("the payment of this very moment is not drawn yet: %+v", end)
	}
}

// TestWhenABalanceChanges: what draws on it changed last when the newest segment began or
// ended, or a month was paid at once; what is to come is no change.
func TestWhenABalanceChanges(t *testing.T) {
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	rate := guard.Rate{Amount: guard.MustMoney("1 USD"), Per: time.Hour}
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	for _, c := range []struct {
		name string
		m    guard.Metered
		want time.Time
	}{
		{"nothing", guard.Metered{}, time.Time{}},
		{"it runs", guard.Metered{Segments: []guard.Segment{{Resource: id, State: guard.StateRunning, Rate: rate, From: at(-9)}}}, at(-9)},
		{"it ended", guard.Metered{Segments: []guard.Segment{{Resource: id, State: guard.StateRunning, Rate: rate, From: at(-9), To: at(-2)}}}, at(-2)},
		{"it will end", guard.Metered{Segments: []guard.Segment{{Resource: id, State: guard.StateRunning, Rate: rate, From: at(-9), To: at(2)}}}, at(-9)},
		{"a month was paid", guard.Metered{Resource: id, Lumps: []guard.Paid{{Lump: guard.Lump{Amount: guard.MustMoney("9 USD"), From: at(-4), Until: at(700)}}}}, at(-4)},
		{"a month is over", guard.Metered{Resource: id, Lumps: []guard.Paid{{Lump: guard.Lump{Amount: guard.MustMoney("9 USD"), From: at(-704), Until: at(-4)}}}}, at(-704)},
	} {
		w := &policy.Wallet{}
		w.Draw(guard.Observed{}, c.m)
		if w.Add(zero); !w.Changed.Equal(c.want) {
			t.Errorf("%s: changed %v, want %v", c.name, w.Changed, c.want)
		}
	}
}

// TestWhatIsPaidAtOneMoment is paid all, whichever is counted first.
func TestWhatIsPaidAtOneMoment(t *testing.T) {
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	lump := func(amount string) guard.Observed {
		return guard.Observed{Resource: guard.Resource{Lump: guard.Lump{Amount: guard.MustMoney(amount), From: at(-700), Until: at(4), Renews: guard.Yes}}}
	}
	for _, all := range [][]string{{"30 CNY", "300 CNY"}, {"300 CNY", "30 CNY"}} {
		w := policy.Wallet{Wallet: guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney("320 CNY")}, Read: zero}}
		for _, amount := range all {
			w.Draw(lump(amount), guard.Metered{})
		}
		w.Add(zero)
		if empty, _ := w.Empty(guard.Exchange{}); !empty.Equal(at(4)) {
			t.Errorf("%v, of 320 CNY: used up %v, want %v", all, empty, at(4))
		}
	}
}
