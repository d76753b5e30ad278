package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers"
	"guard/store"
)

// byHand is a provider whose machines only people end.
type byHand struct{ providers.Provider }

func (p byHand) Truths() guard.Truths {
	t := p.Provider.Truths()
	t.ByHand = true
	return t
}

// TestConfirmGone: a person's word ends what only people can tell of, with their name for a
// proof; where a provider tells, nobody's word counts.
func TestConfirmGone(t *testing.T) {
	b := leased(t)
	gone := func(id string) wire.ReleaseRequest { return wire.ReleaseRequest{IDs: []string{id}, ConfirmGone: true} }
	b.bad("ana", http.MethodPost, "/release", gone("lab/i-1"), 403, "refused", "the provider of account lab tells")
	b.bad("ana", http.MethodPost, "/release", wire.ReleaseRequest{All: true, Match: map[string]string{"a": "b"}, ConfirmGone: true}, 400, "invalid", "one by one")
	b.acct.Provider, b.acct.Mode = byHand{b.acct.Provider}, guard.Enforce
	if show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil); !strings.Contains(show.Limits[0].Text, "guard asks people to end it") {
		t.Errorf("%+v", show.Limits)
	}
	b.acct.Mode = guard.Observe
	id := b.cloud.ID(guard.Instance, "i-1")
	dry := gone("lab/i-1")
	dry.DryRun = true
	if out := order(b, "ana", dry); out[0].Outcome != wire.OutcomeWould {
		t.Errorf("%+v", out)
	}
	if l, _ := b.lease("i-1"); !l.Status.Open() {
		t.Fatal("a dry run ended it")
	}
	if out := order(b, "ana", gone("lab/i-1")); out[0].Outcome != wire.OutcomeConfirmed {
		t.Fatalf("%+v", out)
	}
	b.kicked("meter", "decide", "release/lab")
	l, _ := b.lease("i-1")
	if l.Status != guard.LeaseGone || !l.EndedAt.Equal(start) || !l.Estimated || l.EndedHow != guard.ByOutside {
		t.Errorf("the lease is %+v", l)
	}
	err := b.ledger.View(t.Context(), func(v *store.View) error {
		o, _, err := v.Observed.Get(id.Key())
		if o.Gone == nil || o.Gone.Proof != "confirmed by ana" || len(o.Gone.Readings) != 0 || o.Resource.State != guard.StateGone || o.Resource.Bills != guard.No {
			t.Errorf("%+v", o)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if j := b.journal(); j[len(j)-1] != "ana confirmed_gone lab/i-1" {
		t.Errorf("journal %q", j)
	}
	if out := order(b, "ana", gone("lab/i-1")); out[0].Outcome != wire.OutcomeGone {
		t.Errorf("the second time: %+v", out)
	}
}

// TestConfirmGoneOfWhatWasAsked: the release that asked a person is left to its loop, which
// is done with it by that word.
func TestConfirmGoneOfWhatWasAsked(t *testing.T) {
	b := leased(t)
	b.acct.Provider = byHand{b.acct.Provider}
	id := b.cloud.ID(guard.Instance, "i-1")
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r", Target: id, State: guard.ReleaseBlocked, Reason: guard.BlockPerson, Action: guard.ActRelease,
			Cause: guard.CauseExpiry, Attempt: 1, Calls: 1, IntendedAt: start.Add(-time.Hour)})
	})
	if out := order(b, "bo", wire.ReleaseRequest{IDs: []string{"lab/i-1"}, ConfirmGone: true}); out[0].Outcome != wire.OutcomeConfirmed {
		t.Fatalf("%+v", out)
	}
	if l, _ := b.lease("i-1"); !l.Status.Open() {
		t.Errorf("the lease was closed by two: %+v", l)
	}
	if r, ok := b.openRelease("i-1"); !ok || r.ID != "r" {
		t.Errorf("%+v", r)
	}
	err := b.ledger.View(t.Context(), func(v *store.View) error {
		o, _, err := v.Observed.Get(id.Key())
		if o.Gone == nil || o.Gone.How != guard.ByRelease || o.Gone.Proof != "confirmed by bo" {
			t.Errorf("%+v", o.Gone)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOrderedByHand: who orders the end of what only people can end is told that they are
// asked, and how to say that it is done.
func TestOrderedByHand(t *testing.T) {
	b := leased(t)
	b.acct.Mode = guard.Enforce
	text := func() string { return order(b, "ana", wire.ReleaseRequest{IDs: []string{"lab/i-1"}})[0].Text }
	if got := text(); !strings.Contains(got, "ends it and proves that") {
		t.Errorf("told %q", got)
	}
	b.acct.Provider = byHand{b.acct.Provider}
	if got := text(); !strings.Contains(got, "asks people to end it") || !strings.HasSuffix(got, "guard release lab/i-1 --confirm-gone") || strings.Contains(got, "proves") {
		t.Errorf("told %q", got)
	}
}
