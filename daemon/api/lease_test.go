package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

func leased(t *testing.T) *bench {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "10h", Budget: "2000CNY"})
	return b
}

func TestExtend(t *testing.T) {
	b := leased(t)
	out := good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "1h30m", Budget: "+500CNY"})
	want := []wire.Change{
		{Field: "expires_at", From: "2026-03-07T04:00:00+08:00", To: "2026-03-07T05:30:00+08:00"},
		{Field: "budget", From: "2000.00 CNY", To: "2500.00 CNY"},
	}
	if !slices.Equal(out.Changes, want) {
		t.Errorf("changes %+v", out.Changes)
	}
	if stamp(out.Item.ExpiresAt) != want[0].To || text(out.Item.Budget) != "2500.00 CNY" || len(out.Limits) != 2 {
		t.Errorf("item %+v, limits %+v", out.Item, out.Limits)
	}
	if j := b.journal(); j[len(j)-1] != "ana extended lab/i-1" {
		t.Errorf("journal %q", j)
	}
	b.pass(12 * time.Hour)
	out = good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "1h"})
	if got := out.Item.ExpiresAt.Sub(b.at.Wall); got != time.Hour || !strings.Contains(strings.Join(out.Notes, ""), "counts from now") {
		t.Errorf("after its expiry: ends in %s, notes %q", got, out.Notes)
	}
}

func TestExtendRefuses(t *testing.T) {
	b := leased(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-2", TTL: "1h"})
	for name, c := range map[string]struct {
		r      wire.ExtendRequest
		status int
		kind   string
		words  []string
	}{
		"nothing":          {wire.ExtendRequest{ID: "lab/i-1"}, 400, "invalid", []string{"by, until or budget"}},
		"both":             {wire.ExtendRequest{ID: "lab/i-1", By: "1h", Until: "2026-03-08T00:00:00Z"}, 400, "invalid", []string{"contradict"}},
		"backwards":        {wire.ExtendRequest{ID: "lab/i-1", By: "-1h"}, 400, "invalid", []string{"below zero"}},
		"earlier":          {wire.ExtendRequest{ID: "lab/i-1", Until: "2026-03-06T19:00:00+08:00"}, 400, "invalid", []string{"earlier", "guard register"}},
		"budget, currency": {wire.ExtendRequest{ID: "lab/i-1", Budget: "+5USD"}, 400, "currency", []string{"CNY"}},
		"budget, nothing":  {wire.ExtendRequest{ID: "lab/i-1", Budget: "+0CNY"}, 400, "invalid", []string{"above zero"}},
		"budget, none yet": {wire.ExtendRequest{ID: "lab/i-2", Budget: "+5CNY"}, 409, "conflict", []string{"no budget", "--budget 5.00CNY"}},
		"budget below":     {wire.ExtendRequest{ID: "lab/i-1", Budget: "20CNY"}, 403, "refused", []string{"already spent"}},
		"unregistered":     {wire.ExtendRequest{ID: "lab/i-3", By: "1h"}, 409, "conflict", []string{"nobody has registered", "guard register lab/i-3"}},
		"unknown":          {wire.ExtendRequest{ID: "lab/i-77", By: "1h"}, 404, "not_found", []string{"lab/i-77"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{T: t, h: b.h}
			b.bad("ana", http.MethodPost, "/extend", c.r, c.status, c.kind, c.words...)
		})
	}
}

// TestTooLate: once the provider may have been told nothing takes a lease back.
func TestTooLate(t *testing.T) {
	b := leased(t)
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r1", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseIntended, Action: guard.ActRelease,
			Cause: guard.CauseExpiry, Why: "its time is up", IntendedAt: b.at.Wall, Attempt: 1})
	})
	b.bad("ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "1h"}, 409, "conflict", "too late", "its time is up")
	b.bad("ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1"}, 409, "conflict", "too late")
	b.bad("ana", http.MethodPost, "/protect", wire.IDRequest{ID: "lab/i-1"}, 409, "conflict", "too late")
	b.bad("ana", http.MethodPost, "/register", wire.RegisterRequest{ID: "lab/i-1", TTL: "9h"}, 409, "conflict", "too late")
}

func TestHold(t *testing.T) {
	b := leased(t)
	out := good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", Reason: "demo"})
	if got := out.Item.HeldUntil.Sub(start); got != 2*time.Hour {
		t.Errorf("held for %s, want the default of two hours", got)
	}
	out = good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "12h"})
	if !strings.Contains(strings.Join(out.Notes, ""), "more is spent than the cap") {
		t.Errorf("notes %q: a hold past the cap must say so", out.Notes)
	}
	show := good[wire.Show](b, "bo", http.MethodGet, "/show?id=lab/i-1", nil)
	if len(show.Holds) != 2 || show.Holds[0].Reason != "demo" || show.Holds[0].By != "ana" {
		t.Errorf("holds %+v", show.Holds)
	}
	out = good[wire.Changed](b, "bo", http.MethodPost, "/unhold", wire.IDRequest{ID: "lab/i-1"})
	if out.Item.HeldUntil != nil || len(out.Changes) != 1 {
		t.Errorf("unhold: %+v", out)
	}
	out = good[wire.Changed](b, "bo", http.MethodPost, "/unhold", wire.IDRequest{ID: "lab/i-1"})
	if len(out.Changes) != 0 {
		t.Errorf("a second unhold changed %+v", out.Changes)
	}
	b.bad("ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "1h", Until: "2026-03-08T00:00:00Z"}, 400, "invalid", "contradict")
	b.bad("ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-3"}, 409, "conflict", "nobody has registered")
}

