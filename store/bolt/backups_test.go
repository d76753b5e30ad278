package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// ageOf makes a file older than the one before.
func ageOf(t *testing.T, path string, days int) {
	t.Helper()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(days) * 24 * time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestBackups(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mine := kept(t, at("ledger.db"), at("monday.db"))
	theirs := kept(t, at("other.db"), at("other-monday.db"))
	content, err := os.ReadFile(at("monday.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"letter.txt": []byte("dear all"), "empty.db": nil, "cut.db": content[:len(content)-1], ".hidden.db": content} {
		if err := os.WriteFile(at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, at("other.db"), bolt.Options{}) // a ledger in use
	for days, name := range []string{"monday.db", "other-monday.db", "ledger.db"} {
		ageOf(t, at(name), days)
	}
	list := func(deployment string) string {
		found, err := bolt.Backups(ctx, dir, deployment)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, b := range found {
			info, err := os.Stat(b.Path)
			if err != nil || b.Size != info.Size() || !b.At.Equal(info.ModTime()) || b.Schema != store.Schema() {
				t.Errorf("%+v, %v", b, err)
			}
			out = append(out, filepath.Base(b.Path))
		}
		return strings.Join(out, " ")
	}
	for deployment, want := range map[string]string{mine: "monday.db ledger.db", theirs: "other-monday.db", "": "monday.db other-monday.db ledger.db", "none": ""} {
		if got := list(deployment); got != want {
			t.Errorf("of %q: %q, want %q", deployment, got, want)
		}
	}
	_, err = bolt.Backups(ctx, at("none"), mine)
	wantError(t, err, guard.ErrNotFound)
}

// What a damaged ledger is told to be replaced by is its own, whatever lies nearer
// and is newer, as long as anything of it says whose it is.
func TestAdvice(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		damage func(content []byte) []byte
		alone  bool // no other ledger lies beside it
		says   []string
	}{
		"cut off":              {func(b []byte) []byte { return b[:len(b)/2] }, false, []string{"monday.db", "2026-02-26"}},
		"headers lost":         {func(b []byte) []byte { return append(make([]byte, 8192), b[8192:]...) }, false, []string{"monday.db"}},
		"lost, others beside":  {func(b []byte) []byte { return b[:0] }, false, []string{"does not even tell", "of several"}},
		"lost, its own beside": {func(b []byte) []byte { return make([]byte, len(b)) }, true, []string{"does not even tell", "monday.db", "only good backups"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, backups := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "ledger.db")
			kept(t, path, filepath.Join(backups, "monday.db"))
			ageOf(t, filepath.Join(backups, "monday.db"), 3)
			if !c.alone {
				kept(t, filepath.Join(dir, "another.db"), filepath.Join(dir, "another.backup"))
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			monday, err := os.ReadFile(filepath.Join(backups, "monday.db"))
			if err != nil {
				t.Fatal(err)
			}
			// A newer one that is not good, though it looks so.
			if err := os.WriteFile(filepath.Join(backups, "sunday.db"), bytes.Replace(monday, []byte("monday"), []byte("sunday"), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.damage(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = bolt.Open(ctx, path, bolt.Options{Backups: backups})
			wantError(t, err, guard.ErrDamaged, append(c.says, "nothing was changed")...)
			if strings.Contains(err.Error(), "another.") || strings.Contains(err.Error(), "sunday") {
				t.Errorf("it names another's: %v", err)
			}
		})
	}
}

// A checksum may hold any byte, the one that ends a record among them.
func TestAdviceWhateverTheChecksum(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	mine := kept(t, path, filepath.Join(dir, "monday.db"))
	kept(t, filepath.Join(dir, "another.db"), filepath.Join(dir, "another.backup"))
	var record []byte
	b := open(t, path, bolt.Options{})
	err := b.View(ctx, func(r store.Reader) error {
		v, err := r.Get("meta", "schema")
		record = bytes.Clone(v)
		return err
	})
	if err != nil || !bytes.Contains(record, []byte(mine)) {
		t.Fatalf("%s, %v", record, err)
	}
	var stored []byte
	for i := 0; !bytes.ContainsRune(stored, '}'); i++ {
		id := fmt.Appendf(nil, "%0*x", len(mine), i)
		record = bytes.Replace(record, []byte(mine), id, 1)
		mine = string(id)
		stored = binary.BigEndian.AppendUint32(nil, crc32.Checksum(append([]byte("meta\x00schema\x00"), record...), crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := b.Update(ctx, func(w store.Writer) error { return w.Put("meta", "schema", record) }); err != nil {
		t.Fatal(err)
	}
	if err := b.BackupTo(ctx, filepath.Join(dir, "tuesday.db")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Its older records would tell, too.
	content = bytes.ReplaceAll(append(make([]byte, 8192), content[8192:]...), []byte(`{"schema":`), []byte(`{"SCHEMA":`))
	content = append(append(content, stored...), record...)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = bolt.Open(ctx, path, bolt.Options{})
	wantError(t, err, guard.ErrDamaged, "tuesday.db")
}

// schema1 is a ledger of schema 1 at a path.
func schema1(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(golden(1, "db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// cutOff is a backend that fails behind some updates.
type cutOff struct {
	*bolt.Backend
	left int
}

var errCut = errors.New("cut off")

func (c *cutOff) Update(ctx context.Context, fn func(store.Writer) error) error {
	if c.left--; c.left < 0 {
		return errCut
	}
	return c.Backend.Update(ctx, fn)
}

// Cut off anywhere, an upgrade is gone on with, and one copy is kept: of the ledger
// from before.
func TestUpgradeCutOff(t *testing.T) {
	ctx := context.Background()
	whole := schema1(t)
	want := dump(t, storetest.Ledger(t, open(t, whole, bolt.Options{})), 1)
	for left := 0; ; left++ {
		path := schema1(t)
		b := open(t, path, bolt.Options{})
		_, err := store.Open(ctx, &cutOff{b, left}, storetest.At)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		if got := schemaOf(t, path); got > store.Schema() || got == 1 && left > 0 {
			t.Errorf("cut off behind %d updates, it says that it has schema %d", left, got)
		}
		if got := dump(t, storetest.Ledger(t, open(t, path, bolt.Options{})), 1); got != want {
			t.Errorf("cut off behind %d updates and gone on with, it reads\n%s", left, got)
		}
		var copies []string
		for _, name := range strings.Fields(names(t, filepath.Dir(path))) {
			if strings.Contains(name, ".schema-") {
				copies = append(copies, name)
				if got := schemaOf(t, filepath.Join(filepath.Dir(path), name)); got != 1 {
					t.Errorf("%s has schema %d", name, got)
				}
			}
		}
		// Cut off before its first step, the next start cannot tell, and keeps another.
		if most := 1 + max(0, 1-left); len(copies) < 1 || len(copies) > most {
			t.Errorf("cut off behind %d updates, it left %v", left, copies)
		}
		if err == nil {
			return
		}
	}
}

// Where the copy cannot be had, nothing is upgraded.
func TestUpgradeWithoutACopy(t *testing.T) {
	path := schema1(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, path, bolt.Options{})
	_, err = store.Open(context.Background(), &noRoom{b}, storetest.At)
	wantError(t, err, bolt.ErrNoRoom, "schema 1", "nothing was changed", "cannot be kept")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(before) != string(after) {
		t.Errorf("it was changed (%v)", err)
	}
}

type noRoom struct{ *bolt.Backend }

func (noRoom) KeepSchema(context.Context, int) (string, error) { return "", bolt.ErrNoRoom }

// A ledger of a later schema is refused with the copy named that this guard can read,
// if there is one; and that copy is a way back.
func TestNewerNamesTheWayBack(t *testing.T) {
	ctx := context.Background()
	path := schema1(t)
	b := open(t, path, bolt.Options{})
	l := storetest.Ledger(t, b)
	newer := store.Schema() + 1
	err := b.Update(ctx, func(w store.Writer) error {
		return w.Put("meta", "schema", fmt.Appendf(nil, `{"schema":%d,"from":%d,"deployment":%q}`, newer, newer-1, l.Deployment()))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.BackupTo(ctx, fmt.Sprintf("%s.schema-%d", path, newer)); err != nil { // of no use to this guard
		t.Fatal(err)
	}
	up, _ := l.Upgraded()
	_, err = store.Open(ctx, b, storetest.At)
	wantError(t, err, guard.ErrRefused, fmt.Sprintf("schema %d", newer), "restore "+up.Kept+",", "nothing was changed")
	copied, err := os.ReadFile(up.Kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(up.Kept, bytes.Replace(copied, []byte("text 4"), []byte("test 4"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, b, storetest.At); strings.Contains(err.Error(), up.Kept) {
		t.Errorf("a copy that is not whole is named: %v", err)
	}
	_ = b.Close()
}
