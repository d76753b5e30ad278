// Package storetest is the conformance suite of ledger backends: [Run] tests a
// backend against what [store.Backend] promises, and the [store.Ledger] on top of
// it against what that promises.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/store"
)

// Suite says how to make backends of one kind.
type Suite struct {
	// Open makes an empty backend. The suite closes it.
	Open func(t *testing.T) store.Backend
	// Restore makes a backend of what Backup wrote.
	Restore func(t *testing.T, backup []byte) (store.Backend, error)
}

// At is the moment at which the suite's ledgers are opened.
var At = guard.Instant{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Elapsed: time.Hour}

// Ledger opens a ledger over b for a test, and at its end checks every invariant
// and closes it.
func Ledger(t testing.TB, b store.Backend) *store.Ledger {
	t.Helper()
	l, err := store.Open(context.Background(), b, At)
	if err != nil {
		t.Fatalf("open a ledger: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Check(context.Background()); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("the ledger at the end of the test: %v", err)
		}
		_ = l.Close()
	})
	return l
}

// Run tests a kind of backend.
func Run(t *testing.T, s Suite) {
	for name, test := range map[string]func(*testing.T, Suite){
		"PutGetDelete":       testPutGetDelete,
		"AllOrNothing":       testAllOrNothing,
		"OwnWrites":          testOwnWrites,
		"RunsAgain":          testRunsAgain,
		"Limits":             testLimits,
		"Copies":             testCopies,
		"Order":              testOrder,
		"Snapshot":           testSnapshot,
		"Concurrent":         testConcurrent,
		"ErrorAmongMany":     testErrorAmongMany,
		"PanicAmongMany":     testPanicAmongMany,
		"Large":              testLarge,
		"Cancelled":          testCancelled,
		"Closed":             testClosed,
		"Backup":             testBackup,
		"BackupWhileWriting": testBackupWhileWriting,
		"Model":              testModel,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, s) })
	}
	runLedger(t, s)
}

