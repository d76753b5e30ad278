package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"guard"
	"guard/store"
)

// held is a backend whose first update of a lease is committed and comes back
// only when it is let go.
type held struct {
	rows
	first chan struct{}
	let   chan struct{}
}

func (h *held) Update(ctx context.Context, fn func(store.Writer) error) error {
	err := h.rows.Update(ctx, fn)
	if first := h.first; first != nil && err == nil && len(h.sorted("leases")) > 0 {
		h.first = nil
		close(first)
		<-h.let
	}
	return err
}

// TestFailedUpdateSeesAfterwards: an update that gives up over what it found is
// not answered before everybody can see that, so that who looks again sees it.
func TestFailedUpdateSeesAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		committed := make(chan struct{})
		h := &held{rows: rows{}, first: committed, let: make(chan struct{})}
		l, err := store.Open(ctx, h, at)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if err := l.Update(ctx, func(tx *store.Tx) error { return tx.Leases.Put(guard.Lease{ID: "l1"}) }); err != nil {
				t.Error(err)
			}
		}()
		<-committed
		moved := errors.New("moved")
		answered := make(chan error, 1)
		go func() {
			answered <- l.Update(ctx, func(tx *store.Tx) error {
				if _, ok, err := tx.Leases.Get("l1"); err != nil || !ok {
					t.Errorf("the committed lease is not in the next update: %v", err)
				}
				return moved
			})
		}()
		synctest.Wait()
		if len(answered) > 0 {
			t.Error("it is answered, and what it was decided on cannot be seen yet")
		}
		close(h.let)
		if err := <-answered; !errors.Is(err, moved) {
			t.Errorf("got %v", err)
		}
		err = l.View(ctx, func(v *store.View) error {
			_, ok, err := v.Leases.Get("l1")
			if !ok {
				t.Error("whoever looks again does not see the lease")
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
