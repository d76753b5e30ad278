package policy

import (
	"strings"
	"time"

	"guard"
)

// Orphan is about one kind of what is left behind and goes on billing.
type Orphan struct {
	// After counts from when what it was for went, or it was detached.
	After time.Duration
	// Act is when Then is done, from the same moment; no sooner than After and the grace.
	Act time.Duration
	// Then is alert or release. Only what guard knows from a leased instance is deleted.
	Then guard.Action
}

// orphanRules are the rules about each kind that outlives an instance.
var orphanRules = map[guard.Kind]guard.Rule{
	guard.Volume:     guard.RuleOrphanVolume,
	guard.Snapshot:   guard.RuleOrphanSnapshot,
	guard.Image:      guard.RuleOrphanImage,
	guard.Address:    guard.RuleOrphanAddress,
	guard.Filesystem: guard.RuleOrphanFilesystem,
}

// orphanList is the orphan rules in the order in which people read them.
func orphanList() []guard.Rule {
	var out []guard.Rule
	for _, kind := range guard.Kinds {
		if rule := orphanRules[kind]; rule != "" {
			out = append(out, rule)
		}
	}
	return out
}

// OrphanRule is the rule about what is left behind of a kind.
func OrphanRule(kind guard.Kind) guard.Rule { return orphanRules[kind] }

// orphanKind is the kind that an orphan rule is about; "" for any other rule.
func orphanKind(rule guard.Rule) guard.Kind {
	for kind, r := range orphanRules {
		if r == rule {
			return kind
		}
	}
	return ""
}

// costsNothing reports a thing whose provider says that it is free, such as an image within
// what an account has for nothing. One that only does not bill itself, whose snapshots do, is
// none.
func (f Facts) costsNothing() bool {
	r := f.Observed.Resource
	return r.Bills == guard.No && r.Rate.Known() && r.Rate.Free
}

// orphan tells of one kind of thing that bills for an instance that is gone, or for
// nothing that guard knows. It deletes data only where its own rule says so, only what
// was on a leased instance, and only after notice that people took in (law 6).
func orphan(kind guard.Kind) func(Rules, Facts) Outcome {
	rule := orphanRules[kind]
	return func(r Rules, f Facts) Outcome {
		o := f.Observed
		if !f.live() || o.Resource.ID.Kind != kind || o.Resource.State == guard.StateReleasing || f.costsNothing() ||
			Foreign(o.Resource, f.Deployment) != "" || f.Protection(r).On {
			return Outcome{}
		}
		if f.diskUntold() {
			return Outcome{Unlisted: guard.Volume, Doubt: f.say("whether its disk is there is not known until there is a complete list")}
		}
		left, ok := f.left()
		if !ok {
			return Outcome{}
		}
		conf := r.Orphans[kind]
		tell := left.from.Add(max(conf.After, left.patience))
		if f.At.Before(tell) {
			return Outcome{Next: tell}
		}
		if left.unseen = f.unseenSince(left.since); left.unseen && f.At.Before(tell.Add(unseenFor)) {
			return Outcome{Next: tell.Add(unseenFor), Unlisted: kind, Doubt: f.say("it may have gone as well: it was not seen since")}
		}
		return left.judge(r, f, conf, rule)
	}
}

// judge turns what is left behind into a verdict, and into an act where the rule
// releases it.
func (l left) judge(r Rules, f Facts, conf Orphan, rule guard.Rule) Outcome {
	grace := f.noticeOf(r, rule)
	due := l.since.Add(max(conf.Act, conf.After+grace))
	veto := f.vetoed(rule)
	keep := l.keeps(f, conf)
	acts := conf.Then == guard.ActRelease && keep == "" && f.Mode == guard.Enforce && veto == nil
	if acts {
		due = f.afterNotice(due, grace)
	}
	title := f.say("%s: %s left behind; %s", f.name(), f.aKind(), f.monthly())
	if gb := f.Observed.Resource.SizeGB; gb > 0 {
		title = f.say("%s: %s left behind, %d GB; %s", f.name(), f.aKind(), gb, f.monthly())
	}
	if l.unseen {
		title = f.say("%s, if it is still there", title)
	}
	lines := append([]string{l.why}, l.lines(f)...)
	switch id := f.Resource().String(); {
	case conf.Then != guard.ActRelease:
		lines = append(lines, f.say("guard does not delete it. Whoever needs it no more can delete it at the provider; a protect tag keeps guard silent."))
	case keep != "":
		lines = append(lines, f.say("guard does not delete it: %s.", keep))
	case veto != nil:
		lines = append(lines, f.sentence(f.vetoWord(*veto)))
	case f.Mode != guard.Enforce:
		lines = append(lines, f.say("The account is in observe mode: guard will not delete it."))
	default:
		title = f.say("%s; guard will delete it at %s", title, f.stamp(due))
		lines = append(lines, f.say("What is on it is lost then."), f.say("To keep it: guard veto %s %s, or a protect tag.", id, rule))
	}
	v := f.verdict(rule, l.since)
	if c := f.claim(); c != nil && l.ours {
		v.Lease = c.ID
	}
	v.Vetoed = veto != nil && conf.Then == guard.ActRelease
	v.Stages = []Stage{{Name: "orphaned", Title: title, Lines: lines}}
	v.Facts = append(v.Facts, l.facts(f, conf, due)...)
	if acts {
		v.Act = &Act{Action: guard.ActRelease, Cause: guard.CauseOrphan, Due: due, Notice: l.since.Add(conf.After), Limit: l.since.Add(conf.After + grace),
			Grace: grace, Why: f.say("left behind since %s (%s)", f.stamp(l.since), rule)}
		return Outcome{Verdicts: []Verdict{v}, Next: f.after(due)}
	}
	if conf.Then == guard.ActRelease && keep == "" && veto == nil && !f.At.Before(due) {
		v.Stages = append(v.Stages, Stage{Name: "would release", Title: f.say("%s: would delete now: left behind since %s", f.name(), f.stamp(l.since)),
			Lines: append([]string{f.observed()}, lines...)})
	}
	out := Outcome{Verdicts: []Verdict{v}}
	if l.unseen {
		out.Unlisted = f.Resource().Kind
	}
	if conf.Then == guard.ActRelease && keep == "" {
		out.Next = f.after(due)
	}
	return out
}

