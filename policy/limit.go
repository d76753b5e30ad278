package policy

import (
	"slices"
	"time"

	"guard"
)

// freshNotice is the shortest notice after a moment from which everything
// overdue gets fresh notice (law 8).
const freshNotice = 10 * time.Minute

// limit is a limit of a lease, before anything puts it off.
type limit struct {
	rule  guard.Rule
	cause guard.Cause
	// at is the limit itself, due when the call is due for it.
	at, due time.Time
	stood   time.Time
	// warn is when people are told before due, longest first.
	warn []time.Duration
	// reached and coming are what it is called: "its time is up".
	coming, reached string
}

// grace is the lease's notice, or the default where the lease says none.
func (f Facts) grace(r Rules) time.Duration {
	if f.Lease != nil && f.Lease.Grace > 0 {
		return f.Lease.Grace
	}
	return r.Defaults.Grace
}

// due is when a limit really acts: after a hold and a veto and, where guard is the
// one to act, after fresh notice, and for expiry after the notice that was too late
// to be one. A cap waits for fresh notice only (law 9), and a ceiling heeds neither
// hold nor veto (law 10); it gives notice of what was beyond it when guard adopted it.
func (f Facts) due(r Rules, l limit, acts bool) time.Time {
	due, grace := l.due, f.grace(r)
	hard := l.cause == guard.CauseCeiling
	if off := f.putOffUntil(l); off.After(due) {
		due = off
	}
	if !acts {
		return due
	}
	if l.cause == guard.CauseExpiry {
		// Found overdue without any notice: an unhold, an unprotect.
		noticed := f.At
		if f.noticed() {
			noticed = f.Release.NoticedAt
		}
		if !due.After(noticed) {
			due = noticed.Add(grace)
		}
	}
	if began := f.Lease.RegisteredAt; hard && f.Lease.Adopted && !l.due.After(began) {
		// Nobody set it for what guard found beyond a ceiling and registered by itself.
		due = later(due, began.Add(max(grace, freshNotice)))
	}
	fresh := f.Account.FreshFrom
	if fresh.IsZero() || !hard && f.Lease.UpdatedBy != "guard" && !f.Lease.UpdatedAt.Before(fresh) {
		return due // nothing to give notice of, or a person has set it since
	}
	first := fresh.Add(max(grace, freshNotice))
	told := f.noticed() && f.Release.NoticedAt.Before(fresh)
	if l.due.Before(fresh) || l.cause == guard.CauseExpiry && !told {
		if first.After(due) {
			due = first
		}
	}
	return due
}

// putOffUntil is until when people put a limit off; zero where nobody does.
func (f Facts) putOffUntil(l limit) time.Time {
	if l.cause == guard.CauseCeiling {
		return time.Time{}
	}
	until := f.Lease.HeldUntil(f.At)
	if v := f.vetoed(l.rule); v != nil && v.Until.After(until) {
		until = v.Until
	}
	return until
}

// noticed reports that people were already told of this resource's release. What was
// told by a time ahead, before that was put back, is told again.
func (f Facts) noticed() bool {
	return f.Release != nil && !f.Release.NoticedAt.IsZero() && !f.Release.NoticedAt.After(f.At)
}

// action is what a limit does to the resource, and why it does less than the
// lease asks for, where it does. A cap on what is protected stays an action: it
// is held up, and paged, not forgotten.
func (f Facts) action(r Rules, cause guard.Cause) (act guard.Action, why string) {
	if why := f.Untouchable(); why != "" {
		return guard.ActAlert, f.say("guard never touches it: %s", why)
	}
	if p := f.Protection(r); p.On && !cause.HardCap() {
		return guard.ActAlert, f.say("it is protected, so guard only tells: %s", p.Why)
	}
	asked := f.Lease.OnLimit
	if cause == guard.CauseCeiling {
		asked = guard.ActRelease
	}
	switch asked {
	case guard.ActRelease:
		return guard.ActRelease, ""
	case guard.ActStop:
		return f.stopped()
	}
	return guard.ActAlert, f.say("its on_limit is alert, so guard only tells")
}

