package api_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

func (b *bench) mutes() []guard.Mute {
	b.Helper()
	var out []guard.Mute
	err := b.ledger.View(b.Context(), func(v *store.View) error {
		for m, err := range v.Mutes.All("") {
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func TestVeto(t *testing.T) {
	b := newBench(t)
	b.register("ana", wire.RegisterRequest{ID: "lab/i-1", TTL: "1h"})
	out := good[wire.Changed](b, "bo", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1", Reason: "one more epoch"})
	want := wire.Change{Field: "veto of expired", To: "2026-03-06T20:00:00+08:00"}
	if len(out.Changes) != 1 || out.Changes[0] != want || len(out.Item.Mutes) != 1 || out.Item.Mutes[0].By != "bo" {
		t.Errorf("%+v", out)
	}
	if text := out.Limits[0].Text; !strings.Contains(text, "once the veto ends at 2026-03-06T20:00:00+08:00") {
		t.Errorf("the expiry: %q", text)
	}
	m := b.mutes()
	if len(m) != 1 || m[0].Subject != "lab/i-1" || m[0].Rule != guard.RuleExpired || m[0].Reason != "one more epoch" || m[0].Until.Sub(b.at.Wall) != 2*time.Hour {
		t.Errorf("%+v", m)
	}
	if j := b.journal(); j[len(j)-1] != "bo vetoed lab/i-1" {
		t.Errorf("%q", j)
	}
	b.kicked("decide", "release/lab")
	// Again moves its end, and there is one of it.
	out = good[wire.Changed](b, "bo", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "expired", For: "4h"})
	if m := b.mutes(); len(m) != 1 || m[0].Until.Sub(b.at.Wall) != 4*time.Hour || out.Changes[0].From == "" {
		t.Errorf("%+v, %+v", m, out)
	}
	out = good[wire.Changed](b, "bo", http.MethodPost, "/unveto", wire.MuteRequest{ID: "lab/i-1"})
	if len(b.mutes()) != 0 || len(out.Changes) != 1 || len(out.Item.Mutes) != 0 {
		t.Errorf("%+v", out)
	}
	before := b.entries()
	out = good[wire.Changed](b, "bo", http.MethodPost, "/unveto", wire.MuteRequest{ID: "lab/i-1"})
	if len(out.Changes) != 0 || b.entries() != before {
		t.Errorf("a second time: %+v", out)
	}
}

// TestVetoOfTheComingRelease: without a name it is against what is about to act.
func TestVetoOfTheComingRelease(t *testing.T) {
	b := leased(t)
	b.bad("ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1"}, 400, "invalid", "which rule?", "expired, budget_exceeded", "guard veto lab/i-1")
	put := func(cause guard.Cause, by string) {
		b.put(func(tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r1", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseNoticed, Action: guard.ActRelease, Cause: cause, By: by})
		})
	}
	put(guard.CauseBudget, "guard")
	out := good[wire.Changed](b, "ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1", For: "12h"})
	if out.Changes[0].Field != "veto of budget_exceeded" || !strings.Contains(strings.Join(out.Notes, ""), "more is spent than the cap") {
		t.Errorf("%+v", out)
	}
	put(guard.CauseCeiling, "guard")
	b.bad("ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1"}, 403, "refused", "ceiling")
	put(guard.CausePerson, "bo")
	b.bad("ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1"}, 403, "refused", "bo does")
}

func TestSnooze(t *testing.T) {
	b := newBench(t)
	out := good[wire.Changed](b, "ana", http.MethodPost, "/snooze", wire.MuteRequest{ID: "lab/i-2", For: "7d"}) // nobody has registered it
	if len(out.Item.Mutes) != 1 || out.Item.Mutes[0].Kind != "snooze" {
		t.Errorf("%+v", out)
	}
	list := good[wire.List](b, "bo", http.MethodGet, "/resources", nil)
	if i := slices.IndexFunc(list.Items, func(i wire.Item) bool { return i.ID == "i-2" }); len(list.Items[i].Mutes) != 1 {
		t.Errorf("%+v", list.Items[i])
	}
	// What has ended is cleared away by the next one.
	b.pass(8 * 24 * time.Hour)
	good[wire.Changed](b, "ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-2", Rule: "unregistered"})
	if m := b.mutes(); len(m) != 1 || m[0].Kind != guard.Veto {
		t.Errorf("%+v", m)
	}
	good[wire.Changed](b, "ana", http.MethodPost, "/snooze", wire.MuteRequest{ID: "lab/i-2"})
	good[wire.Changed](b, "ana", http.MethodPost, "/unsnooze", wire.MuteRequest{ID: "lab/i-2"})
	if m := b.mutes(); len(m) != 1 || m[0].Kind != guard.Veto {
		t.Errorf("unsnooze left %+v", m)
	}
}

