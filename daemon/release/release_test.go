package release_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	judging "guard/policy/release"
	"guard/providers/fake"
	"guard/store"
)

// TestReleased is the whole way: read ahead, called at the deadline to the
// second, proven by two reads, with a receipt.
func TestReleased(t *testing.T) {
	s := one()
	s.Lag.Disappears = 10 * time.Minute
	w := newWorld(t, s)
	w.know(guard.CauseExpiry, "i-1")
	w.must(due - time.Millisecond)
	if n := len(w.calls(fake.CallRelease, "i-1")); n > 0 {
		t.Fatal("called before it was due")
	}
	before := len(w.cloud.Calls())
	w.must(due)
	calls := w.cloud.Calls()[before:]
	if len(calls) != 1 || calls[0].Call != fake.CallRelease || calls[0].At.Sub(zero) != due {
		t.Fatalf("at the deadline: %+v", calls)
	}
	r := w.release("i-1")
	if r.State != guard.ReleaseIssued || !r.IntendedAt.Equal(zero.Add(due)) {
		t.Fatalf("%+v", r)
	}
	w.must(due + 2*time.Minute)
	r = w.release("i-1")
	if r.State != guard.ReleaseDone || r.Receipt == nil {
		t.Fatalf("%+v", r)
	}
	c := r.Receipt
	if gone := w.cloud.Gone("i-1"); c.Proof != guard.ProofTerminal || !c.GoneAt.Equal(gone) || c.Took != 45*time.Second || c.Attempts != 1 {
		t.Errorf("receipt %+v, gone at %s", c, gone)
	}
	if diff := cmp.Diff("[2403.00 USD]", fmt.Sprint(c.Spend)); diff != "" || c.Unspent.String() != "97.00 USD" {
		t.Errorf("spend %v, unspent %v", c.Spend, c.Unspent)
	}
	if l := w.lease("i-1"); l.Status != guard.LeaseReleased || l.EndedHow != guard.ByRelease || !l.EndedAt.Equal(c.GoneAt) {
		t.Errorf("lease %+v", l)
	}
	if w.sweeps != 1 {
		t.Errorf("%d sweeps", w.sweeps)
	}
	if got := w.titles(); len(got) != 1 || !strings.Contains(got[0], "released, with proof") {
		t.Errorf("said %q", got)
	}
	w.must(due + 3*time.Hour)
	if n := len(w.calls(fake.CallRelease, "i-1")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestJournal: every move is in it, in order.
func TestJournal(t *testing.T) {
	w := newWorld(t, one())
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 3*time.Minute)
	var verbs []string
	if err := w.ledger.View(t.Context(), func(v *store.View) error {
		entries, err := v.JournalSince(0, 0)
		for _, e := range entries {
			verbs = append(verbs, e.Verb)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"intended", "issued", "released"}, verbs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKilledAnywhere kills guard before each of its writes and starts it again:
// there is one effective release, one receipt, and no lost one.
func TestKilledAnywhere(t *testing.T) {
	for _, takes := range []time.Duration{fake.AtOnce, 45 * time.Second, 4 * time.Minute} {
		for n := range 12 {
			for _, back := range []time.Duration{time.Second, time.Minute, 20 * time.Minute} {
				t.Run(fmt.Sprintf("takes %s, killed at %d, back after %s", takes, n, back), func(t *testing.T) {
					s := one()
					s.ReleaseTakes = takes
					w := newWorld(t, s)
					w.know(guard.CauseExpiry, "i-1")
					w.backend.left = n
					err := w.to(due + 10*time.Minute)
					if err != nil && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					killed := err != nil
					w.backend.left = -1
					w.at = w.at.Add(back)
					w.cloud.Advance(w.at.Wall)
					w.restart()
					w.must(max(due, w.at.Wall.Sub(zero)) + 30*time.Minute)
					r := w.release("i-1")
					if r.State != guard.ReleaseDone || r.Receipt == nil || w.cloud.Truth("i-1") != fake.TruthGone {
						t.Fatalf("killed %v: %s, truth %s", killed, r.State, w.cloud.Truth("i-1"))
					}
					if calls := w.calls(fake.CallRelease, "i-1"); len(calls) != 1 {
						t.Errorf("calls at %v", calls)
					}
					if said := w.titles(); len(said) != 1 {
						t.Errorf("said %q", said)
					}
				})
			}
		}
	}
}

// TestOutage: the network is away from a minute before the cap until half an hour
// after (REL-02).
func TestOutage(t *testing.T) {
	w := newWorld(t, one(fake.Fault{From: due - time.Minute, For: 31 * time.Minute, Reply: fake.Reply{Unreachable: true}}))
	w.know(guard.CauseBudget, "i-1")
	w.must(due - 90*time.Second)
	w.listed()
	w.must(due + 30*time.Minute - time.Second)
	r := w.release("i-1")
	if r.State != guard.ReleaseIntended || r.Attempt < 3 || r.LastError == "" || !r.Due.Equal(zero.Add(due)) {
		t.Errorf("in the outage: %s, attempt %d, error %q", r.State, r.Attempt, r.LastError)
	}
	if got := w.titles(); len(got) != 1 || !strings.Contains(got[0], "cannot release it yet") || !strings.Contains(strings.Join(w.said()[0].Lines, " "), "2026-03-06T20:00:00Z") {
		t.Errorf("said %q", got)
	}
	w.must(due + 31*time.Minute)
	if calls := w.calls(fake.CallRelease, "i-1"); calls[len(calls)-1] < due+30*time.Minute {
		t.Errorf("not tried within a minute of coming back: %v", calls)
	}
	w.must(due + 34*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("after the outage: %s", r.State)
	}
	if w.open(guard.RuleReleaseBlocked, "i-1") {
		t.Error("the finding is still open")
	}
}

// TestHintInTheBody: seven calls, a minute apart, one alert (REL-04).
func TestHintInTheBody(t *testing.T) {
	w := newWorld(t, one(fake.Fault{Call: fake.CallRelease, Times: 6, Reply: fake.Reply{Status: 500, Body: `{"error":"retry in 60 seconds"}`}}))
	w.know(guard.CausePerson, "i-1")
	w.must(due + 20*time.Minute)
	calls := w.calls(fake.CallRelease, "i-1")
	if len(calls) != 7 {
		t.Errorf("calls at %v", calls)
	}
	for i := 1; i < len(calls); i++ {
		if d := calls[i] - calls[i-1]; d < time.Minute {
			t.Errorf("calls %s apart", d)
		}
	}
	urgent := 0
	for _, m := range w.said() {
		if m.Urgent {
			urgent++
		}
	}
	if r := w.release("i-1"); r.State != guard.ReleaseDone || urgent != 1 {
		t.Errorf("%s, said %q", r.State, w.titles())
	}
}

// TestForbidden: told at once, tried every five minutes and no more often, and
// done once it may (REL-05).
func TestForbidden(t *testing.T) {
	w := newWorld(t, fake.Script{Resources: []fake.Resource{box("i-1"), box("i-2")},
		Faults: []fake.Fault{{Call: fake.CallRelease, Reply: fake.Reply{Status: 403, Body: `{"error":"lab:Terminate is not allowed"}`}}}})
	w.know(guard.CauseBudget, "i-1", "i-2")
	w.must(due + time.Minute)
	for _, name := range []string{"i-1", "i-2"} {
		if r := w.release(name); r.State != guard.ReleaseBlocked || r.Reason != guard.BlockPermission {
			t.Errorf("%s: %s %s", name, r.State, r.Reason)
		}
	}
	said := w.said()
	if len(said) != 2 || !said[0].Urgent || !strings.Contains(said[0].Title, "permission denied") || said[0].Finding == "" {
		t.Fatalf("said %+v", said)
	}
	w.must(due + 2*time.Hour + time.Minute)
	calls := w.calls(fake.CallRelease, "i-1")
	for i := 1; i < len(calls); i++ {
		if d := calls[i] - calls[i-1]; d < 5*time.Minute {
			t.Errorf("calls %s apart", d)
		}
	}
	if len(calls) < 20 {
		t.Errorf("only %d calls", len(calls))
	}
	if n := len(w.said()); n != 6 { // hourly, at a cap
		t.Errorf("said %q", w.titles())
	}
	w.cloud.ClearFaults()
	w.must(due + 2*time.Hour + 10*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("when it may: %s %s", r.State, r.Reason)
	}
}

// TestProtectedByTheProvider: never stripped unless both the configuration and
// the lease say so; then before the release (REL-10).
func TestProtectedByTheProvider(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		protected := fake.Script{Resources: []fake.Resource{box("i-1", func(r *fake.Resource) {
			r.Protected, r.HideProtection = []string{"release"}, hidden
		})}}
		for _, tt := range []struct{ forced, allowed bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			t.Run(fmt.Sprintf("hidden %v, forced %v, allowed %v", hidden, tt.forced, tt.allowed), func(t *testing.T) {
				w := newWorld(t, protected)
				w.config.ForcedUnprotect = tt.forced
				w.restart()
				w.know(guard.CauseBudget, "i-1")
				w.update(func(tx *store.Tx) error {
					l, _, err := tx.Leases.Get("l-i-1")
					l.AllowUnprotect = tt.allowed
					return errors.Join(err, tx.Leases.Put(l))
				})
				w.must(due + 30*time.Minute)
				r, stripped := w.release("i-1"), len(w.calls(fake.CallUnprotect, "i-1"))
				if both := tt.forced && tt.allowed; both && (r.State != guard.ReleaseDone || stripped != 1) {
					t.Errorf("%s %s, stripped %d times", r.State, r.Reason, stripped)
				} else if !both && (r.State != guard.ReleaseBlocked || r.Reason != guard.BlockProtected || stripped != 0 || w.cloud.Truth("i-1") != fake.TruthRunning) {
					t.Errorf("%s %s, stripped %d times", r.State, r.Reason, stripped)
				}
			})
		}
	}
}

// TestReadFailsAtACap: a cap goes on blindly on a fresh enough list, and only a
// cap does (OWN-09).
func TestReadFailsAtACap(t *testing.T) {
	for _, tt := range []struct {
		name     string
		cause    guard.Cause
		listed   time.Duration // how long before the deadline
		released bool
	}{
		{"a cap, listed 3 min ago", guard.CauseBudget, 3 * time.Minute, true},
		{"a cap, listed 30 min ago", guard.CauseBudget, 30 * time.Minute, false},
		{"an expiry, listed 3 min ago", guard.CauseExpiry, 3 * time.Minute, false},
		{"an order, listed 3 min ago", guard.CausePerson, 3 * time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, one(fake.Fault{Call: fake.CallGet, From: due - 2*time.Minute, For: time.Hour, Reply: fake.Reply{Status: 500}}))
			w.know(tt.cause, "i-1")
			w.must(due - tt.listed)
			w.listed()
			w.must(due + 30*time.Minute)
			if got := w.cloud.Truth("i-1") == fake.TruthGone; got != tt.released {
				t.Errorf("released %v", got)
			}
			if r := w.release("i-1"); !tt.released && (r.State != guard.ReleaseBlocked || r.Reason != guard.BlockUnreadable) {
				t.Errorf("%s %s", r.State, r.Reason)
			}
			if !tt.released && !w.open(guard.RuleReleaseBlocked, "i-1") {
				t.Error("nobody was told")
			}
			w.must(due + 62*time.Minute)
			if r := w.release("i-1"); r.State != guard.ReleaseDone {
				t.Errorf("when it can be read again: %s %s", r.State, r.Reason)
			}
		})
	}
}

// TestNotTheSame: another thing under the ID is not touched (REL-13).
func TestNotTheSame(t *testing.T) {
	created := 9 * time.Hour
	s := one()
	s.Timeline = []fake.Event{{At: 9 * time.Hour, ID: "i-1", Set: &fake.Changes{Created: &created}}}
	w := newWorld(t, s)
	w.know(guard.CauseBudget, "i-1")
	w.must(due + time.Hour)
	r := w.release("i-1")
	if r.State != guard.ReleaseBlocked || r.Reason != guard.BlockNotSame || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s %s, calls %v", r.State, r.Reason, w.calls(fake.CallRelease, "i-1"))
	}
}

