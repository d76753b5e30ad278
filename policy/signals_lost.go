package policy

import (
	"strings"
	"time"

	"guard"
)

// lostAfter is how long signals are missing before it is told.
const lostAfter = 30 * time.Minute

// signalsLost tells of an instance that had signals and has none any more, or none that
// can be believed: whatever is judged by them says nothing until they are back.
func signalsLost(r Rules, f Facts) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Lost.On() {
		return Outcome{}
	}
	// Those that come and go are told twice, and then where they are away for longer.
	if tell := a.Lost.Since.Add(max(lostAfter, outlasts(a.Lost.Usual()))); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RuleSignalsLost, a.Lost.Since)
	v.Wastes = guard.Money{}
	lines := []string{f.say("%s. The last that told whether it works was of %s (%s).", f.upper(f.kept(a.Lost.Why)), f.stamp(a.At), f.orNone(a.Source)),
		f.say("Until there are signals again, nobody sees whether it works: %s say nothing of it, and nothing is stopped by them.", f.blindRules(r))}
	lines = append(lines, f.window()...)
	v.Stages = []Stage{{Name: "lost", Title: f.say("%s: its signals are lost since %s: %s", f.name(), f.stamp(a.Lost.Since), f.kept(a.Lost.Why)),
		Lines: append(append(lines, f.seeingLine(r)), f.costLines()...)}}
	v.Facts = append(v.Facts, guard.Fact{Name: "signals", Value: "lost: " + a.Lost.Why, Source: a.Source, At: a.At})
	return Outcome{Verdicts: []Verdict{v}}
}

// blindRules are the rules in force that go by samples.
func (f Facts) blindRules(r Rules) string {
	var names []string
	for _, rule := range append(append([]guard.Rule{}, judgements...), guard.RulePhantom) {
		if per := r.Per[rule]; !per.Off && per.Match.has(f) {
			names = append(names, string(rule))
		}
	}
	return strings.Join(names, f.say(", "))
}

// seeingLine says what still bounds it.
func (f Facts) seeingLine(r Rules) string {
	if f.Lease == nil || !f.Lease.Status.Open() {
		return f.say("Nobody registered it, so no limit bounds it either.")
	}
	var limits []string
	if end := f.Lease.ExpiresAt; !end.IsZero() {
		limits = append(limits, f.say("its expiry at %s", f.stamp(end)))
	}
	if f.Lease.Budget.IsSet() {
		limits = append(limits, f.say("its cap of %s", f.Lease.Budget.Round()))
	}
	if r.Ceilings.set() {
		limits = append(limits, f.say("its ceiling"))
	}
	if len(limits) == 0 {
		return f.say("It has neither an expiry nor a cap, so nothing else bounds it.")
	}
	return f.say("What bounds it all the same: %s.", strings.Join(limits, f.say(", ")))
}
