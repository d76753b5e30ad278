package policy

import (
	"slices"
	"time"

	"guard"
)

// scopeBlind tells of regions that guard cannot see into, or only in turns. An account
// that does not answer at all is accountUnreachable's.
func scopeBlind(_ Rules, f Facts) Outcome {
	if !f.account() || f.unseen() {
		return Outcome{}
	}
	var out Outcome
	var blind, back, inTurns scopes
	for _, s := range f.Scopes {
		name := f.say("%s in %s", f.plural(s.Kind), f.orWhole(s.Scope))
		t, next := f.turns(s.Outages, s.Failing)
		lasts, again := t.told(f, s.Failing)
		out.Next = earliest(out.Next, earliest(next, again))
		if t.on() {
			inTurns.add(name, t.since(), f.say("%s failed %d times since %s.", f.upper(name), len(t.row), f.stamp(t.since())), t.facts(f, name)...)
		}
		if t.back {
			back.add(name, t.since(), f.say("%s could not be seen from %s to %s.", f.upper(name), f.stamp(t.row[0].From), f.stamp(t.row[0].Until)))
		}
		if lasts {
			value := f.say("never seen; %s", f.kept(s.Error))
			if !s.Complete.IsZero() {
				value = f.say("last seen %s; %s", f.stamp(s.Complete), f.kept(s.Error))
			}
			blind.add(name, s.Failing, f.say("%s: %s.", f.upper(name), value), guard.Fact{Name: name, Value: value, Source: "provider", At: s.Failing})
		}
	}
	if len(blind.names)+len(inTurns.names) == 0 {
		return out
	}
	v := f.verdict(guard.RuleScopeBlind, earliest(blind.since, inTurns.since))
	v.Facts = slices.Concat(v.Facts, inTurns.facts, blind.facts)
	if len(inTurns.names) > 0 {
		v.Stages = append(v.Stages, Stage{Name: comesAndGoes, Title: f.say("%s: guard sees %s only now and then", f.Account.Name, inTurns.list(f)),
			Lines: append([]string{f.spared()}, inTurns.shown()...)})
	}
	if len(blind.names) > 0 {
		v.Stages = append(v.Stages, Stage{Name: "blind", Title: f.say("%s: guard cannot see %s", f.Account.Name, blind.list(f)),
			Lines: append([]string{f.say("What is there is neither gone nor safe: limits that are known go on to apply.")}, blind.shown()...)})
	}
	if len(blind.names) == 0 && len(back.names) > 0 {
		v.Stages = append(v.Stages, Stage{Name: "back", Title: f.say("%s: guard sees %s again", f.Account.Name, back.list(f)), Lines: back.shown()})
	}
	out.Verdicts = []Verdict{v}
	return out
}

// unseen reports an account of which no scope can be seen, for it does not answer or is
// another one.
func (f Facts) unseen() bool { return !f.Account.Failing.IsZero() || f.Account.Mismatch != "" }

// scopes are some of which the same is told.
type scopes struct {
	names, lines []string
	facts        []guard.Fact
	since        time.Time
}

func (s *scopes) add(name string, since time.Time, line string, facts ...guard.Fact) {
	s.names, s.lines, s.facts = append(s.names, name), append(s.lines, line), append(s.facts, facts...)
	s.since = earliest(s.since, since)
}

func (s *scopes) list(f Facts) string { return f.list(slices.Sorted(slices.Values(s.names))) }

// shown are the lines of at most ten.
func (s *scopes) shown() []string { return s.lines[:min(len(s.lines), 10)] }

// plural are the things of a kind.
func (f Facts) plural(k guard.Kind) string {
	switch k {
	case "":
		return f.say("resources")
	case guard.Instance:
		return f.say("instances")
	case guard.Volume:
		return f.say("volumes")
	case guard.Snapshot:
		return f.say("snapshots")
	case guard.Image:
		return f.say("images")
	case guard.Address:
		return f.say("addresses")
	case guard.Filesystem:
		return f.say("filesystems")
	}
	return string(k) + "s"
}

func (f Facts) orWhole(scope string) string {
	if scope == "" {
		return f.say("the account")
	}
	return scope
}
