package policy

import (
	"fmt"
	"time"

	"guard"
)

// budgetWarning tells at percentages of the cap.
func budgetWarning(r Rules, f Facts) Outcome {
	if !f.capped() || len(r.Budget.Warn) == 0 {
		return Outcome{}
	}
	limit, spent := f.Lease.Budget, f.spent().In(f.Lease.Budget.Currency())
	var out Outcome
	since := f.At
	var stages []Stage
	for i, percent := range r.Budget.Warn {
		at := f.crosses(percent)
		// What is spent says more than what was solved for earlier.
		n, err := spent.Cmp(limit.Percent(percent))
		if err != nil || n < 0 {
			if next := f.after(at); !next.IsZero() {
				out.Next = earliest(out.Next, next)
			}
			continue
		}
		if i == 0 && !at.IsZero() && at.Before(f.At) {
			since = at
		}
		stages = append(stages, Stage{Name: fmt.Sprintf("%d%%", percent),
			Title: f.say("%s: %d%% of its cap is spent: %s of %s", f.name(), percent, spent.Round(), limit.Round()),
			Lines: f.budgetLines(r)})
	}
	if len(stages) == 0 {
		return out
	}
	v := f.verdict(guard.RuleBudgetWarning, since)
	v.Stages = stages
	v.Facts = append(v.Facts, f.capFacts()...)
	out.Verdicts = []Verdict{v}
	return out
}

// budgetExceeded judges the cap itself. The meter has solved when the call is
// due so that spend lands under it.
func budgetExceeded(r Rules, f Facts) Outcome {
	if !f.capped() {
		return Outcome{}
	}
	d, ok := f.Plan.Deadline(guard.DeadlineBudget)
	if !ok {
		return Outcome{}
	}
	due, next, wait := f.unsolved(d, f.outdated(d)) // a person just changed the cap
	if wait {
		return Outcome{Next: next}
	}
	if until := f.paidUntil(); !until.IsZero() && !d.Limit.After(f.At) {
		return f.overPaid(r, d, until)
	}
	l := limit{rule: guard.RuleBudgetExceeded, cause: guard.CauseBudget, at: d.Limit, due: due, stood: d.Stood,
		coming: f.say("its cap of %s is reached", f.Lease.Budget.Round()), reached: f.say("its cap of %s is reached", f.Lease.Budget.Round())}
	out := l.judge(r, f)
	out.Next = earliest(out.Next, next)
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		v.Facts = append(v.Facts, f.capFacts()...)
		v.Facts = append(v.Facts, f.leadFacts(d)...)
	}
	return out
}

// solving is how long the meter takes at most to solve a deadline anew when it was
// kicked.
const solving = 5 * time.Second

// unsolved is when a deadline is due that may be outdated: then the meter's answer is
// moments away, and until it is there nothing is planned (wait), and what is planned
// is put off. Next is when that changes by itself; zero where it does not.
func (f Facts) unsolved(d guard.Deadline, outdated bool) (due, next time.Time, wait bool) {
	due = d.Due
	if !outdated {
		return due, time.Time{}, false
	}
	soon := f.At.Add(solving)
	if f.Release == nil {
		return due, soon, true
	}
	if due.Before(soon) {
		due = soon
	}
	return due, f.after(d.Due.Add(1 - solving)), false // from then on it is put off
}

// outdated reports a deadline that was solved for another cap or price than the
// lease has now. The old cap is no limit that anybody set any more, so nothing is
// done about it.
func (f Facts) outdated(d guard.Deadline) bool {
	return d.Basis != "" && d.Basis != f.Lease.BudgetBasis()
}

// leadFacts say how long before a limit the call is due.
func (f Facts) leadFacts(d guard.Deadline) []guard.Fact {
	if d.Lead <= 0 {
		return nil
	}
	return []guard.Fact{{Name: "lead", Value: fmt.Sprintf("%s from the call until billing ends, so the call is due at %s for a limit at %s",
		span(d.Lead), f.stamp(d.Due), f.stamp(d.Limit)), Source: "meter", At: f.Plan.SolvedAt}}
}

// leased reports an open lease on something that lives.
func (f Facts) leased() bool { return f.Lease != nil && f.Lease.Status.Open() && f.live() }

// capped reports an open lease with a cap on something that lives.
func (f Facts) capped() bool {
	return f.leased() && f.Lease.Budget.IsPositive()
}

func (f Facts) crosses(percent int) (at time.Time) {
	for _, c := range f.spent().Crossings {
		if c.Percent == percent {
			return c.At
		}
	}
	return time.Time{}
}

func (f Facts) budgetLines(r Rules) []string {
	lines := []string{f.whose(f.Lease)}
	if h, ok := f.hourly(); ok {
		lines = append(lines, f.say("It bills %s per hour.", h.Round()))
	}
	if d, ok := f.Plan.Deadline(guard.DeadlineBudget); ok {
		action, why := f.action(r, guard.CauseBudget)
		p := f.Protection(r)
		switch until := f.paidUntil(); {
		case !until.IsZero() && !d.Limit.After(f.At):
			lines = append(lines, f.say("It is paid ahead, until %s: a release gives nothing back, so guard does not release it for that.", f.stamp(until)))
		case why != "":
			lines = append(lines, f.say("The cap is reached at %s; %s.", f.stamp(d.Limit), why))
		case f.Mode != guard.Enforce:
			lines = append(lines, f.say("The cap is reached at %s; in observe mode guard will not %s it.", f.stamp(d.Limit), f.todo(action)))
		case p.On:
			lines = append(lines, f.say("The cap is reached at %s; guard does not touch it: %s.", f.stamp(d.Limit), p.Why))
		case f.vetoed(guard.RuleBudgetExceeded) != nil:
			lines = append(lines, f.say("The cap is reached at %s; guard does nothing about it: %s.", f.stamp(d.Limit), f.vetoWord(*f.vetoed(guard.RuleBudgetExceeded))))
		default:
			lines = append(lines, f.say("The cap is reached at %s; guard will %s it at %s to land under it.", f.stamp(d.Limit), f.todo(action), f.stamp(d.Due)))
		}
	}
	return append(lines, limit{cause: guard.CauseBudget}.keep(r, f))
}

func (f Facts) capFacts() []guard.Fact {
	facts := []guard.Fact{{Name: "cap", Value: f.Lease.Budget.Round().String(), Source: "ledger", At: f.Lease.UpdatedAt}}
	if f.spent().Hourly.IsSet() {
		facts = append(facts, guard.Fact{Name: "family bills per hour", Value: f.spent().Hourly.Round().String(), Source: "meter", At: f.At})
	}
	for _, part := range f.Plan.Unknown {
		facts = append(facts, guard.Fact{Name: "not counted", Value: part, Source: "meter", At: f.Plan.SolvedAt})
	}
	return facts
}