// stopped is a stop, or why there is none where it would save nothing.
func (f Facts) stopped() (act guard.Action, why string) {
	effect := f.Observed.Resource.StopSaves
	if effect == guard.StopUnknown {
		effect = f.Stop
	}
	switch effect {
	case guard.StopSavesCompute, guard.StopSavesAll:
		return guard.ActStop, ""
	case guard.StopUnsupported:
		return guard.ActAlert, f.say("this provider cannot stop it, so guard only tells")
	}
	return guard.ActAlert, f.say("a stop would save nothing here, so guard only tells")
}

// judge turns a limit into a verdict: told at its notice and warnings, acted on
// when due.
func (l limit) judge(r Rules, f Facts) Outcome {
	action, why := f.action(r, l.cause)
	if action == guard.ActStop && f.Observed.Resource.State == guard.StateStopped {
		if !l.cause.HardCap() {
			return Outcome{} // what the limit asked for is done
		}
		action, why = guard.ActAlert, f.say("it is stopped already, and what is left of it goes on billing, so guard only tells")
	}
	enforce := f.Mode == guard.Enforce && action != guard.ActAlert
	due := f.due(r, l, enforce)
	lead := f.grace(r)
	for _, w := range l.warn {
		lead = max(lead, w)
	}
	if v := f.vetoed(l.rule); v != nil && l.cause != guard.CauseCeiling && f.At.Before(v.Until.Add(-f.grace(r))) {
		return l.quiet(r, f, *v, lead)
	}
	notice := due.Add(-lead)
	var next time.Time
	if off := f.putOffUntil(l); f.At.Before(off) {
		next = off // what is due later by its notice may then be due at another time
	}
	if f.At.Before(notice) {
		return Outcome{Next: earliest(next, notice)}
	}
	protection := f.Protection(r)

	v := f.verdict(l.rule, f.began(notice))
	v.Facts = append(v.Facts, f.limitFacts(r, l, due)...)
	told := l.tell(r, f, due, action, why, protection)
	for _, w := range offsets(lead, l.warn) {
		at := due.Add(-w)
		if f.At.Before(at) {
			next = earliest(next, at)
			continue
		}
		v.Stages = append(v.Stages, Stage{Name: "warn " + span(w), Title: f.entitled(l.title(f, due, action, protection)), Lines: told})
	}
	if f.At.Before(due) {
		next = earliest(next, due)
	}
	if enforce && !protection.Until.IsZero() && !f.At.Before(due) {
		v.Stages = append(v.Stages, Stage{Name: "unprotected " + protection.Lost.UTC().Format(time.RFC3339),
			Title: f.say("%s: guard will %s it at %s: the tag that protected it is missing", f.name(), f.todo(action), f.stamp(protection.Until)), Lines: told})
	}
	switch {
	case enforce:
		v.Act = &Act{Action: action, Cause: l.cause, Due: due, Notice: notice, Limit: l.at, Stood: l.stood,
			Why: f.say("%s (%s)", l.reached, f.stamp(l.at))}
		if protection.On {
			v.Act.Block, v.Act.BlockWhy = guard.BlockProtected, protection.Why
		}
	case f.At.Before(due):
	case action == guard.ActAlert:
		v.Stages = append(v.Stages, Stage{Name: "reached", Title: f.entitled(l.reached), Lines: told})
		v.Urgent = true
	default:
		v.Stages = append(v.Stages, Stage{Name: "would " + f.in(guard.English).verb(action),
			Title: f.would(action, l.reached),
			Lines: append([]string{f.observed()}, f.costLines()...)})
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// began is when a limit's condition began: at its notice, or later where the
// instance or its lease did not exist by then.
func (f Facts) began(notice time.Time) time.Time {
	for _, t := range []time.Time{f.Lease.RegisteredAt, f.Observed.Resource.Created} {
		if t.After(notice) && !t.After(f.At) {
			notice = t
		}
	}
	return notice
}

// offsets is the moments before due at which people are told, longest first.
func offsets(lead time.Duration, warn []time.Duration) []time.Duration {
	all := append([]time.Duration{lead}, warn...)
	slices.SortFunc(all, func(a, b time.Duration) int { return int(b - a) })
	return slices.Compact(all)
}

// title is the line that people read first.
func (l limit) title(f Facts, due time.Time, action guard.Action, p Protection) string {
	limit := f.say("%s at %s", l.coming, f.stamp(l.at))
	if !f.At.Before(l.at) {
		limit = f.say("%s since %s", l.reached, f.stamp(l.at))
	}
	switch {
	case action == guard.ActAlert:
		return limit
	case f.Mode != guard.Enforce:
		return f.say("%s (observe mode: guard only tells)", limit)
	case p.On:
		return f.say("%s, but it is protected", limit)
	}
	if due.Equal(l.at) {
		limit = l.coming
	}
	return f.say("guard will %s it at %s: %s", f.todo(action), f.stamp(due), limit)
}

// tell is what stands below the title: what it costs, what the action erases and
// how to keep it.
func (l limit) tell(r Rules, f Facts, due time.Time, action guard.Action, why string, p Protection) []string {
	lines := []string{f.whose(f.Lease)}
	if !due.Equal(l.due) {
		lines = append(lines, f.putOff(l, due))
	}
	lines = append(lines, f.costLines()...)
	switch {
	case why != "":
		lines = append(lines, f.sentence(why))
	case f.Mode != guard.Enforce:
		lines = append(lines, f.say("The account is in observe mode: guard will not %s it.", f.todo(action)))
	case p.On:
		lines = append(lines, f.say("%s; guard does not touch it and tells people every hour once the %s is reached.", f.upper(p.Why), f.limitWord(l.cause)))
	case action == guard.ActRelease:
		lines = append(lines, f.Erases()...)
	case action == guard.ActStop:
		lines = append(lines, f.say("A stop keeps its disks, and they go on billing."))
	}
	if action == guard.ActAlert {
		return lines
	}
	return append(lines, l.keep(r, f))
}

func (f Facts) limitWord(c guard.Cause) string {
	if c == guard.CauseCeiling {
		return f.say("ceiling")
	}
	return f.say("cap")
}

// keep is the exact command that moves the limit, where one does.
func (l limit) keep(r Rules, f Facts) string {
	id := f.Resource().String()
	if l.cause == guard.CauseCeiling {
		return f.say("Nothing that is said about this lease puts it off: an admin has set it for all of them, as ceilings in guard's configuration.")
	}
	if end, ok := r.CeilingOf(*f.Lease); ok && l.cause == guard.CauseExpiry && !l.at.Before(end) {
		return f.say("It cannot be kept longer, for that is %s.", f.ceilingWord(r, guard.Deadline{Limit: end}))
	}
	if l.cause == guard.CauseBudget {
		more := f.Lease.Budget.Percent(25).Round()
		return f.say("To keep it longer: guard extend %s --by 2h --budget +%s", id, command(more))
	}
	return f.say("To keep it longer: guard extend %s --by 2h", id)
}

// putOff says why the call is not due at the limit itself.
func (f Facts) putOff(l limit, due time.Time) string {
	if l.cause != guard.CauseCeiling {
		if held := f.Lease.HeldUntil(f.At); held.Equal(due) {
			return f.say("A hold puts it off until %s.", f.stamp(held))
		}
		if v := f.vetoed(l.rule); v != nil && v.Until.Equal(due) {
			return f.sentence(f.vetoWord(*v))
		}
	}
	if !f.Account.FreshFrom.IsZero() && l.due.Before(f.Account.FreshFrom) {
		why := f.kept(f.Account.FreshWhy)
		if why == "" {
			why = f.say("guard was away")
		}
		return f.say("It was due at %s; fresh notice is given because %s.", f.stamp(l.due), why)
	}
	return f.say("It was due at %s; notice is given first.", f.stamp(l.due))
}
