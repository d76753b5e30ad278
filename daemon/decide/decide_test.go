package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/policy/release"
	"guard/store"
)

// TestExpiryIsToldAndPlanned: a notice an hour before, a reminder, and a release
// due exactly at the limit. The notice is one message.
func TestExpiryIsToldAndPlanned(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour - time.Second)
	if _, ok := w.release("i-1"); ok || len(w.about("i-1")) > 0 {
		t.Fatalf("told too early: %v", w.about("i-1"))
	}
	w.to(9 * time.Hour)
	r, ok := w.release("i-1")
	if !ok || r.State != guard.ReleaseNoticed || !r.Due.Equal(zero.Add(10*time.Hour)) || r.Cause != guard.CauseExpiry || !r.NoticedAt.Equal(zero.Add(9*time.Hour)) {
		t.Fatalf("release: %v %+v", ok, r)
	}
	if w.kicks["release/lab"] == 0 || w.kicks["notify"] == 0 {
		t.Errorf("kicks: %v", w.kicks)
	}
	w.to(10 * time.Hour)
	const at = "lab/i-1 (lora 70b): guard will release it at 2026-03-06T20:00:00Z: its time ends"
	if diff := cmp.Diff([]string{"9h0m0s expired: " + at, "9h45m0s expired: " + at}, w.about("i-1")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	notice := w.said()[0]
	if text := strings.Join(notice.Lines, "\n"); notice.Release != r.ID || !strings.Contains(text, "2160.00 CNY") || !strings.Contains(text, "guard extend lab/i-1 --by 2h") {
		t.Errorf("the notice: %+v", notice)
	}
	if notice.ID != "slack|"+r.Notice || notice.Thread != id("i-1").Key() {
		t.Errorf("notice %q of release with notice %q, thread %q", notice.ID, r.Notice, notice.Thread)
	}
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("at the limit: %+v", j)
	}
}

func TestJudgeBeforeTheLimit(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(10*time.Hour - time.Second)
	if j := w.judge("i-1"); j.Standing != release.Stands || !j.Due.Equal(zero.Add(10*time.Hour)) {
		t.Errorf("a second before: %+v", j)
	}
}

// TestExtension withdraws, and the next notice comes in its own time.
func TestExtension(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = zero.Add(14 * time.Hour) })
	if j := w.judge("i-1"); j.Standing != release.Void {
		t.Errorf("judged before the next run: %+v", j)
	}
	w.to(9*time.Hour + 31*time.Minute)
	if r, ok := w.release("i-1"); ok {
		t.Errorf("still there: %+v", r)
	}
	if f, ok := w.finding(guard.RuleExpired, "lab/i-1"); ok {
		t.Errorf("still open: %+v", f)
	}
	w.to(14 * time.Hour)
	var got []string
	for _, line := range w.about("i-1") {
		got = append(got, strings.SplitN(line, ":", 2)[0])
	}
	if diff := cmp.Diff([]string{"9h0m0s expired", "9h30m0s ", "13h0m0s expired", "13h45m0s expired"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, w.about("i-1"))
	}
	if r, ok := w.release("i-1"); !ok || !r.Due.Equal(zero.Add(14*time.Hour)) {
		t.Errorf("second release: %+v", r)
	}
}

// TestShortExtension moves the release without losing it.
func TestShortExtension(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	was, _ := w.release("i-1")
	w.change("i-1", func(l *guard.Lease) { l.ExpiresAt = zero.Add(10*time.Hour + 20*time.Minute) })
	w.to(9*time.Hour + 31*time.Minute)
	r, _ := w.release("i-1")
	if r.ID != was.ID || !r.Due.Equal(zero.Add(10*time.Hour+20*time.Minute)) {
		t.Errorf("moved: %+v", r)
	}
	if got := w.about("i-1"); len(got) != 2 || !strings.Contains(got[1], "now due at 2026-03-06T20:20:00Z") {
		t.Errorf("messages: %q", got)
	}
}

// TestObserveSaysItOnce: in observe mode nothing is planned, and a due limit is
// "would release", once, across restarts.
func TestObserveSaysItOnce(t *testing.T) {
	w := newWorld(t, guard.Observe)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	for h := time.Hour / 2; h <= 30*time.Hour; h += time.Hour / 2 {
		w.skip(h)
		if _, ok := w.release("i-1"); ok {
			t.Fatalf("a release in observe mode at %s", h)
		}
		w.restart()
	}
	would := 0
	for _, line := range w.about("i-1") {
		if strings.Contains(line, "would release") {
			would++
		}
	}
	if would != 1 || len(w.about("i-1")) != 2 {
		t.Errorf("said %d times: %q", would, w.about("i-1"))
	}
}

