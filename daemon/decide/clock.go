package decide

import (
	"context"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/presence"
	"guard/store"
)

const (
	// leapt is how far the time may leave what has elapsed between two runs before
	// everything is judged anew.
	leapt = time.Second
	// farGap is the time between two runs after which everything overdue gets fresh
	// notice, whether guard was away, slept or was told another time (law 8).
	farGap = time.Hour
)

// clock is what the loop knows of the time that it judges by.
type clock struct {
	presence.Belief // as of the last run

	// away is since when no run was made before this one, after a long gap, and back
	// that the time was put back since.
	away time.Time
	back bool
	kept guard.Instant // At as of the last write
}

// facts is the clock as policy judges it.
func (c clock) facts() *policy.Clock {
	f := &policy.Clock{Off: c.Off, Since: c.Since, Moved: c.Moved, MovedAt: c.MovedAt}
	if c.Doubt {
		f.DoubtSince = c.At.Add(c.Least.Sub(c.At)).Wall
	}
	return f
}

// advance is the clock at a new instant. SameBoot tells whether the elapsed times of
// the two compare.
func (c clock) advance(at guard.Instant, b presence.Belief, sameBoot bool) clock {
	next := clock{Belief: b, kept: c.kept}
	next.At = at
	if c.At.IsZero() {
		return next
	}
	gap := at.Wall.Sub(c.At.Wall)
	next.back = gap < 0
	if sameBoot {
		gap = max(gap, at.Sub(c.At))
	}
	if gap > farGap {
		next.away = c.At.Wall
	}
	return next
}

// judged reports whether this loop has judged by the time as it is at an instant: it
// runs, and neither a sleep nor another time came since. Until it has, nothing is
// released: what is overdue may have to get fresh notice first.
func (c clock) judged(at guard.Instant) bool {
	return !c.At.IsZero() && at.Sub(c.At) <= farGap && c.drift(at) <= leapt
}

// drift is how far the time has left what has elapsed since the last run.
func (c clock) drift(at guard.Instant) time.Duration {
	return (at.Wall.Sub(c.At.Wall) - at.Sub(c.At)).Abs()
}

// watchClock advances the clock. It is kept, and released upon, only once fresh
// notice is arranged for: see keepClock.
func (l *Loop) watchClock(ctx context.Context, at guard.Instant) (c clock, changed bool, err error) {
	l.mu.Lock()
	c = l.clock
	l.mu.Unlock()
	b := l.belief()
	sameBoot := true
	if c.At.IsZero() {
		if err = l.Ledger.View(ctx, func(v *store.View) error {
			_, err := v.Value(presence.BeliefName, &c.Belief)
			return err
		}); err != nil {
			return c, false, err
		}
		c.kept = c.At
		sameBoot = b.Boot != "" && c.Boot == b.Boot && !at.Before(c.At)
	}
	next := c.advance(at, b, sameBoot)
	changed = c.At.IsZero() || !sameBoot || c.drift(at) > leapt || next.Doubt != c.Doubt || !next.Since.Equal(c.Since) ||
		next.Doubt && !next.Least.Wall.Equal(c.Least.Wall) ||
		!next.MovedAt.Equal(c.MovedAt) || !next.away.IsZero()
	return next, changed, nil
}

func (l *Loop) belief() presence.Belief {
	if l.Clock == nil {
		return presence.Belief{}
	}
	return l.Clock()
}

// started reports whether a run has got so far as to keep the clock.
func (l *Loop) started() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.clock.At.IsZero()
}

// keepClock writes the clock down and lets releases be judged by it.
func (l *Loop) keepClock(ctx context.Context, at guard.Instant, c clock, changed bool) error {
	if changed || at.Sub(c.kept) >= heartbeat || at.Sub(c.kept) < 0 {
		c.kept = at
		if err := l.Ledger.Update(ctx, func(tx *store.Tx) error { return tx.SetValue(presence.BeliefName, c.Belief) }); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.clock = c
	l.mu.Unlock()
	return nil
}

// modesValue is the ledger's value with the mode that each account was in.
const modesValue = "decide/modes"

// freshNotice marks the accounts in which everything overdue gets fresh notice:
// all of them after a long gap, and one that was switched to enforce (law 8). A mark
// that lies ahead was made before the time was put back, and is made again.
func (l *Loop) freshNotice(ctx context.Context, c clock, now time.Time) error {
	return l.Ledger.Update(ctx, func(tx *store.Tx) error {
		modes := map[string]guard.Mode{}
		if _, err := tx.Value(modesValue, &modes); err != nil {
			return err
		}
		changed := false
		for _, a := range l.Accounts {
			status, ok, err := tx.Accounts.Get(a.Name)
			if err != nil {
				return err
			}
			why := ""
			switch was := modes[a.Name]; {
			case was == guard.Observe && a.Mode == guard.Enforce:
				why = "the account was switched from observe to enforce"
			case !c.away.IsZero():
				why = "guard was away or asleep since " + policy.Stamp(c.away, l.Zone)
			case status.FreshFrom.After(now):
				why = "the time that guard went by was put back"
			}
			if modes[a.Name] != a.Mode {
				modes[a.Name], changed = a.Mode, true
			}
			if why == "" || !ok {
				continue
			}
			status.FreshFrom, status.FreshWhy = now, why
			if err := tx.Accounts.Put(status); err != nil {
				return err
			}
			if err := tx.Journal(freshEntry(a.Name, why, now)); err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
		return tx.SetValue(modesValue, modes)
	})
}
