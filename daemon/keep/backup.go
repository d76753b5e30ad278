package keep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/say"
	"guard/store"
)

// stamp is how a backup's name tells when it was made, in UTC.
const stamp = "20060102T150405Z"

// prefix begins the names of this guard's backups: two guards may share a folder, and
// neither removes what is the other's.
func (l *Loop) prefix() string {
	d := l.Ledger.Deployment()
	return "ledger-" + d[:min(8, len(d))] + "-"
}

// backup makes one copy and removes those beyond the count.
func (l *Loop) backup(ctx context.Context, at guard.Instant, s Settings, st *state) error {
	path := filepath.Join(s.Dir, l.prefix()+at.Wall.UTC().Format(stamp)+".db")
	err := os.MkdirAll(s.Dir, 0o700)
	if err == nil {
		err = l.File.Backup(ctx, path)
	}
	switch {
	case stopped(ctx):
		return err
	case err != nil:
		return errors.Join(fmt.Errorf("back up the ledger: %w", err), l.failed(ctx, at, s, st, err))
	}
	l.Log.Info("the ledger is backed up", "to", path)
	st.Backed, st.Path = at.Wall, path
	st.Failures, st.Failing, st.Failed = 0, time.Time{}, time.Time{}
	err = l.record(ctx, st, func(tx *store.Tx) error {
		if err := l.over(tx, at, s, guard.RuleBackupFailed); err != nil {
			return err
		}
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "backed up", Text: "the ledger was copied to " + path})
	})
	if err != nil {
		return err // none goes for a copy that is not on record
	}
	return l.rotate(s, path)
}

// failed writes down that a backup was not made, and tells people once that lasts.
func (l *Loop) failed(ctx context.Context, at guard.Instant, s Settings, st *state, cause error) error {
	st.Failures++
	st.Failed = at.Wall
	if st.Failing.IsZero() {
		st.Failing = at.Wall
	}
	return l.record(ctx, st, func(tx *store.Tx) error {
		if st.Failures < tellAfter {
			return nil
		}
		return l.found(tx, at, s, guard.Finding{Rule: guard.RuleBackupFailed, Since: st.Failing}, func(lang guard.Lang) policy.Stage {
			last := say.In(lang, "guard works on; there is none yet.")
			if !st.Backed.IsZero() {
				last = say.In(lang, "guard works on; the last one is of %s, %s.", policy.Stamp(st.Backed, s.Zone), st.Path)
			}
			return policy.Stage{Title: say.In(lang, "The ledger cannot be backed up: %s", cause),
				Lines: []string{last, say.In(lang, "It is tried again within the hour. Make room in %s, or name another folder under backup: in the configuration.", s.Dir)}}
		})
	})
}

// rotate removes this guard's own oldest backups beyond the count, but never the one
// that was just made and proven.
func (l *Loop) rotate(s Settings, made string) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("list the backups: %w", err)
	}
	own := regexp.MustCompile("^" + regexp.QuoteMeta(l.prefix()) + `\d{8}T\d{6}Z\.db$`)
	var names []string
	for _, e := range entries {
		if own.MatchString(e.Name()) && e.Type().IsRegular() && e.Name() != filepath.Base(made) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // the newest first
	var errs []error
	for i, name := range names {
		if i < s.Keep-1 {
			continue
		}
		if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("remove an old backup: %w", err))
		}
	}
	return errors.Join(errs...)
}

// disk tells people before the disk is full, and when it is right again.
func (l *Loop) disk(ctx context.Context, at guard.Instant, s Settings) error {
	trouble := l.File.Trouble(ctx)
	if stopped(ctx) {
		return nil
	}
	open := false
	err := l.Ledger.View(ctx, func(v *store.View) (err error) {
		_, open, err = v.Findings.Get(guard.Finding{Rule: guard.RuleDiskFilling}.Key())
		return err
	})
	if err != nil || open == (trouble != nil) {
		return err
	}
	return l.write(ctx, func(tx *store.Tx) error {
		if trouble == nil {
			return l.over(tx, at, s, guard.RuleDiskFilling)
		}
		return l.found(tx, at, s, guard.Finding{Rule: guard.RuleDiskFilling, Since: at.Wall, Urgent: true}, func(lang guard.Lang) policy.Stage {
			return policy.Stage{Title: say.Upper(lang, say.Kept(lang, trouble.Error()))}
		})
	})
}

// found opens a finding of guard itself and tells it, unless it is open.
func (l *Loop) found(tx *store.Tx, at guard.Instant, s Settings, f guard.Finding, in func(guard.Lang) policy.Stage) error {
	if _, open, err := tx.Findings.Get(f.Key()); err != nil || open {
		return err
	}
	title := func(lang guard.Lang) string { return in(lang).Title }
	f.Opened, f.Title, f.Titles = at.Wall, title(guard.English), policy.Titles(s.Audience, title)
	f.ID = policy.FindingID(f)
	if err := tx.Findings.Put(f); err != nil {
		return err
	}
	if err := l.tell(tx, s, f, "found", func(lang guard.Lang) guard.Message { return policy.Told(f, in(lang), at.Wall) }); err != nil {
		return err
	}
	return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "found", Text: f.Title, Data: map[string]string{"rule": string(f.Rule)}})
}

// over closes a finding of guard itself, where it is open.
func (l *Loop) over(tx *store.Tx, at guard.Instant, s Settings, rule guard.Rule) error {
	f, open, err := tx.Findings.Get(guard.Finding{Rule: rule}.Key())
	if err != nil || !open {
		return err
	}
	f.Closed = at.Wall
	if err := tx.CloseFinding(f); err != nil {
		return err
	}
	if err := l.tell(tx, s, f, "over", func(lang guard.Lang) guard.Message { return policy.Over(f, at.Wall, s.Zone, lang) }); err != nil {
		return err
	}
	return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "over", Text: f.Title, Data: map[string]string{"rule": string(rule)}})
}

// tell queues a message for every channel.
func (l *Loop) tell(tx *store.Tx, s Settings, f guard.Finding, stage string, in func(guard.Lang) guard.Message) error {
	for _, c := range policy.Copies(s.Audience, f.ID, stage, in) {
		if err := tx.Queue(c); err != nil {
			return err
		}
	}
	return nil
}
