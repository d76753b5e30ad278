package keep_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/keep"
	"guard/store"
	"guard/store/bolt"
	"guard/store/memory"
)

// world is the loop over a ledger, with a folder of backups.
type world struct {
	t      *testing.T
	at     guard.Instant
	dir    string
	ledger *store.Ledger
	loop   *keep.Loop
	s      keep.Settings
	fails  error // of a backup
	full   error // of the disk
	made   []time.Time
	nights int   // in which the ledger was tidied up
	stuck  error // of the ledger
}

// sticky is a ledger's bytes on a disk that may be full.
type sticky struct {
	store.Backend
	w *world
}

func (s sticky) Update(ctx context.Context, fn func(store.Writer) error) error {
	if s.w.stuck != nil {
		return s.w.stuck
	}
	return s.Backend.Update(ctx, fn)
}

func daily(after time.Time) time.Time { return after.Add(24 * time.Hour) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "backups"),
		at: guard.Instant{Wall: time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC), Elapsed: time.Hour}}
	var err error
	if w.ledger, err = store.Open(t.Context(), sticky{memory.New(), w}, w.at); err != nil {
		t.Fatal(err)
	}
	w.s = keep.Settings{Dir: w.dir, Next: daily, Keep: 3, Retention: 400 * 24 * time.Hour, Audience: []guard.Audience{{Channel: "team"}}}
	w.start()
	return w
}

func (w *world) start() {
	w.loop = keep.New(keep.Config{Ledger: w.ledger, Settings: func() keep.Settings { return w.s }, File: keep.File{
		Backup: func(_ context.Context, path string) error {
			if w.fails != nil {
				return w.fails
			}
			w.made = append(w.made, w.at.Wall)
			return os.WriteFile(path, []byte("a copy"), 0o600)
		},
		Worth:   func(context.Context) (bool, error) { w.nights++; return false, nil },
		Trouble: func(context.Context) error { return w.full },
	}})
}

// run lets d pass.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := w.at.Elapsed + d
	for {
		next, err := w.loop.Once(w.t.Context(), w.at)
		if err != nil && w.fails == nil && w.stuck == nil {
			w.t.Fatal(err)
		}
		if next.IsZero() || next.Elapsed <= w.at.Elapsed {
			w.t.Fatalf("at %s the loop wants to run at %s", w.at.Wall, next.Wall)
		}
		if next.Elapsed > end {
			w.at = w.at.Add(end - w.at.Elapsed)
			return
		}
		w.at = w.at.Add(next.Elapsed - w.at.Elapsed)
	}
}

func (w *world) files() []string {
	w.t.Helper()
	es, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

func (w *world) told() (out []string) {
	w.t.Helper()
	err := w.ledger.View(w.t.Context(), func(v *store.View) error {
		out = nil
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			out = append(out, m.Title)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// The first backup is made at once, the next ones on schedule, over restarts; three
// stay, and what is not this guard's own is not touched.
func TestBackupsRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(time.Minute)
	if len(w.made) != 1 {
		t.Fatalf("made at the start: %v", w.made)
	}
	for _, name := range []string{"ledger-0badf00d-20200101T000000Z.db", "ledger.db", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		w.run(12 * time.Hour)
		w.start()
	}
	if len(w.made) != 6 {
		t.Errorf("made %d in five days: %v", len(w.made), w.made)
	}
	files := w.files()
	for _, name := range []string{"ledger-0badf00d-20200101T000000Z.db", "ledger.db", "notes.txt"} {
		if !slices.Contains(files, name) {
			t.Errorf("%s was removed", name)
		}
	}
	if len(files) != 6 {
		t.Errorf("kept %q, want three of its own", files)
	}
	newest := w.made[5].Format("20060102T150405Z")
	if !slices.ContainsFunc(files, func(n string) bool { return strings.Contains(n, newest) }) {
		t.Errorf("the newest is gone: %q", files)
	}
}

// Where the clock was ahead, the copy just made has the oldest name: it stays.
func TestJustMadeStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Keep = 1
	w.at.Wall = w.at.Wall.AddDate(3, 0, 0)
	w.run(time.Minute)
	w.at.Wall = w.at.Wall.AddDate(-3, 0, 0)
	w.run(25 * time.Hour)
	files := w.files()
	if len(files) != 1 || !strings.Contains(files[0], "-2026") {
		t.Errorf("kept %q", files)
	}
}

// One failure is an accident; the second is told, once, and that it is over, too. A
// failing backup removes nothing.
func TestFailingBackupIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Keep = 1
	w.run(time.Minute)
	w.fails = errors.New("no room on the disk")
	w.run(24*time.Hour + 5*time.Minute)
	if told := w.told(); len(told) != 0 {
		t.Errorf("told after one failure: %q", told)
	}
	w.run(10 * time.Minute)
	w.start()
	w.run(10 * time.Hour)
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], "no room") {
		t.Errorf("told %q", told)
	}
	if files := w.files(); len(files) != 1 {
		t.Errorf("kept %q", files)
	}
	w.fails = nil
	w.run(2 * time.Hour)
	if told := w.told(); len(told) != 2 {
		t.Errorf("told %q", told)
	}
	if len(w.made) != 2 {
		t.Errorf("made %v", w.made)
	}
}

