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
	// stepped is how far wall and elapsed time may drift apart between two runs
	// before the wall clock counts as stepped.
	stepped = time.Minute
	// farStep is the step forward that needs a provider's own time to be
	// believed, and the gap after which everything overdue gets fresh notice
	// (law 8).
	farStep = time.Hour
	// recent is how old a comparison with a provider's clock may be to speak for
	// the present one; less than farStep, so that none from before a step can.
	recent = 45 * time.Minute
)

// lastValue is the ledger's value in which the loop keeps its clock.
const lastValue = "decide/last"

// clock is what the loop knows of guard's own clock.
type clock struct {
	// Last is the last run.
	Last guard.Instant `json:"last"`
	Boot string        `json:"boot,omitzero"`
	// Base is the last instant at which the wall clock was trusted. While it is
	// not, the time is counted on from there.
	Base      guard.Instant `json:"base"`
	Untrusted bool          `json:"untrusted,omitzero"`
	// Stepped is the last step, and SteppedAt when, by the clock before it.
	Stepped   time.Duration `json:"stepped,omitzero"`
	SteppedAt time.Time     `json:"stepped_at,omitzero"`

	// away is since when no run was made before this one, after a long gap.
	away time.Time
	kept guard.Instant // Last as of the last write
}

// now is the wall time that judgements go by.
func (c clock) now(at guard.Instant) time.Time {
	if c.Untrusted {
		return c.Base.Wall.Add(at.Sub(c.Base))
	}
	return at.Wall
}

// facts is the clock as policy judges it.
func (c clock) facts() *policy.Clock {
	return &policy.Clock{Stepped: c.Stepped, At: c.SteppedAt, Trusted: !c.Untrusted}
}

// advance judges the clock at a new instant. Known tells whether c comes from an
// earlier run at all, sameBoot whether the elapsed times of the two compare, and
// compared whether any provider's time was ever seen, confirmed whether one
// agrees with the wall clock now.
func (c clock) advance(at guard.Instant, known, sameBoot, compared, confirmed bool) clock {
	c.away = time.Time{}
	if !known {
		return clock{Last: at, Base: at, Boot: c.Boot}
	}
	sameBoot = sameBoot && at.Elapsed >= c.Last.Elapsed
	gap := at.Wall.Sub(c.Last.Wall)
	if sameBoot {
		gap = at.Sub(c.Last)
	}
	if gap > farStep {
		c.away = c.now(c.Last)
	}
	var drift time.Duration
	switch {
	case sameBoot:
		drift = at.Wall.Sub(c.Base.Wall) - at.Sub(c.Base)
	case c.Untrusted:
		// The axis on which time was counted on ended with the other boot.
		drift = gap
		c.Base = guard.Instant{Wall: c.now(c.Last), Elapsed: at.Elapsed}
	case gap > farStep && compared && !confirmed:
		// A long sleep, or a clock that woke up wrong: the providers will tell.
		drift = gap
		c.Base = guard.Instant{Wall: c.Last.Wall, Elapsed: at.Elapsed}
	case gap < -stepped:
		drift = gap
	}
	c.Last = at
	switch {
	case drift > farStep && !confirmed:
		if !c.Untrusted || (drift-c.Stepped).Abs() > stepped {
			c.Stepped, c.SteppedAt = drift, c.Base.Wall.Add(at.Sub(c.Base))
		}
		c.Untrusted = true
		return c
	case c.Untrusted:
		c.Stepped, c.SteppedAt = 0, time.Time{} // it agrees again, or a provider says that it is right
	case drift.Abs() > stepped:
		c.Stepped, c.SteppedAt = drift, at.Wall.Add(-drift)
	}
	c.Untrusted, c.Base = false, at
	return c
}

// judged reports whether this loop has judged the clock as it is at an instant: it
// runs, no sleep and no step came since. Until it has, nothing is released: what
// is overdue may have to get fresh notice first, or the clock may be wrong.
func (c clock) judged(at guard.Instant) bool {
	if c.Last.IsZero() {
		return false
	}
	gap := at.Sub(c.Last)
	drift := at.Wall.Sub(c.Last.Wall) - gap
	return gap <= farStep && drift.Abs() <= stepped
}

// watchClock advances the clock. It is kept, and released upon, only once fresh
// notice is arranged for: see keepClock.
func (l *Loop) watchClock(ctx context.Context, at guard.Instant) (c clock, changed bool, err error) {
	l.mu.Lock()
	c = l.clock
	l.mu.Unlock()
	known, sameBoot := !c.Last.IsZero(), true
	var compared, confirmed bool
	err = l.Ledger.View(ctx, func(v *store.View) error {
		if !known {
			ok, err := v.Value(lastValue, &c)
			if err != nil {
				return err
			}
			known, sameBoot = ok, l.Boot != "" && c.Boot == l.Boot
			c.kept = c.Last
		}
		compared, confirmed = false, false
		for name := range l.accounts {
			var p presence.Clock
			ok, err := v.Value(presence.ClockName(name), &p)
			if err != nil {
				return err
			}
			compared = compared || ok
			age := at.Wall.Sub(p.At)
			confirmed = confirmed || ok && p.Agrees() && age < recent && age > -presence.Skew
		}
		return nil
	})
	if err != nil {
		return c, false, err
	}
	was := c
	c = c.advance(at, known, sameBoot, compared, confirmed)
	c.Boot = l.Boot
	changed = !known || c.Untrusted != was.Untrusted || c.Stepped != was.Stepped || !c.SteppedAt.Equal(was.SteppedAt) ||
		!c.away.IsZero() || !sameBoot
	return c, changed, nil
}

// started reports whether a run has got so far as to keep the clock.
func (l *Loop) started() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.clock.Last.IsZero()
}

// keepClock writes the clock down and lets releases be judged by it.
func (l *Loop) keepClock(ctx context.Context, at guard.Instant, c clock, changed bool) error {
	if changed || at.Sub(c.kept) >= heartbeat || at.Sub(c.kept) < 0 {
		c.kept = at
		if err := l.Ledger.Update(ctx, func(tx *store.Tx) error { return tx.SetValue(lastValue, c) }); err != nil {
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
// all of them after a long gap, and one that was switched to enforce (law 8).
func (l *Loop) freshNotice(ctx context.Context, c clock, now time.Time) error {
	return l.Ledger.Update(ctx, func(tx *store.Tx) error {
		modes := map[string]guard.Mode{}
		if _, err := tx.Value(modesValue, &modes); err != nil {
			return err
		}
		changed := false
		for _, a := range l.Accounts {
			why := ""
			switch was := modes[a.Name]; {
			case was == guard.Observe && a.Mode == guard.Enforce:
				why = "the account was switched from observe to enforce"
			case !c.away.IsZero():
				why = "guard was away or asleep since " + policy.Stamp(c.away, l.Zone)
			}
			if modes[a.Name] != a.Mode {
				modes[a.Name], changed = a.Mode, true
			}
			if why == "" {
				continue
			}
			status, ok, err := tx.Accounts.Get(a.Name)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			status.FreshFrom, status.FreshWhy = now, why
			if err := tx.Accounts.Put(status); err != nil {
				return err
			}
			if err := tx.Journal(guard.JournalEntry{At: now, Who: "guard", Verb: "fresh_notice", Subject: a.Name,
				Text: "limits that are overdue get fresh notice: " + why}); err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
		return tx.SetValue(modesValue, modes)
	})
}
