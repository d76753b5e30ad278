package policy

import (
	"fmt"
	"math/big"
	"time"

	"guard"
	"guard/policy/activity"
)

// Judgement is a rule that guesses from what an instance's samples tell: a guess may
// stop, and never releases (law 6).
type Judgement struct {
	// Warn and Act count from when the condition began: when people are told, and when
	// Then is done. An Act before Warn is the notice after it.
	Warn, Act time.Duration
	Then      guard.Action // alert or stop
}

// act is when Then is done, with so much notice.
func (j Judgement) act(grace time.Duration) time.Duration {
	switch {
	case j.Act >= j.Warn:
		return j.Act
	case j.Then == guard.ActStop:
		return j.Warn + grace
	}
	return j.Warn
}

const (
	// leastQuiet is what is never worth a notice, however long the grace is that a stop
	// wants before it.
	leastQuiet = 10 * time.Minute
	// settles is how long another sort of idle lasts before it counts, and the finding of
	// the one before is over.
	settles = 30 * time.Minute
	// again is how soon what cannot be judged, or is about to be, is looked at again.
	again = time.Minute
	soon  = 10 * time.Second
	// coarse is how far apart single readings never justify a stop, whatever else is told
	// of the time between them.
	coarse = 5 * time.Minute
)

// judgements are the rules that are judged by an instance's samples and may stop it, in
// the order in which people read them.
var judgements = []guard.Rule{guard.RuleIdleEmpty, guard.RuleIdleResident, guard.RuleIdleBlind, guard.RuleParked, guard.RuleHung, guard.RuleUnderused}

// Judgement is the configuration of a rule that guesses; false for any other rule.
func (r Rules) Judgement(name guard.Rule) (Judgement, bool) {
	switch name {
	case guard.RuleIdleEmpty:
		return r.IdleEmpty, true
	case guard.RuleIdleResident:
		return r.IdleResident, true
	case guard.RuleIdleBlind:
		return r.IdleBlind, true
	case guard.RuleParked:
		return r.Parked, true
	case guard.RuleHung:
		return r.Hung, true
	case guard.RuleUnderused:
		return r.Underused, true
	}
	return Judgement{}, false
}

// guess is one condition that holds, before anything puts off what is done about it.
type guess struct {
	Judgement
	rule guard.Rule
	// span is the condition, from when it counts.
	span activity.Span
	// patchy: it is a sum of stretches, so that it need not be seen as a whole.
	patchy bool
	// what it is, as in "idle since 13:00, with nothing loaded", of which how is the end.
	what, how string
	lines     []string
	wastes    guard.Money
}

// sampled is what is known of how hard an instance works, where that is to be judged:
// it runs, and it is neither guard's own machine nor another guard's.
func (f Facts) sampled() (activity.State, bool) {
	o := f.Observed
	if f.Activity == nil || !f.live() || o.Resource.ID.Kind != guard.Instance || o.Resource.State != guard.StateRunning ||
		Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return activity.State{}, false
	}
	return *f.Activity, true
}

// warm reports whether a box has run for as long as nothing on it is called idle, and
// when it will have.
func (f Facts) warm(r Rules) (at time.Time, is bool) {
	a, box := f.Activity, activity.Box{Created: f.Observed.Resource.Created, Running: true}
	up := a.BootAt
	switch {
	case box.Created.After(up):
		up = box.Created
	case up.IsZero():
		up = a.From
	}
	return up.Add(r.Busy.Boot), a.Ready(f.At, r.Busy, box)
}

// doubt is why a condition cannot be judged by an instance's samples now; "" where it
// can. An open finding stays as it is meanwhile, and a stop waits.
func (g guess) doubt(r Rules, f Facts) string {
	a := f.Activity
	if !a.Fresh(f.At) {
		return f.say("the newest sample that tells something is of %s, and they should come each %s", f.stamp(a.At), f.duration(a.Interval))
	}
	if seen := a.Covered(g.span); seen < r.Busy.Coverage && !g.patchy {
		return f.say("only %.0f %% of the time since %s was seen, and %.0f %% must be", 100*seen, f.stamp(g.span.Since), 100*r.Busy.Coverage)
	}
	return ""
}

