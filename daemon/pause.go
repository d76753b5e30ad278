package daemon

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/say"
	"guard/store"
)

// MarkRestored pauses a ledger that was put back from a backup, before any daemon
// works with it: what people did since the backup is not known any more (law 8). From
// names the backup.
func MarkRestored(ctx context.Context, l *store.Ledger, at guard.Instant, from string) error {
	why := fmt.Sprintf("its ledger was restored from %s", from)
	var last time.Time
	err := l.View(ctx, func(v *store.View) error {
		newest, err := v.JournalOf("", 1)
		if err == nil && len(newest) > 0 {
			last = newest[0].At
		}
		return err
	})
	if err != nil {
		return err
	}
	if !last.IsZero() {
		why = fmt.Sprintf("its ledger was restored from %s, whose last entry is of %s", from, policy.Stamp(last, time.UTC))
	}
	return l.Update(ctx, func(tx *store.Tx) error {
		return pause(tx, at.Wall, guard.PauseRestored, why)
	})
}

// pause keeps guard from acting until somebody says resume.
func pause(tx *store.Tx, at time.Time, cause guard.PauseCause, why string) error {
	if err := tx.SetValue(guard.PauseName, guard.Pause{Cause: cause, Why: why, Since: at}); err != nil {
		return err
	}
	return tx.Journal(guard.JournalEntry{At: at, Who: "guard", Verb: "paused", Text: "guard acts nowhere until somebody says guard resume: " + why})
}

// tellPause tells people once that guard is paused, and what to do.
func (d *Daemon) tellPause(ctx context.Context, at guard.Instant) error {
	g := d.gen.Load()
	return d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		var p guard.Pause
		if _, err := tx.Value(guard.PauseName, &p); err != nil || !p.On() || p.Told {
			return err
		}
		if err := d.queue(tx, g, "paused", guard.Instant{Wall: p.Since}, func(lang guard.Lang) guard.Message {
			return guard.Message{Urgent: true, CreatedAt: at.Wall, Lines: pauseLines(p, lang),
				Title: say.In(lang, "guard acts nowhere until somebody says guard resume: %s", say.Kept(lang, p.Why))}
		}); err != nil {
			return err
		}
		p.Told = true
		return tx.SetValue(guard.PauseName, p)
	})
}

// pauseLines are what a pause means, and what ends it.
func pauseLines(p guard.Pause, lang guard.Lang) []string {
	lines := []string{say.In(lang, "It watches, counts and tells meanwhile. No limit acts, caps included: what is due goes on billing.")}
	switch p.Cause {
	case guard.PauseRestored:
		lines = append(lines, say.In(lang, "What was registered, extended, held or protected since the backup is not known. Look at guard ls and say it again."))
	case guard.PauseMoved:
		lines = append(lines, say.In(lang, "If this is a clone, stop guardd here: the first one goes on. If guard has moved here for good, make sure that the first one is off."))
	case guard.PauseRival:
		lines = append(lines, say.In(lang, "Find the other guardd and stop it, or give it a ledger of its own."))
	}
	return append(lines, say.In(lang, "Then: guard resume. Everything overdue gets fresh notice first. Paused since %s.", policy.Stamp(p.Since, time.UTC)))
}

// halt is told by a loop that guard was paused. The loops are swapped as soon as none
// of them runs; until then the ledger itself keeps releases from being intended.
func (d *Daemon) halt() {
	d.sched.Between(func() {
		d.reloading.Lock()
		defer d.reloading.Unlock()
		ctx, at := context.Background(), d.now()
		err := d.restand(ctx, at)
		if err == nil {
			err = d.tellPause(ctx, at)
		}
		if err != nil {
			d.o.Log.Error("the pause is not in force everywhere", "error", err.Error())
		}
	})
}
