package release_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

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

// TestReadFailsForAMoment: failed reads ahead of the deadline delay nothing and
// alarm nobody, where the one at the deadline succeeds.
func TestReadFailsForAMoment(t *testing.T) {
	for _, call := range []string{fake.CallGet, fake.CallIdentity} {
		w := newWorld(t, one(fake.Fault{Call: call, From: due - time.Minute, For: time.Minute - time.Millisecond, Reply: fake.Reply{Unreachable: true}}))
		w.know(guard.CauseExpiry, "i-1")
		w.must(due + 2*time.Minute)
		if r := w.release("i-1"); r.State != guard.ReleaseDone || !r.IntendedAt.Equal(zero.Add(due)) {
			t.Errorf("%s: %s, intended at %s", call, r.State, r.IntendedAt.Sub(zero))
		}
		if said := w.titles(); len(said) != 1 {
			t.Errorf("%s: said %q", call, said)
		}
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

// TestFirstRecordedCreation counts, not what was observed last.
func TestFirstRecordedCreation(t *testing.T) {
	w := newWorld(t, one())
	w.know(guard.CauseBudget, "i-1")
	w.update(func(tx *store.Tx) error {
		r, _, err := tx.Releases.Get(id("i-1").Key())
		r.Created = r.Created.Add(-time.Hour)
		return errors.Join(err, tx.Releases.Put(r))
	})
	w.must(due + time.Hour)
	if r := w.release("i-1"); r.Reason != guard.BlockNotSame || len(w.calls(fake.CallRelease, "i-1")) > 0 {
		t.Errorf("%s %s", r.State, r.Reason)
	}
}

// TestReadsHonourTheHint: no read comes sooner than the provider asked for.
func TestReadsHonourTheHint(t *testing.T) {
	w := newWorld(t, one(fake.Fault{Call: fake.CallGet, From: due - time.Minute, For: 10 * time.Minute, Reply: fake.Reply{Status: 429, RetryAfter: "120"}}))
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 20*time.Minute)
	gets := w.cloud.CallsOf(fake.CallGet, "")
	for i := 1; i < len(gets); i++ {
		if gets[i-1].Status == 429 && gets[i].At.Sub(gets[i-1].At) < 2*time.Minute {
			t.Errorf("reads at %s and %s", gets[i-1].At.Sub(zero), gets[i].At.Sub(zero))
		}
	}
	if r := w.release("i-1"); r.State != guard.ReleaseDone {
		t.Errorf("%s %s", r.State, r.Reason)
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

// byHand is a provider whose machines only people end.
type byHand struct{ providers.Provider }

func (p byHand) Truths() guard.Truths {
	t := p.Provider.Truths()
	t.ByHand = true
	return t
}

// TestPeopleAreAskedAfterABlock: the new notice says what guard does where only people can
// end a thing.
func TestPeopleAreAskedAfterABlock(t *testing.T) {
	s := one()
	s.Timeline = []fake.Event{{At: due - time.Minute, Identity: "acct-2"}, {At: due + 2*time.Hour, Identity: "acct-lab"}}
	w := newWorld(t, s)
	w.account.Provider = byHand{w.account.Provider}
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 2*time.Hour + 5*time.Minute)
	if got := strings.Join(w.titles(), "\n"); !strings.Contains(got, "so guard will ask people to end it after its notice") {
		t.Errorf("said\n%s", got)
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

// stopping is a provider during whose call the daemon is told to stop.
type stopping struct {
	providers.Provider
	stop context.CancelFunc
}

func (p stopping) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	if err := p.Provider.Release(ctx, id, opt); err != nil {
		return err
	}
	p.stop()
	return ctx.Err()
}

// TestStoppedDuringTheCall: that its outcome is not known is on record, so that
// nobody takes it for refused.
func TestStoppedDuringTheCall(t *testing.T) {
	w := newWorld(t, one())
	w.know(guard.CauseExpiry, "i-1")
	w.must(due - time.Second)
	w.at = w.at.Reach(zero.Add(due))
	ctx, stop := context.WithCancel(guard.WithInstant(t.Context(), w.at))
	w.account.Provider = stopping{w.account.Provider, stop}
	if _, err := w.judging.Once(ctx, w.at); err != nil {
		t.Fatal(err)
	}
	if _, err := w.calling.Once(ctx, w.at); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if r := w.release("i-1"); r.State != guard.ReleaseIntended || r.Attempt != 1 || r.Calls != 0 || r.Failures != 1 {
		t.Errorf("%+v", r)
	}
	w.account.Provider = w.account.Provider.(stopping).Provider
	w.restart()
	w.must(due + 3*time.Minute)
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
