package policy

import (
	"fmt"
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

// accountUnreachable tells that an account does not answer.
func accountUnreachable(_ Rules, f Facts) Outcome {
	if !f.account() || f.Account.Failing.IsZero() {
		return Outcome{}
	}
	since := f.Account.Failing
	if tell := since.Add(blindFor); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RuleAccountUnreachable, since)
	v.Urgent = f.Leases > 0
	lines := []string{fmt.Sprintf("Since %s: %s.", f.stamp(since), strings.TrimSuffix(orNone(f.Account.Error), "."))}
	if f.Leases > 0 {
		lines = append(lines, fmt.Sprintf("%d leases there go on billing; guard goes on trying.", f.Leases))
	}
	v.Facts = append(v.Facts, guard.Fact{Name: "failing since", Value: f.stamp(since) + ": " + f.Account.Error, Source: "provider", At: since})
	v.Stages = []Stage{{Name: "unreachable", Title: fmt.Sprintf("%s: the account does not answer", f.Account.Name), Lines: lines}}
	return Outcome{Verdicts: []Verdict{v}}
}
