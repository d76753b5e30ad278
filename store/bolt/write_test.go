package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"guard/store"
)

// Updates that wait together share one commit, and one that fails in their midst
// leaves no trace. The first function holds the door until all wait.
func TestGroupCommit(t *testing.T) {
	ctx := context.Background()
	b, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // not what is tested
	before := txid(t, b)
	const n = 20
	entered := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := b.Update(ctx, func(w store.Writer) error {
			close(entered)
			for b.waiting.Load() < n {
				runtime.Gosched()
			}
			return w.Put("a", "first", nil)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	failure := errors.New("failure")
	for i := range n {
		wg.Go(func() {
			err := b.Update(ctx, func(w store.Writer) error {
				if v, err := w.Get("a", "first"); v == nil || err != nil {
					t.Errorf("does not see the update before it: %v", err)
				}
				if err := w.Put("a", fmt.Sprint(i), nil); err != nil || i%5 != 0 {
					return err
				}
				return failure
			})
			if (i%5 == 0) != errors.Is(err, failure) {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got := txid(t, b) - before; got != 1 {
		t.Errorf("%d commits for %d updates that waited together, want 1", got, n+1)
	}
	rows := 0
	err = b.View(ctx, func(r store.Reader) error {
		return r.Scan("a", "", "", func(string, []byte) bool { rows++; return true })
	})
	if err != nil || rows != 1+n-n/5 {
		t.Errorf("%d rows, %v, want %d", rows, err, 1+n-n/5)
	}
}

// An update that writes nothing costs no flush.
func TestNothingWritten(t *testing.T) {
	ctx := context.Background()
	b, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // not what is tested
	before := txid(t, b)
	for range 3 {
		if err := b.Update(ctx, func(w store.Writer) error { _, err := w.Get("a", "k"); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if got := txid(t, b); got != before {
		t.Errorf("%d commits of nothing", got-before)
	}
	if err := b.Update(ctx, func(w store.Writer) error { return w.Put("a", "k", nil) }); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
}

// When the commit fails, everyone in it is told, even one whose own function had
// its answer ready: it may rest on a write that is lost.
func TestCommitFails(t *testing.T) {
	ctx := context.Background()
	b, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), Options{MaxSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // not what is tested
	entered := make(chan struct{})
	decided := errors.New("there already")
	errs := make(chan error, 2)
	go func() {
		errs <- b.Update(ctx, func(w store.Writer) error {
			close(entered)
			for b.waiting.Load() < 1 {
				runtime.Gosched()
			}
			return w.Put("a", "large", make([]byte, 2<<20))
		})
	}()
	<-entered
	go func() {
		errs <- b.Update(ctx, func(w store.Writer) error {
			if v, err := w.Get("a", "large"); err != nil || v == nil {
				return errors.Join(errors.New("not seen"), err)
			}
			return decided
		})
	}()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrMaxSize) {
			t.Errorf("got %v, want the failed commit", err)
		}
	}
}

func txid(t *testing.T, b *Backend) int {
	t.Helper()
	tx, err := b.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return tx.ID()
}

// A disk that is full only at the last flush has the new header already: then
// nobody may say that nothing was kept.
func TestReached(t *testing.T) {
	b, err := Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(context.Background(), func(w store.Writer) error { return w.Put("a", "k", nil) }); err != nil {
		t.Fatal(err)
	}
	last := txid(t, b)
	if !b.reached(last) || b.reached(last+1) {
		t.Errorf("after transaction %d: reached %t, the next %t", last, b.reached(last), b.reached(last+1))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !b.reached(last + 1) {
		t.Error("a closed file is said not to have it")
	}
}
