package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

func wantError(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestCreates(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	b := open(t, path, bolt.Options{})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made %v, %v, want mode 0600", info, err)
	}
	if b.Path() != path {
		t.Errorf("path is %s, want %s", b.Path(), path)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v, want the ledger alone", entries, err)
	}
	if info.Size() > 1<<20 {
		t.Errorf("an empty ledger has %d bytes", info.Size())
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	_, err := bolt.Open(context.Background(), filepath.Join(dir, "none", "ledger.db"), bolt.Options{})
	wantError(t, err, guard.ErrNotFound, filepath.Join(dir, "none"), "create it")
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	_, err = bolt.Open(context.Background(), dir, bolt.Options{})
	wantError(t, err, guard.ErrInvalid, "not a file")

	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(filepath.Join(dir, "gone", "ledger.db"), link); err != nil {
		t.Fatal(err)
	}
	_, err = bolt.Open(context.Background(), link, bolt.Options{})
	wantError(t, err, guard.ErrNotFound, link)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = bolt.Open(ctx, filepath.Join(dir, "ledger.db"), bolt.Options{})
	wantError(t, err, context.Canceled)
}

// A link leads to the file itself, so that two names of one ledger are one lock.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "ledger.db"), filepath.Join(dir, "link.db")
	if err := open(t, path, bolt.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ledger.db", link); err != nil {
		t.Fatal(err)
	}
	b := open(t, link, bolt.Options{})
	if b.Path() != path {
		t.Errorf("opened %s, want %s", b.Path(), path)
	}
	_, err := bolt.Open(context.Background(), path, bolt.Options{LockTimeout: time.Millisecond})
	wantError(t, err, guard.ErrLocked)
}

func TestLockedBySelf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	b := open(t, path, bolt.Options{})
	_, err := bolt.Open(context.Background(), path, bolt.Options{LockTimeout: time.Millisecond})
	wantError(t, err, guard.ErrLocked, path, fmt.Sprint(os.Getpid()))
	wantError(t, bolt.Verify(context.Background(), path), guard.ErrLocked)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, bolt.Options{LockTimeout: time.Millisecond})
}

// The file fills up: that update is refused whole, what is there stays, and work
// goes on as soon as there is room.
func TestFull(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	b := open(t, path, bolt.Options{MaxSize: 2 << 20})
	write := func(key string, size int) error {
		return b.Update(ctx, func(w store.Writer) error { return w.Put("a", key, make([]byte, size)) })
	}
	if err := write("first", 100); err != nil {
		t.Fatal(err)
	}
	wantError(t, write("large", 4<<20), bolt.ErrMaxSize, "largest size", "nothing of this update was kept", path)
	if err := write("second", 100); err != nil {
		t.Fatalf("after a full disk: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	err := open(t, path, bolt.Options{}).View(ctx, func(r store.Reader) error {
		return r.Scan("a", "", "", func(key string, _ []byte) bool { keys = append(keys, key); return true })
	})
	if err != nil || strings.Join(keys, " ") != "first second" {
		t.Errorf("kept %q, %v", keys, err)
	}
}
