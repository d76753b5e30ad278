package decide

import (
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/release"
	"guard/policy/say"
)

// moved is how far a due time must move for people to be told.
const moved = 5 * time.Minute

// plan makes, moves or withdraws the release of a resource as its limits say. The
// release under way and the one that a person ordered are left alone, but for
// the notice of the latter.
func (l *Loop) plan(f policy.Facts, out policy.Outcome, open []guard.Finding, stages map[guard.Rule]string, c *change) {
	act := out.Act()
	switch r := f.Release; {
	case r == nil && act == nil:
	case r == nil:
		if f.Observed == nil || !f.Observed.Live() {
			return
		}
		n := release.New(*f.Observed, f.Lease, act.Action, act.Cause, "guard", act.Why, act.Due, act.Stood, f.At)
		c.entries = append(c.entries, guard.JournalEntry{At: f.At, Who: "guard", Verb: string(guard.ReleasePlanned), Subject: n.Target.String(),
			Lease: n.Lease, Text: fmt.Sprintf("due at %s: %s", policy.Stamp(n.Due, l.Zone), n.Why), Data: map[string]string{"release": n.ID, "cause": string(n.Cause)}})
		l.notice(f, n, out, open, stages, c)
	case r.State == guard.ReleasePlanned && r.Cause == guard.CausePerson:
		said := release.Ordered(*r, l.scene(f))
		c.told = append(c.told, told{cause: r.ID, stage: said.Stage, message: said.Message(*r, "", f.At)})
		n := *r
		n.Notice = r.ID + "|" + said.Stage
		l.step(f, n, release.Input{At: f.At, Configured: true, Noticed: true}, c)
	case r.Cause == guard.CausePerson:
	case r.State != guard.ReleasePlanned && r.State != guard.ReleaseNoticed && r.State != guard.ReleaseBlocked:
	case act == nil && r.Cause.Judgement() && out.Doubt != "" && f.Observed != nil && f.Observed.Live():
		// It waits, and is judged before its call.
	case act == nil:
		l.withdraw(f, *r, c)
	default:
		l.adjust(f, *r, *act, out, open, stages, c)
	}
}

// barred says again that a release is blocked, once a limit that came due later
// than that was told is not kept for it.
func (l *Loop) barred(f policy.Facts, out policy.Outcome, open []guard.Finding, c *change) {
	act := out.Act()
	if f.Release == nil || f.Release.State != guard.ReleaseBlocked || act == nil || act.Due.After(f.At) {
		return
	}
	i := slices.IndexFunc(open, func(o guard.Finding) bool { return o.Rule == guard.RuleReleaseBlocked })
	stage := "due " + string(act.Cause)
	if i < 0 || !open[i].Opened.Before(act.Due.Add(-l.grace(f))) || slices.Contains(open[i].Said, stage) {
		return
	}
	o := open[i]
	o.Said = append(slices.Clone(o.Said), stage)
	c.put = append(c.put, o)
	r := *f.Release
	r.Due, r.Why = act.Due, act.Why
	c.told = append(c.told, told{cause: o.ID, stage: stage, message: release.Blocked(r, l.scene(f)).Message(r, o.ID, f.At)})
	c.entries = append(c.entries, entry(f, "told", o.Rule, o.Title))
}

// step moves a release and records what happened.
func (l *Loop) step(f policy.Facts, r guard.Release, in release.Input, c *change) guard.Release {
	o := release.Step(r, in)
	moves(f, o, c)
	c.release = &o.Release
	return o.Release
}

