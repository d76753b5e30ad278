package policy

import (
	"slices"

	"guard"
)

// Ending is what becomes of an open finding that nothing calls for any more.
type Ending struct {
	// Stays: nothing says that it is over; it is only not seen now.
	Stays bool
	// Quiet: nobody needs to hear that it is over.
	Quiet bool
	// Why is what ended it, a sentence for people; "" where the end speaks for itself.
	Why string
}

// Ends tells whether an open finding of which the rules say nothing is over. What was
// judged by samples is over only when they say so: a hole in them, or too few of them,
// opens no second one afterwards.
func Ends(r Rules, f Facts, o guard.Finding) Ending {
	if orphanKind(o.Rule) != "" && f.Observed != nil {
		if g := f.Observed.Gone; g != nil {
			return Ending{Quiet: g.How == guard.ByRelease, Why: f.say("It is gone: %s.", f.howWord(g.How))}
		}
		if why := f.Needed(); why != "" {
			return Ending{Why: f.sentence(why)}
		}
	}
	if o.Rule == guard.RuleEgressSpike && f.live() {
		return Ending{Why: f.spikeEnds()}
	}
	switch o.Rule {
	case guard.RuleBalanceLow:
		return f.balanceEnds(r)
	case guard.RuleChargeMismatch:
		return f.billEnds(r)
	case guard.RuleProviderReclaim, guard.RuleRenewsSoon:
		return f.aheadEnds(o.Rule)
	}
	if o.Rule == guard.RuleScopeBlind && f.account() && f.unseen() {
		return Ending{Stays: r.Per[o.Rule].speaks(f)}
	}
	if slices.Contains(o.Said, comesAndGoes) {
		return Ending{Why: f.lastOutage(o.Rule)}
	}
	if !bySamples(o.Rule) || !f.live() {
		return Ending{Quiet: EndsQuietly(o)}
	}
	switch f.Observed.Resource.State {
	case guard.StateStopped, guard.StateStopping, guard.StateReleasing:
		return Ending{Quiet: true}
	}
	if per := r.Per[o.Rule]; per.Off || !per.Match.has(f) || Self(f.Observed.Resource, f.Account) || Foreign(f.Observed.Resource, f.Deployment) != "" {
		return Ending{Quiet: true}
	}
	a, ok := f.sampled()
	if !ok {
		return Ending{Stays: true}
	}
	if !a.BootAt.IsZero() && a.BootAt.After(o.Since) {
		return Ending{Why: f.say("It was started anew at %s.", f.stamp(a.BootAt))}
	}
	if o.Rule == guard.RuleSignalsLost {
		return Ending{Why: f.say("Its signals are back (%s).", f.orNone(a.Source))}
	}
	if idleSorts[o.Rule] != "" {
		return f.idleEnds(o)
	}
	var on, follows bool
	switch o.Rule {
	case guard.RuleParked:
		on, follows = a.Parked.On() || f.At.Before(f.pauses()), a.GPUsQuiet.On()
	case guard.RuleHung:
		on = a.Hung.On()
	case guard.RulePhantom:
		on = a.Phantom.On()
	case guard.RuleUnderused:
		on = a.Underused.On()
	}
	if on || !a.Fresh(f.At) {
		return Ending{Stays: true}
	}
	return Ending{Quiet: follows, Why: f.worksLine()}
}

// lastOutage is when what came and went was back for the last time.
func (f Facts) lastOutage(rule guard.Rule) string {
	past := f.Account.Outages
	if rule == guard.RuleScopeBlind {
		past = nil
		for _, s := range f.Scopes {
			past = append(past, s.Outages...)
		}
	}
	if len(past) == 0 {
		return ""
	}
	last := slices.MaxFunc(past, func(a, b guard.Outage) int { return a.Until.Compare(b.Until) })
	return f.say("The last outage was over at %s.", f.stamp(last.Until))
}

// idleEnds: idle is over when work was seen, when a person's hold says that it is in
// use, or when it has been of another sort for a while, which has a finding of its own.
// Of what is idle again, samples that stop coming end nothing.
func (f Facts) idleEnds(o guard.Finding) Ending {
	a := f.Activity
	switch {
	case f.Lease != nil && !f.Lease.HeldUntil(f.At).IsZero():
		return Ending{Quiet: true}
	case a.Worked.After(o.Since) && (!a.Idle.On() || a.Fresh(f.At)):
		return Ending{Why: f.worksLine()}
	case a.Idle.On() && idleSorts[o.Rule] != a.Sort && f.At.Sub(a.Sorted) >= settles:
		return Ending{Quiet: true}
	}
	return Ending{Stays: true}
}

// worksLine is what was last seen to work.
func (f Facts) worksLine() string {
	if a := f.Activity; a != nil && !a.Worked.IsZero() {
		return f.say("It works again: %s at %s.", f.kept(a.Work), f.stamp(a.Worked))
	}
	return ""
}

// Calmed is why nothing that was guessed calls for a stop any more.
func (f Facts) Calmed() string {
	a, ok := f.sampled()
	switch {
	case f.Release != nil && f.Release.Cause == guard.CauseEgress:
		return f.say("its traffic is down")
	case f.Activity == nil:
		return f.say("nothing tells any more whether it works")
	case ok && !a.Idle.On() && !a.Worked.IsZero():
		return f.say("it works again: %s at %s", f.kept(a.Work), f.stamp(a.Worked))
	case ok && !a.Idle.On() && len(a.Doubts) > 0:
		return f.say("whether it is idle cannot be told: %s", f.kept(a.Doubts[0]))
	case ok && f.Release != nil && a.Idle.Since.After(f.Release.PlannedAt):
		return f.say("it is quiet only since %s", f.stamp(a.Idle.Since))
	}
	return f.say("nothing calls for it any more")
}

// bySamples reports a rule that goes by an instance's samples.
func bySamples(rule guard.Rule) bool {
	_, judged := Rules{}.Judgement(rule)
	return judged || rule == guard.RulePhantom || rule == guard.RuleSignalsLost
}
