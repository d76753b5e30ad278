package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

func set(t testing.TB, b *bolt.Backend, value string) {
	t.Helper()
	err := b.Update(context.Background(), func(w store.Writer) error { return w.Put("a", "k", []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
}

func value(t testing.TB, path string) (v string) {
	t.Helper()
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // not what is tested
	err = b.View(context.Background(), func(r store.Reader) error {
		got, err := r.Get("a", "k")
		v = string(got)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBackupTo(t *testing.T) {
	ctx := context.Background()
	dir, to := t.TempDir(), t.TempDir()
	b := open(t, filepath.Join(dir, "ledger.db"), bolt.Options{})
	path := filepath.Join(to, "backup.db")
	for _, v := range []string{"monday", "tuesday"} { // the second takes the first one's place
		set(t, b, v)
		if err := b.BackupTo(ctx, path); err != nil {
			t.Fatal(err)
		}
		set(t, b, "later")
		if got := value(t, path); got != v {
			t.Errorf("the backup says %q, want %q", got, v)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made %v, %v, want mode 0600", info, err)
	}
	if err := bolt.Verify(ctx, path); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v, want the backup alone", entries, err)
	}
}

func TestBackupRefuses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger.db")
	b := open(t, ledger, bolt.Options{})
	set(t, b, "kept")
	other := open(t, filepath.Join(dir, "other.db"), bolt.Options{})
	set(t, other, "kept")
	letter := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, []byte("dear all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(ledger, filepath.Join(dir, "hard.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ledger, filepath.Join(dir, "soft.db")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ledger.db", "hard.db", "soft.db", "other.db"} {
		wantError(t, b.BackupTo(ctx, filepath.Join(dir, name)), guard.ErrRefused, "in use", name)
	}
	wantError(t, b.BackupTo(ctx, letter), guard.ErrRefused, "letter.txt", "no ledger")
	wantError(t, b.BackupTo(ctx, dir), guard.ErrRefused, "not a file")
	wantError(t, b.BackupTo(ctx, filepath.Join(dir, "none", "backup.db")), guard.ErrNotFound, "none")
	if text, err := os.ReadFile(letter); err != nil || !bytes.Equal(text, []byte("dear all")) {
		t.Errorf("the letter says %q, %v", text, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := value(t, ledger); got != "kept" {
		t.Errorf("the ledger says %q", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("left %s behind", e.Name())
		}
	}
}

// What lies damaged in the ledger never takes the place of an older good copy.
func TestBackupOfDamage(t *testing.T) {
	ctx := context.Background()
	path, good := filled(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(backup, good, 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, path, bolt.Options{})
	is, becomes := bytes.Repeat([]byte{80}, 400), bytes.Repeat([]byte{81}, 400)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // not what is tested
	if _, err := f.WriteAt(bytes.ReplaceAll(good, is, becomes), 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, b.BackupTo(ctx, backup), guard.ErrDamaged, "kept", "checksum")
	if after, err := os.ReadFile(backup); err != nil || !bytes.Equal(after, good) {
		t.Errorf("the older backup was changed (%v)", err)
	}
}

// What a killed process has left half-made goes with time, not what another one is
// making.
func TestLeftOvers(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, "ledger.db"), bolt.Options{})
	long := time.Now().Add(-2 * time.Hour)
	for name, at := range map[string]time.Time{".a.1.guard-tmp": long, ".b.2.guard-tmp": long, ".c.3.guard-tmp": time.Now(), ".d.tmp": long, "e.guard-tmp": long} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("half"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(filepath.Join(dir, ".b.2.guard-tmp"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := b.BackupTo(ctx, filepath.Join(dir, "monday.db")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != ".b.2.guard-tmp .c.3.guard-tmp .d.tmp e.guard-tmp ledger.db ledger.db.holder monday.db" {
		t.Errorf("left %s", got)
	}
}