// TestOtherCredentials: nothing is released with them, however the read answers,
// and all goes on when the right ones are back.
func TestOtherCredentials(t *testing.T) {
	s := one()
	s.Timeline = []fake.Event{{At: due - time.Minute, Identity: "acct-2"}, {At: due + 30*time.Minute, Identity: "acct-lab"}}
	w := newWorld(t, s)
	w.know(guard.CauseBudget, "i-1")
	w.must(due + 29*time.Minute)
	r := w.release("i-1")
	if r.State != guard.ReleaseBlocked || r.Reason != guard.BlockAccount || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s %s", r.State, r.Reason)
	}
	w.must(due + 34*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("with the right ones: %s %s", r.State, r.Reason)
	}
}

// TestCredentialsChangeWhileItIsProven: absence seen by somebody else is none.
func TestCredentialsChangeWhileItIsProven(t *testing.T) {
	s := one(fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{AcceptedIgnored: true}})
	s.Timeline = []fake.Event{{At: due + 5*time.Second, Identity: "acct-2"}, {At: due + time.Hour, Identity: "acct-lab"}}
	w := newWorld(t, s)
	w.know(guard.CauseBudget, "i-1")
	w.must(due + 59*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseBlocked || r.Reason != guard.BlockAccount {
		t.Errorf("%s %s", r.State, r.Reason)
	}
	w.must(due + 75*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone || w.cloud.Truth("i-1") != fake.TruthGone {
		t.Errorf("%s, truth %s", r.State, w.cloud.Truth("i-1"))
	}
}

// TestAcceptedIgnored: alive past the verify deadline is said and asked again.
func TestAcceptedIgnored(t *testing.T) {
	w := newWorld(t, one(fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{AcceptedIgnored: true}}))
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 4*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseIssued {
		t.Fatalf("%s", r.State)
	}
	w.must(due + 6*time.Minute)
	calls := w.calls(fake.CallRelease, "i-1")
	if len(calls) != 2 || calls[1] < due+5*time.Minute {
		t.Errorf("calls at %v", calls)
	}
	if !w.open(guard.RuleReleaseStalled, "i-1") || len(w.titles()) != 1 {
		t.Errorf("said %q", w.titles())
	}
	w.must(due + 10*time.Minute)
	r := w.release("i-1")
	if r.State != guard.ReleaseDone || r.Receipt.Attempts != 2 || w.open(guard.RuleReleaseStalled, "i-1") {
		t.Errorf("%+v", r)
	}
}

