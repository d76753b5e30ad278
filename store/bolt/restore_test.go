package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// kept is a ledger at path in which a value is set, and a backup from before that.
func kept(t *testing.T, path, backup string) (deployment string) {
	t.Helper()
	b := open(t, path, bolt.Options{})
	l := storetest.Ledger(t, b)
	say := func(text string) {
		if err := l.Update(context.Background(), func(tx *store.Tx) error { return tx.SetValue("says", text) }); err != nil {
			t.Fatal(err)
		}
	}
	say("monday")
	if err := b.BackupTo(context.Background(), backup); err != nil {
		t.Fatal(err)
	}
	say("tuesday")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Deployment()
}

// says reads the values of a ledger's file.
func says(t *testing.T, path string, names ...string) string {
	t.Helper()
	l := storetest.Ledger(t, open(t, path, bolt.Options{}))
	var out []string
	err := l.View(context.Background(), func(v *store.View) error {
		for _, name := range names {
			var text string
			if _, err := v.Value(name, &text); err != nil {
				return err
			}
			out = append(out, text)
		}
		return nil
	})
	if err := errors.Join(err, l.Check(context.Background()), l.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// names lists a directory, but for what marks a ledger's holder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

var restoreAt = bolt.RestoreOptions{At: storetest.At, LockTimeout: time.Millisecond}

func TestRestore(t *testing.T) {
	ctx := context.Background()
	dir, away := t.TempDir(), t.TempDir()
	path, backup := filepath.Join(dir, "ledger.db"), filepath.Join(away, "monday.db")
	deployment := kept(t, path, backup)
	present, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opt := restoreAt
	opt.Mark = func(ctx context.Context, l *store.Ledger) error {
		// Until the copy is ready, the present ledger is there, and nobody else's.
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, present) {
			t.Errorf("while the copy is marked, the ledger is changed (%v)", err)
		}
		if _, err := bolt.Open(ctx, path, bolt.Options{LockTimeout: time.Millisecond}); !errors.Is(err, guard.ErrLocked) {
			t.Errorf("while the copy is marked, the ledger can be opened: %v", err)
		}
		return l.Update(ctx, func(tx *store.Tx) error { return tx.SetValue("mark", "observe") })
	}
	done, err := bolt.Restore(ctx, backup, path, opt)
	if err != nil {
		t.Fatal(err)
	}
	if want := (bolt.Restored{Path: path, Kept: path + ".before-restore-20260301T120000Z", Deployment: deployment}); done != want {
		t.Errorf("did %+v, want %+v", done, want)
	}
	if got := says(t, path, "says", "mark"); got != "monday observe" {
		t.Errorf("restored, it says %q", got)
	}
	if got := says(t, done.Kept, "says", "mark"); got != "tuesday " {
		t.Errorf("what was kept says %q", got)
	}
	if got := says(t, backup, "says", "mark"); got != "monday " {
		t.Errorf("the backup says %q", got)
	}

	// Once more within the second, and with none there.
	again, err := bolt.Restore(ctx, done.Kept, path, restoreAt)
	if err != nil || again.Kept != done.Kept+".2" {
		t.Fatalf("did %+v, %v", again, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if none, err := bolt.Restore(ctx, backup, path, restoreAt); err != nil || none.Kept != "" {
		t.Fatalf("did %+v, %v", none, err)
	}
	if got := says(t, path, "says"); got != "monday" {
		t.Errorf("restored where there was none, it says %q", got)
	}
	if got, want := names(t, dir), fmt.Sprintf("ledger.db %s %[1]s.2", filepath.Base(done.Kept)); got != want {
		t.Errorf("left %s, want %s", got, want)
	}
}

// A backup that is not good, not meant, or not the moment's, changes nothing.
func TestRestoreRefuses(t *testing.T) {
	ctx := context.Background()
	dir, away := t.TempDir(), t.TempDir()
	path, backup := filepath.Join(dir, "ledger.db"), filepath.Join(away, "monday.db")
	deployment := kept(t, path, backup)
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		file := filepath.Join(away, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	changed := func(name string, fn func(w store.Writer) error) string {
		file := file(name, whole)
		b := open(t, file, bolt.Options{})
		if err := errors.Join(b.Update(ctx, fn), b.Close()); err != nil {
			t.Fatal(err)
		}
		return file
	}
	foreign := filepath.Join(away, "foreign.db")
	theirs := kept(t, filepath.Join(away, "their.db"), foreign)
	used := file("used.db", whole)
	open(t, used, bolt.Options{})
	errMark := errors.New("no mark")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		from string
		mark error
		kind error
		says []string
	}{
		"none":          {from: filepath.Join(away, "none.db"), kind: guard.ErrNotFound},
		"a letter":      {from: file("letter.txt", []byte("dear all")), kind: guard.ErrDamaged, says: []string{"not a ledger"}},
		"a directory":   {from: away, kind: guard.ErrInvalid},
		"cut off":       {from: file("cut.db", whole[:len(whole)-100]), kind: guard.ErrDamaged, says: []string{"cut.db", "cut off"}},
		"a flipped bit": {from: file("flipped.db", bytes.Replace(whole, []byte("monday"), []byte("monkay"), 1)), kind: guard.ErrDamaged, says: []string{"flipped.db", "checksum"}},
		"newer": {from: changed("newer.db", func(w store.Writer) error {
			return w.Put("meta", "schema", fmt.Appendf(nil, `{"schema":%d,"deployment":%q}`, store.Schema()+1, deployment))
		}), kind: guard.ErrRefused, says: []string{fmt.Sprintf("schema %d", store.Schema()+1)}},
		"not true":   {from: changed("untrue.db", func(w store.Writer) error { return w.Put("meta", "journal_head", []byte("7")) }), kind: guard.ErrDamaged, says: []string{"journal"}},
		"another's":  {from: foreign, kind: guard.ErrRefused, says: []string{deployment, theirs}},
		"in use":     {from: used, kind: guard.ErrRefused, says: []string{"in use"}},
		"itself":     {from: path, kind: guard.ErrRefused, says: []string{"itself"}},
		"not marked": {from: backup, mark: errMark, kind: errMark},
		"over":       {ctx: over, from: backup, kind: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			opt := restoreAt
			opt.Mark = func(context.Context, *store.Ledger) error { return c.mark }
			if c.ctx == nil {
				c.ctx = ctx
			}
			_, err := bolt.Restore(c.ctx, c.from, path, opt)
			wantError(t, err, c.kind, append(c.says, "restore "+c.from)...)
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the ledger was changed (%v)", err)
			}
			if got := names(t, dir); got != "ledger.db" {
				t.Errorf("left %s", got)
			}
		})
	}

	opt := restoreAt
	opt.Other = true
	if done, err := bolt.Restore(ctx, foreign, path, opt); err != nil || done.Deployment != theirs {
		t.Errorf("told to take another's: %+v, %v", done, err)
	}
	open(t, path, bolt.Options{})
	_, err = bolt.Restore(ctx, backup, path, opt)
	wantError(t, err, guard.ErrLocked, fmt.Sprint(os.Getpid()))
}

// The present ledger may be in any state: it is kept.
func TestRestoreOverDamage(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "ledger.db"), filepath.Join(t.TempDir(), "monday.db")
	kept(t, path, backup)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(t.TempDir(), "foreign.db")
	kept(t, filepath.Join(t.TempDir(), "their.db"), theirs)
	for name, c := range map[string]struct {
		content []byte
		foreign error // what it is told about another deployment's backup
	}{
		"empty":              {nil, nil},
		"zeros":              {make([]byte, len(good)), nil},
		"headers lost":       {append(make([]byte, 2*4096), good[2*4096:]...), guard.ErrRefused},
		"cut off":            {good[:len(good)/2], guard.ErrRefused},
		"of another program": {[]byte("SQLite format 3"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			opt := restoreAt
			opt.Mark = func(context.Context, *store.Ledger) error { return errors.New("not now") }
			if _, err := bolt.Restore(context.Background(), theirs, path, opt); errors.Is(err, guard.ErrRefused) != (c.foreign != nil) {
				t.Errorf("another deployment's backup: %v", err)
			}
			done, err := bolt.Restore(context.Background(), backup, path, restoreAt)
			if err != nil {
				t.Fatal(err)
			}
			if old, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(old, c.content) {
				t.Errorf("what was there is not kept as it was (%v)", err)
			}
			if got := says(t, path, "says"); got != "monday" {
				t.Errorf("restored, it says %q", got)
			}
		})
	}
}

