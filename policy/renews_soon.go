package policy

import (
	"time"

	"guard"
)

// RenewsSoon is about what is paid ahead and paid again by itself.
type RenewsSoon struct {
	// Warn is how long before that people are told, and Act how long before it once more;
	// 0: they are not.
	Warn, Act time.Duration
}

// renewsSoon tells that a thing is paid for again by itself: when, how much, and how to
// have it not.
func renewsSoon(r Rules, f Facts) Outcome {
	if !f.stays() {
		return Outcome{}
	}
	l, warn := f.Observed.Resource.Lump, r.RenewsSoon.Warn
	if l.Renews != guard.Yes || l.Until.IsZero() {
		return Outcome{}
	}
	if tell := l.Until.Add(-warn); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RuleRenewsSoon, l.Until.Add(-warn))
	v.Wastes = guard.Money{}
	amount := f.say("an amount that is not known")
	if l.Amount.IsSet() {
		amount = l.Amount.Round().String()
	}
	var lines []string
	if c := f.claim(); c != nil {
		lines = append(lines, f.say("Purpose: %s. Owner: %s.", f.orNone(c.Purpose), f.orNone(c.Owner)))
	}
	lines = append(lines, f.say("It is paid until %s and renews itself then. What is paid is not given back.", f.stamp(l.Until)))
	if f.leased() && !f.Lease.ExpiresAt.IsZero() && f.Lease.ExpiresAt.Before(l.Until) {
		lines = append(lines, f.say("Its lease ends before that, at %s.", f.stamp(f.Lease.ExpiresAt)))
	}
	lines = append(lines, f.say("If nobody needs it: turn its renewal off at the provider, or guard release %s before that.", f.Resource()))
	v.Stages = []Stage{{Name: "renews " + l.Until.UTC().Format(time.RFC3339),
		Title: f.say("%s: renews itself %s for %s", f.name(), f.soon(l.Until), amount), Lines: lines}}
	v.Facts = append(v.Facts, guard.Fact{Name: "renews", Value: f.stamp(l.Until) + " for " + amount, Source: l.Source, At: f.Observed.Seen})
	var next time.Time
	if act := r.RenewsSoon.Act; act > 0 {
		if next = f.after(l.Until.Add(-act)); next.IsZero() {
			again := v.Stages[0]
			again.Name = "act " + l.Until.UTC().Format(time.RFC3339)
			v.Stages = append(v.Stages, again)
		}
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// aheadEnds is what became of what people were told ahead of.
func (f Facts) aheadEnds(rule guard.Rule) Ending {
	o := f.Observed
	switch {
	case o == nil:
		return Ending{Quiet: true}
	case o.Gone != nil:
		return Ending{Quiet: o.Gone.How == guard.ByRelease, Why: f.say("It is gone: %s.", f.howWord(o.Gone.How))}
	}
	l, end := o.Resource.Lump, o.Resource.PlatformEnds.At
	switch {
	case rule == guard.RuleProviderReclaim && end.IsZero():
		return Ending{Why: f.say("The provider does not delete it any more.")}
	case rule == guard.RuleProviderReclaim:
		return Ending{Why: f.say("The provider deletes it at %s now.", f.stamp(end))}
	case l.Renews != guard.Yes:
		return Ending{Why: f.say("It does not renew itself any more.")}
	}
	return Ending{Why: f.say("It is paid until %s now.", f.stamp(l.Until))}
}

// paidUntil is until when a thing is paid ahead, where nothing bills beside that: until
// then its release saves nothing. Zero where it would, or may.
func (f Facts) paidUntil() time.Time {
	l := f.Observed.Resource.Lump
	if l.IsZero() || l.From.After(f.At) || !l.Until.After(f.At) {
		return time.Time{}
	}
	if h, ok := f.hourly(); !ok || !h.IsZero() {
		return time.Time{}
	}
	return l.Until
}

// overPaid judges a cap that is exceeded by what was paid ahead. Nothing is released for
// it, for that gives nothing back; what would be paid again is released in time for that.
func (f Facts) overPaid(r Rules, d guard.Deadline, until time.Time) Outcome {
	var out Outcome
	again := limit{rule: guard.RuleBudgetExceeded, cause: guard.CauseBudget, at: until, due: until.Add(-d.Lead), stood: d.Stood,
		reached: f.say("its cap is exceeded")}
	ends := f.say("It is not paid for again by itself.")
	switch f.Observed.Resource.Lump.Renews {
	case guard.Yes:
		ends = f.say("At %s it would be paid for again, over its cap.", f.stamp(until))
		again.coming = f.say("it would be paid for again, over its cap")
		out = again.judge(r, f)
	case guard.Unknown:
		ends = f.say("At %s it may be paid for again, over its cap.", f.stamp(until))
		again.coming = f.say("it may be paid for again, over its cap")
		out = again.judge(r, f)
	}
	stage := Stage{Name: "paid ahead", Title: f.say("%s: its cap of %s is exceeded, and it cannot stop paying until %s", f.name(), f.Lease.Budget.Round(), f.stamp(until)),
		Lines: append(f.costLines(), f.say("It is paid ahead: a release gives nothing back, so guard does not release it for that."), ends)}
	if len(out.Verdicts) == 0 {
		v := f.verdict(guard.RuleBudgetExceeded, latest(d.Limit, f.Lease.RegisteredAt))
		out.Verdicts, out.Next = []Verdict{v}, earliest(out.Next, until)
	}
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		v.Stages = append([]Stage{stage}, v.Stages...)
		v.Facts = append(v.Facts, f.capFacts()...)
		v.Facts = append(v.Facts, guard.Fact{Name: "paid until", Value: f.stamp(until), Source: f.Observed.Resource.Lump.Source, At: f.Observed.Seen})
	}
	return out
}