// TestReplyLost: what may have been done is looked at, not repeated.
func TestReplyLost(t *testing.T) {
	w := newWorld(t, one(fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{DoneButTimesOut: true}}))
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 5*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone || len(w.calls(fake.CallRelease, "i-1")) != 1 {
		t.Errorf("%s, calls at %v", r.State, w.calls(fake.CallRelease, "i-1"))
	}
}

// TestCallLost: what never arrived is made again, after a look.
func TestCallLost(t *testing.T) {
	w := newWorld(t, one(fake.Fault{Call: fake.CallRelease, Times: 1, Reply: fake.Reply{TimesOut: true}}))
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 5*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone || len(w.calls(fake.CallRelease, "i-1")) != 2 {
		t.Errorf("%s, calls at %v", r.State, w.calls(fake.CallRelease, "i-1"))
	}
}

// TestGoneBefore: what ended by itself is withdrawn, without a call.
func TestGoneBefore(t *testing.T) {
	s := one()
	s.Lag.Disappears = time.Hour
	s.Timeline = []fake.Event{{At: due - 5*time.Minute, ID: "i-1", Delete: true}}
	w := newWorld(t, s)
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 5*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseWithdrawn || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s, calls at %v", r.State, w.calls(fake.CallRelease, "i-1"))
	}
}