// action is what a guess does to the instance, and why it does less than the rule asks
// for, where it does.
func (g guess) action(r Rules, f Facts) (guard.Action, string) {
	if g.Then != guard.ActStop {
		return guard.ActAlert, ""
	}
	if why := f.onlyTells(r); why != "" {
		return guard.ActAlert, why
	}
	switch {
	case !f.Activity.Confident():
		return guard.ActAlert, f.say("%s, so guard only tells", f.kept(f.Activity.Doubt()))
	case f.Activity.Basis == guard.Instantaneous && f.Activity.Interval >= coarse:
		return guard.ActAlert, f.say("low confidence: single readings %s apart prove nothing, so guard only tells", f.span(f.Activity.Interval))
	}
	return f.stopped()
}

// onlyTells is why a guess does nothing to an instance, whatever the guess is; "" where
// it may.
func (f Facts) onlyTells(r Rules) string {
	if why := f.Untouchable(); why != "" {
		return f.say("guard never touches it: %s", why)
	}
	if p := f.Protection(r); p.On {
		return f.say("it is protected, so guard only tells: %s", p.Why)
	}
	switch {
	case f.Lease == nil || !f.Lease.Status.Open():
		return f.say("nobody registered it, so guard only tells")
	case f.Lease.OnLimit == guard.ActAlert:
		return f.say("its on_limit is alert, so guard only tells")
	}
	return ""
}