// A backup of an earlier schema comes back upgraded; it is itself the way back.
func TestRestoreUpgrades(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	done, err := bolt.Restore(context.Background(), golden(1, "db"), path, restoreAt)
	if err != nil || done.Upgraded.From != 1 || done.Upgraded.To != store.Schema() {
		t.Fatalf("did %+v, %v", done, err)
	}
	if got := schemaOf(t, path); got != store.Schema() {
		t.Errorf("restored, it has schema %d", got)
	}
	if got := names(t, dir); got != "ledger.db" {
		t.Errorf("left %s", got)
	}
}

// A guardd that starts where there is no ledger makes one; that is not taken from it.
func TestRestoreMeetsAStart(t *testing.T) {
	path, backup := filepath.Join(t.TempDir(), "ledger.db"), filepath.Join(t.TempDir(), "monday.db")
	kept(t, filepath.Join(t.TempDir(), "other.db"), backup)
	opt := restoreAt
	opt.Mark = func(context.Context, *store.Ledger) error {
		set(t, open(t, path, bolt.Options{}), "started")
		return nil
	}
	_, err := bolt.Restore(context.Background(), backup, path, opt)
	wantError(t, err, guard.ErrConflict, "stop guardd")
}

// restoreLedger restores two backups in turn until it is killed.
func restoreLedger(path string) {
	dir := filepath.Dir(path)
	for i := 0; ; i++ {
		opt := bolt.RestoreOptions{At: storetest.At.Add(time.Duration(i) * time.Second)}
		if _, err := bolt.Restore(context.Background(), filepath.Join(dir, []string{"a.backup", "b.backup"}[i%2]), path, opt); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("restored")
	}
}

// Whenever a restore is killed, the ledger is one of the two, and all that was ever
// kept is whole.
func TestRestoreKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	kept(t, path, filepath.Join(dir, "a.backup"))
	if err := os.Rename(path, filepath.Join(dir, "b.backup")); err != nil {
		t.Fatal(err)
	}
	for round, lines := range []int{1, 2, 3, 5, 8} {
		cmd, out, _ := child(t, "restore", path)
		for range lines {
			if line, err := out.ReadString('\n'); err != nil || line != "restored\n" {
				t.Fatalf("the child says %q, %v", line, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := says(t, path, "says"); got != "monday" && got != "tuesday" {
			t.Errorf("round %d: it says %q", round, got)
		}
	}
	for _, name := range strings.Fields(names(t, dir)) {
		if strings.HasPrefix(name, ".") {
			continue // half made
		}
		if err := bolt.Verify(context.Background(), filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