func TestProtect(t *testing.T) {
	b := leased(t)
	out := good[wire.Changed](b, "bo", http.MethodPost, "/protect", wire.IDRequest{ID: "lab/i-1"})
	if !out.Item.Protected || out.Limits[0].Does != "nothing" || !strings.Contains(out.Limits[0].Text, "protected by bo") {
		t.Errorf("%+v", out)
	}
	b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{IDs: []string{"lab/i-1"}}, 403, "refused", "protected by bo", "guard unprotect lab/i-1")
	out = good[wire.Changed](b, "bo", http.MethodPost, "/unprotect", wire.IDRequest{ID: "lab/i-1"})
	if out.Item.Protected || out.Limits[0].Does != "release" {
		t.Errorf("%+v", out)
	}
}

func order(b *bench, who string, r wire.ReleaseRequest) []wire.ReleaseOutcome {
	b.Helper()
	return good[wire.ReleaseAnswer](b, who, http.MethodPost, "/release", r).Results
}

func TestRelease(t *testing.T) {
	b := leased(t)
	// An expiry is planned already: the person's word takes its place.
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "old", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseNoticed, Action: guard.ActRelease, Cause: guard.CauseExpiry, Due: start.Add(10 * time.Hour)})
	})
	if out := order(b, "ana", wire.ReleaseRequest{IDs: []string{"lab/i-1"}, DryRun: true}); out[0].Outcome != wire.OutcomeWould || len(out[0].Erases) != 2 {
		t.Errorf("dry run: %+v", out)
	}
	if r, _ := b.openRelease("i-1"); r.ID != "old" {
		t.Fatalf("a dry run changed the release to %+v", r)
	}
	out := order(b, "ana", wire.ReleaseRequest{IDs: []string{"lab/i-1", "lab/i-1"}, Reason: "done early"})
	if len(out) != 1 || out[0].Outcome != wire.OutcomeOrdered {
		t.Fatalf("%+v", out)
	}
	r, ok := b.openRelease("i-1")
	l, _ := b.lease("i-1")
	if !ok || r.State != guard.ReleasePlanned || r.Cause != guard.CausePerson || r.By != "ana" || !r.Due.Equal(start) || r.Lease != l.ID ||
		r.Identity != "acct-lab" || !r.Created.Equal(start.Add(-10*time.Minute)) || !strings.Contains(r.Why, "done early") {
		t.Errorf("release %+v", r)
	}
	err := b.ledger.View(t.Context(), func(v *store.View) error {
		old, _, err := v.EndedReleases.Get("old")
		if old.State != guard.ReleaseWithdrawn || old.EndedAt.IsZero() {
			t.Errorf("the planned one is %+v", old)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.kicked("decide", "release/lab")
	if j := b.journal(); j[len(j)-1] != "ana ordered lab/i-1" {
		t.Errorf("journal %q", j)
	}
}

func TestReleaseUnderWayOrGone(t *testing.T) {
	b := leased(t)
	target := b.cloud.ID(guard.Instance, "i-1")
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r", Target: target, State: guard.ReleaseIssued, Action: guard.ActRelease, Attempt: 1, Calls: 1, IntendedAt: start, Why: "its cap is reached"})
	})
	if out := order(b, "ana", wire.ReleaseRequest{IDs: []string{"lab/i-1"}}); out[0].Outcome != wire.OutcomeUnder || !strings.Contains(out[0].Text, "its cap is reached") {
		t.Errorf("%+v", out)
	}
	// Removed by hand in the console: nothing to do, twice, is no error.
	b.put(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(target.Key())
		o.Gone = &guard.Gone{At: start, How: guard.ByOutside, Estimated: true}
		return cmpErr(err, tx.Releases.Delete(target.Key()), tx.Observed.Put(o))
	})
	for range 2 {
		if out := order(b, "ana", wire.ReleaseRequest{IDs: []string{"lab/i-1"}}); out[0].Outcome != wire.OutcomeGone || !strings.Contains(out[0].Text, "about 2026-03-06T18:00:00+08:00 (ended outside guard)") {
			t.Errorf("%+v", out)
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	b := leased(t)
	one := func(id string) wire.ReleaseRequest { return wire.ReleaseRequest{IDs: []string{id}} }
	b.bad("ana", http.MethodPost, "/release", one("lab/i-db"), 403, "refused", "no GPU")
	b.bad("ana", http.MethodPost, "/release", one("lab/i-kept"), 403, "refused", "guard:keep=true")
	b.bad("ana", http.MethodPost, "/release", one("lab/i-foreign"), 403, "refused", "another guard")
	b.bad("ana", http.MethodPost, "/release", one("lab/v-1"), 501, "unsupported", "volume", "instances only")
	b.bad("ana", http.MethodPost, "/release", one("lab/i-99"), 404, "not_found", "lab/i-99")
	b.bad("ana", http.MethodPost, "/release", one("nowhere/i-1"), 404, "not_found", "known: lab")
	b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{}, 400, "invalid", "release what?")
	b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{All: true}, 400, "invalid", "everything there is")
	b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{IDs: []string{"lab/i-1", "i-2"}}, 400, "invalid", "ACCOUNT/ID")
	if r, ok := b.openRelease("i-1"); ok {
		t.Errorf("one wrong name, and yet %+v", r)
	}
	b.acct.Mode = guard.Observe
	b.bad("ana", http.MethodPost, "/release", one("lab/i-1"), 403, "refused", "observe mode", "mode: enforce")
}

