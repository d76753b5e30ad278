package policy

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/spend"
)

// ceiling judges what an admin set for every lease. It always releases, whatever the
// lease asks for, and nothing that people say about the lease puts it off (law 10).
// The meter has solved when it is reached, by life or by money.
func ceiling(r Rules, f Facts) Outcome {
	if !r.Ceilings.set() || !f.leased() {
		return Outcome{}
	}
	d, ok := f.Plan.Deadline(guard.DeadlineCeiling)
	if !ok {
		return Outcome{}
	}
	due, next, wait := f.unsolved(d, d.Basis != r.Ceilings.basis()) // the configuration has changed
	if wait {
		return Outcome{Next: next}
	}
	what := f.ceilingWord(r, d)
	l := limit{rule: guard.RuleCeilingReached, cause: guard.CauseCeiling, at: d.Limit, due: due, stood: d.Stood, warn: r.Expiry.Warn,
		coming: f.say("%s is reached", what), reached: f.say("%s is reached", what)}
	out := l.judge(r, f)
	out.Next = earliest(out.Next, next)
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		v.Facts = append(v.Facts, f.ceilingFacts(r)...)
		v.Facts = append(v.Facts, f.leadFacts(d)...)
	}
	return out
}

// ceilingBlind tells of what a lease costs in a currency in which there is no
// ceiling, though there is one in others. Nothing is converted.
func ceilingBlind(r Rules, f Facts) Outcome {
	if len(r.Ceilings.Budget) == 0 || !f.leased() {
		return Outcome{}
	}
	var missing []string
	for _, m := range f.spent().Totals {
		if _, ok, configured := r.MoneyCeiling(m.Currency()); configured && !ok && m.IsPositive() {
			missing = append(missing, m.Currency())
		}
	}
	if len(missing) == 0 {
		return Outcome{}
	}
	v := f.verdict(guard.RuleCeilingBlind, f.Lease.RegisteredAt)
	v.Stages = []Stage{{Name: "blind " + strings.Join(missing, " "),
		Title: f.say("%s: it bills in %s, and there is no ceiling in that currency", f.name(), f.list(missing)),
		Lines: append(f.costLines(), f.say("An admin can set one: ceilings.budget in guard's configuration. guard never converts for a limit."))}}
	v.Facts = append(v.Facts, f.ceilingFacts(r)...)
	return Outcome{Verdicts: []Verdict{v}}
}

// set reports whether there is any ceiling.
func (c Ceilings) set() bool { return c.TTL > 0 || len(c.Budget) > 0 }

// basis is what a ceiling's deadline was solved from: all that is configured.
func (c Ceilings) basis() string {
	parts := []string{c.TTL.String()}
	for _, m := range c.Budget {
		parts = append(parts, m.String())
	}
	return strings.Join(parts, ", ")
}

// Ceiling is the deadline of the ceiling that a lease reaches first, by its life or
// by what its segments cost. Lead is how long before a crossing of money the call is
// due. False where there is none to reach.
func (r Rules) Ceiling(l guard.Lease, segs []guard.Segment, lead time.Duration, at time.Time) (guard.Deadline, bool) {
	var d guard.Deadline
	end, ok := r.CeilingOf(l)
	if ok {
		d = guard.Deadline{Limit: end, Due: end}
	}
	for _, m := range r.Ceilings.Budget {
		landing, crosses := spend.Landing(segs, m, lead, at)
		if crosses && (!ok || landing.Due.Before(d.Due)) {
			d, ok = landing, true
		}
	}
	d.Reason, d.Basis = guard.DeadlineCeiling, r.Ceilings.basis()
	return d, ok
}

