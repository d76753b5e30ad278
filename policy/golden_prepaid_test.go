package policy_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// prepaid reads the lines of a case that are about what is paid ahead; false for others.
func (p fields) prepaid(t *testing.T, what string, rules *policy.Rules, f *policy.Facts) bool {
	t.Helper()
	switch what {
	case "balance_low":
		rules.BalanceLow.Warn = p.span("warn")
	case "zone":
		zone, err := time.LoadLocation(p["is"])
		if err != nil {
			t.Fatal(err)
		}
		f.Zone = zone
	case "wallet":
		w := &policy.Wallet{AtZero: guard.AtZero(p["at_zero"]), AtLeast: p["at_least"] != "", Changed: p.time("changed"), Moves: p.time("moves")}
		w.Wallet = guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney(p["amount"])}, Read: p.time("read"),
			Failing: p.time("failing"), Error: p["error"]}
		if c := p["credit"]; c != "" {
			w.Balance.Credit = guard.MustMoney(c)
		}
		for _, m := range p.list("burn") {
			w.Burn = append(w.Burn, guard.MustMoney(m))
		}
		for _, id := range p.list("boxes") {
			w.Boxes = append(w.Boxes, policy.Box{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id}, Purpose: p["purpose"], Stays: p.list("stays")})
		}
		f.Wallet = w
	case "bill":
		b := guard.Billed{From: p.time("from"), To: p.time("to"), Amount: guard.MustMoney(p["amount"]), Read: p.time("read")}
		if f.Bill == nil {
			f.Bill = &guard.Bill{Resource: f.Observed.Resource.ID}
		}
		f.Bill.Before, f.Bill.Last = f.Bill.Last, b
	case "free":
		f.Metered.Segments = append(f.Metered.Segments, guard.Segment{State: guard.StateRunning, From: f.Observed.Resource.Created,
			Rate: guard.Rate{Amount: guard.ZeroMoney("CNY"), Per: time.Hour, Free: true, Source: "api"}})
	case "unseen":
		f.Account.Bill = guard.BillStatus{Found: p.time("found"), Read: p.time("read"), Count: len(p.list("ids"))}
		for _, id := range p.list("ids") {
			f.Account.Bill.Unseen = append(f.Account.Bill.Unseen, guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id})
		}
		for _, m := range p.list("sum") {
			f.Account.Bill.Sum = append(f.Account.Bill.Sum, guard.MustMoney(m))
		}
	case "traffic":
		f.Observed.Resource.Egress = guard.EgressPrice{PerGB: guard.MustMoney(p["per_gb"])}
		f.Egress = &guard.Egress{Resource: f.Observed.Resource.ID, Source: "agent"}
	case "jump":
		gb, err := strconv.ParseUint(p["sent_gb"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f.Egress.Doubtful = append(f.Egress.Doubtful, guard.Jump{NIC: "eth0", From: p.time("from"), To: p.time("to"), Sent: gb * guard.GB})
	case "renewal":
		f.Wallet.Renewals = append(f.Wallet.Renewals, p.lump())
	case "lump":
		f.Observed.Resource.Lump = p.lump()
	case "ends":
		f.Observed.Resource.PlatformEnds = guard.PlatformEnd{At: p.time("at"), Why: p["why"]}
	default:
		return false
	}
	return true
}

func (p fields) lump() guard.Lump {
	l := guard.Lump{From: p.time("from"), Until: p.time("until"), Renews: guard.Tri(strings.TrimPrefix(p["renews"], "unknown")), Source: "api"}
	if a := p["amount"]; a != "" {
		l.Amount = guard.MustMoney(a)
	}
	return l
}
