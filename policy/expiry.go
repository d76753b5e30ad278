package policy

import (
	"time"

	"guard"
)

// expiry judges the end of a lease's time.
func expiry(r Rules, f Facts) Outcome {
	if f.Lease == nil || f.Awaiting != nil || !f.Lease.Status.Open() || f.Lease.ExpiresAt.IsZero() {
		return Outcome{}
	}
	end := f.Lease.ExpiresAt
	if f.Lease.Status == guard.LeaseExpected || f.Observed == nil {
		return neverSeen(f, end)
	}
	if !f.live() {
		return Outcome{}
	}
	l := limit{rule: guard.RuleExpired, cause: guard.CauseExpiry, at: end, due: end, stood: f.stood(guard.DeadlineExpiry, end),
		warn: r.Expiry.Warn, coming: f.say("its time ends"), reached: f.say("its time is up")}
	return l.judge(r, f)
}

// neverSeen tells that a lease ran out before its instance ever existed.
func neverSeen(f Facts, end time.Time) Outcome {
	if f.At.Before(end) {
		return Outcome{Next: end}
	}
	v := f.verdict(guard.RuleExpired, end)
	v.Stages = []Stage{{Name: "reached", Title: f.say("%s: its time is up, and it was never seen", f.name()),
		Lines: []string{f.say("It was registered at %s and expired at %s.", f.stamp(f.Lease.RegisteredAt), f.stamp(end)),
			f.say("If it should still come: guard extend %s --by 2h", f.Resource())}}}
	return Outcome{Verdicts: []Verdict{v}}
}

// stood is since when the ledger has known of a deadline. Where the meter has not
// solved the present one yet, it is new as of the lease's last change.
func (f Facts) stood(reason guard.DeadlineReason, at time.Time) time.Time {
	if d, ok := f.Plan.Deadline(reason); ok && d.Limit.Equal(at) && !d.Stood.IsZero() {
		return d.Stood
	}
	return f.Lease.UpdatedAt
}
