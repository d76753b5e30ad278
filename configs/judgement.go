package configs

import (
	"fmt"
	"time"

	"guard"
	"guard/policy"
)

// leastAct keeps a pause from being taken for idleness: what is stopped sooner was
// hardly looked at.
const leastAct = 10 * time.Minute

// judgementFile is a rule that guesses.
type judgementFile struct {
	Warn time.Duration `yaml:"warn"`
	Act  time.Duration `yaml:"act"`
	Then action        `yaml:"then"`
	perRule
	Tiers tiers `yaml:"tiers"`
}

// judgementsOf are the rules that guess, by their keys in the file.
func (r *rulesFile) judgementsOf() []struct {
	rule guard.Rule
	file *judgementFile
} {
	return []struct {
		rule guard.Rule
		file *judgementFile
	}{
		{guard.RuleIdleEmpty, &r.IdleEmpty}, {guard.RuleIdleResident, &r.IdleResident}, {guard.RuleIdleBlind, &r.IdleBlind},
		{guard.RuleParked, &r.Parked}, {guard.RuleHung, &r.Hung}, {guard.RuleUnderused, &r.Underused},
	}
}

func defaultJudgement(j policy.Judgement) judgementFile {
	return judgementFile{Warn: j.Warn, Act: j.Act, Then: action(j.Then)}
}

// judgements checks the rules that guess.
func (d *decoder) judgements(f file, r *policy.Rules) {
	into := map[guard.Rule]*policy.Judgement{
		guard.RuleIdleEmpty: &r.IdleEmpty, guard.RuleIdleResident: &r.IdleResident, guard.RuleIdleBlind: &r.IdleBlind,
		guard.RuleParked: &r.Parked, guard.RuleHung: &r.Hung, guard.RuleUnderused: &r.Underused,
	}
	for _, j := range f.Rules.judgementsOf() {
		d.per(f, r.Per, string(j.rule), j.file.perRule, acts, j.rule)
		*into[j.rule] = d.judgement("rules."+string(j.rule), *j.file)
	}
}

func (d *decoder) judgement(path string, in judgementFile) policy.Judgement {
	d.guessing(path+".then", guard.Action(in.Then))
	out := policy.Judgement{Warn: d.between(path+".warn", in.Warn, time.Minute, longest), Act: in.Act, Then: guard.Action(in.Then)}
	if d.has(path + ".act") {
		switch {
		case !d.read(path):
		case in.Act < leastAct:
			d.at(path+".act", "%s is too soon: at least %s", formatDuration(in.Act), formatDuration(leastAct))
		case in.Act < in.Warn:
			d.at(path+".act", "%s is before people are told (warn: %s): both count from when it began", formatDuration(in.Act), formatDuration(in.Warn))
		}
	}
	if len(in.Tiers) > 0 && d.read(path) {
		out = d.tiered(path, in, out)
	}
	return out
}

// guessing refuses what a guess must not do.
func (d *decoder) guessing(path string, a guard.Action) {
	if a == guard.ActRelease {
		d.at(path, "this rule never releases: it is a guess, and only a limit that a person set may destroy; write stop or alert")
	}
}

// tiered is a rule whose steps stand as a list: alert, and stop some time after that.
func (d *decoder) tiered(path string, in judgementFile, out policy.Judgement) policy.Judgement {
	if d.has(path + ".then") {
		d.at(path+".tiers", "then and tiers contradict each other: write one of them")
	}
	first, last := in.Tiers[0], in.Tiers[len(in.Tiers)-1]
	for i, t := range in.Tiers {
		d.guessing(fmt.Sprintf("%s.tiers[%d]", path, i), guard.Action(t.Then))
	}
	switch {
	case first.After != 0:
		d.at(path+".tiers[0]", "the first step is at warn: it has no after")
	case len(in.Tiers) > 2 || len(in.Tiers) == 2 && (guard.Action(first.Then) != guard.ActAlert || guard.Action(last.Then) != guard.ActStop):
		d.at(path+".tiers", "a guess has two steps at most: write [alert, {after: 30m, then: stop}]")
	case len(in.Tiers) == 2 && d.has(path+".act"):
		d.at(path+".act", "tiers says when to stop, after the warning: write one of them")
	case len(in.Tiers) == 2 && in.Warn+last.After < leastAct:
		d.at(path+".tiers[1]", "%s is too soon: at least %s from when it began", formatDuration(in.Warn+last.After), formatDuration(leastAct))
	case len(in.Tiers) == 2:
		out.Act = in.Warn + last.After
	}
	out.Then = guard.Action(last.Then)
	return out
}

// tiers are the steps of a rule, each a word or {after, then}.
type tiers []tier

type tier struct {
	After time.Duration `yaml:"after"`
	Then  action        `yaml:"then"`
}

// ReadNode implements NodeReader.
func (t *tiers) ReadNode(n Node) {
	items := n.Items()
	if len(items) == 0 && n.Read() {
		n.Problem("is empty: write then: stop, or [alert, {after: 30m, then: stop}]")
	}
	for i, item := range items {
		var x tier
		if item.IsGroup() {
			item.Decode(&x)
			if x.Then == "" && item.Read() {
				item.Problem("then is missing: write {after: 30m, then: stop}")
			}
			if x.After == 0 && i > 0 && item.Read() {
				item.Problem("after is missing: write {after: 30m, then: stop}")
			}
		} else {
			item.Decode(&x.Then)
			if i > 0 && item.Read() {
				item.Problem("after is missing: write {after: 30m, then: stop}")
			}
		}
		*t = append(*t, x)
	}
}
