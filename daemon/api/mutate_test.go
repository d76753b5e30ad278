package api

import (
	"errors"
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// TestDecideLooksAgain: what somebody writes between the look and the write of
// an order makes it decide anew; it never decides on what was.
func TestDecideLooksAgain(t *testing.T) {
	cloud, err := fake.NewCloud(fake.Lab())
	if err != nil {
		t.Fatal(err)
	}
	at := cloud.At(0)
	ledger, err := store.Open(t.Context(), memory.New(), at)
	if err != nil {
		t.Fatal(err)
	}
	id := cloud.ID(guard.Instance, "i-1")
	put := func(fn func(tx *store.Tx) error) {
		t.Helper()
		if err := ledger.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	put(func(tx *store.Tx) error { return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}}) })
	s := &server{Options: Options{Ledger: ledger, Account: func(string) (*providers.Account, bool) { return nil, false },
		Rules: policy.DefaultRules, Location: func() *time.Location { return time.UTC }}}
	lease := func(owner string) guard.Lease {
		return guard.Lease{ID: "l-" + owner, Resource: id, Owner: owner, Status: guard.LeaseActive}
	}
	for name, meanwhile := range map[string]func(tx *store.Tx) error{
		"a lease": func(tx *store.Tx) error { return tx.Leases.Put(lease("bo")) },
		"a release": func(tx *store.Tx) error {
			return tx.Releases.Put(guard.Release{ID: "r", Target: id, State: guard.ReleaseIntended})
		},
		"its end": func(tx *store.Tx) error {
			return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}, Gone: &guard.Gone{}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			looked := 0
			_, _, err := s.decide(t.Context(), at, "lab", "i-1", func(c *scene) (edit, error) {
				if looked++; looked == 1 {
					put(meanwhile)
				}
				l := lease("ana")
				return edit{lease: &l, entry: c.entry("tested", name, nil)}, nil
			})
			if err != nil || looked != 2 {
				t.Errorf("looked %d times, want a second look: %v", looked, err)
			}
		})
	}
	// Where it never stands still, that is a conflict and not an endless loop.
	n := 0
	_, _, err = s.decide(t.Context(), at, "lab", "i-1", func(c *scene) (edit, error) {
		n++
		put(func(tx *store.Tx) error {
			l := lease("cy") // the last by its ID, so the one that counts
			l.Purpose = time.Duration(n).String()
			return tx.Leases.Put(l)
		})
		l := lease("ana")
		return edit{lease: &l, entry: c.entry("tested", "", nil)}, nil
	})
	if !errors.Is(err, guard.ErrConflict) {
		t.Errorf("after %d tries: %v", n, err)
	}
}