// keeps is why guard does not delete it, although its rule says release; "" where it may.
func (l left) keeps(f Facts, conf Orphan) string {
	switch {
	case conf.Then != guard.ActRelease:
		return ""
	case !l.ours:
		return f.say("it was never seen on a leased instance, so that nobody has allowed it")
	case l.kept != "":
		return l.kept
	case l.unseen:
		return f.say("nobody knows whether it is still there")
	case !f.Observed.Resource.Parent.IsZero():
		return f.say("the provider says that it still hangs on %s", f.Observed.Resource.Parent.ID)
	case f.Observed.Resource.UsesUntold:
		return f.say("the provider does not tell everything that may need it")
	}
	return f.Untouchable()
}

// lines say whose it is, how old it is and why it is still there.
func (l left) lines(f Facts) []string {
	var lines []string
	if l.unseen {
		lines = append(lines, f.say("Whether it is still there is not known: guard has not seen it since %s, and what is in %s is not listed.", f.stamp(f.Observed.Seen), f.orWhole(f.Resource().Scope)))
	}
	if l.survived != "" {
		lines = append(lines, f.sentence(l.survived))
	}
	var who []string
	if c := f.claim(); f.purpose(c) != "" || f.owner(c) != "" {
		who = append(who, f.ownedBy(f.purpose(c), f.owner(c)))
	}
	if age := f.age(); age != "" {
		who = append(who, f.say("Age: %s.", age))
	}
	if len(who) > 0 {
		lines = append(lines, strings.Join(who, f.say(" ")))
	}
	if l.made != "" {
		lines = append(lines, f.sentence(l.made))
	}
	if f.Observed.Resource.UsesUntold {
		lines = append(lines, f.say("Whether something else needs it is not known: the provider does not tell everything that may."))
	}
	return lines
}

// madeBy is the name of the fact that tells who else keeps what is left behind.
const madeBy = "made by"

func (l left) facts(f Facts, conf Orphan, due time.Time) []guard.Fact {
	facts := []guard.Fact{{Name: "orphaned", Value: l.why, Source: "ledger", At: l.since}}
	if l.survived != "" {
		facts = append(facts, guard.Fact{Name: "survived", Value: l.survived, Source: "provider", At: f.Observed.Seen})
	}
	c := f.claim()
	facts = append(facts, guard.Fact{Name: "purpose", Value: f.orNone(f.purpose(c)), Source: "ledger", At: f.At},
		guard.Fact{Name: "owner", Value: f.orNone(f.owner(c)), Source: "ledger", At: f.At})
	if l.made != "" {
		facts = append(facts, guard.Fact{Name: madeBy, Value: f.in(guard.English).made(), Source: "provider", At: f.Observed.Seen})
	}
	if conf.Then == guard.ActRelease && l.keeps(f, conf) == "" {
		facts = append(facts, guard.Fact{Name: "due", Value: f.stamp(due), Source: "rule " + string(orphanRules[f.Resource().Kind]), At: f.At})
	}
	return facts
}

// monthly is what a thing costs a month, in words.
func (f Facts) monthly() string {
	if m, ok := f.Observed.Resource.BillingRate().For(guard.Month); ok {
		return f.say("it costs %s a month", m.Round())
	}
	return f.say("its price is unknown")
}

// age is how long ago a thing was made, in words; "" where nobody tells.
func (f Facts) age() string {
	made := f.Observed.Resource.Created
	if made.IsZero() || made.After(f.At) {
		return ""
	}
	age := f.At.Sub(made)
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if age >= unit {
			return f.span(age.Truncate(unit))
		}
	}
	return f.say("less than a minute")
}

// aKind is one thing of the subject's kind.
func (f Facts) aKind() string {
	switch f.Resource().Kind {
	case guard.Volume:
		return f.say("a disk")
	case guard.Snapshot:
		return f.say("a snapshot")
	case guard.Image:
		return f.say("an image")
	case guard.Address:
		return f.say("an address")
	case guard.Filesystem:
		return f.say("a file system")
	}
	return f.kept(string(f.Resource().Kind))
}
