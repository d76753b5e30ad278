// Package keep looks after the ledger's file: it backs it up on a schedule and keeps
// so many copies, removes once a night what has been over for long enough, gives the
// room back to the disk, and tells before that is full.
package keep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"guard"
	"guard/store"
)

// File is what can be done with the file that the ledger is in. A function is nil
// where there is none.
type File struct {
	// Backup writes a proven copy to a path; a copy that is not good leaves nothing.
	Backup func(ctx context.Context, path string) error
	// Worth reports whether Compact gives back much, and Compact does so.
	Worth   func(ctx context.Context) (bool, error)
	Compact func(ctx context.Context) error
	// Trouble is why a person should make room soon; nil where there is enough.
	Trouble func(ctx context.Context) error
}

// Settings are what the configuration in force says.
type Settings struct {
	Off  bool   // no backups
	Dir  string // of the backups, made where it is not there
	Next func(after time.Time) time.Time
	Keep int // how many backups stay
	// Retention is how long what is over is kept in the ledger.
	Retention time.Duration
	Audience  []guard.Audience
	Zone      *time.Location
}

// Config is what the loop needs.
type Config struct {
	Ledger   *store.Ledger
	File     File
	Settings func() Settings
	Kick     func(loop string) // nil where nobody listens
	Log      *slog.Logger      // nil: silent
}

const (
	// watch is how often the disk is looked at.
	watch = time.Hour
	// quiet is the hour of the night in which the ledger is tidied up.
	quiet = 4
	// tellAfter is how many backups in a row fail before people are told: one may be
	// an accident of the moment.
	tellAfter = 2
	// soon is when what could not be written into the ledger is written again.
	soon = time.Minute
	// patience is how long a run may take on a slow disk before guard counts as stuck.
	patience = 5 * time.Minute
)

// Loop is the daemon's loop "keep". It outlives a change of the configuration, so
// that nothing waits for a backup that is being made.
type Loop struct {
	Config
	began time.Time // its first run
	// unwritten is the state that the ledger could not take: what was done counts all
	// the same. Nil where the ledger has it.
	unwritten *state
	failing   bool // a write failed in this run
}

// New makes the loop.
func New(c Config) *Loop {
	if c.Kick == nil {
		c.Kick = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{Config: c}
}

// Name is "keep".
func (l *Loop) Name() string { return "keep" }

// Patience is how long one run may take.
func (l *Loop) Patience() time.Duration { return patience }

// stateName is the ledger's value with the loop's state.
const stateName = "keep/state"

// state is what the loop knows across restarts.
type state struct {
	Backed   time.Time `json:"backed,omitzero"` // when the last good copy was made
	Path     string    `json:"path,omitzero"`   // of it
	Failures int       `json:"failures,omitzero"`
	Failing  time.Time `json:"failing,omitzero"` // the first failure since
	Failed   time.Time `json:"failed,omitzero"`  // the last one
	Tidied   time.Time `json:"tidied,omitzero"`
}

// Once does what is due: a backup, tidying up, a look at the disk. It returns when
// the next of them is.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	now := at.Wall
	if past(l.began, now).IsZero() {
		l.began = now
	}
	s := l.Settings()
	st, err := l.read(ctx)
	if err != nil {
		return at.Add(watch), fmt.Errorf("keep: read the ledger: %w", err)
	}
	l.failing = false
	var errs []error
	if l.unwritten != nil {
		st = *l.unwritten
		errs = append(errs, l.record(ctx, &st, func(*store.Tx) error { return nil }))
	}
	if due, ok := l.backupDue(s, st, now); ok && !due.After(now) {
		errs = append(errs, l.backup(ctx, at, s, &st))
	}
	if !l.tidyDue(s, st, now).After(now) {
		errs = append(errs, l.tidy(ctx, at, s, &st))
	}
	if l.File.Trouble != nil {
		errs = append(errs, l.disk(ctx, at, s))
	}
	next := l.next(at, s, st)
	if l.failing {
		next = guard.Earliest(next, at.Add(soon))
	}
	return next, errors.Join(errs...)
}

