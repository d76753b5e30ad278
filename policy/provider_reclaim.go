package policy

import (
	"cmp"
	"time"

	"guard"
)

// ProviderReclaim is about what the provider itself will delete.
type ProviderReclaim struct {
	// Warn is how long before that people are told, and Act how long before it once more,
	// urgently; 0: a quarter of Warn.
	Warn, Act time.Duration
}

// providerReclaim tells that the provider will delete a thing with its data: when, why,
// and what keeps it.
func providerReclaim(r Rules, f Facts) Outcome {
	if !f.stays() {
		return Outcome{}
	}
	end, warn := f.Observed.Resource.PlatformEnds, r.ProviderReclaim.Warn
	act := cmp.Or(r.ProviderReclaim.Act, warn/4)
	if end.At.IsZero() {
		return Outcome{}
	}
	if tell := end.At.Add(-warn); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	last := end.At.Add(-act)
	v := f.verdict(guard.RuleProviderReclaim, end.At.Add(-warn))
	v.Wastes = guard.Money{}
	why := ""
	if end.Why != "" {
		why = f.say(" (%s)", f.kept(end.Why))
	}
	title := f.say("%s: the provider deletes it %s%s", f.name(), f.soon(end.At), why)
	v.Stages = []Stage{{Name: "warn " + span(warn), Title: title}}
	next := last
	if !f.At.Before(last) {
		v.Urgent, next = true, time.Time{}
		v.Stages = append(v.Stages, Stage{Name: "warn " + span(act), Title: title})
	}
	var lines []string
	if c := f.claim(); c != nil {
		lines = append(lines, f.say("Purpose: %s. Owner: %s.", f.orNone(c.Purpose), f.orNone(c.Owner)))
	}
	lines = append(lines, f.say("Its data goes with it, at %s. That is the provider's doing, and guard cannot put it off.", f.stamp(end.At)), f.saves(end.At))
	v.Stages[len(v.Stages)-1].Lines = lines
	v.Facts = append(v.Facts, guard.Fact{Name: "the provider deletes it", Value: f.stamp(end.At) + why, Source: "provider", At: f.Observed.Seen})
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// saves is what keeps a thing that the provider will delete.
func (f Facts) saves(end time.Time) string {
	r := f.Observed.Resource
	paid := r.Lump.Until
	switch lapses := r.Lump.Renews != guard.Yes && !paid.IsZero() && !end.Before(paid); {
	case lapses && f.At.Before(paid): // a start alone does not pay for it
		return f.say("It is paid until %s. To keep it: renew it, or copy what is needed away before that.", f.stamp(paid))
	case lapses:
		return f.say("It was paid until %s. To keep it: renew it, or copy what is needed away before that.", f.stamp(paid))
	case r.State == guard.StateStopped:
		return f.say("To keep it: start it, or copy what is needed away before that.")
	}
	return f.say("Copy what is needed away before that.")
}

// stays reports a thing that lives, is not being released and is no other guard's to tell
// of.
func (f Facts) stays() bool {
	return f.live() && f.Observed.Resource.State != guard.StateReleasing && Foreign(f.Observed.Resource, f.Deployment) == ""
}
