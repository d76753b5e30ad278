package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/policy"
	"guard/policy/release"
	"guard/store"
)

// mute puts a veto or a snooze into the ledger.
func (w *world) mute(m guard.Mute) {
	w.t.Helper()
	m.By, m.Since = "bo", w.at.Wall
	w.update(func(tx *store.Tx) error { return tx.Mutes.Put(m) })
}

// ceiling writes a plan with the deadline of a ceiling, as the meter would.
func (w *world) ceiling(name string, due time.Duration) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		l, _, err := tx.Leases.Get("l-" + name)
		if err != nil {
			return err
		}
		d, _ := w.config.Rules.Ceiling(l, nil, 0, w.at.Wall)
		d.Limit, d.Due, d.Stood = zero.Add(due), zero.Add(due), zero
		return tx.Plans.Put(guard.Plan{Lease: l.ID, SolvedAt: w.at.Wall, Deadlines: []guard.Deadline{d}})
	})
}

// TestCeiling: on_limit alert, a hold, a veto and a snooze, and it is released at the
// ceiling, with its notice.
func TestCeiling(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.config.Rules.Ceilings.TTL = 10 * time.Hour
	w.restart()
	w.instance("i-1")
	w.lease("i-1", 30*time.Hour, func(l *guard.Lease) {
		l.OnLimit = guard.ActAlert
		l.Holds = []guard.Hold{{Until: zero.Add(30 * time.Hour), By: "ana"}}
	})
	w.ceiling("i-1", 10*time.Hour)
	for _, r := range append(policy.Vetoable(), guard.RuleCeilingReached) {
		w.mute(guard.Mute{Subject: "lab/i-1", Kind: guard.Veto, Rule: r, Until: zero.Add(30 * time.Hour)})
	}
	w.mute(guard.Mute{Subject: "lab/i-1", Kind: guard.Snooze, Until: zero.Add(30 * time.Hour)})
	w.skip(8 * time.Hour)
	w.to(9 * time.Hour)
	r, ok := w.release("i-1")
	if !ok || r.Cause != guard.CauseCeiling || r.Action != guard.ActRelease || !r.Due.Equal(zero.Add(10*time.Hour)) || r.State != guard.ReleaseNoticed {
		t.Fatalf("release: %v %+v", ok, r)
	}
	w.to(10 * time.Hour)
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("at the ceiling: %+v", j)
	}
	want := []string{"9h0m0s ceiling_reached: lab/i-1 (lora 70b): guard will release it at 2026-03-06T20:00:00Z: its ceiling of 10h is reached"}
	if diff := cmp.Diff(want, w.about("i-1")); diff != "" {
		t.Errorf("the notice is told, and what is not urgent waits for the snooze (-want +got):\n%s", diff)
	}
	if _, lines, err := w.loop.Why(t.Context(), w.at, id("i-1")); err != nil || !strings.Contains(strings.Join(lines, "\n"), "Ceiling: it lasts until 2026-03-06T20:00:00Z at most (10h from 2026-03-06T10:00:00Z)") {
		t.Errorf("why: %v\n%s", err, strings.Join(lines, "\n"))
	}
}

// TestACeilingThatIsLowered is seen among what it dooms, before the meter has solved
// for it.
func TestACeilingThatIsLowered(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 30*time.Hour)
	w.instance("i-2")
	w.lease("i-2", 30*time.Hour, func(l *guard.Lease) { l.Protected = true })
	w.skip(3 * time.Hour)
	for name, c := range map[string]policy.Ceilings{
		"life":  {TTL: 2 * time.Hour},
		"money": {Budget: []guard.Money{guard.MustMoney("500 CNY")}},
	} {
		w.config.Rules.Ceilings = c
		w.restart()
		doomed, err := w.loop.Doomed(t.Context(), w.at)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := doomed[id("i-1")]; !ok || len(doomed) != 1 || d.Act.Cause != guard.CauseCeiling {
			t.Errorf("%s: %+v", name, doomed)
		}
	}
	w.config.Rules.Ceilings = policy.Ceilings{TTL: 20 * time.Hour, Budget: []guard.Money{guard.MustMoney("500 USD")}}
	w.restart()
	if doomed, err := w.loop.Doomed(t.Context(), w.at); err != nil || len(doomed) > 0 {
		t.Errorf("a ceiling that is far: %v %+v", err, doomed)
	}
}