// withdraw ends a release that no limit calls for any more.
func (l *Loop) withdraw(f policy.Facts, r guard.Release, c *change) {
	why := say.In(f.Lang, "no limit calls for it any more")
	in := release.Input{At: f.At, Configured: true}
	switch {
	case f.Observed != nil && !f.Observed.Live() && r.Attempt > 0:
		return // the release loop has the proof of what it did
	case f.Observed != nil && !f.Observed.Live():
		why, in.Look = say.In(f.Lang, "it is gone already"), release.Look{Found: release.Ended, At: f.At}
	case f.Mode != guard.Enforce:
		why = say.In(f.Lang, "the account is in observe mode")
	case r.Cause == guard.CauseOrphan:
		why = f.Wanted()
	case f.Lease == nil || !f.Lease.Status.Open():
		why = say.In(f.Lang, "its lease has ended")
	case f.Lease.Protected:
		why = say.In(f.Lang, "it is protected")
	case !f.Lease.HeldUntil(f.At).IsZero():
		why = say.In(f.Lang, "it is held until %s", policy.Stamp(f.Lease.HeldUntil(f.At), l.Zone))
	case f.Vetoed(r.Cause) != "":
		why = f.Vetoed(r.Cause)
	case r.Cause.Stops():
		why = f.Calmed()
	case r.Cause == guard.CauseStopped && f.Observed != nil && !policy.StandsStill(f.Observed.Resource):
		why = say.In(f.Lang, "it runs again")
	case f.Lease.UpdatedAt.After(r.PlannedAt):
		why = say.In(f.Lang, "its limits were changed by %s", f.Lease.UpdatedBy)
	}
	in.Judged = release.Judgement{Standing: release.Void, Why: why}
	o := release.Step(r, in)
	if len(o.Moves) == 0 {
		return
	}
	moves(f, o, c)
	c.release = &o.Release
	if o.Release.State == guard.ReleaseWithdrawn {
		said := release.Withdrawn(o.Release, why, l.scene(f))
		if l.overToo(f, r, said, c) {
			return
		}
		c.told = append(c.told, told{cause: r.ID, stage: said.Stage, message: said.Message(o.Release, "", f.At)})
	}
}

// overToo says of a guess that is over that its stop is, too: to people it is one thing.
// False where nothing is said of its end.
func (l *Loop) overToo(f policy.Facts, r guard.Release, said release.Said, c *change) bool {
	for _, o := range c.closed {
		if !r.Cause.Stops() || !slices.Contains(policy.Asking(r.Cause), o.Rule) {
			continue
		}
		if i := slices.IndexFunc(c.told, func(t told) bool { return t.cause == o.ID && t.stage == policy.StageOver }); i >= 0 {
			over := policy.Over(o, f.At, l.Zone, f.Lang)
			over.Release, over.Title, over.Lines = r.ID, said.Title, append([]string{over.Title + "."}, over.Lines...)
			c.told[i].message = over
			return true
		}
	}
	return false
}

// notice queues the notice of a release and moves it to noticed. What was just
// said of its finding is the notice; where nothing new was said, it is said again.
func (l *Loop) notice(f policy.Facts, r guard.Release, out policy.Outcome, open []guard.Finding, stages map[guard.Rule]string, c *change) {
	v := verdictOf(out)
	if v == nil {
		return
	}
	finding, ok := findingOf(v.Rule, c.put, open)
	if !ok {
		return
	}
	stage, said := stages[v.Rule]
	if !said {
		last := v.Stages[len(v.Stages)-1]
		stage = since("notice", f.At)
		c.told = append(c.told, told{cause: finding.ID, stage: stage, message: policy.Told(finding, last, f.At)})
	}
	for i := range c.told {
		if c.told[i].cause == finding.ID && c.told[i].stage == stage {
			c.told[i].message.Release = r.ID
		}
	}
	r.Notice = finding.ID + "|" + stage
	if r.State == guard.ReleasePlanned {
		l.step(f, r, release.Input{At: f.At, Configured: true, Noticed: true}, c)
		return
	}
	r.NoticedAt = f.At
	c.release = &r
}