// ceilingWord names the ceiling that a deadline is of.
func (f Facts) ceilingWord(r Rules, d guard.Deadline) string {
	if end, ok := r.CeilingOf(*f.Lease); ok && d.Limit.Equal(end) {
		return f.say("its ceiling of %s", f.span(r.Ceilings.TTL))
	}
	nearest, most := r.Ceilings.Budget, new(big.Rat)
	for i, m := range r.Ceilings.Budget {
		if spent := f.spent().In(m.Currency()); spent.IsSet() {
			if part := new(big.Rat).Quo(spent.Rat(), m.Rat()); part.Cmp(most) > 0 {
				nearest, most = r.Ceilings.Budget[i:i+1], part
			}
		}
	}
	return f.say("its ceiling of %s", f.either(nearest))
}

// ceilingLines are the ceilings of a lease, for people.
func (f Facts) ceilingLines(r Rules) []string {
	if !r.Ceilings.set() {
		return nil
	}
	var parts []string
	if end, ok := r.CeilingOf(*f.Lease); ok {
		parts = append(parts, f.say("it lasts until %s at most (%s from %s)", f.stamp(end), f.span(r.Ceilings.TTL), f.stamp(f.Lease.Since())))
	}
	for _, m := range r.Ceilings.Budget {
		spent := f.say("nothing")
		if s := f.spent().In(m.Currency()); s.IsPositive() {
			spent = s.Round().String()
		}
		parts = append(parts, f.say("it costs %s at most (%s spent)", m.Round(), spent))
	}
	line := f.say("Ceiling: %s", strings.Join(parts, f.say("; ")))
	if d, ok := f.Plan.Deadline(guard.DeadlineCeiling); ok {
		line = f.say("%s; reached first at %s, so the call is due at %s", line, f.stamp(d.Limit), f.stamp(d.Due))
		if d.Candidate != nil {
			line = f.say("%s; one reading says %s, which waits for a second one", line, f.stamp(d.Candidate.Limit))
		}
	}
	return []string{f.say("%s.", line)}
}

func (f Facts) ceilingFacts(r Rules) []guard.Fact {
	var facts []guard.Fact
	if r.Ceilings.TTL > 0 {
		facts = append(facts, guard.Fact{Name: "ceiling", Value: fmt.Sprintf("%s from %s", span(r.Ceilings.TTL), f.stamp(f.Lease.Since())), Source: "configuration", At: f.At})
	}
	for _, m := range r.Ceilings.Budget {
		facts = append(facts, guard.Fact{Name: "ceiling", Value: m.Round().String(), Source: "configuration", At: f.At})
	}
	return facts
}

// CeilingOf is until when a lease may last at most, counted from when its instance
// was first registered; false where no life is set.
func (r Rules) CeilingOf(l guard.Lease) (time.Time, bool) {
	if r.Ceilings.TTL <= 0 {
		return time.Time{}, false
	}
	return l.Since().Add(r.Ceilings.TTL), true
}

// MoneyCeiling is what a lease may cost at most in a currency, from the provider's
// start. Ok is false where the currency has none; configured tells whether any has,
// so that what bills in another one is refused rather than left without a bound.
func (r Rules) MoneyCeiling(currency string) (m guard.Money, ok, configured bool) {
	i := slices.IndexFunc(r.Ceilings.Budget, func(m guard.Money) bool { return m.Currency() == currency })
	if i < 0 {
		return guard.Money{}, false, len(r.Ceilings.Budget) > 0
	}
	return r.Ceilings.Budget[i], true, true
}

// Follow returns a new lease as the one that comes after an older one of the same
// ID. Where that was of this very instance, its beginning goes on to count, so that
// nobody gets past a ceiling by registering again what was thought gone. Only a
// creation time that the provider tells says so: where it tells none, an ID may be
// another thing's.
func Follow(l, old guard.Lease) guard.Lease {
	known := !old.ResourceCreated.IsZero() && !l.ResourceCreated.IsZero()
	if known && presence.SameCreation(old.ResourceCreated, l.ResourceCreated) && old.Since().Before(l.Since()) {
		l.FirstRegistered = old.Since()
	}
	return l
}