// TestVoid: what no rule wants any more at the last moment is withdrawn.
func TestVoid(t *testing.T) {
	w := newWorld(t, one())
	w.config.Judge = judge(func(guard.Release, *guard.Resource) judging.Judgement {
		return judging.Judgement{Standing: judging.Void, Why: "its limits were changed by ana"}
	})
	w.restart()
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseWithdrawn || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s", r.State)
	}
	if got := w.titles(); len(got) != 1 || !strings.Contains(got[0], "changed by ana") {
		t.Errorf("said %q", got)
	}
}

// TestBarred: held up and paged once, and let go on when the bar is gone.
func TestBarred(t *testing.T) {
	w := newWorld(t, one())
	bar := true
	w.config.Judge = judge(func(r guard.Release, _ *guard.Resource) judging.Judgement {
		if bar {
			return judging.Judgement{Standing: judging.Barred, Block: guard.BlockSurprise, Why: "too many"}
		}
		return stands(r, nil)
	})
	w.restart()
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 40*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseBlocked || r.Reason != guard.BlockSurprise || len(w.said()) != 1 {
		t.Errorf("%s %s, said %q", r.State, r.Reason, w.titles())
	}
	bar = false
	w.must(due + 45*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("%s %s", r.State, r.Reason)
	}
}

