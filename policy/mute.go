package policy

import (
	"slices"
	"time"

	"guard"
)

// Vetoable are the rules that do something, so that a veto can keep them from it. A
// ceiling does something, too, and heeds none.
func Vetoable() []guard.Rule {
	return append([]guard.Rule{guard.RuleExpired, guard.RuleBudgetExceeded, guard.RuleUnregistered, guard.RuleStoppedBilling, guard.RuleEgressSpike}, slices.Concat(judgements, orphanList())...)
}

// vetoed is the veto in force against a rule; nil where there is none.
func (f Facts) vetoed(rule guard.Rule) *guard.Mute {
	i := slices.IndexFunc(f.Mutes, func(m guard.Mute) bool { return m.Kind == guard.Veto && m.Rule == rule && m.At(f.At) })
	if i < 0 {
		return nil
	}
	return &f.Mutes[i]
}

// Vetoed is what people are told of a veto in force against what a cause stands for;
// "" where there is none.
func (f Facts) Vetoed(cause guard.Cause) string {
	for _, rule := range Asking(cause) {
		if v := f.vetoed(rule); v != nil {
			return f.vetoWord(*v)
		}
	}
	return ""
}

// Asking are the rules that a release of a cause can be asked for by, as far as a veto
// keeps them from it.
func Asking(cause guard.Cause) []guard.Rule {
	switch cause {
	case guard.CauseExpiry:
		return []guard.Rule{guard.RuleExpired}
	case guard.CauseBudget:
		return []guard.Rule{guard.RuleBudgetExceeded}
	case guard.CauseIdle:
		return judgements
	case guard.CauseEgress:
		return []guard.Rule{guard.RuleEgressSpike}
	case guard.CauseStopped:
		return []guard.Rule{guard.RuleStoppedBilling}
	case guard.CauseOrphan:
		return orphanList()
	}
	return nil
}

// Snoozed reports whether nothing is said of the subject that is not urgent.
func (f Facts) Snoozed() bool {
	return slices.ContainsFunc(f.Mutes, func(m guard.Mute) bool { return m.Kind == guard.Snooze && m.At(f.At) })
}

// mutesEnd is when the first mute in force ends; zero where there is none.
func (f Facts) mutesEnd() time.Time {
	var next time.Time
	for _, m := range f.Mutes {
		if m.At(f.At) {
			next = earliest(next, m.Until)
		}
	}
	return next
}

func (f Facts) vetoWord(v guard.Mute) string {
	word := f.say("the rule %s is vetoed until %s by %s", v.Rule, f.stamp(v.Until), f.orNone(v.By))
	if v.Reason != "" {
		word = f.say("%s: %s", word, v.Reason)
	}
	return word
}

// muteLines are the mutes in force, for people.
func (f Facts) muteLines() []string {
	var lines []string
	for _, m := range f.Mutes {
		switch {
		case !m.At(f.At):
		case m.Kind == guard.Veto:
			lines = append(lines, f.sentence(f.vetoWord(m)))
		case m.Kind == guard.Snooze:
			lines = append(lines, f.say("It is snoozed until %s by %s: only what is urgent is told, and each release.", f.stamp(m.Until), f.orNone(m.By)))
		}
	}
	return lines
}

// quiet is a limit under a veto that does not end soon: what is coming, or is due, is
// shown, and nothing is done about it. A grace before the veto ends the limit has its
// say again, so that people hear first.
func (l limit) quiet(r Rules, f Facts, v guard.Mute, lead time.Duration) Outcome {
	wakes := v.Until.Add(-f.grace(r))
	notice := l.due.Add(-lead)
	if f.At.Before(notice) {
		return Outcome{Next: earliest(notice, f.after(wakes))}
	}
	title := f.say("%s: %s at %s; guard does nothing about it until %s", f.name(), l.coming, f.stamp(l.at), f.stamp(v.Until))
	out := f.verdict(l.rule, f.began(notice))
	out.Vetoed = true
	out.Facts = append(out.Facts, f.limitFacts(r, l, v.Until)...)
	lines := append([]string{f.whose(f.Lease), f.sentence(f.vetoWord(v))}, f.costLines()...)
	next := wakes
	for _, w := range offsets(lead, l.warn) {
		at := l.due.Add(-w)
		if f.At.Before(at) {
			next = earliest(next, at)
			continue
		}
		out.Stages = append(out.Stages, Stage{Name: "warn " + span(w), Title: title, Lines: lines})
	}
	return Outcome{Verdicts: []Verdict{out}, Next: next}
}
