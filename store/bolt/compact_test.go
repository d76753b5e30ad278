package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

// bloated is an open ledger of which little is left of what its file once held.
func bloated(t testing.TB) *bolt.Backend {
	t.Helper()
	ctx := context.Background()
	b := open(t, filepath.Join(t.TempDir(), "ledger.db"), bolt.Options{})
	const chunks, rows = 60, 90
	each := func(chunk int, fn func(w store.Writer, key string) error) {
		err := b.Update(ctx, func(w store.Writer) error {
			for i := range rows {
				if err := fn(w, fmt.Sprintf("key-%04d-%02d", chunk, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for chunk := range chunks {
		each(chunk, func(w store.Writer, key string) error { return w.Put("a", key, bytes.Repeat([]byte(key), 500)) })
	}
	for chunk := range chunks - 5 {
		each(chunk, func(w store.Writer, key string) error { return w.Delete("a", key) })
	}
	return b
}

// content is all that a ledger holds.
func content(t testing.TB, b store.Backend) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := b.View(context.Background(), func(r store.Reader) error {
		for _, table := range []string{"a", "counts", "fresh"} {
			if err := r.Scan(table, "", "", func(key string, value []byte) bool {
				all[table+"/"+key] = string(value)
				return true
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func stats(t testing.TB, b *bolt.Backend) bolt.Stats {
	t.Helper()
	s, err := b.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// While writers write, delete and make tables, while views are open and while
// others want the lock, a compaction loses nothing, and nobody else gets in.
func TestCompact(t *testing.T) {
	ctx := context.Background()
	b := bloated(t)
	before, kept := stats(t, b), content(t, b)
	if before.Size < 20<<20 || before.Live > before.Size/5 {
		t.Fatalf("not bloated: %+v", before)
	}

	var written [3]atomic.Int64 // the last number that each writer was told is kept
	var done atomic.Bool
	var work sync.WaitGroup
	defer work.Wait()
	defer done.Store(true)
	for i := range written {
		work.Go(func() {
			for n := int64(1); !done.Load(); n++ {
				err := b.Update(ctx, func(w store.Writer) error {
					err := errors.Join(w.Put("counts", fmt.Sprint(i), fmt.Append(nil, n)),
						w.Put("fresh", fmt.Sprintf("%d-%d", i, n), []byte("x")))
					if n%10 == 0 { // each once
						err = errors.Join(err, w.Delete("a", fmt.Sprintf("key-%04d-%02d", 55+i, n/10)))
					}
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				written[i].Store(n)
			}
		})
	}
	work.Go(func() {
		for !done.Load() {
			if other, err := bolt.Open(ctx, b.Path(), bolt.Options{LockTimeout: time.Millisecond}); err == nil {
				t.Error("somebody else got in")
				_ = other.Close()
				return
			} else if !errors.Is(err, guard.ErrLocked) {
				t.Error(err)
				return
			}
		}
	})

	// A view from before sees the same all along, and holds nobody up but the end of
	// the compaction.
	entered, leave := make(chan struct{}), make(chan struct{})
	work.Go(func() {
		err := b.View(ctx, func(r store.Reader) error {
			first := number(t, r)
			close(entered)
			<-leave
			if again := number(t, r); again != first {
				t.Errorf("a view saw %d, and later %d", first, again)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	old, err := os.Stat(b.Path())
	if err != nil {
		t.Fatal(err)
	}
	compacted := make(chan error, 1)
	go func() { compacted <- b.Compact(ctx) }()
	for same := true; same; {
		select {
		case err := <-compacted:
			t.Fatalf("the compaction ended without the name: %v", err)
		default:
		}
		now, err := os.Stat(b.Path())
		if err != nil {
			t.Fatal(err)
		}
		same = os.SameFile(old, now)
	}
	swapped := written[0].Load()
	for written[0].Load() < swapped+20 { // updates go on with the view still open
		select {
		case err := <-compacted:
			t.Fatalf("the compaction ended with a view of the old file open: %v", err)
		default:
		}
	}
	close(leave)
	if err := <-compacted; err != nil {
		t.Fatal(err)
	}
	done.Store(true)
	work.Wait()

	after := stats(t, b)
	if after.Size > before.Size/2 || after.Live > after.Size {
		t.Errorf("was %+v, is %+v", before, after)
	}
	check := func(b *bolt.Backend) {
		t.Helper()
		is := content(t, b)
		for i := range written {
			n := written[i].Load()
			if got := is[fmt.Sprintf("counts/%d", i)]; got != fmt.Sprint(n) {
				t.Errorf("writer %d was told that %d is kept, and %q is", i, n, got)
			}
			for k := range n + 10 {
				if _, ok := is[fmt.Sprintf("fresh/%d-%d", i, k)]; ok != (k > 0 && k <= n) {
					t.Errorf("row %d of writer %d of %d is there: %t", k, i, n, ok)
				}
			}
			for k := range int64(90) {
				key := fmt.Sprintf("a/key-%04d-%02d", 55+i, k)
				if gone := k > 0 && k <= n/10; gone == (is[key] == kept[key]) {
					t.Errorf("%s is %.20q, was %.20q, and writer %d wrote %d times", key, is[key], kept[key], i, n)
				}
			}
		}
	}
	check(b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bolt.Verify(ctx, b.Path()); err != nil {
		t.Error(err)
	}
	check(open(t, b.Path(), bolt.Options{}))
	if entries, err := os.ReadDir(filepath.Dir(b.Path())); err != nil || len(entries) != 2 { // the file and its holder
		t.Errorf("left %v, %v", entries, err)
	}
}

func number(t *testing.T, r store.Reader) int {
	n := 0
	for _, table := range []string{"a", "counts", "fresh"} {
		if err := r.Scan(table, "", "", func(string, []byte) bool { n++; return true }); err != nil {
			t.Error(err)
		}
	}
	return n
}

// A compaction that cannot be is one that changes nothing.
func TestCompactRefuses(t *testing.T) {
	b := bloated(t)
	before, all := stats(t, b), content(t, b)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, b.Compact(over), context.Canceled)
	moved := b.Path() + ".moved"
	if err := os.Rename(b.Path(), moved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path(), []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.Compact(context.Background()), guard.ErrConflict, b.Path())
	if other, err := os.ReadFile(b.Path()); err != nil || string(other) != "another's" {
		t.Errorf("what has the name of a ledger that was moved away says %q, %v", other, err)
	}
	if err := os.Rename(moved, b.Path()); err != nil {
		t.Fatal(err)
	}
	if now := stats(t, b); now.Size != before.Size || len(content(t, b)) != len(all) {
		t.Errorf("was %+v, is %+v", before, now)
	}
	set(t, b, "and works on")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.Compact(context.Background()), store.ErrClosed)
	if entries, err := os.ReadDir(filepath.Dir(b.Path())); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// A row that does not match its checksum ends the compaction: it is not carried on
// as good, and not dropped without a word.
func TestCompactOfDamage(t *testing.T) {
	ctx := context.Background()
	path, good := filled(t)
	b := open(t, path, bolt.Options{})
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // not what is tested
	is, becomes := bytes.Repeat([]byte{80}, 400), bytes.Repeat([]byte{81}, 400)
	if _, err := f.WriteAt(bytes.ReplaceAll(good, is, becomes), 0); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, b.Compact(ctx), guard.ErrDamaged, "checksum")
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced (%v)", err)
	}
	set(t, b, "the rest works on")
}

func TestStats(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "ledger.db"), bolt.Options{})
	set(t, b, "v")
	s := stats(t, b)
	if s.Live <= 0 || s.Live > s.Size || s.Max != 8<<30 || s.Free <= 0 || s.Free > s.Disk || s.Worth() {
		t.Errorf("%+v", s)
	}
	for name, c := range map[string]struct {
		s    bolt.Stats
		kind error
	}{
		"well":             {bolt.Stats{Size: 1 << 30, Live: 1 << 20, Max: 8 << 30, Disk: 100 << 30, Free: 21 << 30}, nil},
		"disk":             {bolt.Stats{Max: 8 << 30, Disk: 10 << 30, Free: 1 << 30}, bolt.ErrFilling},
		"room enough":      {bolt.Stats{Max: 8 << 30, Disk: 100 << 30, Free: 5 << 30}, nil},
		"for this ledger":  {bolt.Stats{Size: 2 << 30, Max: 8 << 30, Disk: 100 << 30, Free: 5 << 30}, bolt.ErrFilling},
		"largest size":     {bolt.Stats{Size: 8 << 30, Live: 7 << 30, Max: 8 << 30, Disk: 100 << 30, Free: 90 << 30}, bolt.ErrMaxSize},
		"nothing is known": {bolt.Stats{}, nil},
	} {
		err := c.s.Trouble()
		if !errors.Is(err, c.kind) || (err == nil) != (c.kind == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	worth := bolt.Stats{Size: 300 << 20, Live: 90 << 20}
	if !worth.Worth() || (bolt.Stats{Size: 300 << 20, Live: 200 << 20}).Worth() || (bolt.Stats{Size: 3 << 20, Live: 1 << 10}).Worth() {
		t.Error("what is worth a compaction")
	}
}
