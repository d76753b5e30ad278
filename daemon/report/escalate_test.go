package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/report"
	"guard/policy"
	"guard/store"
)

// circles are told after half an hour, one hour and two.
var circles = report.Escalation{After: []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour}, Admins: []string{"root"},
	Fallback: []guard.Audience{{Channel: "pager"}}}

func (w *world) escalate() *report.Escalate { return report.NewEscalate(w.config(), circles) }

// blocked puts a release that is blocked, told now.
func (w *world) blocked(name string) guard.Finding {
	w.t.Helper()
	f := guard.Finding{Rule: guard.RuleReleaseBlocked, Subject: "lab/" + name, Resource: id(name), Lease: "L-" + name, Opened: w.at.Wall, Since: w.at.Wall,
		Title: name + " is blocked", Urgent: true}
	f.ID = policy.FindingID(f)
	r := guard.Release{ID: "R-" + name, Lease: f.Lease, Target: f.Resource, Action: guard.ActRelease, Cause: guard.CauseExpiry, Why: "its time is up",
		State: guard.ReleaseBlocked, Reason: guard.BlockPermission, LastError: "no permission", Due: w.at.Wall, BlockedAt: w.at.Wall}
	l := guard.Lease{ID: f.Lease, Resource: f.Resource, Purpose: "lora", Owner: "ana", Status: guard.LeaseActive}
	o := guard.Observed{Resource: guard.Resource{ID: f.Resource, State: guard.StateRunning, Rate: guard.Rate{Amount: guard.MustMoney("3 USD"), Per: time.Hour}}}
	w.put(func(tx *store.Tx) error {
		for _, err := range []error{tx.Findings.Put(f), tx.Releases.Put(r), tx.Leases.Put(l), tx.Observed.Put(o)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return f
}

// calls are what was told in a channel, each with when it was and whom it calls.
func (w *world) calls(channel string) []string {
	w.t.Helper()
	var out []string
	for _, m := range w.told() {
		if m.Channel == channel {
			out = append(out, fmt.Sprintf("%s @%s", m.CreatedAt.Sub(w.when("2026-03-06 18:00")), strings.Join(m.Mentions, "@")))
		}
	}
	slices.Sort(out)
	return out
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// Each circle is told once, in its turn, over restarts.
func TestEscalation(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	w.blocked("i-1")
	for n := range 20 {
		w.restart()
		w.until(w.escalate(), w.when("2026-03-06 18:00").Add(time.Duration(n)*11*time.Minute))
	}
	check(t, "the team", w.calls("team"), "1h0m0s @root", "30m0s @ana")
	check(t, "those who read Chinese", w.calls("zh"), "1h0m0s @root", "30m0s @ana")
	check(t, "the fall-back", w.calls("pager"), "2h0m0s @")
	for _, m := range w.told() {
		chinese := strings.Contains(m.Title, "无人处理")
		if !m.Urgent || m.Waits || m.Rule != guard.RuleReleaseBlocked || m.Thread != id("i-1").Key() || chinese != (m.Channel == "zh") {
			t.Errorf("got %+v", m)
		}
		if len(m.Offers) != 1 || m.Offers[0].Click != guard.ClickAck {
			t.Errorf("it offers %v", m.Offers)
		}
	}
}

// Whatever a person does about it ends it, at any step; what guard does, or what was done
// before it was told, does not.
func TestAcknowledged(t *testing.T) {
	for _, verb := range []string{"acknowledged", "snoozed", "held", "extended", "vetoed", "protected", "ordered"} {
		w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
		w.blocked("i-1")
		l := w.escalate()
		w.until(l, w.when("2026-03-06 18:40"))
		w.put(func(tx *store.Tx) error {
			return tx.Journal(guard.JournalEntry{At: w.at.Wall, Who: "ana", Verb: verb, Subject: "lab/i-1", Text: "x"})
		})
		w.until(l, w.when("2026-03-06 23:00"))
		check(t, verb+": the team", w.calls("team"), "30m0s @ana")
		check(t, verb+": the fall-back", w.calls("pager"))
	}
	for name, e := range map[string]guard.JournalEntry{
		"by guard":     {At: time.Date(2026, 3, 6, 10, 40, 0, 0, time.UTC), Who: "guard", Verb: "extended", Subject: "lab/i-1"},
		"before":       {At: time.Date(2026, 3, 6, 9, 59, 0, 0, time.UTC), Who: "ana", Verb: "extended", Subject: "lab/i-1"},
		"another":      {At: time.Date(2026, 3, 6, 10, 40, 0, 0, time.UTC), Who: "ana", Verb: "extended", Subject: "lab/i-2"},
		"no such word": {At: time.Date(2026, 3, 6, 10, 40, 0, 0, time.UTC), Who: "ana", Verb: "observed", Subject: "lab/i-1"},
	} {
		w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
		w.blocked("i-1")
		w.put(func(tx *store.Tx) error { return tx.Journal(e) })
		w.until(w.escalate(), w.when("2026-03-06 23:00"))
		check(t, name+": the fall-back", w.calls("pager"), "2h0m0s @")
	}
}

// What is over is told to nobody, and what opens anew begins anew.
func TestEscalationEnds(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	f := w.blocked("i-1")
	l := w.escalate()
	w.until(l, w.when("2026-03-06 18:31"))
	w.put(func(tx *store.Tx) error { f.Closed = w.at.Wall; return tx.CloseFinding(f) })
	w.until(l, w.when("2026-03-06 21:00"))
	check(t, "the team", w.calls("team"), "30m0s @ana")
	w.blocked("i-1")
	w.until(l, w.when("2026-03-06 21:35"))
	check(t, "the team", w.calls("team"), "30m0s @ana", "3h30m0s @ana")
}

// After a time in which guard was away each place is told once, of the widest circle.
func TestEscalationAfterAGap(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	w.blocked("i-1")
	w.at = w.at.Add(5 * time.Hour)
	w.once(w.escalate())
	w.once(w.escalate())
	check(t, "the team", w.calls("team"), "5h0m0s @root")
	check(t, "the fall-back", w.calls("pager"), "5h0m0s @")
}

// Many at once share a message, and each is still told once.
func TestManyEscalateTogether(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	for n := range 50 {
		w.blocked(fmt.Sprintf("i-%02d", n))
	}
	l := w.escalate()
	w.until(l, w.when("2026-03-06 22:00"))
	check(t, "the team", w.calls("team"), "1h0m0s @root", "30m0s @")
	check(t, "the fall-back", w.calls("pager"), "2h0m0s @")
	for _, m := range w.told() {
		if len(m.About) != 50 || len(m.Lines) > 15 {
			t.Errorf("about %d, in %d lines", len(m.About), len(m.Lines))
		}
	}
}

// In observe mode nobody is paged.
func TestObserveIsNotEscalated(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	w.accounts[0].Mode = guard.Observe
	w.blocked("i-1")
	w.until(w.escalate(), w.when("2026-03-06 22:00"))
	check(t, "the team", w.calls("team"))
}

// overCap puts a lease with a cap that is passed at a time, and whose notice is told now.
func (w *world) overCap(limit time.Time) {
	w.t.Helper()
	f := guard.Finding{Rule: guard.RuleBudgetExceeded, Subject: "lab/i-1", Resource: id("i-1"), Lease: "L1", Opened: w.at.Wall, Since: w.at.Wall, Title: "x"}
	f.ID = policy.FindingID(f)
	w.put(func(tx *store.Tx) error {
		for _, err := range []error{tx.Findings.Put(f),
			tx.Leases.Put(guard.Lease{ID: "L1", Resource: id("i-1"), Purpose: "lora", Owner: "ana", Budget: guard.MustMoney("40 USD"), Status: guard.LeaseActive}),
			tx.Plans.Put(guard.Plan{Lease: "L1", Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: limit, Due: limit}}}),
			tx.Metered.Put(guard.Metered{Resource: id("i-1"), Segments: []guard.Segment{{Resource: id("i-1"), Lease: "L1", State: guard.StateRunning,
				Rate: guard.Rate{Amount: guard.MustMoney("20 USD"), Per: time.Hour}, From: limit.Add(-2 * time.Hour)}}})} {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// A cap counts from when it is passed: its finding opens with the notice. A lease whose cap
// is raised is told to nobody.
func TestCapIsPassed(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	w.overCap(w.when("2026-03-06 19:00"))
	l := w.escalate()
	w.until(l, w.when("2026-03-06 19:29"))
	check(t, "before", w.calls("team"))
	w.until(l, w.when("2026-03-06 19:35"))
	check(t, "after", w.calls("team"), "1h30m0s @ana")
	m := w.told()[0]
	if text := strings.Join(m.Lines, "\n"); !strings.Contains(m.Title, "its cap of 40.00 USD is passed") || !strings.Contains(text, "50.00 USD is spent") {
		t.Errorf("got %q %q", m.Title, m.Lines)
	}
	w.put(func(tx *store.Tx) error { // the cap is raised: it is not passed any more
		later := w.at.Wall.Add(10 * time.Hour)
		return tx.Plans.Put(guard.Plan{Lease: "L1", Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: later, Due: later}}})
	})
	w.until(l, w.when("2026-03-06 23:00"))
	check(t, "raised", w.calls("team"), "1h30m0s @ana")
}

// Whoever says after the notice, and before the cap is passed, that they see to it has
// acknowledged it.
func TestNoticeIsAcknowledged(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	w.overCap(w.when("2026-03-06 19:00"))
	w.put(func(tx *store.Tx) error {
		return tx.Journal(guard.JournalEntry{At: w.when("2026-03-06 18:30"), Who: "ana", Verb: "acknowledged", Subject: "lab/i-1"})
	})
	w.until(w.escalate(), w.when("2026-03-06 23:00"))
	check(t, "the team", w.calls("team"))
}

// A release that was accepted to no effect is told in its own words, and what is offered
// counts as long as that is so.
func TestStalledEscalates(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 18:00")
	f := w.blocked("i-1")
	f.Closed = w.at.Wall
	stalled := f
	stalled.Rule, stalled.Closed = guard.RuleReleaseStalled, time.Time{}
	stalled.ID = policy.FindingID(stalled)
	r := guard.Release{ID: "R-i-1", Lease: f.Lease, Target: f.Resource, Action: guard.ActRelease, State: guard.ReleaseIssued, IssuedAt: w.at.Wall}
	w.put(func(tx *store.Tx) error {
		for _, err := range []error{tx.CloseFinding(f), tx.Findings.Put(stalled), tx.Releases.Put(r)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	w.until(w.escalate(), w.when("2026-03-06 18:35"))
	got := w.deliver("team")
	if len(got) != 1 || !strings.Contains(got[0].Title, "accepted to release it, and it is still alive") {
		t.Fatalf("told %+v", got)
	}
	if len(got[0].Offers) != 1 {
		t.Fatalf("it offers %v", got[0].Offers)
	}
	lease := guard.Lease{ID: f.Lease, Resource: f.Resource, Status: guard.LeaseActive}
	facts := policy.Facts{At: w.at.Wall, Lease: &lease, Release: &r, Observed: &guard.Observed{Resource: guard.Resource{ID: f.Resource}}}
	if key := got[0].Offers[0].Key; !policy.Good(facts, guard.ClickAck, key) {
		t.Error("what it offers does not count")
	}
}
