package policy

import (
	"time"

	"guard"
)

// TimerSlack is how much later than guard's own release the provider's timer goes off:
// long enough for the call, what is tried again of it, and the proof, so that it ends
// only what a guard that is dead leaves running.
const TimerSlack = 30 * time.Minute

// TimerExact is how far a timer may be from what was asked for: some providers keep whole
// minutes.
const TimerExact = time.Minute

// SameTimer reports that a timer as it was read back is the one that is wanted; zero is none.
func SameTimer(read, want time.Time) bool {
	return read.IsZero() == want.IsZero() && read.Sub(want).Abs() <= TimerExact
}

// Timer is when the provider's own timer is to end what is leased, by its expiry or its
// ceiling of life, whichever comes first; zero: it must have none. It is later than any
// moment at which guard itself would act for that limit: after every hold and veto,
// after fresh notice, and after the grace that an expiry waits for a channel. It is made
// of recorded times alone, so that a wall clock that is wrong moves no timer.
//
// A budget has none, for what is spent moves it; a lease that does not release, what is
// protected and what waits for a person have none either.
func (f Facts) Timer(r Rules) time.Time {
	if f.Mode != guard.Enforce || f.Observed == nil || f.Lease == nil || !f.Observed.Live() || f.Awaiting != nil ||
		f.Lease.Status != guard.LeaseActive && f.Lease.Status != guard.LeaseStopped {
		return time.Time{}
	}
	if act, _ := f.action(r, guard.CauseExpiry); act != guard.ActRelease || f.Observed.Resource.ReleaseProtected == guard.Yes {
		return time.Time{}
	}
	if b := f.Release; b != nil && b.State == guard.ReleaseBlocked &&
		(b.Reason == guard.BlockSurprise || b.Reason == guard.BlockProtected || b.Reason == guard.BlockNotSame) {
		return time.Time{} // a person is asked first
	}
	var at time.Time
	if end := f.Lease.ExpiresAt; !end.IsZero() && r.Per[guard.RuleExpired].speaks(f) {
		for _, h := range f.Lease.Holds {
			end = later(end, h.Until)
		}
		for _, m := range f.Mutes {
			if m.Kind == guard.Veto && m.Rule == guard.RuleExpired {
				end = later(end, m.Until)
			}
		}
		at = f.acts(r, guard.CauseExpiry, end).Add(f.grace(r) + TimerSlack)
	}
	if end, ok := r.CeilingOf(*f.Lease); ok && r.Per[guard.RuleCeilingReached].speaks(f) {
		at = earliest(at, f.acts(r, guard.CauseCeiling, end).Add(TimerSlack))
	}
	return at.UTC().Truncate(time.Second)
}

// acts is the latest that guard's own call is due for a limit: after the fresh notice
// that something overdue gets, and not before what is planned.
func (f Facts) acts(r Rules, cause guard.Cause, limit time.Time) time.Time {
	if fresh := f.Account.FreshFrom; !fresh.IsZero() {
		limit = later(limit, fresh.Add(max(f.grace(r), freshNotice)))
	}
	if p := f.Release; p != nil && p.Cause == cause {
		limit = later(limit, p.Due)
	}
	return limit
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
