package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

func money(t *testing.T, s string) guard.Money {
	t.Helper()
	m, err := guard.ParseMoney(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCeilingOfLife: nothing that people type takes a lease past it, and all that
// they type says so.
func TestCeilingOfLife(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.TTL = 24 * time.Hour
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "25h"}, 403, "refused", "ceiling", "2026-03-07T18:00:00+08:00", "latest")
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "10h", OnLimit: "alert"})
	i := slices.IndexFunc(out.Limits, func(l wire.Limit) bool { return l.Reason == "ceiling" })
	if i < 0 || out.Limits[i].Does != "release" || !out.Limits[i].Acts.Equal(start.Add(24*time.Hour)) || !strings.Contains(out.Limits[i].Text, "releases it") {
		t.Fatalf("%+v", out.Limits)
	}
	b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "15h"}, 403, "refused", "ceiling", "latest")
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "14h"})
	held := good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "30h"})
	if !strings.Contains(strings.Join(held.Notes, " "), "does not wait") {
		t.Errorf("%q", held.Notes)
	}
	if i := slices.IndexFunc(held.Limits, func(l wire.Limit) bool { return l.Reason == "ceiling" }); !held.Limits[i].Acts.Equal(start.Add(24 * time.Hour)) {
		t.Errorf("the hold moved the ceiling: %+v", held.Limits)
	}
	// It counts from the first registration, whatever is registered again.
	b.pass(10 * time.Hour)
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "23h"}, 403, "refused", "ceiling")
	// What stands past it already may be changed otherwise.
	b.rules.Ceilings.TTL = time.Hour
	if out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "other"}); out.Outcome != "updated" {
		t.Errorf("%+v", out)
	}
}

func TestCeilingCutsTheDefault(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.TTL = time.Hour
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1"})
	if l, _ := b.lease("i-1"); l.ExpiresAt.Sub(b.at.Wall) != time.Hour || !strings.Contains(strings.Join(out.Defaults, " "), "cut to the ceiling") {
		t.Errorf("ends in %s, %q", l.ExpiresAt.Sub(b.at.Wall), out.Defaults)
	}
}

func TestCeilingAgainAfterAnEnd(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.TTL = 24 * time.Hour
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "20h"})
	b.put(func(tx *store.Tx) error {
		l, _, err := tx.LeaseOf(b.cloud.ID(guard.Instance, "i-1").Key())
		l.Status = guard.LeaseGone
		return cmpErr(err, tx.Leases.Put(l))
	})
	b.pass(20 * time.Hour)
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "20h"}, 403, "refused", "ceiling", "first registration")
	b.pass(5 * time.Hour)
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "20h"}, 403, "refused", "was reached")
}

func TestCeilingOfMoney(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.Budget = []guard.Money{money(t, "2400CNY")}
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", Budget: "2401CNY"}, 403, "refused", "2400.00 CNY", "the most that is possible")
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "20h"})
	i := slices.IndexFunc(out.Limits, func(l wire.Limit) bool { return l.Reason == "ceiling" })
	if i < 0 || out.Limits[i].Reached.Sub(b.at.Wall).Round(time.Hour) != 10*time.Hour {
		t.Fatalf("%+v", out.Limits)
	}
	b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", Budget: "9999CNY"}, 403, "refused", "2400.00 CNY")
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", Budget: "2400CNY"})

	b.rules.Ceilings.Budget = []guard.Money{money(t, "2400USD")}
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-2", TTL: "1h"}, 403, "refused", "CNY", "no ceiling in that currency")
}

// TestCeilingOfMoneyIsReached: what has cost as much already is not registered, for it
// would be released within moments. What is registered may be said anew.
func TestCeilingOfMoneyIsReached(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.Budget = []guard.Money{money(t, "39CNY"), money(t, "5USD")}
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, 403, "refused", "ceiling of 39.00 CNY is reached", "it has cost 40.00 CNY", "ceilings.budget")
	b.rules.Ceilings.Budget[0] = money(t, "41CNY") // the call would be due by now
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}, 403, "refused", "ceiling of 41.00 CNY is reached")
	b.rules.Ceilings.Budget[0] = money(t, "100CNY")
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	b.bad("root", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", Owner: "ana", Price: "700CNY/h"}, 403, "refused", "ceiling of 100.00 CNY is reached")
	b.pass(30 * time.Minute)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "still said"})
}

// TestExtendNamesTheRightCurrency: what it proposes is not refused afterwards.
func TestExtendNamesTheRightCurrency(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	e := b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", Budget: "+500USD"}, 400, "currency", "CNY")
	if strings.Contains(e.Hint, "USD") {
		t.Errorf("%q", e.Hint)
	}
}

// TestPriceUnderACeiling: under a ceiling in money only an admin says that something
// costs less than the provider tells; nothing slips past it unseen.
func TestPriceUnderACeiling(t *testing.T) {
	b := newBench(t)
	b.rules.Ceilings.Budget = []guard.Money{money(t, "100000CNY"), money(t, "2400USD")}
	ana := api.Caller{Name: "ana", Role: guard.Operator}
	for price, may := range map[string]bool{"0.01CNY/h": false, "1000USD/h": false, "100000CNY/h": true} {
		answer := string(b.as(ana, wire.RegisterRequest{ID: "lab/i-1", TTL: "1h", Price: price}))
		if refused := strings.Contains(answer, `"permission"`) && strings.Contains(answer, "ceiling in money"); refused == may {
			t.Errorf("%s: %s", price, answer)
		}
	}
	if e := decode[wire.Error](b, b.as(ana, wire.RegisterRequest{ID: "lab", Expect: &wire.ExpectRequest{Name: "x"}, TTL: "1h", Price: "1CNY/h"})); e.Kind != "permission" {
		t.Errorf("of what nobody has seen: %+v", e)
	}
	b.register("root", wire.RegisterRequest{ID: "lab/i-2", TTL: "1h", Price: "0.01CNY/h"})
}
