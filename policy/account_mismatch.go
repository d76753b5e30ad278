package policy

import (
	"guard"
)

// accountMismatch tells that the credentials are somebody else's now.
func accountMismatch(_ Rules, f Facts) Outcome {
	if !f.account() || f.Account.Mismatch == "" {
		return Outcome{}
	}
	v := f.verdict(guard.RuleAccountMismatch, f.At)
	v.Urgent = true
	v.Facts = append(v.Facts,
		guard.Fact{Name: "identity recorded", Value: f.Account.Identity.ID, Source: "ledger", At: f.Account.Polled},
		guard.Fact{Name: "identity now", Value: f.Account.Mismatch, Source: "provider", At: f.At})
	v.Stages = []Stage{{Name: "mismatch " + f.Account.Mismatch,
		Title: f.say("%s: its credentials belong to %s now, not to %s", f.Account.Name, f.Account.Mismatch, f.Account.Identity.ID),
		Lines: []string{
			f.say("guard believes no listing of it and releases nothing there until the right credentials are back."),
			f.say("%d leases there go on billing.", f.Leases),
		}}}
	if f.Account.Twin != "" {
		v.Stages[0].Title = f.say("%s: its credentials are account %s's too (%s)", f.Account.Name, f.Account.Twin, f.Account.Mismatch)
		v.Stages[0].Lines[0] = f.say("guard believes no listing of it and releases nothing there. Remove %s or %s from the configuration.", f.Account.Name, f.Account.Twin)
	}
	return Outcome{Verdicts: []Verdict{v}}
}
