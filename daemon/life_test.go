package daemon_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
)

const enforce = "mode: enforce\naccounts:\n  - {name: lab, provider: fake}\n"

func box(amount string) fake.Script {
	return fake.Script{Account: "lab", Resources: []fake.Resource{
		{ID: "i-1", GPUs: 8, Rate: &fake.Rate{Amount: amount, Per: "hour"}, Attached: []string{"v-0"}},
		{ID: "v-0", Kind: guard.Volume, SizeGB: 100, Rate: &fake.Rate{Amount: "0.10", Per: "gb_month"}, GoesWithInstance: true},
	}}
}

// A budget lands under its cap, whatever the poll interval, close to it, and the
// ledger agrees with the cloud's own meter.
func TestBudgetLands(t *testing.T) {
	for _, poll := range []string{"10s", "60s", "10m", "1h"} {
		t.Run(poll, func(t *testing.T) {
			w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: "+poll+"}", 1), box("24"))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "24h", Budget: "40USD"})
			w.until(4 * time.Hour)
			if truth := w.clouds["lab"].Truth("i-1"); truth != fake.TruthGone {
				t.Fatalf("i-1 is %s", truth)
			}
			spent, budget := w.spent("lab", "i-1", "v-0"), big.NewRat(40, 1)
			if spent.Cmp(budget) > 0 {
				t.Errorf("spent %s of 40", spent.FloatString(4))
			}
			// Lead 30 s, a billing unit of 1 s, and 60 s of burn.
			least := new(big.Rat).Sub(budget, new(big.Rat).Mul(big.NewRat(24, 3600), big.NewRat(91, 1)))
			if spent.Cmp(least) < 0 {
				t.Errorf("spent only %s, want at least %s", spent.FloatString(4), least.FloatString(4))
			}
			if n := w.effective("lab", "i-1"); n != 1 {
				t.Errorf("%d release calls", n)
			}
			it := w.item("lab/i-1")
			if it.State != "released" || it.Spend == nil || *it.Spend != spentText(spent) {
				t.Errorf("%s, spend %v; the cloud billed %s", it.State, *it.Spend, spent.FloatString(4))
			}
			if len(w.posts("released, with proof")) != 1 {
				t.Errorf("told: %q", w.posts("lab/i-1"))
			}
		})
	}
}

func spentText(r *big.Rat) string {
	m, err := guard.MoneyFromRat(r, "USD")
	if err != nil {
		panic(err)
	}
	return m.Round().String()
}

// In observe mode nothing is touched, and what would be done is said once.
func TestObserveOnlyTells(t *testing.T) {
	w := newWorld(t, strings.Replace(enforce, "enforce", "observe", 1), box("24"))
	w.until(time.Minute)
	out := w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h", Budget: "40USD"})
	if out.Item.Mode != "observe" || len(out.Limits) != 2 || out.Limits[0].Does != "nothing" || out.Limits[1].Does != "nothing" {
		t.Errorf("register does not say that guard only observes: mode %s, limits %+v", out.Item.Mode, out.Limits)
	}
	w.until(26 * time.Hour)
	if truth := w.clouds["lab"].Truth("i-1"); truth != fake.TruthRunning {
		t.Fatalf("i-1 is %s", truth)
	}
	if n := len(w.posts("would")); n == 0 {
		t.Errorf("nobody was told: %q", w.posts("lab/i-1"))
	}
	w.toldOnce()
	st, err := w.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Attention) > 0 {
		t.Errorf("a limit in observe mode is no error: %q", st.Attention)
	}
}