// TestTheJudgeSeesWhatWasRead: the fresh read, not the ledger's old one.
func TestTheJudgeSeesWhatWasRead(t *testing.T) {
	s := one()
	s.Timeline = []fake.Event{{At: due - time.Hour, ID: "i-1", Set: &fake.Changes{Tags: map[string]string{"guard:keep": "true"}}}}
	w := newWorld(t, s)
	seen := false
	w.config.Judge = judge(func(r guard.Release, fresh *guard.Resource) judging.Judgement {
		seen = seen || fresh != nil && fresh.Tags["guard:keep"] == "true"
		return stands(r, fresh)
	})
	w.restart()
	w.know(guard.CauseExpiry, "i-1")
	w.must(due)
	if !seen {
		t.Error("it judged on old facts")
	}
}

// TestStop is proven by the stopped state, and leaves the lease open.
func TestStop(t *testing.T) {
	w := newWorld(t, one())
	w.know(guard.CauseExpiry, "i-1")
	w.update(func(tx *store.Tx) error {
		r, _, err := tx.Releases.Get(id("i-1").Key())
		r.Action = guard.ActStop
		return errors.Join(err, tx.Releases.Put(r))
	})
	w.must(due + 3*time.Minute)
	r := w.release("i-1")
	if r.State != guard.ReleaseDone || w.cloud.Truth("i-1") != fake.TruthStopped || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s, truth %s", r.State, w.cloud.Truth("i-1"))
	}
	if l := w.lease("i-1"); l.Status != guard.LeaseStopped || !l.Status.Open() {
		t.Errorf("lease %s", l.Status)
	}
}