// TestReleaseAll: every match on its own, by the same rules, compared exactly.
func TestReleaseAll(t *testing.T) {
	b := leased(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-2", TTL: "1h", Tags: map[string]string{"team": "nlp"}})
	b.register("ana", wire.RegisterRequest{ID: "lab/i-db", TTL: "1h", Tags: map[string]string{"team": "NLP"}, NoGPUOK: true})
	b.register("ana", wire.RegisterRequest{ID: "lab/i-kept", TTL: "1h", Tags: map[string]string{"team": "nlp"}})
	out := order(b, "bo", wire.ReleaseRequest{All: true, Match: map[string]string{"team": "nlp"}})
	got := map[string]string{}
	for _, o := range out {
		got[o.ID] = o.Outcome
	}
	if len(got) != 3 || got["lab/i-1"] != "ordered" || got["lab/i-2"] != "ordered" || got["lab/i-kept"] != "refused" {
		t.Errorf("%v", got)
	}
	if out := order(b, "bo", wire.ReleaseRequest{All: true, Match: map[string]string{"team": ""}}); len(out) != 0 {
		t.Errorf("a tag that nothing has matched %+v", out)
	}
}

// TestReleaseOfABlockedOne: a person's word lets one through that waits at the
// surprise bound.
func TestReleaseOfABlockedOne(t *testing.T) {
	b := leased(t)
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseBlocked, Reason: guard.BlockSurprise, Action: guard.ActRelease, Cause: guard.CauseExpiry})
	})
	order(b, "bo", wire.ReleaseRequest{IDs: []string{"lab/i-1"}})
	if r, _ := b.openRelease("i-1"); r.Cause != guard.CausePerson || r.State != guard.ReleasePlanned {
		t.Errorf("%+v", r)
	}
}

// TestUnholdLeavesNone: a hold that is over is no hold, and the answer says so.
func TestUnholdLeavesNone(t *testing.T) {
	b := leased(t)
	good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "2h"})
	out := good[wire.Changed](b, "ana", http.MethodPost, "/unhold", wire.IDRequest{ID: "lab/i-1"})
	want := []wire.Change{{Field: "held_until", From: "2026-03-06T20:00:00+08:00"}}
	if !slices.Equal(out.Changes, want) {
		t.Errorf("%+v, want %+v", out.Changes, want)
	}
	// The next hold does not remember the last one.
	b.pass(time.Minute)
	out = good[wire.Changed](b, "ana", http.MethodPost, "/hold", wire.HoldRequest{ID: "lab/i-1", For: "1h"})
	if len(out.Changes) != 1 || out.Changes[0].From != "" {
		t.Errorf("%+v, want from none", out.Changes)
	}
}

// TestProtectedByATag: the item says so, and what would lift it is said, not what
// would not.
func TestProtectedByATag(t *testing.T) {
	b := leased(t)
	out := b.register("ana", wire.RegisterRequest{ID: "lab/i-kept", TTL: "2h"})
	if !out.Item.Protected || !strings.Contains(out.Item.ProtectedWhy, "guard:keep=true") || len(out.Erases) != 0 {
		t.Errorf("item %+v, erases %q: guard erases nothing of it", out.Item, out.Erases)
	}
	kept := wire.ReleaseRequest{IDs: []string{"lab/i-kept"}}
	b.bad("ana", http.MethodPost, "/release", kept, 403, "refused", "take the tag away at the provider")
	if _, body := b.call("ana", http.MethodPost, "/release", kept); strings.Contains(string(body), "guard unprotect") {
		t.Errorf("%s: guard unprotect lifts no tag", body)
	}
}