// TestSwitchToEnforce: 40 overdue leases get fresh notice, and none is due sooner
// than its grace.
func TestSwitchToEnforce(t *testing.T) {
	w := newWorld(t, guard.Observe)
	for i := range 40 {
		name := fmt.Sprintf("i-%02d", i)
		w.instance(name)
		w.lease(name, 2*time.Hour, func(l *guard.Lease) { l.Grace = time.Duration(i) * time.Minute })
	}
	w.skip(30 * time.Hour)
	w.config.Accounts[0].Mode = guard.Enforce
	w.restart()
	before := len(w.said())
	w.to(30*time.Hour + time.Second)
	for i := range 40 {
		name := fmt.Sprintf("i-%02d", i)
		r, ok := w.release(name)
		soonest := zero.Add(30*time.Hour + max(10, time.Duration(i))*time.Minute)
		if !ok || r.State != guard.ReleaseNoticed || r.Due.Before(soonest) || r.Due.After(soonest.Add(time.Minute)) {
			t.Errorf("%s: %s due %s, want %s", name, r.State, r.Due, soonest)
		}
		if j := w.judge(name); j.Standing == release.Stands && !j.Due.After(w.at.Wall) {
			t.Errorf("%s would be released at once", name)
		}
	}
	if n := len(w.said()) - before; n != 40 {
		t.Errorf("%d fresh notices, want 40", n)
	}
}

// TestAway: after a down-time of hours what is overdue gets fresh notice, and
// what people were told of before and is not overdue keeps its time.
func TestAway(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for _, name := range []string{"i-1", "i-2"} {
		w.instance(name)
	}
	w.lease("i-1", 10*time.Hour)
	w.lease("i-2", 12*time.Hour+5*time.Minute, func(l *guard.Lease) { l.Grace = 4 * time.Hour })
	w.to(9 * time.Hour)
	w.at = w.at.Reach(zero.Add(12 * time.Hour))
	w.restart()
	w.to(12 * time.Hour)
	if r, _ := w.release("i-1"); !r.Due.Equal(zero.Add(12*time.Hour + 10*time.Minute)) {
		t.Errorf("overdue: due %s", r.Due.Sub(zero))
	}
	if r, _ := w.release("i-2"); !r.Due.Equal(zero.Add(12*time.Hour + 5*time.Minute)) {
		t.Errorf("not overdue: due %s", r.Due.Sub(zero))
	}
	if got := w.about("i-1"); len(got) != 2 || !strings.HasPrefix(got[1], "12h0m0s") {
		t.Errorf("fresh notice: %q", got)
	}
	if j := w.judge("i-1"); !j.Due.After(w.at.Wall) {
		t.Errorf("judged %+v", j)
	}
}

// TestSleep: a machine that slept for hours is away, too; its clocks agree.
func TestSleep(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9 * time.Hour)
	w.at = w.at.Add(4 * time.Hour)
	w.once()
	if r, _ := w.release("i-1"); !r.Due.Equal(zero.Add(13*time.Hour + 10*time.Minute)) {
		t.Errorf("due %s", r.Due.Sub(zero))
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("a sleep is no jump: %+v", f)
	}
}

// TestRestartsRepeatNothing: what was said stays said, however often guard
// restarts, and the double run of the memory backend writes nothing twice.
func TestRestartsRepeatNothing(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for i := range 25 {
		name := fmt.Sprintf("i-%02d", i)
		w.instance(name)
		w.lease(name, 2*time.Hour)
	}
	w.to(time.Hour)
	want := len(w.said())
	for range 5 {
		w.restart()
		w.at = w.at.Add(10 * time.Second)
		w.once()
	}
	if got := len(w.said()); got != want || want != 25 {
		t.Errorf("%d messages, then %d; want 25", want, got)
	}
	w.view(func(v *store.View) error {
		entries, err := v.JournalOf("lab/i-00", 0)
		if len(entries) != 3 { // found, planned, noticed
			t.Errorf("journal: %+v", entries)
		}
		return err
	})
}

// TestHold puts the release off and gives notice before the hold's end.
func TestHold(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.change("i-1", func(l *guard.Lease) {
		l.Holds = []guard.Hold{{Until: zero.Add(12 * time.Hour), By: "ana", Since: w.at.Wall}}
	})
	w.to(10*time.Hour + 30*time.Minute)
	if r, ok := w.release("i-1"); ok {
		t.Fatalf("held, and there is a release: %+v", r)
	}
	w.to(12 * time.Hour)
	r, ok := w.release("i-1")
	if !ok || r.NoticedAt.Sub(zero) != 11*time.Hour {
		t.Fatalf("noticed at %s", r.NoticedAt.Sub(zero))
	}
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("when the hold ends: %+v", j)
	}
}

