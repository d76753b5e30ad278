package api

import (
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy"
)

func TestStake(t *testing.T) {
	now := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	open := func(rule guard.Rule, kind guard.Kind, id, wastes string, hours float64) guard.Finding {
		f := guard.Finding{ID: string(rule) + id, Rule: rule, Subject: "lab/" + id, Resource: guard.ResourceID{Account: "lab", Kind: kind, ID: id},
			Since: now.Add(-time.Duration(hours * float64(time.Hour))), Opened: now}
		if wastes != "" {
			f.Wastes = guard.MustMoney(wastes)
		}
		return f
	}
	closed := open(guard.RuleExpired, guard.Instance, "old", "900 USD", 10)
	closed.Closed = now.Add(-time.Hour)
	account := guard.Finding{ID: "account", Rule: guard.RuleAccountUnreachable, Subject: "lab", Since: now, Opened: now, Urgent: true}
	fs := []guard.Finding{
		closed, account,
		open(guard.RulePriceUnknown, guard.Instance, "dark", "", 9),
		open(guard.RuleOrphanVolume, guard.Volume, "v-1", "0.1 USD", 1),
		open(guard.RuleIdleEmpty, guard.Instance, "i-1", "10 USD", 2),
		open(guard.RuleExpired, guard.Instance, "i-1", "10 USD", 3),
		open(guard.RuleIdleEmpty, guard.Instance, "cheap", "10 CNY", 20),
		open(guard.RuleIdleEmpty, guard.Instance, "yen", "1000 JPY", 20),
	}
	mutes := func(subject string) []guard.Mute {
		if subject != "lab/i-1" {
			return nil
		}
		return []guard.Mute{{Kind: guard.Veto, Until: now.Add(9 * time.Hour)}, {Kind: guard.Snooze, Until: now.Add(time.Hour)}}
	}
	for _, c := range []struct {
		exchange guard.Exchange
		order    string
		soFar    []string
		together string
	}{
		// 10 CNY an hour for 20 hours are less than 10 USD an hour for 3.
		{guard.Exchange{Base: "CNY", Rates: map[string]*big.Rat{"USD": big.NewRat(712, 100)}},
			"account orphan_volumev-1 expiredi-1 idle_emptycheap idle_emptyi-1 idle_emptyyen price_unknowndark expiredold", []string{"200.00 CNY", "20000 JPY", "30.00 USD"}, ""},
		{guard.Exchange{Base: "CNY", Rates: map[string]*big.Rat{"USD": big.NewRat(712, 100), "JPY": big.NewRat(5, 100)}},
			"account idle_emptyyen orphan_volumev-1 expiredi-1 idle_emptycheap idle_emptyi-1 price_unknowndark expiredold", []string{"200.00 CNY", "20000 JPY", "30.00 USD"}, "1413.60 CNY"},
		{guard.Exchange{}, "account idle_emptycheap idle_emptyyen orphan_volumev-1 expiredi-1 idle_emptyi-1 price_unknowndark expiredold", []string{"200.00 CNY", "20000 JPY", "30.00 USD"}, ""},
	} {
		rules := policy.DefaultRules()
		rules.Exchange = c.exchange
		s := newServer(Options{Rules: func() policy.Rules { return rules }, Location: func() *time.Location { return time.UTC }})
		got := s.staked(fs, mutes, now)
		var order []string
		for _, f := range got {
			order = append(order, f.ID)
			if snoozed := f.Snoozed != nil; snoozed != (f.Subject == "lab/i-1") {
				t.Errorf("%s: snoozed %t", f.ID, snoozed)
			}
			switch f.ID {
			case "orphan_volumev-1":
				if f.AtStake == nil || *f.AtStake != "73.00 USD" || f.Stake != aMonth {
					t.Errorf("a disk: %v %s", f.AtStake, f.Stake)
				}
			case "expiredold":
				if *f.AtStake != "8100.00 USD" {
					t.Errorf("closed an hour ago: %s", *f.AtStake)
				}
			case "price_unknowndark", "account":
				if f.AtStake != nil {
					t.Errorf("%s: %s", f.ID, *f.AtStake)
				}
			}
		}
		if text := strings.Join(order, " "); text != c.order {
			t.Errorf("order %s\nwant  %s", text, c.order)
		}
		sums, all := totals(got, soFar, c.exchange)
		if !reflect.DeepEqual(sums, c.soFar) || (all == nil) != (c.together == "") || all != nil && *all != c.together {
			t.Errorf("so far %v, together %v", sums, all)
		}
		if month, _ := totals(got, aMonth, c.exchange); !reflect.DeepEqual(month, []string{"73.00 USD"}) {
			t.Errorf("a month %v", month)
		}
	}
}