func (l *Loop) read(ctx context.Context) (st state, err error) {
	err = l.Ledger.View(ctx, func(v *store.View) error {
		st = state{}
		_, err := v.Value(stateName, &st)
		return err
	})
	return st, err
}

// next is when the first of all that recurs is due.
func (l *Loop) next(at guard.Instant, s Settings, st state) guard.Instant {
	next := at.Reach(l.tidyDue(s, st, at.Wall))
	if l.File.Trouble != nil {
		next = guard.Earliest(next, at.Add(watch))
	}
	if due, ok := l.backupDue(s, st, at.Wall); ok {
		next = guard.Earliest(next, at.Reach(due))
	}
	if soonest := at.Add(time.Second); next.Before(soonest) {
		next = soonest // it failed, and stays due
	}
	return next
}

// backupDue is when the next backup is to be made; false where none ever is. The
// first is due at once: guard may be lost before the first night.
func (l *Loop) backupDue(s Settings, st state, now time.Time) (time.Time, bool) {
	if s.Off || l.File.Backup == nil {
		return time.Time{}, false
	}
	due := now
	if last := past(st.Backed, now); !last.IsZero() {
		if due = s.Next(last); due.IsZero() {
			return time.Time{}, false
		}
	}
	if failed := past(st.Failed, now); !failed.IsZero() {
		if again := failed.Add(wait(st.Failures)); again.After(due) {
			due = again
		}
	}
	return due, true
}

// wait is how long after so many failures in a row a backup is tried again.
func wait(failures int) time.Duration {
	return min(10*time.Minute<<min(failures-1, 3), time.Hour)
}

// tidyDue is the first quiet hour after the last one in which it was done.
func (l *Loop) tidyDue(s Settings, st state, now time.Time) time.Time {
	last := past(st.Tidied, now)
	if last.IsZero() {
		last = l.began
	}
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := last.In(zone).Date()
	due := time.Date(y, m, d, quiet, 0, 0, 0, zone)
	if !due.After(last) {
		due = time.Date(y, m, d+1, quiet, 0, 0, 0, zone)
	}
	return due.UTC()
}

// past is a remembered time; zero where it was written by a time that was put back
// since.
func past(t, now time.Time) time.Time {
	if t.After(now) {
		return time.Time{}
	}
	return t
}

// tidy removes what has been over for long enough, and compacts the file where that
// gives much back.
func (l *Loop) tidy(ctx context.Context, at guard.Instant, s Settings, st *state) error {
	done, err := l.Ledger.Prune(ctx, store.PruneOptions{At: at, Keep: s.Retention})
	if stopped(ctx) {
		return err
	}
	st.Tidied = at.Wall
	wrote := l.record(ctx, st, func(tx *store.Tx) error {
		if done.All() == 0 {
			return nil
		}
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "pruned",
			Text: fmt.Sprintf("removed %d records of what was over before %s", done.All(), at.Wall.Add(-s.Retention).UTC().Format(time.DateOnly))})
	})
	if err = errors.Join(err, wrote); err != nil || l.File.Worth == nil {
		return err
	}
	worth, err := l.File.Worth(ctx)
	if err != nil || !worth {
		return err
	}
	l.Log.Info("the ledger's file is compacted")
	return l.File.Compact(ctx)
}

// write makes one update, even where the run's time is up.
func (l *Loop) write(ctx context.Context, fn func(tx *store.Tx) error) error {
	defer l.Kick("notify")
	err := l.Ledger.Update(context.WithoutCancel(ctx), fn)
	l.failing = l.failing || err != nil
	return err
}

// record writes the state down, and more with it.
func (l *Loop) record(ctx context.Context, st *state, more func(tx *store.Tx) error) error {
	err := l.write(ctx, func(tx *store.Tx) error { return errors.Join(tx.SetValue(stateName, *st), more(tx)) })
	l.unwritten = nil
	if err != nil {
		is := *st
		l.unwritten = &is
	}
	return err
}

// stopped reports that the daemon stops: what was cut off then is no failure.
func stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }
