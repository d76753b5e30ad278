package policy

import (
	"strings"

	"guard"
)

// priceUnknown alarms that a lease's spend cannot be counted (law 1), or that of an
// instance which nobody registered.
func priceUnknown(r Rules, f Facts) Outcome {
	if !f.live() {
		return Outcome{}
	}
	if f.Lease == nil || !f.Lease.Status.Open() {
		return f.strayPrice(r)
	}
	parts := f.Plan.Unknown
	if len(parts) == 0 && f.Plan.SolvedAt.IsZero() && !f.Lease.Price.Known() && f.Observed.Resource.Bills != guard.No {
		if _, ok := f.hourly(); !ok {
			parts = []string{f.Resource().String()}
		}
	}
	if len(parts) == 0 {
		return Outcome{}
	}
	since := f.Plan.SolvedAt
	if since.IsZero() {
		since = f.At
	}
	v := f.verdict(guard.RulePriceUnknown, since)
	lines := []string{f.say("Not counted: %s.", f.unpriced(parts[:min(len(parts), 10)]))}
	if f.Lease.Budget.IsSet() {
		v.Urgent = true
		lines = append(lines, f.say("Its cap of %s may be passed without guard knowing; what is known counts.", f.Lease.Budget.Round()))
	} else if most := r.Ceilings.Budget; len(most) > 0 {
		v.Urgent = true
		lines = append(lines, f.say("Its ceiling of %s may be passed without guard knowing; what is known counts.", f.either(most)))
	}
	lines = append(lines, f.say("To state the whole machine's price: guard register %s --price 2.50USD/h", f.Resource()))
	title := f.say("%s: its price is not known", f.name())
	if _, ok := f.hourly(); ok {
		title = f.say("%s: a part of what it costs is not known", f.name())
	}
	v.Stages = []Stage{{Name: "unknown", Title: title, Lines: lines}}
	v.Facts = append(v.Facts, guard.Fact{Name: "not counted", Value: strings.Join(parts, "; "), Source: "meter", At: f.Plan.SolvedAt})
	return Outcome{Verdicts: []Verdict{v}}
}

// strayPrice is about an instance that nobody registered, once people hear of that.
func (f Facts) strayPrice(r Rules) Outcome {
	since, stray := f.stray()
	if _, ok := f.hourly(); ok || !stray || f.Observed.Resource.Bills == guard.No {
		return Outcome{}
	}
	if tell := since.Add(r.Unregistered.After); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RulePriceUnknown, since)
	v.Stages = []Stage{{Name: "unknown", Title: f.say("%s: its price is not known, and nobody registered it", f.name()), Lines: []string{
		f.say("What it costs counts to nothing, and no cap can be set on it."),
		f.say("To claim it and state its price: guard register %s --purpose TEXT --ttl 8h --price 2.50USD/h", f.Resource()),
	}}}
	return Outcome{Verdicts: []Verdict{v}}
}

// unpriced are what has no known price, in words.
func (f Facts) unpriced(parts []string) string {
	said := make([]string, len(parts))
	for i, p := range parts {
		said[i] = f.kept(p)
	}
	return strings.Join(said, f.say("; "))
}