// judge turns a guess into a verdict: told at its warning, acted on when due. What is
// not long enough, or not seen well enough, is none. Only time that was seen counts.
func (g guess) judge(r Rules, f Facts) Outcome {
	if warm, is := f.warm(r); !is {
		return Outcome{Next: f.after(warm)}
	}
	action, why := g.action(r, f)
	grace := f.noticeOf(r, g.rule)
	tell := g.tellAfter(f, grace, action)
	told, is := f.Activity.Reached(g.span, tell, f.At)
	if !is {
		return Outcome{Next: f.later(told)}
	}
	if doubt := g.doubt(r, f); doubt != "" {
		return Outcome{Next: f.At.Add(again), Doubt: doubt}
	}
	enforce := action == guard.ActStop && f.Mode == guard.Enforce
	due := g.due(f, grace, enforce)
	var next time.Time
	veto := f.vetoed(g.rule)
	if veto != nil && f.At.Before(veto.Until.Add(-grace)) {
		enforce = false
		next = veto.Until.Add(-grace)
	}
	v := f.verdict(g.rule, g.span.Since)
	v.Wastes, v.Vetoed = g.wastes, veto != nil && !enforce && action == guard.ActStop
	v.Facts = append(v.Facts, g.facts(r, f, due, action)...)
	lines := g.tell(f, due, action, why, veto)
	title := f.entitled(g.since(f))
	if enforce {
		title = f.say("%s; guard will stop it at %s", title, f.stamp(due))
	}
	v.Stages = []Stage{{Name: "warn", Title: title, Lines: lines}}
	if !f.At.Before(due) && !enforce && veto == nil {
		switch {
		case action == guard.ActStop:
			v.Stages = append(v.Stages, Stage{Name: "would stop", Title: f.say("%s: would stop now: %s", f.name(), g.since(f)), Lines: lines})
		case g.act(grace) > g.Warn:
			v.Stages = append(v.Stages, Stage{Name: "act", Title: f.say("%s: %s for %s%s", f.name(), g.what, f.span(g.act(grace)), g.how), Lines: lines})
		}
	}
	if enforce {
		v.Act = &Act{Action: guard.ActStop, Cause: guard.CauseIdle, Due: due, Notice: told, Limit: due, Grace: grace,
			Why: g.since(f)}
	}
	if f.At.Before(due) {
		next = earliest(next, f.later(due))
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// tellAfter is how long the condition lasts before people are told. What comes and goes
// is told once it has lasted half as long again as it does each time, so that nobody hears
// of each: but no later than notice of its stop must be given, or than it is acted on.
func (g guess) tellAfter(f Facts, grace time.Duration, action guard.Action) time.Duration {
	tell, last := g.Warn, g.act(grace)
	if action == guard.ActStop {
		// Grace counts back from the stop.
		last = max(last-grace, min(g.Warn, leastQuiet))
		tell = min(tell, last)
	}
	if f.noticed() {
		return tell // what was said stands
	}
	late := outlasts(g.span.Usual())
	if g.Act > g.Warn || action == guard.ActStop {
		late = min(late, last)
	}
	return max(tell, late)
}

// outlasts is how long what comes and goes must last to be news, by how long it usually
// does; zero where it does not.
func outlasts(usual time.Duration) time.Duration { return usual + usual/2 }

// since is the condition and when it began, in words.
func (g guess) since(f Facts) string {
	return f.say("%s since %s%s", g.what, f.stamp(g.span.Since), g.how)
}

// later is a moment to judge again, which may be moments away: samples come late.
func (f Facts) later(t time.Time) time.Time {
	if least := f.At.Add(soon); t.Before(least) {
		return least
	}
	return t
}

// due is when a stop is due: after its time, after notice that people took in, after a
// veto and, where guard was away, after fresh notice (law 8).
func (g guess) due(f Facts, grace time.Duration, acts bool) time.Time {
	due, _ := f.Activity.Reached(g.span, g.act(grace), f.At)
	if v := f.vetoed(g.rule); v != nil && v.Until.After(due) {
		due = v.Until
	}
	if !acts {
		return due
	}
	return f.afterNotice(due, grace)
}

// afterNotice is when what was guessed is done: at due, but not before people took the
// notice in the grace ago and, where guard was away, not before fresh notice (law 8).
func (f Facts) afterNotice(due time.Time, grace time.Duration) time.Time {
	noticed := f.At
	if f.noticed() && f.Release.Cause.Judgement() {
		noticed = f.Release.NoticedAt
		if f.Heard.After(noticed) {
			noticed = f.Heard
		}
	}
	if t := noticed.Add(grace); t.After(due) {
		due = t
	}
	if fresh := f.Account.FreshFrom; !fresh.IsZero() {
		if t := fresh.Add(max(grace, freshNotice)); t.After(due) {
			due = t
		}
	}
	return due
}

// noticeOf is how long before a rule does something people are told.
func (f Facts) noticeOf(r Rules, rule guard.Rule) time.Duration {
	if g := r.Per[rule].Grace; g > 0 {
		return g
	}
	return f.grace(r)
}

// tell is what stands below the title: whose it is, what is known, what it costs, what
// happens and how to keep it.
func (g guess) tell(f Facts, due time.Time, action guard.Action, why string, veto *guard.Mute) []string {
	var lines []string
	if f.Lease != nil {
		lines = append(lines, f.whose(f.Lease))
	}
	lines = append(lines, g.lines...)
	if g.wastes.IsSet() {
		lines = append(lines, f.say("Wasted: %s per hour.", g.wastes.Round()))
	} else {
		lines = append(lines, f.say("What is wasted is not known: its price is not."))
	}
	switch {
	case action == guard.ActAlert && why != "":
		return append(lines, f.sentence(why))
	case action == guard.ActAlert && idleSorts[g.rule] == "":
		return append(lines, f.say("guard only tells."))
	case action == guard.ActAlert:
		return append(lines, f.say("guard only tells. If nobody needs it: guard release %s", f.Resource()))
	}
	return append(lines, f.stopLines(g.rule, due, veto)...)
}

// stopLines say what becomes of a stop that a guess asks for, and how to keep it from
// being.
func (f Facts) stopLines(rule guard.Rule, due time.Time, veto *guard.Mute) []string {
	switch {
	case veto != nil:
		return []string{f.sentence(f.vetoWord(*veto))}
	case f.Mode != guard.Enforce && !f.At.Before(due):
		return []string{f.observed()}
	case f.Mode != guard.Enforce:
		return []string{f.say("The account is in observe mode: guard will not stop it at %s.", f.stamp(due))}
	}
	id := f.Resource()
	return []string{f.say("If nothing changes until then, guard stops it at %s, once somebody was told. A stop keeps its disks, and they go on billing.", f.stamp(due)),
		f.say("To keep it running: guard hold %s --for 4h, or guard veto %s %s", id, id, rule)}
}

// observed is what becomes in observe mode of what is due.
func (f Facts) observed() string {
	return f.say("The account is in observe mode, so guard does nothing. It goes on billing.")
}

// facts are the arithmetic of a guess.
func (g guess) facts(r Rules, f Facts, due time.Time, action guard.Action) []guard.Fact {
	a := f.Activity
	facts := []guard.Fact{
		{Name: "condition", Value: fmt.Sprintf("%s; %.0f %% of it seen", g.since(f), 100*a.Covered(g.span)), Source: a.Source, At: a.At},
		{Name: "rule", Value: g.arithmetic(r, f), Source: "rule " + string(g.rule), At: f.At},
	}
	if action == guard.ActStop {
		facts = append(facts, guard.Fact{Name: "due", Value: f.stamp(due), Source: "rule " + string(g.rule), At: f.At})
	}
	return facts
}

// arithmetic is how far a condition has come, and what the rule waits for.
func (g guess) arithmetic(r Rules, f Facts) string {
	long := f.say("less than a minute")
	if g.span.Seen >= time.Minute {
		long = f.span(g.span.Seen.Truncate(time.Minute))
	}
	action, why := g.action(r, f)
	tell := g.tellAfter(f, f.noticeOf(r, g.rule), action)
	then := f.say("people are told after %s", f.span(tell.Truncate(time.Second)))
	if tell > g.Warn {
		why := f.say("it comes and goes, each time for %s", f.span(g.span.Usual()))
		if idleSorts[g.rule] != "" {
			why = f.say("work comes in bursts after pauses of %s", f.span(g.span.Usual()))
		}
		then = f.say("%s, not %s, because %s", then, f.span(g.Warn), why)
	}
	switch {
	case action == guard.ActStop && f.Mode == guard.Enforce:
		then = f.say("%s, and %s stop it", then, f.span(g.act(f.noticeOf(r, g.rule))))
	case action == guard.ActStop:
		then = f.say("%s, and %s would stop it outside of observe mode", then, f.span(g.act(f.noticeOf(r, g.rule))))
	case why != "":
		then = f.say("%s; %s", then, why)
	}
	return f.say("%s for %s that were seen; %s (%s); %.0f %% of it was seen, and %.0f %% must be", g.what+g.how, long, then, g.origin(f), 100*f.Activity.Covered(g.span), 100*r.Busy.Coverage)
}

// origin says whether the times are the documented ones.
func (g guess) origin(f Facts) string {
	if was, _ := DefaultRules().Judgement(g.rule); was == g.Judgement {
		return f.say("by default")
	}
	return f.say("as configured")
}

// part is so many n-ths of an amount; unset where that is not known.
func part(m guard.Money, k, n int) guard.Money {
	if !m.IsSet() || n <= 0 {
		return guard.Money{}
	}
	out, err := guard.MoneyFromRat(new(big.Rat).Mul(m.Rat(), big.NewRat(int64(min(k, n)), int64(n))), m.Currency())
	if err != nil {
		return guard.Money{}
	}
	return out
}

// window is what samples show, in sentences.
func (f Facts) window() []string {
	var lines []string
	for _, l := range f.Activity.Lines(f.At, f.Zone, f.Lang) {
		lines = append(lines, f.sentence(l))
	}
	if f.Activity.Worked.IsZero() {
		lines = append(lines, f.say("No work was seen on it yet."))
	}
	return lines
}
