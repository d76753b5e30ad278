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
	"guard/providers"
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

// TestAnUnwatchedEndIsNoMeasure: how long guard was away is not how long a release takes.
func TestAnUnwatchedEndIsNoMeasure(t *testing.T) {
	for away, took := range map[time.Duration]bool{2 * time.Minute: true, 4 * time.Hour: false} {
		w := newWorld(t, one())
		w.know(guard.CauseExpiry, "i-1")
		w.must(due)
		w.at = w.at.Add(away)
		w.restart()
		w.must(due + away + 10*time.Minute)
		if r := w.release("i-1"); r.Receipt == nil || r.Receipt.Proof != guard.ProofAbsence || r.Receipt.Took > 0 != took {
			t.Errorf("away for %s: %s, %+v", away, r.State, r.Receipt)
		}
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

// TestAsLongAsItTakes: what takes as long as its adapter says is not stalled, and is
// asked for once; what takes longer is both.
func TestAsLongAsItTakes(t *testing.T) {
	for said, wantCalls := range map[time.Duration]int{20 * time.Minute: 1, time.Minute: 4} {
		s := one()
		s.ReleaseTakes = 20 * time.Minute
		w := newWorld(t, s)
		w.account.Provider = lead{w.account.Provider, said}
		w.know(guard.CauseExpiry, "i-1")
		w.must(due + 25*time.Minute)
		if r := w.release("i-1"); r.State != guard.ReleaseDone || r.Receipt == nil {
			t.Fatalf("said to take %v: %s", said, r.State)
		}
		if calls := w.calls(fake.CallRelease, "i-1"); len(calls) != wantCalls {
			t.Errorf("said to take %v: calls at %v, want %d", said, calls, wantCalls)
		}
	}
}

// lead says of a provider how long a release takes.
type lead struct {
	providers.Provider
	takes time.Duration
}

func (p lead) Truths() guard.Truths {
	t := p.Provider.Truths()
	t.ReleaseLead = p.takes
	return t
}

// TestProvenByListings: what cannot be read by ID is released when two listings that are far
// enough apart have it not.
func TestProvenByListings(t *testing.T) {
	w := newWorld(t, one())
	w.account.Provider = listing{w.account.Provider}
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + 4*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseIssued {
		t.Fatalf("proven too soon: %+v", r)
	}
	w.must(due + 10*time.Minute)
	if r := w.release("i-1"); r.State != guard.ReleaseDone || r.Receipt.Proof != guard.ProofAbsence || len(w.calls(fake.CallRelease, "i-1")) != 1 {
		t.Errorf("%+v, receipt %+v", r, r.Receipt)
	}
}

// listing is a provider that looks an instance up in a list of all.
type listing struct{ providers.Provider }

func (p listing) Truths() guard.Truths {
	t := p.Provider.Truths()
	t.ListedOnly = []guard.Kind{guard.Instance}
	return t
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

// TestGoneByAWeakKey: that a key finds nothing which may not see the account any more ends no
// release before its first call, until the loop says so that sees the whole account.
func TestGoneByAWeakKey(t *testing.T) {
	for kind, want := range map[string]guard.ReleaseState{"strong": guard.ReleaseWithdrawn, "weak": guard.ReleaseNoticed} {
		s := one()
		s.IdentityKind = kind
		s.Timeline = []fake.Event{{At: due - 5*time.Minute, ID: "i-1", Delete: true}}
		w := newWorld(t, s)
		w.know(guard.CauseExpiry, "i-1")
		w.must(due + time.Hour)
		if r := w.release("i-1"); r.State != want || len(w.calls(fake.CallRelease, "i-1")) > 0 {
			t.Errorf("%s: %s, calls at %v", kind, r.State, w.calls(fake.CallRelease, "i-1"))
		}
		key := w.cloud.ID(guard.Instance, "i-1").Key()
		err := w.ledger.Update(t.Context(), func(tx *store.Tx) error {
			o, _, err := tx.Observed.Get(key)
			if err != nil || kind == "strong" {
				return err
			}
			if o.Gone != nil || len(o.Absent) > 0 {
				t.Errorf("%+v", o)
			}
			o.Gone = &guard.Gone{At: w.at.Wall, How: guard.ByOutside, Proof: guard.ProofAbsence}
			return tx.Observed.Put(o)
		})
		if err != nil {
			t.Fatal(err)
		}
		w.must(due + 61*time.Minute)
		if r := w.release("i-1"); r.State != guard.ReleaseWithdrawn {
			t.Errorf("%s: %s once it is proven gone", kind, r.State)
		}
	}
}

// TestIntentTakenBack: a call whose intent is not in the ledger any more, exactly as
// it was made, is not made.
func TestIntentTakenBack(t *testing.T) {
	for name, change := range map[string]func(*guard.Release){
		"blocked meanwhile": func(r *guard.Release) { r.State, r.Reason = guard.ReleaseBlocked, guard.BlockAccount },
		"another attempt":   func(r *guard.Release) { r.Attempt++ },
		"answered already":  func(r *guard.Release) { r.Calls = r.Attempt },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, one())
			w.know(guard.CauseExpiry, "i-1")
			w.must(due - time.Second)
			w.at = w.at.Reach(zero.Add(due))
			ctx := guard.WithInstant(t.Context(), w.at)
			if _, err := w.judging.Once(ctx, w.at); err != nil {
				t.Fatal(err)
			}
			r := w.release("i-1")
			if r.State != guard.ReleaseIntended {
				t.Fatalf("%s", r.State)
			}
			change(&r)
			w.update(func(tx *store.Tx) error { return tx.Releases.Put(r) })
			if _, err := w.calling.Once(ctx, w.at); err != nil {
				t.Fatal(err)
			}
			if calls := w.calls(fake.CallRelease, "i-1"); len(calls) > 0 {
				t.Errorf("called at %v", calls)
			}
		})
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
	if o := w.observed("i-1"); o.Resource.Ended != guard.ByRelease {
		t.Errorf("stopped by %q", o.Resource.Ended)
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
