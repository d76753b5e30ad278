package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/store"
)

var at = guard.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Elapsed: time.Hour}

func TestNewerSchemaIsRefused(t *testing.T) {
	ctx := context.Background()
	b := rows{}
	steps := make([]func(context.Context, store.Backend) error, store.Schema())
	if _, err := store.OpenWith(ctx, b, at, steps...); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(ctx, b, at)
	if !errors.Is(err, guard.ErrRefused) {
		t.Fatalf("got %v, want it refused", err)
	}
	for _, version := range []int{store.Schema(), store.Schema() + 1} {
		if !strings.Contains(err.Error(), fmt.Sprint(version)) {
			t.Errorf("%q does not name version %d", err, version)
		}
	}
}

func TestOlderSchemaIsUpgradedStepByStep(t *testing.T) {
	ctx := context.Background()
	b := rows{}
	first, err := store.OpenWith(ctx, b, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Update(ctx, func(tx *store.Tx) error { return tx.SetValue("steps", "1") }); err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	fail := true
	step := func(n int) func(context.Context, store.Backend) error {
		return func(ctx context.Context, b store.Backend) error {
			if n == 3 && fail {
				return crash
			}
			return b.Update(ctx, func(w store.Writer) error {
				old, err := w.Get("values", "steps")
				if err != nil {
					return err
				}
				return w.Put("values", "steps", append(old[:len(old)-1], fmt.Sprintf(" %d\"", n)...))
			})
		}
	}
	if _, err := store.OpenWith(ctx, b, at, step(2), step(3), step(4)); !errors.Is(err, crash) || !strings.Contains(err.Error(), "2 to 3") {
		t.Fatalf("got %v, want the failing step named", err)
	}
	fail = false
	l, err := store.OpenWith(ctx, b, at, step(2), step(3), step(4))
	if err != nil {
		t.Fatal(err)
	}
	var steps string
	err = l.View(ctx, func(v *store.View) error {
		_, err := v.Value("steps", &steps)
		return err
	})
	if err != nil || steps != "1 2 3 4" {
		t.Errorf("ran %q, %v, want each step once and in order", steps, err)
	}
	if l.Deployment() != first.Deployment() {
		t.Error("an upgrade changed the deployment")
	}
	if _, err := store.OpenWith(ctx, b, at, step(2), step(3), step(4)); err != nil {
		t.Errorf("the upgraded ledger opens again: %v", err)
	}
}

func TestRecordsWithoutSchemaAreDamage(t *testing.T) {
	ctx := context.Background()
	for table, record := range map[string][2]string{
		"leases": {"l1", `{"id":"l1"}`}, "meta": {"schema", `{}`}, "journal": {"1", "x"},
	} {
		b := rows{}
		if err := b.Update(ctx, func(w store.Writer) error { return w.Put(table, record[0], []byte(record[1])) }); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(ctx, b, at); !errors.Is(err, guard.ErrDamaged) {
			t.Errorf("a record in %s: got %v, want damage", table, err)
		}
	}
}
