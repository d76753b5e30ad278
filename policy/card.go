package policy

import (
	"slices"
	"time"

	"guard"
)

// Card is how a resource does at f.At, for whoever asks what guard knows of it and does
// next; nil where the facts are about none. Open are the rules of its open findings.
func Card(r Rules, f Facts, open []guard.Rule) *guard.Card {
	if f.Resource().IsZero() {
		return nil
	}
	claim, spent := f.claim(), f.spent()
	c := &guard.Card{State: guard.StateUnknown, Spent: spent.Totals, AtLeast: spent.AtLeast, Open: open, AsOf: f.At}
	if claim != nil {
		c.Purpose, c.Owner, c.Team = claim.Purpose, claim.Owner, claim.Tags["team"]
	}
	if o := f.Observed; o != nil {
		res := o.Resource
		c.Name, c.State, c.Spot, c.GPUs, c.Model, c.Type, c.Started = res.Name, res.State, res.Spot, res.GPUs, res.GPUModel, res.Type, res.Created
		if o.Gone != nil {
			c.State, c.Ended = guard.StateGone, o.Gone.How
		} else {
			c.Hourly, _ = f.hourly()
		}
	}
	if l := f.Lease; l != nil && l.Status.Open() {
		c.Budget, c.Held = l.Budget, l.HeldUntil(f.At)
	}
	for _, m := range f.Mutes {
		if m.Kind == guard.Snooze && m.At(f.At) {
			c.Snoozed = m.Until
		}
	}
	if x := f.Release; x != nil && x.State.Open() {
		c.Release, c.Blocked = x.State, x.Reason
	}
	c.Ends, c.Does, c.By = f.coming(r)
	return c
}

// coming is what guard does next about the subject, when and by which limit: its release,
// or else the limit that is reached first. In observe mode it does nothing; at is zero
// where nothing comes.
func (f Facts) coming(r Rules) (at time.Time, does guard.Action, by guard.Cause) {
	if x := f.Release; x != nil && x.State.Open() {
		return x.Due, x.Action, x.Cause
	}
	if !f.leased() || f.Observed.Resource.State == guard.StateReleasing {
		return time.Time{}, "", ""
	}
	for _, l := range f.limits(r) {
		action, _ := f.action(r, l.cause)
		if f.Protection(r).On {
			action = guard.ActAlert
		}
		if action == guard.ActStop && f.Observed.Resource.State == guard.StateStopped {
			if !l.cause.HardCap() {
				continue // what the limit asks for is done
			}
			action = guard.ActAlert
		}
		acts := f.Mode == guard.Enforce && action != guard.ActAlert
		due := f.due(r, l, acts)
		if !acts && !due.After(f.At) {
			continue // all that happens there was told
		}
		if f.Mode != guard.Enforce {
			action = ""
		}
		if at.IsZero() || due.Before(at) {
			at, does, by = due, action, l.cause
		}
	}
	return at, does, by
}

// limits are those that an open lease has and that are solved for.
func (f Facts) limits(r Rules) []limit {
	var out []limit
	if end := f.Lease.ExpiresAt; !end.IsZero() {
		out = append(out, limit{rule: guard.RuleExpired, cause: guard.CauseExpiry, at: end, due: end})
	}
	if d, ok := f.Plan.Deadline(guard.DeadlineBudget); ok && f.capped() && !f.outdated(d) && f.paidUntil().IsZero() {
		out = append(out, limit{rule: guard.RuleBudgetExceeded, cause: guard.CauseBudget, at: d.Limit, due: d.Due})
	}
	if d, ok := f.ceilingDeadline(r); ok {
		out = append(out, limit{rule: guard.RuleCeilingReached, cause: guard.CauseCeiling, at: d.Limit, due: d.Due})
	}
	return slices.DeleteFunc(out, func(l limit) bool { return !r.Per[l.rule].speaks(f) })
}

// ceilingDeadline is when an open lease reaches a ceiling of now, as the meter solved it.
func (f Facts) ceilingDeadline(r Rules) (guard.Deadline, bool) {
	d, ok := f.Plan.Deadline(guard.DeadlineCeiling)
	return d, ok && r.Ceilings.set() && d.Basis == r.Ceilings.basis()
}

// newer is how far apart two moments of a card are that people are shown anew: what the
// meter solves for moves a little with each reading.
const newer = 5 * time.Minute

// Differs reports whether a card shows another state than one before: another answer to
// what it is, whose, and what happens next. Amounts tick, and are none.
func Differs(was, is guard.Card) bool {
	moved := func(a, b time.Time) bool { return a.IsZero() != b.IsZero() || a.Sub(b).Abs() >= newer }
	if moved(was.Ends, is.Ends) || moved(was.Held, is.Held) || moved(was.Snoozed, is.Snoozed) {
		return true
	}
	type state struct {
		name, purpose, owner, team string
		state                      guard.State
		spot                       bool
		gpus                       int
		model, kind, budget        string
		does                       guard.Action
		by                         guard.Cause
		release                    guard.ReleaseState
		blocked                    guard.BlockReason
		ended                      guard.How
	}
	of := func(c guard.Card) state {
		return state{c.Name, c.Purpose, c.Owner, c.Team, c.State, c.Spot, c.GPUs, c.Model, c.Type, c.Budget.String(), c.Does, c.By, c.Release, c.Blocked, c.Ended}
	}
	return of(was) != of(is) || !slices.Equal(was.Open, is.Open)
}

// Ticked reports whether the amounts of a card are others than those of one before, as
// people read them.
func Ticked(was, is guard.Card) bool {
	return amounts(was.Spent) != amounts(is.Spent) || was.AtLeast != is.AtLeast || was.Hourly.Round().String() != is.Hourly.Round().String()
}
