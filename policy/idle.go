package policy

import (
	"fmt"
	"time"

	"guard"
	"guard/policy/activity"
)

// idleEmpty: nothing works on it and nothing is loaded.
func idleEmpty(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Empty, guess{Judgement: r.IdleEmpty, rule: guard.RuleIdleEmpty, what: "idle, and nothing is loaded", word: "empty"})
}

// idleResident: nothing works on it, and something is loaded.
func idleResident(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Resident, guess{Judgement: r.IdleResident, rule: guard.RuleIdleResident, what: "idle, with something loaded", word: "idle with something loaded"})
}

// idleBlind: nothing works on it as far as can be seen, and nobody tells what is loaded.
func idleBlind(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Blind, guess{Judgement: r.IdleBlind, rule: guard.RuleIdleBlind, what: "idle, as far as can be seen", word: "idle as far as can be seen"})
}

// idle judges one sort of idle. A person's hold counts as work.
func idle(r Rules, f Facts, sort activity.Quiet, g guess) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Idle.On() {
		return Outcome{}
	}
	if a.Sort != sort {
		return Outcome{Next: f.after(a.Sorted.Add(settles))}
	}
	if f.Lease != nil {
		if held := f.Lease.HeldUntil(f.At); !held.IsZero() {
			return Outcome{Next: held}
		}
	}
	g.span, g.since, g.sorted = a.Idle, f.unheld(a.Idle.Since), a.Sorted
	g.lines = append([]string{f.workLine()}, a.Lines(f.At, f.Zone)...)
	if a.Held && sort == activity.Resident {
		g.what = "idle, with memory held by processes that are dead"
	}
	g.wastes, _ = f.hourly()
	return g.judge(r, f)
}

// unheld is since when a condition counts: a hold that has ended began it anew.
func (f Facts) unheld(since time.Time) time.Time {
	if f.Lease == nil {
		return since
	}
	for _, h := range f.Lease.Holds {
		if h.Until.After(since) && !h.Until.After(f.At) {
			since = h.Until
		}
	}
	return since
}

// idleSorts are the sorts of idle that rules are about.
var idleSorts = map[guard.Rule]activity.Quiet{guard.RuleIdleEmpty: activity.Empty, guard.RuleIdleResident: activity.Resident, guard.RuleIdleBlind: activity.Blind}

// quietLines is how long the rules of its sort of idle still wait, for people.
func (f Facts) quietLines(r Rules) []string {
	a, ok := f.sampled()
	if !ok {
		return nil
	}
	lines := a.Lines(f.At, f.Zone)
	if lost := a.Lost; lost.On() {
		lines = append(lines, fmt.Sprintf("Its signals are lost since %s: %s.", f.stamp(lost.Since), lost.Why))
	}
	if !a.Idle.On() {
		return append(lines, f.workLine())
	}
	for _, rule := range judgements {
		if sort := idleSorts[rule]; sort != "" && sort == a.Sort {
			j, _ := r.Judgement(rule)
			g := guess{Judgement: j, rule: rule, word: string(sort), span: a.Idle, since: f.unheld(a.Idle.Since)}
			lines = append(lines, fmt.Sprintf("Rule %s: %s.", rule, g.arithmetic(r, f)))
			if r.Per[rule].Off {
				lines = append(lines, fmt.Sprintf("Rule %s is off.", rule))
			}
		}
	}
	return lines
}
