package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"guard/store"
)

func testOrder(t *testing.T, s Suite) {
	b := s.open(t)
	keys := []string{"a", "a/", "a/1", "a/1/x", "a/10", "a/2", "a0", "b", "\x00", "\xff", "\xff\xff"}
	for _, i := range []int{7, 2, 10, 4, 0, 8, 6, 1, 9, 3, 5} {
		put(t, b, "a", keys[i], fmt.Sprint(i))
	}
	slices.Sort(keys)
	view(t, b, func(r store.Reader) error {
		for _, c := range []struct {
			prefix, after string
			want          []string
		}{
			{"", "", keys},
			{"a/", "", []string{"a/", "a/1", "a/1/x", "a/10", "a/2"}},
			{"a/1", "", []string{"a/1", "a/1/x", "a/10"}},
			{"a/", "a/1", []string{"a/1/x", "a/10", "a/2"}},
			{"a/", "a/1/z", []string{"a/10", "a/2"}}, // after need not be there
			{"a/", "a", []string{"a/", "a/1", "a/1/x", "a/10", "a/2"}},
			{"a/", "a/2", nil},
			{"a/", "b", nil},
			{"", "b", []string{"\xff", "\xff\xff"}},
			{"\xff", "", []string{"\xff", "\xff\xff"}},
			{"c", "", nil},
		} {
			var got []string
			for _, w := range scan(t, r, "a", c.prefix, c.after) {
				got = append(got, w.Key)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("prefix %q after %q: got %q, want %q", c.prefix, c.after, got, c.want)
			}
		}
		seen := 0
		err := r.Scan("a", "", "", func(string, []byte) bool { seen++; return seen < 3 })
		if err != nil || seen != 3 {
			t.Errorf("a scan told to stop at 3 saw %d, %v", seen, err)
		}
		key, value, err := r.Last("a")
		if err != nil || key != "\xff\xff" || string(value) != "10" {
			t.Errorf("last: got %q %q, %v", key, value, err)
		}
		if key, value, err := r.Last("none"); key != "" || value != nil || err != nil {
			t.Errorf("last of no table: got %q %q, %v", key, value, err)
		}
		return nil
	})
}

// testSnapshot holds a view open over changes of every kind, one at a time.
func testSnapshot(t *testing.T, s Suite) {
	for name, change := range map[string]func(w store.Writer) error{
		"overwrite": func(w store.Writer) error { return w.Put("a", "k", []byte("new")) },
		"insert":    func(w store.Writer) error { return w.Put("a", "l", []byte("new")) },
		"append":    func(w store.Writer) error { return w.Put("a", "zz", []byte("new")) },
		"delete":    func(w store.Writer) error { return w.Delete("a", "k") },
		"new table": func(w store.Writer) error { return w.Put("new", "k", []byte("new")) },
	} {
		b := s.open(t)
		put(t, b, "a", "b", "old", "k", "old", "z", "old")
		before := read(t, b, "a", "new")
		opened, written := make(chan struct{}), make(chan struct{})
		var got content
		done := make(chan error)
		go func() {
			done <- b.View(context.Background(), func(r store.Reader) error {
				if _, err := r.Get("a", "k"); err != nil {
					return err
				}
				close(opened)
				<-written
				got = content{"a": scan(t, r, "a", "", ""), "new": scan(t, r, "new", "", "")}
				return nil
			})
		}()
		<-opened
		update(t, b, change)
		close(written)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, got); d != "" {
			t.Errorf("%s shows in a view that was open before (-want +got):\n%s", name, d)
		}
		if cmp.Equal(before, read(t, b, "a", "new")) {
			t.Errorf("%s does not show afterwards", name)
		}
	}
}

func testConcurrent(t *testing.T, s Suite) {
	b := s.open(t)
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range each {
				count(t, b, "shared")
				count(t, b, fmt.Sprint(i))
			}
		})
	}
	wg.Wait()
	for _, w := range read(t, b, "a")["a"] {
		n := each
		if w.Key == "shared" {
			n = writers * each
		}
		if w.Value != strings.Repeat("x", n) {
			t.Errorf("%s was counted %d times, want %d", w.Key, len(w.Value), n)
		}
	}
}

