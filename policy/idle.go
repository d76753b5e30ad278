package policy

import (
	"guard"
	"guard/policy/activity"
)

// idleEmpty: nothing works on it and nothing is loaded.
func idleEmpty(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Empty, guess{Judgement: r.IdleEmpty, rule: guard.RuleIdleEmpty, what: f.say("idle"), how: f.say(", with nothing loaded")})
}

// idleResident: nothing works on it, and something is loaded.
func idleResident(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Resident, guess{Judgement: r.IdleResident, rule: guard.RuleIdleResident, what: f.say("idle"), how: f.say(", with something loaded")})
}

// idleBlind: nothing works on it as far as can be seen, and nobody tells what is loaded.
func idleBlind(r Rules, f Facts) Outcome {
	return idle(r, f, activity.Blind, guess{Judgement: r.IdleBlind, rule: guard.RuleIdleBlind, what: f.say("idle"), how: f.say(", and nobody tells what is loaded")})
}

// idle judges one sort of idle. What sort it is must have settled, but for what goes
// right at its beginning: as long as what is loaded comes and goes it counts as not
// known, and a stop that is planned waits. A person's hold counts as work.
func idle(r Rules, f Facts, sort activity.Quiet, g guess) Outcome {
	a, ok := f.sampled()
	if !ok || !a.Idle.On() {
		return Outcome{}
	}
	settled := a.Sorted.Add(settles)
	if early := a.Sorted.Sub(a.Idle.Since) <= leastQuiet; !early && f.At.Before(settled) {
		if sort != activity.Blind {
			return Outcome{Next: settled, Doubt: f.say("what is loaded on it has changed at %s (%s now)", f.stamp(a.Sorted), f.kept(string(a.Sort)))}
		}
		g.how = f.say(", and what is loaded comes and goes")
	} else if a.Sort != sort {
		return Outcome{Next: f.after(settled)} // what was found of this sort is over then
	}
	if f.Lease != nil {
		if held := f.Lease.HeldUntil(f.At); !held.IsZero() {
			return Outcome{Next: held}
		}
	}
	g.span = f.unheld(a.Idle)
	g.lines = f.window()
	if a.Held && sort == activity.Resident {
		g.how = f.say(", with memory held and no process alive that holds it")
	}
	g.wastes, _ = f.hourly()
	out := g.judge(r, f)
	out.Next = earliest(out.Next, f.after(settled))
	return out
}

// unheld is what counts of a condition: a hold that has ended began it anew.
func (f Facts) unheld(x activity.Span) activity.Span {
	if f.Lease == nil {
		return x
	}
	for _, h := range f.Lease.Holds {
		if h.Until.After(x.Since) && !h.Until.After(f.At) {
			x.Since, x.Seen = h.Until, max(0, min(x.Seen, x.End.Sub(h.Until)))
		}
	}
	return x
}

// idleSorts are the sorts of idle that rules are about.
var idleSorts = map[guard.Rule]activity.Quiet{guard.RuleIdleEmpty: activity.Empty, guard.RuleIdleResident: activity.Resident, guard.RuleIdleBlind: activity.Blind}

// quietLines is what samples show and how far the rule of its sort of idle has come.
func (f Facts) quietLines(r Rules) []string {
	a, ok := f.sampled()
	if !ok {
		return nil
	}
	lines := f.window()
	if a.Lost.On() {
		lines = append(lines, f.say("Its signals are lost since %s: %s.", f.stamp(a.Lost.Since), f.kept(a.Lost.Why)))
	}
	if warm, is := f.warm(r); !is {
		lines = append(lines, f.say("It has booted a while ago only: until %s nothing is called idle.", f.stamp(warm)))
	}
	for _, rule := range judgements {
		if idleSorts[rule] != a.Sort || !a.Idle.On() {
			continue
		}
		if r.Per[rule].Off {
			lines = append(lines, f.say("It is idle (%s), and the rule %s is off.", f.kept(string(a.Sort)), rule))
			continue
		}
		j, _ := r.Judgement(rule)
		g := guess{Judgement: j, rule: rule, what: f.kept(string(a.Sort)), span: f.unheld(a.Idle)}
		lines = append(lines, f.say("Rule %s: %s.", rule, g.arithmetic(r, f)))
	}
	return lines
}
