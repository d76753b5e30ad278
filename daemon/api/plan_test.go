package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
)

func tagged(s *fake.Script) {
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Kind == "" || r.Kind == guard.Instance {
			tags := map[string]string{"run": "7"}
			for k, v := range r.Tags {
				tags[k] = v
			}
			r.Tags = tags
		}
	}
	s.Resources = append(s.Resources, fake.Resource{ID: "i-near", Tags: map[string]string{"Run": "7"}})
}

func (b *bench) order(r wire.ReleaseRequest) wire.ReleaseAnswer {
	b.Helper()
	return good[wire.ReleaseAnswer](b, "ana", http.MethodPost, "/release", r)
}

func outcomes(out wire.ReleaseAnswer) map[string]string {
	m := map[string]string{}
	for _, o := range out.Results {
		m[o.ID] = o.Outcome
	}
	return m
}

// TestPlan: a dry run says what goes, what is spared and why, and what it saves;
// the order by it does exactly that.
func TestPlan(t *testing.T) {
	b := newBench(t, tagged)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-2", TTL: "10h"})
	all := wire.ReleaseRequest{All: true, Match: map[string]string{"run": "7"}, DryRun: true}
	dry := b.order(all)
	got := outcomes(dry)
	for id, want := range map[string]string{"lab/i-1": "would", "lab/i-2": "would", "lab/i-3": "would", "lab/i-4": "would", "lab/i-locked": "would",
		"lab/i-kept": "refused", "lab/i-foreign": "refused", "lab/i-db": "refused"} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
	if _, ok := got["lab/i-near"]; ok || !strings.Contains(strings.Join(dry.Notes, " "), "lab/i-near") {
		t.Errorf("a tag of another case: %v, notes %q", got, dry.Notes)
	}
	if want := []string{"248.32 CNY"}; !slices.Equal(dry.Saves, want) || dry.NoPrice != 2 {
		t.Errorf("saves %q and %d of unknown price, want %q and 2", dry.Saves, dry.NoPrice, want)
	}
	if _, ok := b.openRelease("i-1"); ok {
		t.Fatal("a dry run ordered something")
	}
	var goes []string
	for _, o := range dry.Results {
		if o.Outcome == wire.OutcomeWould {
			goes = append(goes, o.ID)
		}
	}
	all.DryRun, all.Plan, all.Goes = false, dry.Plan, goes
	out := b.order(all)
	for id, outcome := range outcomes(out) {
		if ordered := outcome == wire.OutcomeOrdered; ordered != slices.Contains(goes, id) {
			t.Errorf("%s: %s, and the plan was %q", id, outcome, goes)
		}
	}
	if out.Plan != dry.Plan {
		t.Error("the plan of the order is another one")
	}
	if err := b.ledger.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPlanChanged: whatever would go otherwise than planned stops everything.
func TestPlanChanged(t *testing.T) {
	match := map[string]string{"run": "7"}
	for name, c := range map[string]struct {
		change func(*bench)
		words  string
	}{
		"protected": {func(b *bench) {
			good[wire.Changed](b, "bo", http.MethodPost, "/protect", wire.IDRequest{ID: "lab/i-2"})
		}, "lab/i-2 is spared now"},
		"registered": {func(b *bench) { b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"}) }, "registered otherwise"},
		"gone": {func(b *bench) {
			b.put(func(tx *store.Tx) error {
				o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-1").Key())
				o.Gone = &guard.Gone{At: b.at.Wall, How: guard.ByOutside, ProvenAt: b.at.Wall}
				return cmpErr(err, tx.Observed.Put(o))
			})
		}, "lab/i-1 no longer matches"},
		"one more": {func(b *bench) {
			b.put(func(tx *store.Tx) error {
				o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-near").Key())
				o.Resource.Tags = match
				return cmpErr(err, tx.Observed.Put(o))
			})
		}, "lab/i-near would go now, too"},
		"a disk more": {func(b *bench) {
			b.put(func(tx *store.Tx) error {
				o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-1").Key())
				o.Resource.Children = append(o.Resource.Children, guard.Child{ID: b.cloud.ID(guard.Volume, "v-9"), GoesWithInstance: guard.Yes})
				return cmpErr(err, tx.Observed.Put(o))
			})
		}, "erase something else"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tagged)
			b.register("ana", wire.RegisterRequest{ID: "lab/i-2", TTL: "10h"})
			dry := b.order(wire.ReleaseRequest{All: true, Match: match, DryRun: true})
			var goes []string
			for _, o := range dry.Results {
				if o.Outcome == wire.OutcomeWould {
					goes = append(goes, o.ID)
				}
			}
			c.change(b)
			b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{All: true, Match: match, Plan: dry.Plan, Goes: goes}, 409, "conflict", "has changed since", c.words)
			if _, ok := b.openRelease("i-3"); ok {
				t.Error("something was ordered all the same")
			}
		})
	}
}

// TestReleaseTwice: what is gone is no error, however often (UX-03).
func TestReleaseTwice(t *testing.T) {
	b := leased(t)
	b.put(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(b.cloud.ID(guard.Instance, "i-1").Key())
		o.Gone = &guard.Gone{At: b.at.Wall, How: guard.ByOutside, ProvenAt: b.at.Wall}
		l, _, lerr := tx.LeaseOf(o.Resource.ID.Key())
		l.Status, l.EndedAt, l.EndedHow = guard.LeaseGone, b.at.Wall, guard.ByOutside
		return cmpErr(err, lerr, tx.Observed.Put(o), tx.Leases.Put(l))
	})
	before := b.entries()
	for range 2 {
		if out := b.order(wire.ReleaseRequest{IDs: []string{"lab/i-1"}}); out.Results[0].Outcome != wire.OutcomeGone {
			t.Errorf("%+v", out)
		}
	}
	if b.entries() != before {
		t.Error("an order about what is gone was written")
	}
}

func fleet(n int) func(*fake.Script) {
	return func(s *fake.Script) {
		for i := range n {
			s.Resources = append(s.Resources, fake.Resource{ID: fmt.Sprintf("f-%04d", i), Rate: &fake.Rate{Amount: "2", Per: "hour"}, Tags: map[string]string{"team": "fleet"}})
		}
	}
}

// TestReleaseMany: the work of an order grows with what it is about, no faster. Work is
// what is allocated: every record that is read or written is, and no machine is too slow
// to count it.
func TestReleaseMany(t *testing.T) {
	work := func(n int) uint64 {
		b := newBench(t, fleet(n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := b.order(wire.ReleaseRequest{All: true, Match: map[string]string{"team": "fleet"}})
		runtime.ReadMemStats(&after)
		if len(out.Results) != n || out.Results[n-1].Outcome != wire.OutcomeOrdered {
			t.Fatalf("%d results, the last %+v", len(out.Results), out.Results[len(out.Results)-1])
		}
		return after.Mallocs - before.Mallocs
	}
	small, large := work(100), work(1000)
	t.Logf("%d allocations for 100, %d for 1000", small, large)
	if large > 15*small { // ten would be linear
		t.Errorf("%d allocations for 100, and for ten times as many %d", small, large)
	}
}