// TestUnholdGivesNotice: lifting a hold after the limit is no ambush.
func TestUnholdGivesNotice(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour, func(l *guard.Lease) {
		l.Holds = []guard.Hold{{Until: zero.Add(20 * time.Hour), By: "ana", Since: zero}}
	})
	w.to(5 * time.Hour)
	w.change("i-1", func(l *guard.Lease) { l.Holds = nil })
	w.once()
	if j := w.judge("i-1"); !j.Due.Equal(zero.Add(5*time.Hour + 10*time.Minute)) {
		t.Errorf("due %s after the unhold", j.Due.Sub(zero))
	}
}

// TestUnholdBringsBack: a hold that is lifted leaves nothing of what it put off, even
// where it was no longer than a notice may wait to be acknowledged.
func TestUnholdBringsBack(t *testing.T) {
	for _, lifted := range []time.Duration{9*time.Hour + 40*time.Minute, 10*time.Hour + 2*time.Minute} {
		w := newWorld(t, guard.Enforce)
		w.instance("i-1")
		w.lease("i-1", 10*time.Hour)
		w.skip(8 * time.Hour)
		w.to(9*time.Hour + 30*time.Minute)
		w.change("i-1", func(l *guard.Lease) {
			l.Holds = []guard.Hold{{Until: zero.Add(10*time.Hour + 5*time.Minute), By: "ana", Since: w.at.Wall}}
		})
		w.to(lifted)
		if r, _ := w.release("i-1"); r.Due.Sub(zero) != 10*time.Hour+5*time.Minute {
			t.Fatalf("held, and due %s", r.Due.Sub(zero))
		}
		w.change("i-1", func(l *guard.Lease) { l.Holds = nil })
		w.once()
		if r, _ := w.release("i-1"); r.Due.Sub(zero) != 10*time.Hour {
			t.Errorf("lifted at %s, and due %s", lifted, r.Due.Sub(zero))
		}
	}
}

// TestCapFirst: of two limits the one that is due first is carried out, under its
// own notice.
func TestCapFirst(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour, func(l *guard.Lease) { l.Budget = guard.MustMoney("2376CNY") }) // 9.9 h
	w.deadline("i-1", 9*time.Hour+53*time.Minute+15*time.Second, 0)
	w.skip(8 * time.Hour)
	w.to(9 * time.Hour)
	if r, _ := w.release("i-1"); r.Cause != guard.CauseExpiry {
		t.Fatalf("cause %s", r.Cause)
	}
	w.to(9*time.Hour + 53*time.Minute + 15*time.Second)
	r, _ := w.release("i-1")
	if r.Cause != guard.CauseBudget || r.Due.Sub(zero) != 9*time.Hour+53*time.Minute+15*time.Second || !strings.HasPrefix(r.Notice, "budget_exceeded") {
		t.Errorf("%+v", r)
	}
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("%+v", j)
	}
	warned := 0
	for _, line := range w.about("i-1") {
		if strings.Contains(line, "budget_warning") {
			warned++
		}
	}
	if warned != 3 {
		t.Errorf("%d warnings: %q", warned, w.about("i-1"))
	}
}

// TestBudgetWarningsComeInTime: each percentage is told when it is crossed, not at
// the next poll.
func TestBudgetWarningsComeInTime(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
	w.deadline("i-1", 10*time.Hour-45*time.Second, 0)
	w.skip(8 * time.Hour)
	w.to(9 * time.Hour)
	for i, want := range []time.Duration{5 * time.Hour, 8 * time.Hour} {
		m := w.said()[i]
		if late := m.CreatedAt.Sub(zero) - want; late < 0 || late > 2*time.Second {
			t.Errorf("%s: %s late", m.Title, late)
		}
	}
}

// TestPersonsOrder is told and stands, whatever the lease says.
func TestPersonsOrder(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.to(time.Hour)
	w.order("i-1")
	w.to(time.Hour + time.Second)
	r, _ := w.release("i-1")
	if r.State != guard.ReleaseNoticed {
		t.Fatalf("state %s", r.State)
	}
	if j := w.judge("i-1"); j.Standing != release.Stands || j.Due.After(w.at.Wall) {
		t.Errorf("%+v", j)
	}
	w.to(2 * time.Hour)
	if r, ok := w.release("i-1"); !ok || r.State != guard.ReleaseNoticed {
		t.Errorf("the order was dropped: %+v", r)
	}
	if got := w.about("i-1"); len(got) != 1 || !strings.Contains(got[0], "ordered by bo") {
		t.Errorf("messages: %q", got)
	}
}

