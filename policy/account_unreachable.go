package policy

import (
	"strings"
	"time"

	"guard"
)

// blindFor is how long an account or a scope may fail before people are told: a
// few polls, so that one bad answer is not an alarm.
const blindFor = 5 * time.Minute

// account reports whether the facts are about an account.
func (f Facts) account() bool {
	return f.Clock == nil && f.Observed == nil && f.Lease == nil && f.Account.Name != "" && f.Configured
}

// accountUnreachable tells that an account does not answer, or only in turns.
func accountUnreachable(_ Rules, f Facts) Outcome {
	if !f.account() {
		return Outcome{}
	}
	since := f.Account.Failing
	t, next := f.turns(f.Account.Outages, since)
	out, again := t.told(f, since)
	next = earliest(next, again)
	if !t.on() && !out {
		return Outcome{Next: next}
	}
	began := since
	if t.on() {
		began = t.since()
	}
	v := f.verdict(guard.RuleAccountUnreachable, began)
	v.Urgent = f.Leases > 0
	var bill []string
	if f.Leases > 0 {
		bill = []string{f.say("%d leases there go on billing; guard goes on trying.", f.Leases)}
	}
	cause := strings.TrimSuffix(f.orNone(f.kept(f.Account.Error)), ".")
	if t.on() {
		line := f.say("It failed %d times since %s.", len(t.row), f.stamp(began))
		if f.Account.Error != "" {
			line = f.say("It failed %d times since %s, now: %s.", len(t.row), f.stamp(began), cause)
		}
		v.Facts = append(v.Facts, t.facts(f, f.Account.Name)...)
		v.Stages = append(v.Stages, Stage{Name: comesAndGoes, Title: f.say("%s: the account comes and goes", f.Account.Name),
			Lines: append([]string{line, f.spared()}, bill...)})
	}
	if out {
		v.Facts = append(v.Facts, guard.Fact{Name: "failing since", Value: f.stamp(since) + ": " + f.Account.Error, Source: "provider", At: since})
		v.Stages = append(v.Stages, Stage{Name: "unreachable", Title: f.say("%s: the account does not answer", f.Account.Name),
			Lines: append([]string{f.say("Since %s: %s.", f.stamp(since), cause)}, bill...)})
	}
	if !out && t.back {
		v.Stages = append(v.Stages, Stage{Name: "back", Title: f.say("%s: the account answers again", f.Account.Name),
			Lines: []string{f.say("It did not from %s to %s.", f.stamp(t.row[0].From), f.stamp(t.row[0].Until))}})
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}
