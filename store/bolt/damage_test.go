package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

// filled makes a closed ledger's file with a few hundred rows in three tables.
func filled(t testing.TB) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		err := b.Update(context.Background(), func(w store.Writer) error {
			for i := range 90 {
				table := []string{"a", "b", "c"}[i%3]
				if err := w.Put(table, fmt.Sprintf("key-%d-%d", round, i), bytes.Repeat([]byte{byte(i)}, i*5)); err != nil {
					return err
				}
			}
			return errors.Join(w.Put("small", "k", []byte("v")), w.Put("meta", "schema", []byte(`{"schema":1,"deployment":"d1"}`)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A backup has no unused tail: there, every byte that is cut off counts.
	backup := filepath.Join(t.TempDir(), "backup.db")
	err = errors.Join(b.BackupTo(context.Background(), backup), b.Close(), os.Rename(backup, path))
	if err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

// A damaged file is told, and stays as it is.
func TestDamagedFile(t *testing.T) {
	_, good := filled(t)
	zeros := make([]byte, len(good))
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	other, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = other.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("members")); return err })
	if err := errors.Join(err, other.Close()); err != nil {
		t.Fatal(err)
	}
	etcd, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"empty":             {nil, "is empty"},
		"one byte":          {good[:1], "is not a ledger"},
		"half a header":     {good[:60], "is not a ledger"},
		"one header":        {good[:4096], "is cut off"},
		"two headers":       {good[:8192], "is cut off"},
		"half":              {good[:len(good)/2], "is cut off"},
		"a byte short":      {good[:len(good)-1], "is cut off"},
		"first header":      {flip(good, 16+48), "one of them is damaged"},
		"second header":     {flip(good, 4096+16+16), "one of them is damaged"},
		"both headers":      {flip(flip(good, 20), 4096+20), "both are damaged"},
		"zeros":             {zeros, "is not a ledger"},
		"zeros after":       {append(bytes.Clone(good[:8192]), zeros[8192:]...), "is damaged"},
		"text":              {bytes.Repeat([]byte("ledger: bolt:/var/lib/guard\n"), 4000), "is not a ledger"},
		"short text":        {[]byte("hello\n"), "is not a ledger"},
		"database of etcd":  {etcd, "another program"},
		"headers of others": {append(bytes.Clone(etcd[:8192]), good[8192:]...), "is damaged"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if name == "a byte short" && len(good)%4096 != 0 {
				t.Fatalf("the file has %d bytes", len(good))
			}
			path := filepath.Join(t.TempDir(), "ledger.db")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			wantDamage(t, path, c.content, c.says)
		})
	}
}

func wantDamage(t *testing.T, path string, content []byte, says string) {
	t.Helper()
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err == nil {
		_ = b.Close()
		t.Fatal("it opens")
	}
	verified := bolt.Verify(context.Background(), path)
	for _, err := range []error{err, verified} {
		if !errors.Is(err, guard.ErrDamaged) {
			t.Fatalf("got %v, want damage", err)
		}
		for _, w := range []string{path, says} {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not say %q", err, w)
			}
		}
	}
	if !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%q does not say what to do", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, content) {
		t.Errorf("the damaged file was changed (%v)", err)
	}
	// The lock is free again.
	if err := bolt.Verify(context.Background(), path); errors.Is(err, guard.ErrLocked) {
		t.Error(err)
	}
}

// One flipped bit anywhere is found, or lies where nothing is kept: then every
// row is what it was. It never ends in a panic or in another value.
func TestFlippedBits(t *testing.T) {
	path, good := filled(t)
	rows := rowsOf(t, path)
	found := 0
	random := rand.New(rand.NewPCG(1, 2))
	const tries = 400
	for i := range tries {
		at := random.IntN(len(good))
		damaged := bytes.Clone(good)
		damaged[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := bolt.Open(context.Background(), path, bolt.Options{})
		if err != nil {
			if !errors.Is(err, guard.ErrDamaged) {
				t.Fatalf("byte %d: %v", at, err)
			}
			found++
			continue
		}
		_ = b.Close()
		if got := rowsOf(t, path); got != rows {
			t.Fatalf("try %d: a flipped bit in byte %d changed what the ledger says", i, at)
		}
	}
	if found < tries/4 {
		t.Errorf("only %d of %d flipped bits were found", found, tries)
	}
}

func rowsOf(t *testing.T, path string) string {
	t.Helper()
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close() //nolint:errcheck // not what is tested
	var rows strings.Builder
	err = b.View(context.Background(), func(r store.Reader) error {
		for _, table := range []string{"a", "b", "c", "small"} {
			err := r.Scan(table, "", "", func(key string, value []byte) bool {
				fmt.Fprintf(&rows, "%s %s %x\n", table, key, value)
				return true
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows.String()
}

// The error names the newest backup that is good, not the newest file.
func TestDamagedFileNamesBackup(t *testing.T) {
	path, good := filled(t)
	dir := filepath.Dir(path)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		content []byte
		at      time.Time
	}{
		"monday.db":    {good, day},
		"tuesday.db":   {good, day.Add(24 * time.Hour)},
		"wednesday.db": {good[:len(good)/2], day.Add(48 * time.Hour)},
		"notes.txt":    {[]byte("not one"), day.Add(72 * time.Hour)},
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, c.content, 0o600), os.Chtimes(file, c.at, c.at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, good[:5000], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := bolt.Open(context.Background(), path, bolt.Options{})
	if !errors.Is(err, guard.ErrDamaged) || !strings.Contains(err.Error(), "tuesday.db") || !strings.Contains(err.Error(), "2026-03-02T00:00:00Z") {
		t.Errorf("got %v, want tuesday's backup named", err)
	}
}

// A file that is cut off while the ledger is open is an error from then on, not
// the end of the process.
func TestFileCutOffWhileOpen(t *testing.T) {
	path, _ := filled(t)
	ctx := context.Background()
	b := open(t, path, bolt.Options{})
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	err := b.View(ctx, func(r store.Reader) error {
		return r.Scan("a", "", "", func(string, []byte) bool { return true })
	})
	if !errors.Is(err, guard.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Fatalf("view: got %v, want damage", err)
	}
	err = b.Update(ctx, func(w store.Writer) error { return w.Put("a", "k", nil) })
	if !errors.Is(err, guard.ErrDamaged) {
		t.Errorf("update: got %v, want nothing written any more", err)
	}
	if err := b.BackupTo(ctx, filepath.Join(t.TempDir(), "backup.db")); !errors.Is(err, guard.ErrDamaged) {
		t.Errorf("backup: got %v", err)
	}
}
