package policy_test

import (
	"strconv"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/activity"
)

// activity reads what samples have told: for each condition since when it holds, what
// of it was seen (all, where that is not said) and why. The newest sample is at "at", and tells
// everything but where it is "untold". What is usual is how long it lasts each
// time, where it comes and goes.
func (p fields) activity() *activity.State {
	interval := max(p.span("interval"), time.Second)
	if p["interval"] == "" {
		interval = time.Minute
	}
	at := p.time("at")
	s := activity.State{At: at, Heard: at, Interval: interval, Basis: guard.Basis(p.or("basis", "summary")), Source: p.or("source", "agent"),
		BootAt: p.time("booted"), Worked: p.time("worked"), Work: p["work"], Sort: activity.Quiet(p["sort"]), Held: p["held"] != ""}
	for name, x := range map[string]*activity.Span{"idle": &s.Idle, "gpus_quiet": &s.GPUsQuiet, "parked": &s.Parked, "hung": &s.Hung,
		"phantom": &s.Phantom, "underused": &s.Underused, "lost": &s.Lost} {
		if p[name] == "" {
			continue
		}
		*x = activity.Span{Since: p.time(name), End: at, Seen: at.Sub(p.time(name)), Why: p["why"],
			Turns: activity.Turns{Spells: [2]time.Duration{p.span("usual"), p.span("usual")}}}
		if seen := p.span("seen"); seen > 0 {
			x.Seen = seen
		}
	}
	s.Sorted = s.Idle.Since
	if p["sorted"] != "" {
		s.Sorted = p.time("sorted")
	}
	for _, n := range p.list("unused") {
		i, _ := strconv.Atoi(n)
		s.Unused = append(s.Unused, i)
	}
	for i := range s.Told {
		if p["untold"] == "" {
			s.Told[i] = at
		}
	}
	s.Came, _ = strconv.ParseFloat(p.or("came", "0"), 64)
	return &s
}

// judgement sets the times of a rule that guesses.
func (p fields) judgement(r *policy.Rules) {
	into := map[guard.Rule]*policy.Judgement{guard.RuleIdleEmpty: &r.IdleEmpty, guard.RuleIdleResident: &r.IdleResident, guard.RuleIdleBlind: &r.IdleBlind,
		guard.RuleParked: &r.Parked, guard.RuleHung: &r.Hung, guard.RuleUnderused: &r.Underused}
	*into[guard.Rule(p["rule"])] = policy.Judgement{Warn: p.span("warn"), Act: p.span("act"), Then: guard.Action(p.or("then", "stop"))}
}