// A ledger that cannot be written: what was done is not done again, no copy goes, and
// a minute after there is room again all is well.
func TestLedgerCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Keep = 1
	w.run(23 * time.Hour)
	w.stuck, w.full = errors.New("no room on the disk"), errors.New("10 of 10 GB are used")
	w.run(20 * time.Hour)
	if len(w.made) != 2 || len(w.files()) != 2 {
		t.Errorf("made %v, kept %q", w.made, w.files())
	}
	next, err := w.loop.Once(t.Context(), w.at)
	if err == nil || next.Sub(w.at) > time.Minute {
		t.Errorf("%v, and again in %s", err, next.Sub(w.at))
	}
	w.stuck, w.full = nil, nil
	w.at = next
	if _, err := w.loop.Once(t.Context(), w.at); err != nil {
		t.Errorf("a minute after: %v", err)
	}
	w.start() // and it is on record
	w.run(3 * time.Hour)
	if len(w.made) != 2 {
		t.Errorf("made %v", w.made)
	}
	w.run(6 * time.Hour)
	if len(w.made) != 3 || len(w.files()) != 1 {
		t.Errorf("made %v, kept %q", w.made, w.files())
	}
}

func TestDiskIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(3 * time.Hour)
	w.full = errors.New("9 of 10 GB are used")
	w.run(5 * time.Hour)
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], "9 of 10 GB") {
		t.Errorf("told %q", told)
	}
	w.full = nil
	w.run(3 * time.Hour)
	if told := w.told(); len(told) != 2 {
		t.Errorf("told %q", told)
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Off = true
	w.run(100 * time.Hour)
	if len(w.made) > 0 {
		t.Errorf("made %v", w.made)
	}
}

// What was over long ago goes in the night, and what is younger stays.
func TestTidies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Retention = 100 * 24 * time.Hour
	put := func(id string, ago time.Duration) {
		f := guard.Finding{ID: id, Rule: guard.RuleReclaimed, Subject: "lab/" + id, Opened: w.at.Wall.Add(-ago - time.Hour), Closed: w.at.Wall.Add(-ago)}
		if err := w.ledger.Update(t.Context(), func(tx *store.Tx) error { return tx.CloseFinding(f) }); err != nil {
			t.Fatal(err)
		}
	}
	put("old", 200*24*time.Hour)
	put("new", 10*24*time.Hour)
	left := func() (n int) {
		err := w.ledger.View(t.Context(), func(v *store.View) error {
			n = 0
			for range v.ClosedFindings.All("") {
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	w.run(9 * time.Hour) // 3:00
	if n := left(); n != 2 {
		t.Errorf("%d left before the night", n)
	}
	w.run(2 * time.Hour)
	if n := left(); n != 1 {
		t.Errorf("%d left after it", n)
	}
	w.start()
	w.run(46 * time.Hour) // a restart on the same day, and one more night
	if w.nights != 2 {
		t.Errorf("tidied up %d times in two nights", w.nights)
	}
}

// The real thing: a backup of a real ledger can be opened.
func TestRealBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := t.Context()
	at := guard.Instant{Wall: time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC), Elapsed: time.Hour}
	b, err := bolt.Open(ctx, filepath.Join(dir, "ledger.db"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Open(ctx, b, at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := keep.Settings{Dir: filepath.Join(dir, "backups"), Next: daily, Keep: 2, Retention: 400 * 24 * time.Hour}
	loop := keep.New(keep.Config{Ledger: l, File: keep.File{Backup: b.BackupTo}, Settings: func() keep.Settings { return s }})
	if _, err := loop.Once(ctx, at); err != nil {
		t.Fatal(err)
	}
	found, err := bolt.Backups(ctx, s.Dir, l.Deployment())
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if err := bolt.Verify(ctx, found[0].Path); err != nil {
		t.Error(err)
	}
}

// TestToldInTwoLanguages: each channel hears of a failing backup and of its end in its own
// language, and what the ledger keeps is English.
func TestToldInTwoLanguages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Audience = []guard.Audience{{Channel: "team"}, {Channel: "cn", Lang: guard.Chinese}}
	w.run(time.Minute)
	w.fails = errors.New("no room on the disk")
	w.run(26 * time.Hour)
	var titles []string
	if err := w.ledger.View(t.Context(), func(v *store.View) error {
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			titles = append(titles, m.Channel+": "+m.Title)
		}
		f, open, err := v.Findings.Get(guard.Finding{Rule: guard.RuleBackupFailed}.Key())
		if !open || f.Title != "The ledger cannot be backed up: no room on the disk" {
			t.Errorf("kept as %q", f.Title)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	w.fails = nil
	w.run(2 * time.Hour)
	for _, want := range []string{"team: The ledger cannot be backed up: no room on the disk", "cn: 账本无法备份：no room on the disk"} {
		if !slices.Contains(titles, want) {
			t.Errorf("told %q, want %q", titles, want)
		}
	}
	if told := w.told(); !slices.ContainsFunc(told, func(s string) bool {
		return strings.Contains(s, "已解除：账本无法备份：no room on the disk")
	}) {
		t.Errorf("over: %q", told)
	}
}