// TestNoAccount: what the configuration dropped is blocked and told, and goes on
// when the account is back (REL-07).
func TestNoAccount(t *testing.T) {
	w := newWorld(t, one())
	w.know(guard.CauseExpiry, "i-1")
	w.config.Account = nil
	w.restart()
	w.must(due + 30*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseBlocked || r.Reason != guard.BlockProvider || len(w.said()) != 1 {
		t.Fatalf("%s %s, said %q", r.State, r.Reason, w.titles())
	}
	w.config.Account = w.account
	w.restart()
	w.must(due + 35*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("%s %s", r.State, r.Reason)
	}
}

// TestMany: a thousand releases at one moment are read in few calls, called once
// each, and all proven (REL-16).
func TestMany(t *testing.T) {
	const n = 1000
	w := newWorld(t, fake.Script{Resources: []fake.Resource{box("i", func(r *fake.Resource) { r.Count = n })}, PageSize: 1000})
	w.know(guard.CauseBudget, names("i", n)...)
	before := len(w.cloud.CallsOf(fake.CallGet, ""))
	w.must(due + 3*time.Minute)
	w.allReleased(t, names("i", n))
	if gets := len(w.cloud.CallsOf(fake.CallGet, "")) - before; gets > 20*n/100 {
		t.Errorf("%d reads", gets)
	}
	if calls := len(w.cloud.CallsOf(fake.CallRelease, "")); calls != n {
		t.Errorf("%d release calls", calls)
	}
}

// TestThrottledProof: forty were released and cannot be read for four minutes:
// few reads, no second call, no false alarm (REL-16).
func TestThrottledProof(t *testing.T) {
	w := newWorld(t, fake.Script{Resources: []fake.Resource{box("i", func(r *fake.Resource) { r.Count = 40 })},
		Faults: []fake.Fault{{Call: fake.CallGet, From: due + time.Second, For: 4 * time.Minute, Reply: fake.Reply{Status: 429}}}})
	w.know(guard.CauseBudget, names("i", 40)...)
	w.must(due)
	before := len(w.cloud.CallsOf(fake.CallGet, ""))
	w.must(due + 4*time.Minute)
	if gets := len(w.cloud.CallsOf(fake.CallGet, "")) - before; gets > 20 {
		t.Errorf("%d reads while throttled", gets)
	}
	w.must(due + 6*time.Minute)
	w.allReleased(t, names("i", 40))
	if calls := len(w.cloud.CallsOf(fake.CallRelease, "")); calls != 40 {
		t.Errorf("%d release calls", calls)
	}
	for _, m := range w.said() {
		if m.Urgent {
			t.Errorf("a false alarm: %s", m.Title)
		}
	}
}

func names(base string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%03d", base, i+1)
	}
	return out
}

func (w *world) allReleased(t *testing.T, names []string) {
	t.Helper()
	done := map[string]bool{}
	if err := w.ledger.View(t.Context(), func(v *store.View) error {
		for r, err := range v.EndedReleases.All("") {
			if err != nil {
				return err
			}
			done[r.Target.ID] = r.State == guard.ReleaseDone
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !done[n] {
			t.Errorf("%s is %s", n, w.release(n).State)
		}
	}
}

// TestLeftovers: the receipt names what stays.
func TestLeftovers(t *testing.T) {
	w := newWorld(t, fake.Script{Resources: []fake.Resource{
		box("i-1", func(r *fake.Resource) { r.Attached = []string{"v-1", "v-2"} }),
		{ID: "v-1", Kind: guard.Volume, SizeGB: 500, Rate: &fake.Rate{Amount: "0.35", Per: "gb_month"}},
		{ID: "v-2", Kind: guard.Volume, SizeGB: 50, GoesWithInstance: true},
	}})
	w.know(guard.CauseExpiry, "i-1")
	w.update(func(tx *store.Tx) error {
		for _, n := range []string{"v-1", "v-2"} {
			v := guard.ResourceID{Account: "lab", Kind: guard.Volume, Scope: "default", ID: n}
			if err := tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: v, State: guard.StateRunning}, Identity: "acct-lab", Instance: id("i-1")}); err != nil {
				return err
			}
		}
		return nil
	})
	w.must(due + 3*time.Minute)
	r := w.release("i-1")
	if r.Receipt == nil || len(r.Receipt.Leftovers) != 1 || r.Receipt.Leftovers[0].ID != "v-1" {
		t.Fatalf("%+v", r.Receipt)
	}
	if text := strings.Join(w.said()[0].Lines, "\n"); !strings.Contains(text, "volume v-1") {
		t.Errorf("receipt: %s", text)
	}
}