// TestVeto withdraws what was noticed, keeps the finding, and a grace before its end
// people are told again.
func TestVeto(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(90 * time.Minute)
	if r, ok := w.release("i-1"); !ok || r.State != guard.ReleaseNoticed {
		t.Fatalf("before the veto: %v %+v", ok, r)
	}
	w.mute(guard.Mute{Subject: "lab/i-1", Kind: guard.Veto, Rule: guard.RuleExpired, Until: zero.Add(4 * time.Hour), Reason: "demo"})
	if j := w.judge("i-1"); j.Standing != release.Void {
		t.Errorf("judged before the next run: %+v", j)
	}
	w.to(3 * time.Hour)
	if r, ok := w.release("i-1"); ok {
		t.Errorf("not withdrawn: %+v", r)
	}
	if f, ok := w.finding(guard.RuleExpired, "lab/i-1"); !ok || !strings.Contains(f.Title, "guard does nothing about it") {
		t.Errorf("finding: %v %+v", ok, f)
	}
	w.to(3*time.Hour + 50*time.Minute)
	r, ok := w.release("i-1")
	if !ok || r.State != guard.ReleaseNoticed || !r.Due.Equal(zero.Add(4*time.Hour)) || !r.NoticedAt.Equal(w.at.Wall) {
		t.Fatalf("a grace before its end: %v %+v", ok, r)
	}
	if j := w.judge("i-1"); j.Standing != release.Stands || !j.Due.Equal(zero.Add(4*time.Hour)) {
		t.Errorf("before its end: %+v", j)
	}
	w.to(4*time.Hour + time.Second)
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("after it: %+v", j)
	}
	want := []string{
		"1h0m0s expired: lab/i-1 (lora 70b): guard will release it at 2026-03-06T12:00:00Z: its time ends",
		"1h30m0s : lab/i-1 (lora 70b): it will not be released now: the rule expired is vetoed until 2026-03-06T14:00:00Z by bo: demo",
		"1h45m0s expired: lab/i-1 (lora 70b): its time ends at 2026-03-06T12:00:00Z; guard does nothing about it until 2026-03-06T14:00:00Z",
		"3h50m0s expired: lab/i-1 (lora 70b): guard will release it at 2026-03-06T14:00:00Z: its time is up since 2026-03-06T12:00:00Z",
	}
	if diff := cmp.Diff(want, w.about("i-1")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestSnooze mutes what is not urgent, and tells it when it ends if it is still true.
func TestSnooze(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	snooze := func(name string, until time.Duration) {
		w.mute(guard.Mute{Subject: "lab/" + name, Kind: guard.Snooze, Until: zero.Add(until)})
	}
	w.instance("i-1") // nobody registers it
	snooze("i-1", 2*time.Hour)
	w.instance("i-2") // registered while it is muted
	snooze("i-2", 2*time.Hour)
	w.to(time.Hour)
	if f, ok := w.finding(guard.RuleUnregistered, "lab/i-1"); !ok || len(f.Said) > 0 {
		t.Errorf("the finding is there, and nothing of it is said: %v %+v", ok, f)
	}
	w.lease("i-2", 30*time.Hour)
	w.to(2*time.Hour - time.Second)
	if said := w.said(); len(said) > 0 {
		t.Errorf("told during the snooze: %q", said[0].Title)
	}
	w.to(3 * time.Hour)
	if got := w.about("i-1"); len(got) != 1 || !strings.HasPrefix(got[0], "2h0m0s unregistered") {
		t.Errorf("after the snooze: %q", got)
	}
	if got := w.about("i-2"); len(got) > 0 {
		t.Errorf("what was over by then: %q", got)
	}
}

// TestSnoozeIsQuiet: nothing is written again and again while it lasts.
func TestSnoozeIsQuiet(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.mute(guard.Mute{Subject: "lab/i-1", Kind: guard.Snooze, Until: zero.Add(2 * time.Hour)})
	w.to(30 * time.Minute)
	var before, after store.Version
	w.view(func(v *store.View) error { before = v.Version(); return nil })
	w.once()
	w.view(func(v *store.View) error { after = v.Version(); return nil })
	if before != after {
		t.Errorf("written with nothing new: %v, %v", before, after)
	}
}

// TestAdopt: 47 boxes that nobody registered are one message and 47 leases, in observe
// mode too; a claim closes the finding.
func TestAdopt(t *testing.T) {
	w := newWorld(t, guard.Observe)
	w.config.Rules.Unregistered.Adopt = &policy.Adopt{TTL: 2 * time.Hour, OnLimit: guard.ActAlert}
	w.restart()
	const boxes = 47
	for n := range boxes {
		w.instance(fmt.Sprintf("i-%d", n), func(o *guard.Observed) { o.Resource.Tags = map[string]string{"owner": "mallory"} })
	}
	w.instance("i-cpu", func(o *guard.Observed) { o.Resource.GPUs, o.Resource.HasGPU = 0, guard.No })
	w.instance("v-1")
	w.to(15 * time.Minute)
	if said := w.said(); len(said) != 1 || len(said[0].About) != boxes+1 {
		t.Fatalf("%d messages, the first about %d", len(said), len(said[0].About))
	}
	var leases []guard.Lease
	entries := 0
	w.view(func(v *store.View) error {
		leases, entries = nil, 0
		for l, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			leases = append(leases, l)
			e, err := v.JournalOf(l.ID, 10)
			if err != nil {
				return err
			}
			for _, e := range e {
				if e.Verb == "adopted" {
					entries++
				}
			}
		}
		return nil
	})
	if len(leases) != boxes || entries != boxes {
		t.Fatalf("%d leases, %d entries", len(leases), entries)
	}
	l := leases[0]
	if !l.Adopted || l.Owner != "mallory" || l.OnLimit != guard.ActAlert || !l.ExpiresAt.Equal(zero.Add(2*time.Hour+10*time.Minute)) || l.Status != guard.LeaseActive {
		t.Errorf("lease: %+v", l)
	}
	if w.kicks["meter"] == 0 {
		t.Errorf("kicks: %v", w.kicks)
	}
	w.update(func(tx *store.Tx) error {
		l.Adopted, l.Owner, l.UpdatedAt, l.UpdatedBy = false, "ana", w.at.Wall, "ana"
		return tx.Leases.Put(l)
	})
	w.to(16 * time.Minute)
	if f, ok := w.finding(guard.RuleUnregistered, l.Resource.String()); ok {
		t.Errorf("claimed, and still open: %+v", f)
	}
	if n := len(w.said()); n != 2 {
		t.Errorf("%d messages after the claim", n)
	}
}