func (s Suite) open(t *testing.T) store.Backend {
	t.Helper()
	b := s.Open(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// content is every row of some tables.
type content map[string][]row

type row struct{ Key, Value string }

func read(t testing.TB, b store.Backend, tables ...string) content {
	t.Helper()
	c := content{}
	view(t, b, func(r store.Reader) error {
		for _, table := range tables {
			c[table] = scan(t, r, table, "", "")
		}
		return nil
	})
	return c
}

func scan(t testing.TB, r store.Reader, table, prefix, after string) []row {
	t.Helper()
	var rows []row
	err := r.Scan(table, prefix, after, func(key string, value []byte) bool {
		rows = append(rows, row{key, string(value)})
		return true
	})
	if err != nil {
		t.Fatalf("scan %s: %v", table, err)
	}
	return rows
}

func view(t testing.TB, b store.Backend, fn func(store.Reader) error) {
	t.Helper()
	if err := b.View(context.Background(), fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

func update(t testing.TB, b store.Backend, fn func(store.Writer) error) {
	t.Helper()
	if err := b.Update(context.Background(), fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func put(t testing.TB, b store.Backend, table string, pairs ...string) {
	t.Helper()
	update(t, b, func(w store.Writer) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := w.Put(table, pairs[i], []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

func want(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("not as wanted (-want +got):\n%s", d)
	}
}

// wantError wants an error of a kind whose text has the words that a person needs.
func wantError(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want %v", err, kind)
	}
	for _, w := range words {
		if !bytes.Contains([]byte(err.Error()), []byte(w)) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func testPutGetDelete(t *testing.T, s Suite) {
	b := s.open(t)
	binary := string([]byte{0xff, 0, 0x80, '/', '\n'})
	put(t, b, "a", "k", "1", binary, "2", "empty", "")
	put(t, b, "b", "k", "other")
	view(t, b, func(r store.Reader) error {
		for _, c := range []struct{ table, key, want string }{
			{"a", "k", "1"}, {"a", binary, "2"}, {"a", "empty", ""}, {"b", "k", "other"},
		} {
			v, err := r.Get(c.table, c.key)
			if err != nil || v == nil || string(v) != c.want {
				t.Errorf("%s %q: got %q, %v, want %q", c.table, c.key, v, err, c.want)
			}
		}
		for _, c := range [][2]string{{"a", "none"}, {"none", "k"}, {"b", "empty"}} {
			if v, err := r.Get(c[0], c[1]); v != nil || err != nil {
				t.Errorf("%s %q: got %q, %v for a key that is not there", c[0], c[1], v, err)
			}
		}
		return nil
	})
	update(t, b, func(w store.Writer) error {
		return errors.Join(w.Delete("a", "k"), w.Delete("a", "none"), w.Delete("none", "k"), w.Put("b", "k", []byte("changed")))
	})
	want(t, read(t, b, "a", "b", "none"), content{
		"a": {{"empty", ""}, {binary, "2"}}, "b": {{"k", "changed"}}, "none": nil,
	})
}

func testAllOrNothing(t *testing.T, s Suite) {
	b := s.open(t)
	put(t, b, "a", "k", "1", "gone", "x")
	boom := errors.New("boom")
	err := b.Update(context.Background(), func(w store.Writer) error {
		return errors.Join(w.Put("a", "k", []byte("2")), w.Put("a", "new", []byte("2")),
			w.Delete("a", "gone"), w.Put("fresh", "k", []byte("2")), boom)
	})
	if !errors.Is(err, boom) {
		t.Fatalf("got %v, want the function's own error", err)
	}
	want(t, read(t, b, "a", "fresh"), content{"a": {{"gone", "x"}, {"k", "1"}}, "fresh": nil})
}

func testOwnWrites(t *testing.T, s Suite) {
	b := s.open(t)
	put(t, b, "a", "k", "1")
	update(t, b, func(w store.Writer) error {
		get := func(want string) {
			if v, err := w.Get("a", "k"); err != nil || string(v) != want || (v == nil) != (want == "") {
				t.Errorf("inside the update: got %q, %v, want %q", v, err, want)
			}
		}
		get("1")
		err := w.Put("a", "k", []byte("2"))
		get("2")
		err = errors.Join(err, w.Delete("a", "k"))
		get("")
		err = errors.Join(err, w.Put("a", "k", []byte("3")))
		get("3")
		return err
	})
	want(t, read(t, b, "a"), content{"a": {{"k", "3"}}})
}

// testRunsAgain counts by reading and writing back: however often the function
// runs, it counts once.
func testRunsAgain(t *testing.T, s Suite) {
	b := s.open(t)
	for range 5 {
		count(t, b, "n")
	}
	want(t, read(t, b, "a"), content{"a": {{"n", "xxxxx"}}})
}

func count(t testing.TB, b store.Backend, key string) {
	t.Helper()
	update(t, b, func(w store.Writer) error {
		v, err := w.Get("a", key)
		if err != nil {
			return err
		}
		return w.Put("a", key, append(v, 'x'))
	})
}

func testLimits(t *testing.T, s Suite) {
	b := s.open(t)
	fill := func(n int, heed bool) error {
		return b.Update(context.Background(), func(w store.Writer) error {
			for range 2 { // the same key twice is one key
				for i := range n {
					if err := w.Put("a", fmt.Sprint(i), nil); err != nil && heed {
						return err
					}
				}
			}
			if _, ok := w.(store.Reader); ok {
				t.Error("an update can scan")
			}
			return nil
		})
	}
	if err := fill(store.MaxWrites, true); err != nil {
		t.Errorf("%d keys: %v", store.MaxWrites, err)
	}
	if got := len(read(t, b, "a")["a"]); got != store.MaxWrites {
		t.Errorf("%d keys kept, want %d", got, store.MaxWrites)
	}
	for _, heed := range []bool{true, false} {
		wantError(t, fill(store.MaxWrites+1, heed), store.ErrTooManyWrites)
	}
	long := string(bytes.Repeat([]byte("k"), store.MaxKey+1))
	for _, c := range [][2]string{{"a", ""}, {"", "k"}, {"a", long}} {
		err := b.Update(context.Background(), func(w store.Writer) error {
			_ = w.Put("a", "beside", nil)
			_ = w.Put(c[0], c[1], []byte("v")) // even where the error is dropped
			return nil
		})
		wantError(t, err, guard.ErrInvalid)
	}
	want(t, read(t, b, "a")["a"][0], row{"0", ""})
	put(t, b, "b", long[:store.MaxKey], "v")
}

func testCopies(t *testing.T, s Suite) {
	b := s.open(t)
	value := []byte("before")
	update(t, b, func(w store.Writer) error {
		copy(value, "before")
		err := w.Put("a", "k", value)
		copy(value, "AFTER!")
		got, err2 := w.Get("a", "k")
		copy(got, "AFTER!")
		return errors.Join(err, err2)
	})
	view(t, b, func(r store.Reader) error {
		v, err := r.Get("a", "k")
		copy(v, "AFTER!")
		return err
	})
	want(t, read(t, b, "a"), content{"a": {{"k", "before"}}})
}

func testLarge(t *testing.T, s Suite) {
	b := s.open(t)
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16)) // 1 MiB
	put(t, b, "a", "k", large)
	want(t, read(t, b, "a")["a"][0].Value == large, true)
	put(t, b, "a", "k", "small")
	want(t, read(t, b, "a"), content{"a": {{"k", "small"}}})
}

func testCancelled(t *testing.T, s Suite) {
	b := s.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, b.Update(ctx, func(w store.Writer) error { return w.Put("a", "k", nil) }), context.Canceled)
	wantError(t, b.View(ctx, func(store.Reader) error { return nil }), context.Canceled)
	wantError(t, b.Backup(ctx, io.Discard), context.Canceled)
	want(t, read(t, b, "a"), content{"a": nil})
}

func testClosed(t *testing.T, s Suite) {
	b := s.Open(t)
	put(t, b, "a", "k", "1")
	if err := b.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	ctx := context.Background()
	wantError(t, b.Update(ctx, func(store.Writer) error { return nil }), store.ErrClosed)
	wantError(t, b.View(ctx, func(store.Reader) error { return nil }), store.ErrClosed)
	wantError(t, b.Backup(ctx, io.Discard), store.ErrClosed)
	wantError(t, b.Close(), store.ErrClosed)
}