// adjust brings an open release in line with the limit that is due first now.
func (l *Loop) adjust(f policy.Facts, r guard.Release, act policy.Act, out policy.Outcome, open []guard.Finding, stages map[guard.Rule]string, c *change) {
	n := r
	n.Action, n.Cause, n.Why, n.Stood, n.Due = act.Action, act.Cause, act.Why, act.Stood, act.Due
	// Past its limit, it may wait for its notice to be acknowledged. What is due later
	// than such a wait was put off by something else, a hold that has ended.
	waits := act.Cause == guard.CauseExpiry && r.Cause == act.Cause && !f.At.Before(act.Due) &&
		!r.Due.Before(act.Due) && r.Due.Sub(f.At) <= ackWait && r.Due.Sub(act.Due) <= l.grace(f)
	waits = waits || act.Cause.Judgement() && r.Cause == act.Cause && !f.At.Before(act.Due) && !r.Due.Before(act.Due) && r.Due.Sub(f.At) <= ackWait
	if waits {
		n.Due = r.Due
	}
	// It gets fresh notice, or was given it by a time that was put back since.
	stale := r.Due.Before(f.Account.FreshFrom) && act.Due.After(f.At) || r.NoticedAt.After(f.At)
	switch {
	case r.State == guard.ReleasePlanned, stale:
		l.notice(f, n, out, open, stages, c)
		return
	case n.Cause != r.Cause:
		l.notice(f, n, out, open, stages, c)
	case !n.Due.Equal(r.Due), n.Action != r.Action, n.Why != r.Why, !n.Stood.Equal(r.Stood):
		c.release = &n
	default:
		return
	}
	if n.Due.Equal(r.Due) && n.Action == r.Action {
		return
	}
	c.entries = append(c.entries, guard.JournalEntry{At: f.At, Who: "guard", Verb: "moved", Subject: n.Target.String(), Lease: n.Lease,
		Text: fmt.Sprintf("due at %s instead of %s: %s", policy.Stamp(n.Due, l.Zone), policy.Stamp(r.Due, l.Zone), n.Why), Data: map[string]string{"release": n.ID}})
	was := policy.Stamp(r.Due, l.Zone)
	due, title := n.Due, say.In(f.Lang, "%s: now due at %s, not at %s", n.Target, policy.Stamp(n.Due, l.Zone), was)
	if !due.After(f.At) {
		due, title = f.At, say.In(f.Lang, "%s: due now, not at %s", n.Target, was) // what put it off is over
	}
	if n.Cause == r.Cause && due.Sub(r.Due).Abs() >= moved {
		c.told = append(c.told, told{cause: n.ID, stage: since("moved", n.Due), message: guard.Message{Thread: n.Target.Key(),
			About: []guard.ResourceID{n.Target}, Release: n.ID, CreatedAt: f.At, Title: title}})
	}
}

func (l *Loop) grace(f policy.Facts) time.Duration {
	if f.Lease != nil && f.Lease.Grace > 0 {
		return f.Lease.Grace
	}
	return l.Rules.Defaults.Grace
}

func (l *Loop) scene(f policy.Facts) release.Scene {
	s := release.Scene{Zone: l.Zone, Lang: f.Lang, ByHand: f.ByHand}
	if f.Lease != nil {
		s.Purpose = f.Lease.Purpose
	}
	if f.Observed != nil {
		s.Hourly, _ = f.Observed.Resource.BillingRate().Hourly()
	}
	return s
}

// verdictOf is the verdict that calls for what is due first.
func verdictOf(out policy.Outcome) *policy.Verdict {
	act := out.Act()
	for i, v := range out.Verdicts {
		if v.Act != nil && v.Act == act {
			return &out.Verdicts[i]
		}
	}
	return nil
}

func findingOf(rule guard.Rule, sets ...[]guard.Finding) (guard.Finding, bool) {
	for _, fs := range sets {
		if i := slices.IndexFunc(fs, func(f guard.Finding) bool { return f.Rule == rule }); i >= 0 {
			return fs[i], true
		}
	}
	return guard.Finding{}, false
}