// expect puts the lease of an instance that nobody has seen into the ledger.
func (w *world) expect(lease, name string, within, ttl time.Duration) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		return tx.Leases.Put(guard.Lease{ID: lease, Resource: guard.ResourceID{Account: "lab", Kind: guard.Instance}, Purpose: "lora 70b", Owner: "ana",
			RegisteredAt: w.at.Wall, ExpiresAt: w.at.Wall.Add(ttl), OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseExpected,
			Expect: &guard.Expect{Name: name, From: w.at.Wall, Until: w.at.Wall.Add(within)}, UpdatedAt: w.at.Wall, UpdatedBy: "ana"})
	})
}

func (w *world) leaseByID(lease string) guard.Lease {
	w.t.Helper()
	var l guard.Lease
	w.view(func(v *store.View) (err error) {
		l, _, err = v.Leases.Get(lease)
		return err
	})
	return l
}

// stray gives an instance a name and tags.
func stray(name string, tags map[string]string) func(*guard.Observed) {
	return func(o *guard.Observed) { o.Resource.Name, o.Resource.Tags = name, tags }
}

// TestExpected: what was registered ahead is known by its name when it comes, with its
// owner and its end, and is released at that (REL-08).
func TestExpected(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.expect("l-x", "trainer", 30*time.Minute, 2*time.Hour)
	w.to(10 * time.Minute)
	w.instance("i-other", stray("other", nil))
	w.instance("i-9", stray("trainer", nil))
	w.to(11 * time.Minute)
	l := w.leaseByID("l-x")
	if l.Resource.ID != "i-9" || l.Status != guard.LeaseActive || l.Expect != nil || l.Identity != "acct" || !l.ExpiresAt.Equal(zero.Add(2*time.Hour)) {
		t.Fatalf("lease: %+v", l)
	}
	if got := w.about("i-9"); len(got) != 1 || !strings.Contains(got[0], "it is here") {
		t.Errorf("told: %q", got)
	}
	w.to(time.Hour)
	if r, ok := w.release("i-9"); !ok || !r.Due.Equal(zero.Add(2*time.Hour)) {
		t.Errorf("release: %v %+v", ok, r)
	}
	if _, ok := w.finding(guard.RuleExpectedMissing, "lab/l-x"); ok {
		t.Error("said to be missing")
	}
}

