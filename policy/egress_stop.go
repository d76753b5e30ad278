package policy

import (
	"strings"
	"time"

	"guard"
)

// unheard is how old the newest reading may be that traffic is stopped by; where readings
// are far apart it is three times that, up to longUnheard.
const (
	unheard     = 30 * time.Minute
	longUnheard = 3 * time.Hour
)

// action is what is done about a spike beside telling of it, and why it is less than the
// rule asks for, where it is. Bytes that nobody has a price for stop nothing.
func (s spike) action() (guard.Action, string) {
	f := s.f
	if s.r.EgressSpike.Then != guard.ActStop {
		return guard.ActAlert, ""
	}
	if why := f.onlyTells(s.r); why != "" {
		return guard.ActAlert, why
	}
	if held := f.Lease.HeldUntil(f.At); !held.IsZero() {
		return guard.ActAlert, f.say("it is held until %s", f.stamp(held))
	}
	if !s.known && (!s.bounded || !s.r.Budget.EgressAtMost) {
		return guard.ActAlert, f.say("what its traffic costs is not known, so guard only tells")
	}
	return f.stopped()
}

// act adds to a verdict what is done about the spike: told first, and done after the
// grace, if it goes on. The traffic of within is what was told of.
func (s spike) act(v Verdict, within time.Duration) Outcome {
	f, rule := s.f, guard.RuleEgressSpike
	action, why := s.action()
	out := Outcome{Verdicts: []Verdict{v}}
	if action != guard.ActStop {
		line := f.say("guard only tells.")
		if why != "" {
			line = f.sentence(why)
		}
		out.add(line)
		if f.Lease != nil {
			out.Next = f.after(f.Lease.HeldUntil(f.At))
		}
		return out
	}
	grace := f.noticeOf(s.r, rule)
	due := v.Since.Add(max(s.r.EgressSpike.Act, within+grace))
	veto, enforce := f.vetoed(rule), f.Mode == guard.Enforce
	if veto != nil {
		due = latest(due, veto.Until)
		if wakes := veto.Until.Add(-grace); f.At.Before(wakes) {
			enforce, out.Next = false, wakes
		}
	}
	if enforce {
		due = f.afterNotice(v.Since.Add(s.r.EgressSpike.Act), grace)
		if veto != nil {
			due = latest(due, veto.Until)
		}
	}
	on := s.goesOn(within)
	if on {
		out.add(f.stopLines(rule, due, veto)...)
	} else {
		out.add(f.say("It sends little just now, so guard does not stop it."))
	}
	at := &out.Verdicts[0]
	at.Vetoed = veto != nil && !enforce
	at.Facts = append(at.Facts, guard.Fact{Name: "due", Value: f.stamp(due), Source: "rule " + string(rule), At: f.At})
	last := at.Stages[len(at.Stages)-1]
	switch {
	case enforce && f.At.Sub(f.Egress.At) > min(max(unheard, 3*f.Egress.Lag), longUnheard):
		out.Doubt = f.say("the newest reading of its traffic is of %s", f.stamp(f.Egress.At))
		out.Next = earliest(out.Next, f.At.Add(again))
	case !on:
		if f.Release != nil {
			out.Doubt = f.say("it sends little just now") // in a pause a stop waits, until the spike is over
		}
	case enforce:
		at.Stages[len(at.Stages)-1].Title = f.say("%s; guard will stop it at %s", last.Title, f.stamp(due))
		at.Act = &Act{Action: guard.ActStop, Cause: guard.CauseEgress, Due: due, Notice: v.Since.Add(within), Limit: due, Grace: grace,
			Why: f.say("it sends far more than usual since %s", f.stamp(v.Since))}
	case veto == nil && !f.At.Before(due):
		at.Stages = append(at.Stages, Stage{Name: "would stop", Title: f.say("%s: would stop now: %s", f.name(), strings.TrimPrefix(last.Title, f.entitled(""))), Lines: last.Lines})
	}
	if f.At.Before(due) {
		out.Next = earliest(out.Next, f.later(due))
	}
	return out
}

// goesOn reports whether it still sends at half of what makes a limit or more: what was
// sent in one go and is over needs no stop, although an hour has cost so much.
func (s spike) goesOn(within time.Duration) bool {
	if within == time.Hour {
		return s.Quarter >= s.hour/8
	}
	return s.Quarter >= s.day/(24*8)
}

// add adds lines below the title of the only verdict's only stage.
func (o *Outcome) add(lines ...string) {
	stage := &o.Verdicts[0].Stages[0]
	stage.Lines = append(stage.Lines, lines...)
}
