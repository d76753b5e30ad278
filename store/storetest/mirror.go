package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"guard"
	"guard/store"
)

// testSnapshots: a View keeps what it began with, and the next one sees what was
// written meanwhile.
func testSnapshots(t *testing.T, l *store.Ledger) {
	change(t, l, func(tx *store.Tx) error { return tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)) })
	look(t, l, func(v *store.View) error {
		done := make(chan error)
		go func() {
			done <- l.Update(ctx, func(tx *store.Tx) error {
				return errors.Join(tx.Leases.Delete("l1"), tx.Leases.Put(lease("l2", "i-1", 1, guard.LeaseActive)))
			})
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want(t, collect(t, v.Leases, "", func(l guard.Lease) string { return l.ID }), []string{"l1"})
		best, _, err := v.LeaseOf(instance("lab", "i-1").Key())
		want(t, best.ID, "l1")
		return err
	})
	look(t, l, func(v *store.View) error {
		want(t, collect(t, v.Leases, "", func(l guard.Lease) string { return l.ID }), []string{"l2"})
		return nil
	})
}

// testChanged: a View tells what was written since an earlier one.
func testChanged(t *testing.T, l *store.Ledger) {
	at := func() (version store.Version) {
		look(t, l, func(v *store.View) error { version = v.Version(); return nil })
		return version
	}
	since := func(version store.Version) (keys []string, known bool) {
		look(t, l, func(v *store.View) error { keys, known = v.Leases.Changed(version); return nil })
		return keys, known
	}
	_, known := since(0)
	want(t, known, false)
	start := at()
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(lease("l2", "i-2", 0, guard.LeaseActive)), tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)))
	})
	middle := at()
	look(t, l, func(v *store.View) error {
		keys, err := v.Leases.Keys("l1")
		want(t, keys, []string{"l1"})
		return err
	})
	refused := l.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(lease("l3", "i-3", 0, guard.LeaseActive)), guard.ErrRefused)
	})
	wantError(t, refused, guard.ErrRefused)
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Delete("l2"), tx.Accounts.Put(guard.AccountStatus{Name: "lab"}))
	})
	keys, known := since(start)
	want(t, known, true)
	want(t, keys, []string{"l1", "l2"})
	keys, _ = since(middle)
	want(t, keys, []string{"l2"})
	keys, known = since(at())
	want(t, known, true)
	want(t, len(keys), 0)
	look(t, l, func(v *store.View) error {
		_, known := v.ClosedFindings.Changed(start)
		want(t, known, false)
		return nil
	})
}

// testReadAfterWrite: what an update has written can be seen when it returns, however
// many come at once, and the last one stands.
func testReadAfterWrite(t *testing.T, l *store.Ledger) {
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 25 {
				mine := lease(fmt.Sprintf("l%d", g), fmt.Sprintf("i-%d", g), 0, guard.LeaseActive)
				mine.Purpose = fmt.Sprint(i)
				if err := l.Update(ctx, func(tx *store.Tx) error {
					common, _, err := tx.Leases.Get("common")
					if err != nil {
						return err
					}
					next := lease("common", "i-c", 0, guard.LeaseActive)
					next.Purpose = common.Purpose + "x"
					return errors.Join(tx.Leases.Put(mine), tx.Leases.Put(next))
				}); err != nil {
					t.Error(err)
				}
				look(t, l, func(v *store.View) error {
					got, _, err := v.Leases.Get(mine.ID)
					want(t, got.Purpose, mine.Purpose)
					return err
				})
			}
		})
	}
	all.Wait()
	look(t, l, func(v *store.View) error {
		common, _, err := v.Leases.Get("common")
		want(t, len(common.Purpose), 8*25)
		return err
	})
}

// testOwn: what is read belongs to the reader.
func testOwn(t *testing.T, l *store.Ledger) {
	change(t, l, func(tx *store.Tx) error { return tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)) })
	spoil := func(l guard.Lease, _ bool, err error) error {
		want(t, l.Tags["team"], "nlp")
		l.Tags["team"] = "other"
		return err
	}
	look(t, l, func(v *store.View) error { return spoil(v.Leases.Get("l1")) })
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(spoil(tx.Leases.Get("l1")), spoil(tx.LeaseOf(instance("lab", "i-1").Key())))
	})
	look(t, l, func(v *store.View) error { return spoil(v.Leases.Get("l1")) })
}

// testPast: what is in memory and not what the backend has is found.
func testPast(t *testing.T, s Suite) {
	b := s.open(t)
	l, err := store.Open(ctx, b, At)
	if err != nil {
		t.Fatal(err)
	}
	mine := lease("l1", "i-1", 0, guard.LeaseActive)
	change(t, l, func(tx *store.Tx) error { return tx.Leases.Put(mine) })
	mine.Purpose = "other"
	text, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(ctx, func(w store.Writer) error { return w.Put("leases", "l1", text) }); err != nil {
		t.Fatal(err)
	}
	wantError(t, l.Check(ctx), guard.ErrDamaged, `"l1"`, "wrote past the ledger")
}