// TestExpectedAndMissing: told once, known by its tag all the same however late, and
// then it is over.
func TestExpectedAndMissing(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.expect("l-x", "trainer", 30*time.Minute, 5*time.Hour)
	w.to(2 * time.Hour)
	f, ok := w.finding(guard.RuleExpectedMissing, "lab/l-x")
	if said := w.said(); !ok || f.Lease != "l-x" || len(said) != 1 || said[0].CreatedAt.Sub(zero) != 30*time.Minute {
		t.Fatalf("missing: %v %+v, %d messages", ok, f, len(said))
	}
	w.instance("i-9", stray("late", map[string]string{guard.TagLease: "l-x"}))
	w.to(2*time.Hour + time.Minute)
	if l := w.leaseByID("l-x"); l.Resource.ID != "i-9" || l.Status != guard.LeaseActive {
		t.Errorf("lease: %+v", l)
	}
	if f, ok := w.finding(guard.RuleExpectedMissing, "lab/l-x"); ok {
		t.Errorf("still open: %+v", f)
	}
	if n := len(w.said()); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// TestExpectedByTwo: two that could be it are nobody's, and that is told; one of them
// gone, the other is it.
func TestExpectedByTwo(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.expect("l-x", "trainer", 30*time.Minute, 5*time.Hour)
	w.instance("i-1", stray("trainer", nil))
	w.instance("i-2", stray("trainer", nil))
	w.to(time.Minute)
	if f, ok := w.finding(guard.RuleExpectedMissing, "lab/l-x"); !ok || !strings.Contains(f.Title, "lab/i-1, lab/i-2") || w.leaseByID("l-x").Status != guard.LeaseExpected {
		t.Fatalf("finding: %v %+v", ok, f)
	}
	w.lease("i-2", time.Hour)
	w.to(2 * time.Minute)
	if l := w.leaseByID("l-x"); l.Resource.ID != "i-1" {
		t.Errorf("lease: %+v", l)
	}
}

// TestExpectedAndOver: a lease that nobody came for ends at its time, without a release.
func TestExpectedAndOver(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.expect("l-x", "trainer", 30*time.Minute, 2*time.Hour)
	w.to(2*time.Hour + time.Minute)
	if l := w.leaseByID("l-x"); l.Status != guard.LeaseGone || !l.EndedAt.Equal(zero.Add(2*time.Hour)) {
		t.Errorf("lease: %+v", l)
	}
	if f, ok := w.finding(guard.RuleExpectedMissing, "lab/l-x"); ok {
		t.Errorf("still open: %+v", f)
	}
	said := w.said()
	if len(said) != 2 || !strings.Contains(said[1].Title, "it was never seen") {
		t.Errorf("told: %+v", said)
	}
	// What comes now is nobody's.
	w.instance("i-9", stray("trainer", map[string]string{guard.TagLease: "l-x"}))
	w.to(3 * time.Hour)
	if _, ok := w.finding(guard.RuleUnregistered, "lab/i-9"); !ok {
		t.Error("not told to be unregistered")
	}
}