func TestMuteRefuses(t *testing.T) {
	b := leased(t)
	for name, c := range map[string]struct {
		path   string
		r      wire.MuteRequest
		status int
		kind   string
		words  []string
	}{
		"ceiling":       {"/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "ceiling_reached"}, 403, "refused", []string{"ceiling"}},
		"no such rule":  {"/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "idle"}, 400, "invalid", []string{"expired, budget_exceeded, unregistered"}},
		"nothing comes": {"/veto", wire.MuteRequest{ID: "lab/i-2"}, 409, "conflict", []string{"which rule?"}},
		"too long":      {"/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "expired", For: "8d"}, 400, "invalid", []string{"7 days"}},
		"too far":       {"/snooze", wire.MuteRequest{ID: "lab/i-1", Until: "2026-04-06T18:00:00+08:00"}, 400, "invalid", []string{"7 days"}},
		"past":          {"/snooze", wire.MuteRequest{ID: "lab/i-1", Until: "2026-03-06T17:00:00+08:00"}, 400, "invalid", []string{"in the past"}},
		"no time":       {"/snooze", wire.MuteRequest{ID: "lab/i-1", For: "0s"}, 400, "invalid", []string{"above zero"}},
		"both":          {"/snooze", wire.MuteRequest{ID: "lab/i-1", For: "1h", Until: "2026-03-07T18:00:00+08:00"}, 400, "invalid", []string{"contradict"}},
		"snoozed rule":  {"/snooze", wire.MuteRequest{ID: "lab/i-1", Rule: "expired"}, 400, "invalid", []string{"veto"}},
		"end with time": {"/unveto", wire.MuteRequest{ID: "lab/i-1", For: "1h"}, 400, "invalid", []string{"do not belong"}},
		"unknown":       {"/snooze", wire.MuteRequest{ID: "lab/i-77"}, 404, "not_found", []string{"lab/i-77"}},
		"no ID":         {"/veto", wire.MuteRequest{ID: "lab"}, 400, "invalid", []string{"ACCOUNT/ID"}},
		"reason":        {"/veto", wire.MuteRequest{ID: "lab/i-1", Rule: "expired", Reason: "a\nb"}, 400, "invalid", []string{"reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{T: t, h: b.h}
			b.bad("ana", http.MethodPost, c.path, c.r, c.status, c.kind, c.words...)
		})
	}
	if m := b.mutes(); len(m) != 0 {
		t.Errorf("%+v", m)
	}
}

// TestVetoOfAGuess: without a name it is against the rule whose notice was given, and
// the stop is shown among the limits.
func TestVetoOfAGuess(t *testing.T) {
	b := leased(t)
	id := b.cloud.ID(guard.Instance, "i-1")
	f := guard.Finding{Rule: guard.RuleIdleResident, Subject: "lab/i-1", Resource: id, Opened: b.at.Wall}
	f.ID = policy.FindingID(f)
	other := f
	other.Rule = guard.RuleUnderused
	other.ID = policy.FindingID(other)
	b.put(func(tx *store.Tx) error {
		return errors.Join(tx.Findings.Put(f), tx.Findings.Put(other), tx.Releases.Put(guard.Release{ID: "r1", Target: id, State: guard.ReleaseNoticed,
			Action: guard.ActStop, Cause: guard.CauseIdle, By: "guard", Why: "idle since noon", Due: b.at.Wall.Add(time.Hour), Notice: f.ID + "|warn"}))
	})
	show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
	i := slices.IndexFunc(show.Limits, func(l wire.Limit) bool { return l.Reason == "idle" })
	if i < 0 || show.Limits[i].Does != "stop" || !show.Limits[i].Acts.Equal(b.at.Wall.Add(time.Hour)) || !strings.Contains(show.Limits[i].Text, "idle since noon") {
		t.Errorf("%+v", show.Limits)
	}
	if out := good[wire.Changed](b, "ana", http.MethodPost, "/veto", wire.MuteRequest{ID: "lab/i-1"}); out.Changes[0].Field != "veto of idle_resident" {
		t.Errorf("%+v", out)
	}
}