// testErrorAmongMany lets half of many simultaneous updates fail: these leave
// nothing, and the others everything, even where a backend commits them together.
func testErrorAmongMany(t *testing.T, s Suite) {
	b := s.open(t)
	const n = 40
	var wg sync.WaitGroup
	var failed atomic.Int64
	for i := range n {
		wg.Go(func() {
			err := b.Update(context.Background(), func(w store.Writer) error {
				err := errors.Join(w.Put("a", fmt.Sprintf("%d/1", i), nil), w.Put("a", fmt.Sprintf("%d/2", i), nil))
				if i%2 == 1 {
					return errOdd
				}
				return err
			})
			if errors.Is(err, errOdd) {
				failed.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want(t, failed.Load(), int64(n/2))
	rows := read(t, b, "a")["a"]
	want(t, len(rows), n)
	for _, w := range rows {
		var i, half int
		if _, err := fmt.Sscanf(w.Key, "%d/%d", &i, &half); err != nil || i%2 == 1 {
			t.Errorf("a failed update left %q", w.Key)
		}
	}
}

var errOdd = errors.New("odd")

// testPanicAmongMany lets one update panic: it goes to its caller, and the others
// do not wait for it for ever.
func testPanicAmongMany(t *testing.T, s Suite) {
	b := s.open(t)
	var wg sync.WaitGroup
	var panicked atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			defer func() {
				if recover() != nil {
					panicked.Add(1)
				}
			}()
			_ = b.Update(context.Background(), func(w store.Writer) error {
				err := w.Put("a", fmt.Sprint(i), nil)
				if i%4 == 0 {
					panic("a mistake in the function")
				}
				return err
			})
		})
	}
	wg.Wait()
	want(t, panicked.Load(), int64(4))
	want(t, len(read(t, b, "a")["a"]), 12)
}

func testBackup(t *testing.T, s Suite) {
	b := s.open(t)
	put(t, b, "a", "k", "1", "\x00\xff", "", "large", strings.Repeat("large", 1<<15))
	put(t, b, "b", "k", "2")
	before := read(t, b, "a", "b")
	var backup bytes.Buffer
	if err := b.Backup(context.Background(), &backup); err != nil {
		t.Fatal(err)
	}
	put(t, b, "a", "k", "later")
	restored, err := s.Restore(t, backup.Bytes())
	if err != nil {
		t.Fatalf("open the backup: %v", err)
	}
	defer restored.Close() //nolint:errcheck // not what is tested
	want(t, read(t, restored, "a", "b"), before)
	put(t, restored, "a", "k", "goes on")
	want(t, read(t, b, "a")["a"][1], row{"k", "later"})
	if _, err := s.Restore(t, backup.Bytes()[:backup.Len()/2]); err == nil {
		t.Error("half a backup opens")
	}
	boom := errors.New("boom")
	wantError(t, b.Backup(context.Background(), failingWriter{boom}), boom)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// testBackupWhileWriting writes pairs that are equal in every true copy.
func testBackupWhileWriting(t *testing.T, s Suite) {
	b := s.open(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				v := strings.Repeat(fmt.Sprint(i%10), 3000+i%5000)
				put(t, b, "a", fmt.Sprintf("left/%d", i%30), v, fmt.Sprintf("right/%d", i%30), v)
			}
		}
	})
	defer func() { close(stop); wg.Wait() }()
	for range 5 {
		var backup bytes.Buffer
		if err := b.Backup(context.Background(), &backup); err != nil {
			t.Fatal(err)
		}
		restored, err := s.Restore(t, backup.Bytes())
		if err != nil {
			t.Fatalf("open the backup: %v", err)
		}
		view(t, restored, func(r store.Reader) error {
			left, right := scan(t, r, "a", "left/", ""), scan(t, r, "a", "right/", "")
			if len(left) != len(right) {
				t.Errorf("%d on the left, %d on the right", len(left), len(right))
			}
			for i := range min(len(left), len(right)) {
				if left[i].Value != right[i].Value {
					t.Errorf("half an update of %s is in the backup", left[i].Key)
				}
			}
			return nil
		})
		_ = restored.Close()
	}
}

// testModel does random things to the backend and to a map, and compares.
func testModel(t *testing.T, s Suite) {
	b := s.open(t)
	ctx := context.Background()
	round := 0
	key := rapid.StringMatching(`[ab/\x00\xff]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		round++
		table := fmt.Sprintf("model%d", round)
		model := map[string]string{}
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				keys := rapid.SliceOfN(key, 0, 8).Draw(t, "keys")
				values := rapid.SliceOfN(rapid.StringN(0, 40, 60), len(keys), len(keys)).Draw(t, "values")
				remove := rapid.SliceOfN(rapid.Bool(), len(keys), len(keys)).Draw(t, "remove")
				fail := rapid.IntRange(0, 4).Draw(t, "fail") == 0
				next := maps.Clone(model)
				for i, k := range keys {
					if remove[i] {
						delete(next, k)
					} else {
						next[k] = values[i]
					}
				}
				err := b.Update(ctx, func(w store.Writer) error {
					for i, k := range keys {
						var err error
						if remove[i] {
							err = w.Delete(table, k)
						} else {
							err = w.Put(table, k, []byte(values[i]))
						}
						if err != nil {
							return err
						}
					}
					if fail {
						return errOdd
					}
					return nil
				})
				switch {
				case fail && !errors.Is(err, errOdd):
					t.Fatalf("got %v for a failing function", err)
				case !fail && err != nil:
					t.Fatal(err)
				case !fail:
					model = next
				}
			},
			"": func(t *rapid.T) {
				prefix := rapid.OneOf(rapid.Just(""), key).Draw(t, "prefix")
				after := rapid.OneOf(rapid.Just(""), key).Draw(t, "after")
				compare(t, b, table, prefix, after, model)
			},
		})
	})
}

func compare(t *rapid.T, b store.Backend, table, prefix, after string, model map[string]string) {
	var wanted, got []row
	last := ""
	for _, k := range slices.Sorted(maps.Keys(model)) {
		last = k
		if strings.HasPrefix(k, prefix) && (after == "" || k > after) {
			wanted = append(wanted, row{k, model[k]})
		}
	}
	err := b.View(context.Background(), func(r store.Reader) error {
		if k, v, err := r.Last(table); err != nil || k != last || string(v) != model[last] {
			t.Errorf("last: got %q %q, %v, want %q", k, v, err, last)
		}
		for k, v := range model {
			if got, err := r.Get(table, k); err != nil || string(got) != v {
				t.Errorf("%q: got %q, %v, want %q", k, got, err, v)
			}
		}
		return r.Scan(table, prefix, after, func(key string, value []byte) bool {
			got = append(got, row{key, string(value)})
			return true
		})
	})
	if err != nil || !slices.Equal(got, wanted) {
		t.Fatalf("prefix %q after %q: got %q, %v, want %q", prefix, after, got, err, wanted)
	}
}
