package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/presence"
	"guard/store"
)

const (
	// quick is how long guard may be away before people hear of it: a restart, an
	// upgrade and a reboot take less.
	quick = 10 * time.Minute
	// every is how often the loop runs, so that a longer gap in its runs means a sleep.
	every = time.Minute
	// looking is how soon it runs again while it waits to have seen everything once, and
	// patience how long it waits for that.
	looking  = 10 * time.Second
	patience = 5 * time.Minute
)

// The ledger's values with a time away that is not told yet, and with when guard was last
// stopped in an orderly way.
const (
	awayName    = "report/away"
	stoppedName = "report/stopped"
)

// Stopped writes down that guard is stopped in an orderly way.
func Stopped(ctx context.Context, l *store.Ledger, at guard.Instant) error {
	return l.Update(ctx, func(tx *store.Tx) error { return tx.SetValue(stoppedName, at.Wall) })
}

// Return compares a start with when guard last ran, before any loop runs, and writes down
// that it was away, where it was for long: the loop tells it once it knows what was missed.
// A ledger that was put back or has moved tells nothing of that, and is paused, which
// people are told.
func Return(ctx context.Context, l *store.Ledger, boot string, at guard.Instant) error {
	var was presence.Belief
	var stopped time.Time
	var pause guard.Pause
	err := l.View(ctx, func(v *store.View) error {
		was, stopped, pause = presence.Belief{}, time.Time{}, guard.Pause{}
		for name, p := range map[string]any{presence.BeliefName: &was, stoppedName: &stopped, guard.PauseName: &pause} {
			if _, err := v.Value(name, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || was.At.IsZero() || at.Wall.Sub(was.At.Wall) <= quick || pause.On() && !pause.Told {
		return err
	}
	away := policy.Away{From: was.At.Wall, Until: at.Wall, Why: policy.GapCrashed}
	switch {
	case !stopped.Before(was.At.Wall):
		away.From, away.Why = stopped, policy.GapStopped
	case boot != "" && was.Boot != "" && boot != was.Boot:
		away.Why = policy.GapRebooted
	}
	return note(ctx, l, away)
}

// note writes down a time away. One that was not told yet began it.
func note(ctx context.Context, l *store.Ledger, away policy.Away) error {
	return l.Update(ctx, func(tx *store.Tx) error {
		var before policy.Away
		if ok, err := tx.Value(awayName, &before); err != nil {
			return err
		} else if ok && !before.From.IsZero() {
			away.From = before.From
		}
		return tx.SetValue(awayName, away)
	})
}

// Away is the daemon's loop "away": it tells people that guard was not there, and what it
// missed, once it has looked at everything.
type Away struct {
	Config
	last  guard.Instant
	began guard.Instant // of the present wait
	until time.Time     // what of, as it was noted
	cycle *cycle        // nil while nothing is to be told
}

// NewAway makes the loop.
func NewAway(c Config) *Away { return &Away{Config: c.ready()} }

// Name is "away".
func (l *Away) Name() string { return "away" }

// Once notices a sleep, and tells a time away when its time has come.
func (l *Away) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	last := l.last
	l.last = at
	if !last.IsZero() && at.Sub(last) > quick {
		if err := note(ctx, l.Ledger, policy.Away{From: last.Wall, Until: at.Wall, Why: policy.GapAsleep}); err != nil {
			l.last = last
			return at.Add(looking), fmt.Errorf("away: write down that guard was: %w", err)
		}
	}
	away, err := read[policy.Away](ctx, l.Ledger, awayName)
	if err != nil {
		return at.Add(looking), fmt.Errorf("away: read the ledger: %w", err)
	}
	if away.From.IsZero() {
		l.cycle, l.began = nil, guard.Instant{}
		return at.Add(every), nil
	}
	if l.began.IsZero() {
		l.began = at
	}
	if l.Doubt() {
		return at.Add(looking), nil
	}
	if away.Until.After(at.Wall) { // it was put right since: so late it was when it was noted
		away.Until = at.Add(l.began.Sub(at)).Wall
	}
	if l.cycle == nil || !away.Until.Equal(l.until) {
		l.until = away.Until
		l.cycle = newCycle(away.Until.Add(-time.Nanosecond)) // what is read at that very moment counts
	}
	if err := l.tell(ctx, at, away); err != nil {
		return at.Add(looking), fmt.Errorf("away: %w", err)
	}
	if l.cycle == nil {
		l.began = guard.Instant{}
		return at.Add(every), nil
	}
	return at.Add(looking), nil
}

// tell tells it, if all was looked at once, or that takes too long.
func (l *Away) tell(ctx context.Context, at guard.Instant, away policy.Away) error {
	missed := policy.Missed{Away: away}
	ready, runs := false, l.Loops()
	err := l.Ledger.View(ctx, func(v *store.View) error {
		missed = policy.Missed{Away: away}
		full, err := l.cycle.step(v, l.Accounts, runs, at.Wall)
		if ready = full || at.Sub(l.began) >= patience; err != nil || !ready {
			return err
		}
		missed.Unread = l.cycle.unread(l.Accounts)
		return miss(v, &missed)
	})
	if err != nil || !ready {
		return err
	}
	err = l.Ledger.Update(ctx, func(tx *store.Tx) error {
		in := func(lang guard.Lang) guard.Message { return missed.Message(at.Wall, l.Zone, lang) }
		if err := tx.SetValue(awayName, policy.Away{}); err != nil || away.Until.Sub(away.From) <= quick {
			return err
		}
		if err := tell(tx, l.Audience, "guard|away", fmt.Sprint(away.Until.Unix()), in); err != nil {
			return err
		}
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "returned", Text: in(guard.English).Title,
			Data: map[string]string{"from": policy.Stamp(away.From, nil), "until": policy.Stamp(away.Until, nil), "why": string(away.Why)}})
	})
	if err == nil {
		l.cycle = nil
		l.Kick("notify")
	}
	return err
}

// miss reads what happened meanwhile.
func miss(v *store.View, m *policy.Missed) error {
	during := func(t time.Time) bool { return t.After(m.From) && !t.After(m.Until) }
	things, waiting := map[string]policy.Thing{}, map[string]bool{}
	for r, err := range v.Releases.All("") {
		if err != nil {
			return err
		}
		waiting[r.Target.Key()] = r.State == guard.ReleasePlanned || r.State == guard.ReleaseNoticed
	}
	for l, err := range v.Leases.All("") {
		if err != nil {
			return err
		}
		key, thing := l.Resource.Key(), policy.Thing{ID: l.Resource.String(), What: l.Purpose}
		if _, ok := things[key]; !ok || l.Status.Open() {
			things[key] = thing
		}
		if l.Status == guard.LeaseGone && during(l.EndedAt) {
			m.Gone = append(m.Gone, thing)
		}
		if !l.Status.Open() || l.Status == guard.LeaseExpected {
			continue
		}
		plan, _, err := v.Plans.Get(l.ID)
		if err != nil {
			return err
		}
		d, ok := plan.Deadline(guard.DeadlineBudget)
		expired, over := during(l.ExpiresAt), ok && during(d.Limit)
		switch {
		case (expired || over) && waiting[key]:
			m.Overdue = append(m.Overdue, thing)
		case over:
			m.Over = append(m.Over, thing)
		case expired:
			m.Expired = append(m.Expired, thing)
		}
	}
	for o, err := range v.Observed.All("") {
		if err != nil {
			return err
		}
		if id := o.Resource.ID; id.Kind == guard.Instance && o.Live() && !o.FirstSeen.Before(m.Until) {
			thing, ok := things[id.Key()]
			if !ok {
				thing = policy.Thing{ID: id.String(), What: o.Resource.Name}
			}
			m.New = append(m.New, thing)
		}
	}
	for _, list := range [][]policy.Thing{m.Expired, m.Over, m.Gone, m.New, m.Overdue} {
		slices.SortFunc(list, policy.Thing.Compare)
	}
	return nil
}