// The call of an expiry is due at the limit, people hear an hour before, and the
// intent is durable within a second of it at any poll interval.
func TestDeadlineToIntent(t *testing.T) {
	for _, poll := range []string{"60s", "1h"} {
		t.Run(poll, func(t *testing.T) {
			w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: "+poll+"}", 1), box("24"))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "10h"})
			w.until(9*time.Hour + 30*time.Minute)
			if len(w.posts("will release")) != 1 {
				t.Errorf("the notice: %q", w.posts("lab/i-1"))
			}
			w.until(11 * time.Hour)
			r := ended(t, w.ledger, "lab/i-1")
			if late := r.IntendedAt.Sub(w.start.Add(10*time.Hour + time.Minute)); late < 0 || late >= time.Second {
				t.Errorf("the intent was durable %s after the deadline", late)
			}
			if r.State != guard.ReleaseDone || r.Receipt == nil || r.Receipt.Proof != guard.ProofTerminal && r.Receipt.Proof != guard.ProofAbsence {
				t.Errorf("%s with receipt %+v", r.State, r.Receipt)
			}
		})
	}
}

// ended is the last ended release of a resource.
func ended(t *testing.T, l *store.Ledger, id string) guard.Release {
	t.Helper()
	var found guard.Release
	err := l.View(t.Context(), func(v *store.View) error {
		for r, err := range v.EndedReleases.All("") {
			if err != nil {
				return err
			}
			if r.Target.String() == id {
				found = r
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.ID == "" {
		t.Fatalf("no release of %s ended", id)
	}
	return found
}

// Killed at each durable state, the next start ends the release once.
func TestCrashAtEachState(t *testing.T) {
	for _, state := range []guard.ReleaseState{guard.ReleasePlanned, guard.ReleaseNoticed, guard.ReleaseIntended, guard.ReleaseIssued} {
		for _, down := range []time.Duration{time.Second, 2 * time.Minute, 30 * time.Minute} {
			t.Run(fmt.Sprintf("%s, down %s", state, down), func(t *testing.T) {
				w := newWorld(t, enforce, box("24"))
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "3h"})
				crashed := false
				w.stepped = func() {
					if crashed {
						return
					}
					if s := w.item("lab/i-1"); s.Release == string(state) {
						crashed = true
						w.at = w.at.Add(down)
						w.boot()
					}
				}
				w.until(6 * time.Hour)
				if !crashed && state != guard.ReleasePlanned {
					t.Fatalf("never saw the state %s", state)
				}
				if n := w.effective("lab", "i-1"); n != 1 {
					t.Errorf("%d accepted release calls", n)
				}
				if it := w.item("lab/i-1"); it.State != "released" {
					t.Errorf("i-1 is %s, release %s", it.State, it.Release)
				}
				w.toldOnce()
			})
		}
	}
}

// A spot box that the provider takes back leaves its disk behind.
func TestReclaimLeavesAnOrphan(t *testing.T) {
	s := box("2")
	s.Resources = append(s.Resources,
		fake.Resource{ID: "s-1", Spot: true, Rate: &fake.Rate{Amount: "1", Per: "hour"}, Attached: []string{"v-1"}},
		fake.Resource{ID: "v-1", Kind: guard.Volume, SizeGB: 500, Rate: &fake.Rate{Amount: "0.08", Per: "gb_month"}})
	s.Timeline = []fake.Event{{At: 6 * time.Hour, ID: "s-1", Reclaim: &fake.Reclaim{Lingers: 10 * time.Minute}}}
	w := newWorld(t, enforce, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/s-1", TTL: "24h"})
	w.until(6*time.Hour + 50*time.Minute)
	if got := w.findings(); !slices.Contains(got, "reclaimed lab/s-1") || slices.Contains(got, "orphan_volume lab/v-1") {
		t.Errorf("after 50 minutes: %q", got)
	}
	w.until(7*time.Hour + 10*time.Minute)
	if got := w.findings(); !slices.Contains(got, "orphan_volume lab/v-1") {
		t.Errorf("after 70 minutes: %q", got)
	}
	if it := w.item("lab/s-1"); it.EndedHow != "reclaim" || it.Lease != "gone" {
		t.Errorf("lease %s, ended by %s", it.Lease, it.EndedHow)
	}
	if calls := w.clouds["lab"].CallsOf(fake.CallDelete, ""); len(calls) > 0 {
		t.Errorf("guard deleted data: %v", calls)
	}
}
