package policy

import (
	"guard"
)

// unitMismatch tells of a reported price so far off that it is likely another
// unit (cents for dollars, a GPU for a machine). The meter has kept the old one.
func unitMismatch(r Rules, f Facts) Outcome {
	odd := f.Metered.Odd
	if odd == nil || !f.live() {
		return Outcome{}
	}
	v := f.verdict(guard.RuleUnitMismatch, f.Metered.OddSince)
	v.Urgent = true
	v.Stages = []Stage{{Name: "odd", Title: f.say("%s: the provider now reports %s, far from what it was", f.name(), f.perHour(*odd)),
		Lines: []string{
			f.say("guard does not believe it and goes on counting the old price."),
			f.say("If it is right: guard register %s --price AMOUNT/h states the whole machine's price.", f.Resource()),
		}}}
	if bill := f.oddBill(r); bill != "" {
		v.Stages = append(v.Stages, Stage{Name: "billed", Title: v.Stages[0].Title, Lines: append([]string{bill}, v.Stages[0].Lines...)})
	}
	v.Facts = append(v.Facts, guard.Fact{Name: "reported price", Value: odd.String(), Source: odd.Source, At: f.Metered.OddSince})
	return Outcome{Verdicts: []Verdict{v}}
}