// TestGoneBeforeItIsDue withdraws at once, and what the release left open is closed.
func TestGoneBeforeItIsDue(t *testing.T) {
	for _, state := range []guard.ReleaseState{guard.ReleaseNoticed, guard.ReleaseBlocked} {
		w := newWorld(t, guard.Enforce)
		w.instance("i-1")
		w.lease("i-1", 2*time.Hour)
		w.to(time.Hour)
		w.update(func(tx *store.Tx) error {
			r, _, err := tx.Releases.Get(id("i-1").Key())
			o, _, err2 := tx.Observed.Get(id("i-1").Key())
			l, _, err3 := tx.Leases.Get("l-i-1")
			r.State = state
			if state == guard.ReleaseBlocked {
				r.Reason = guard.BlockPermission
			}
			o.Gone = &guard.Gone{At: w.at.Wall, ProvenAt: w.at.Wall, How: guard.ByReclaim, Proof: guard.ProofTerminal}
			l.Status, l.EndedAt, l.EndedHow = guard.LeaseGone, w.at.Wall, guard.ByReclaim
			stuck := guard.Finding{ID: "x", Rule: guard.RuleReleaseBlocked, Subject: "lab/i-1", Resource: id("i-1"), Opened: w.at.Wall, Since: w.at.Wall, Title: "stuck"}
			return put(err, err2, err3, tx.Releases.Put(r), tx.Observed.Put(o), tx.Leases.Put(l), tx.Findings.Put(stuck))
		})
		w.once()
		if r, ok := w.release("i-1"); ok {
			t.Errorf("%s: still %s", state, r.State)
		}
		for _, rule := range []guard.Rule{guard.RuleReleaseBlocked, guard.RuleExpired} {
			if _, ok := w.finding(rule, "lab/i-1"); ok {
				t.Errorf("%s: %s is still open", state, rule)
			}
		}
		if _, ok := w.finding(guard.RuleReclaimed, "lab/i-1"); !ok {
			t.Errorf("%s: nobody hears that it was taken back", state)
		}
	}
}

// TestGrouped: three are told one by one, 47 in messages that name each of them.
func TestGrouped(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for i := range 3 {
		w.instance(fmt.Sprintf("i-%02d", i))
	}
	w.to(20 * time.Minute)
	if n := len(w.said()); n != 3 {
		t.Errorf("three: %d messages", n)
	}
	for i := range 47 {
		w.instance(fmt.Sprintf("j-%02d", i))
	}
	w.to(time.Hour)
	about := map[string]int{}
	posts := w.said()[3:]
	for _, m := range posts {
		for _, r := range m.About {
			about[r.ID]++
		}
	}
	if len(posts) != 1 || len(about) != 47 {
		t.Errorf("47: %d messages about %d instances", len(posts), len(about))
	}
	for name, n := range about {
		if n != 1 {
			t.Errorf("%s: told %d times", name, n)
		}
		if _, ok := w.finding(guard.RuleUnregistered, "lab/"+name); !ok {
			t.Errorf("%s has no finding", name)
		}
	}
	if !strings.Contains(strings.Join(posts[0].Lines, "\n"), "11280.00 CNY per hour") {
		t.Errorf("what they cost together: %q", posts[0].Lines)
	}
}

// TestRegisteredIsOver closes the finding and says so.
func TestRegisteredIsOver(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.to(20 * time.Minute)
	w.lease("i-1", 10*time.Hour)
	w.to(21 * time.Minute)
	if _, ok := w.finding(guard.RuleUnregistered, "lab/i-1"); ok {
		t.Error("still open")
	}
	if got := w.about("i-1"); len(got) != 2 || !strings.Contains(got[1], "Over: ") {
		t.Errorf("messages: %q", got)
	}
}

// TestWhy explains with sources and arithmetic.
func TestWhy(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
	w.deadline("i-1", 9*time.Hour+59*time.Minute+15*time.Second, 0)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 50*time.Minute)
	facts, lines, err := w.loop.Why(t.Context(), w.at, id("i-1"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"2360.00 CNY spent of 2400.00 CNY", "240.00 CNY per hour", "45s from the call until billing ends", "Expiry: 2026-03-06T20:00:00Z, in 10m",
		"Release noticed: due at 2026-03-06T19:59:15Z", "foreseen"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for _, f := range facts {
		if f.Source == "" || f.At.IsZero() {
			t.Errorf("a fact without source or age: %+v", f)
		}
	}
	if _, _, err := w.loop.Why(t.Context(), w.at, id("i-9")); err == nil {
		t.Error("it explains what it does not know")
	}
}
