package policy

import (
	"fmt"
	"slices"

	"guard"
)

// Explain is the facts about a resource and what the rules make of them, in
// lines for people.
func Explain(r Rules, f Facts, out Outcome) ([]guard.Fact, []string) {
	facts := f.basics()
	var lines []string
	if f.Observed != nil && f.Observed.Gone != nil {
		g := f.Observed.Gone
		facts = append(facts, guard.Fact{Name: "gone", Value: fmt.Sprintf("%s, %s, by %s", f.stamp(g.At), g.Proof, g.How), Source: "provider", At: g.ProvenAt})
	}
	if p := f.Protection(r); p.On {
		facts = append(facts, guard.Fact{Name: "protection", Value: p.Why, Source: "ledger", At: f.At})
	}
	if why := f.Untouchable(); why != "" {
		facts = append(facts, guard.Fact{Name: "may not act", Value: why, Source: "configuration", At: f.At})
		lines = append(lines, f.say("%s, so guard never acts on it.", f.upper(why)))
	}
	facts = append(append(facts, f.absent()...), f.moneyFacts()...)
	for _, v := range out.Verdicts {
		for _, fact := range v.Facts {
			if !slices.ContainsFunc(facts, func(o guard.Fact) bool { return o.Name == fact.Name && o.Value == fact.Value }) {
				facts = append(facts, fact)
			}
		}
	}
	lines = append(lines, f.limitLines(r)...)
	lines = append(lines, f.trafficLines()...)
	lines = append(lines, f.quietLines(r)...)
	if out.Doubt != "" {
		lines = append(lines, f.say("It is not judged now: %s.", out.Doubt))
	}
	for _, v := range out.Verdicts {
		last := v.Stages[len(v.Stages)-1]
		lines = append(lines, f.say("Rule %s: %s.", v.Rule, last.Title))
		if v.Act != nil && v.Act.Block != "" {
			lines = append(lines, f.say("It is not done: %s.", v.Act.BlockWhy))
		}
	}
	lines = append(lines, f.perLines(r)...)
	lines = append(lines, f.neededLines()...)
	if len(out.Verdicts) == 0 {
		lines = append(lines, f.say("No rule finds anything wrong."))
	}
	if !out.Next.IsZero() {
		lines = append(lines, f.say("The next thing that happens by itself: %s.", f.stamp(out.Next)))
	}
	return facts, lines
}

// absent are the readings that speak against the thing, and prove nothing yet.
func (f Facts) absent() []guard.Fact {
	if f.Observed == nil || f.Observed.Gone != nil {
		return nil
	}
	var out []guard.Fact
	for _, r := range f.Observed.Absent {
		value := string(r.Verdict)
		if r.State != "" {
			value += " " + string(r.State)
		}
		out = append(out, guard.Fact{Name: "reading", Value: value, Source: "provider", At: r.At})
	}
	return out
}

// limitLines is the arithmetic of each limit of the lease.
func (f Facts) limitLines(r Rules) []string {
	if f.Lease == nil && f.InstanceLease != nil {
		return []string{f.say("It counts to what %s registered for %s, as far as it was on %s then.",
			f.orNone(f.InstanceLease.Owner), f.orNone(f.InstanceLease.Purpose), f.Observed.Instance)}
	}
	if f.Lease == nil {
		return []string{f.say("Nobody registered it, so no limit applies.")}
	}
	if !f.Lease.Status.Open() {
		return []string{f.say("Its lease has ended (%s) at %s.", f.kept(string(f.Lease.Status)), f.stamp(f.Lease.EndedAt))}
	}
	lines := []string{f.say("Registered by %s at %s for %s; at a limit: %s; grace %s.", f.orNone(f.Lease.Owner), f.stamp(f.Lease.RegisteredAt),
		f.orNone(f.Lease.Purpose), f.kept(string(f.Lease.OnLimit)), f.span(f.grace(r)))}
	if end := f.Lease.ExpiresAt; !end.IsZero() {
		if end.Before(f.At) {
			lines = append(lines, f.say("Expiry: %s, %s ago.", f.stamp(end), f.span(f.At.Sub(end))))
		} else {
			lines = append(lines, f.say("Expiry: %s, in %s.", f.stamp(end), f.span(end.Sub(f.At))))
		}
	}
	if f.Lease.Budget.IsSet() {
		spent := amounts(f.spent().Totals)
		if spent == "" {
			spent = f.say("an unknown amount")
		}
		line := f.say("Budget: %s spent of %s", spent, f.Lease.Budget.Round())
		if f.spent().Hourly.IsSet() {
			line = f.say("%s, %s per hour with everything that belongs to it", line, f.spent().Hourly.Round())
		}
		if d, ok := f.Plan.Deadline(guard.DeadlineBudget); ok {
			line = f.say("%s: reached at %s, so the call is due at %s (%s from the call until billing ends)", line, f.stamp(d.Limit), f.stamp(d.Due), f.span(d.Lead))
			if d.Candidate != nil {
				line = f.say("%s; one reading says %s, which waits for a second one", line, f.stamp(d.Candidate.Limit))
			}
		}
		lines = append(lines, f.say("%s.", line))
	}
	lines = append(lines, f.ceilingLines(r)...)
	if held := f.Lease.HeldUntil(f.At); !held.IsZero() {
		lines = append(lines, f.say("A hold puts limits off until %s, but no ceiling.", f.stamp(held)))
	}
	return append(lines, f.muteLines()...)
}
