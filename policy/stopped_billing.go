package policy

import (
	"slices"
	"strings"
	"time"

	"guard"
)

// StoppedBilling is about instances that do not run and go on billing.
type StoppedBilling struct {
	// Warn counts from when it stopped; Act, where Then is release, too.
	Warn, Act time.Duration
	Then      guard.Action // alert or release
}

const (
	// nothingSaved is when people hear of a stop that saves nothing, for whoever stopped
	// it thinks that it is over: what only disks cost has the rule's own time.
	nothingSaved = 30 * time.Minute
	// emptied is when they hear of what the platform itself has stopped, mostly because
	// there is no money: it goes on billing all the same.
	emptied = time.Hour
)

// pausedWords are states of providers in which an instance does not work and bills; their
// adapters have no word of ours for them.
var pausedWords = []string{"frozen", "paused", "suspended", "hibernated", "exited", "inactive", "offline"}

// stoppedBilling tells of what does not run and is paid for, and by how much. Where its
// rule says so it is released: its disks go with it, or are found as left behind.
func stoppedBilling(r Rules, f Facts) Outcome {
	o := f.Observed
	if !f.live() || o.Resource.ID.Kind != guard.Instance || Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	i, ok := f.idles()
	if !ok {
		return Outcome{Next: f.BurnMoves}
	}
	conf := r.StoppedBilling
	tell := i.since.Add(min(conf.Warn, i.warn))
	if f.At.Before(tell) {
		return Outcome{Next: earliest(tell, f.BurnMoves)}
	}
	out := i.judge(r, f, conf)
	out.Next = earliest(out.Next, f.BurnMoves)
	return out
}

// idles is an instance that does not run and bills.
type idles struct {
	since time.Time
	warn  time.Duration // at the latest
	what  string        // "stopped"
	burn  []guard.Money // per hour; empty where no price is known
	part  bool          // a part of it has no known price
}

// StandsStill reports an instance that does not run, so that it matters what it costs
// all the same.
func StandsStill(r guard.Resource) bool {
	return r.ID.Kind == guard.Instance && (r.State == guard.StateStopped || paused(r))
}

func paused(r guard.Resource) bool {
	return r.State == guard.StateUnknown && slices.Contains(pausedWords, strings.ToLower(r.RawState))
}

// idles judges what a stopped instance still costs; false where it runs, or costs nothing.
func (f Facts) idles() (idles, bool) {
	r := f.Observed.Resource
	since := r.Changed
	if since.IsZero() {
		since = f.Observed.Seen
	}
	i := idles{since: since, warn: nothingSaved, burn: f.Burn, part: f.BurnAtLeast}
	switch {
	case paused(r):
		i.what = f.say("paused (%s) but paying", r.RawState)
	case !StandsStill(r):
		return idles{}, false
	case f.stopSaves():
		i.what, i.warn = f.say("stopped"), longest
		if r.Ended == guard.ByPlatform {
			i.what, i.warn = f.say("stopped by the platform"), emptied
		}
	default:
		i.what = f.say("stopped but billing as if it ran")
	}
	if !slices.ContainsFunc(i.burn, guard.Money.IsPositive) && !i.part {
		return idles{}, false
	}
	return i, true
}

// longest is later than any rule's time.
const longest = 10 * 365 * 24 * time.Hour

// stopSaves reports whether the stop of this instance saves anything.
func (f Facts) stopSaves() bool {
	effect := f.Observed.Resource.StopSaves
	if effect == guard.StopUnknown {
		effect = f.Stop
	}
	return effect == guard.StopSavesCompute || effect == guard.StopSavesAll
}

// judge turns it into a verdict, and into a release where the rule says so.
func (i idles) judge(r Rules, f Facts, conf StoppedBilling) Outcome {
	grace := f.noticeOf(r, guard.RuleStoppedBilling)
	due := i.since.Add(max(conf.Act, min(conf.Warn, i.warn)+grace))
	veto := f.vetoed(guard.RuleStoppedBilling)
	why := i.keeps(r, f, conf)
	acts := conf.Then == guard.ActRelease && why == "" && f.Mode == guard.Enforce && veto == nil
	if acts {
		due = f.afterNotice(due, grace)
	}
	v := f.verdict(guard.RuleStoppedBilling, i.since)
	v.Wastes = guard.Money{}
	if len(i.burn) > 0 {
		v.Wastes = i.burn[0]
	}
	title := f.say("%s: %s; not free: %s", f.name(), i.what, i.perDay(f))
	var lines []string
	if c := f.claim(); c != nil {
		lines = append(lines, f.whose(c))
	}
	lines = append(lines, f.say("It does not run since %s.", f.stamp(i.since)))
	id := f.Resource().String()
	switch {
	case conf.Then != guard.ActRelease:
		lines = append(lines, f.say("A stop does not end the bill here. If nobody needs it: guard release %s", id))
	case why != "":
		lines = append(lines, f.sentence(why))
	case veto != nil:
		lines = append(lines, f.sentence(f.vetoWord(*veto)))
	case f.Mode != guard.Enforce:
		lines = append(lines, f.say("The account is in observe mode: guard will not release it."))
	default:
		title = f.say("%s; guard will release it at %s", title, f.stamp(due))
		lines = append(append(lines, f.Erases()...), f.say("To keep it: guard hold %s --for 4h, or guard veto %s %s", id, id, guard.RuleStoppedBilling))
	}
	v.Vetoed = veto != nil && conf.Then == guard.ActRelease
	v.Stages = []Stage{{Name: "stopped", Title: title, Lines: lines}}
	v.Facts = append(v.Facts, guard.Fact{Name: "not free", Value: i.perDay(f), Source: "meter", At: f.At})
	if acts {
		v.Act = &Act{Action: guard.ActRelease, Cause: guard.CauseStopped, Due: due, Notice: i.since.Add(min(conf.Warn, i.warn)), Limit: i.since.Add(conf.Act),
			Grace: grace, Why: f.say("%s since %s (%s)", i.what, f.stamp(i.since), guard.RuleStoppedBilling)}
		return Outcome{Verdicts: []Verdict{v}, Next: f.after(due)}
	}
	out := Outcome{Verdicts: []Verdict{v}}
	if f.Lease != nil && conf.Then == guard.ActRelease {
		out.Next = f.after(f.Lease.HeldUntil(f.At))
	}
	if conf.Then == guard.ActRelease && why == "" && veto == nil {
		out.Next = f.after(due)
		if out.Next.IsZero() {
			out.Verdicts[0].Stages = append(v.Stages, Stage{Name: "would release", Title: f.say("%s: would release now: %s", f.name(), i.what),
				Lines: append([]string{f.observed()}, lines...)})
		}
	}
	return out
}

// keeps is why guard does not release it, although the rule says so; "" where it may.
func (i idles) keeps(r Rules, f Facts, conf StoppedBilling) string {
	if conf.Then != guard.ActRelease {
		return ""
	}
	if why := f.onlyTells(r); why != "" {
		return why
	}
	if !f.Lease.HeldUntil(f.At).IsZero() {
		return f.say("it is held until %s", f.stamp(f.Lease.HeldUntil(f.At)))
	}
	return ""
}

// perDay is what it costs a day, in words: "0.48 USD per day".
func (i idles) perDay(f Facts) string {
	var days []guard.Money
	for _, m := range i.burn {
		days = append(days, m.Percent(24*100))
	}
	word := amounts(days)
	switch {
	case word == "":
		return f.say("at a price that is not known")
	case i.part:
		return f.say("at least %s per day", word)
	}
	return f.say("%s per day", word)
}
