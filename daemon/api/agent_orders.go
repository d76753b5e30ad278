package api

import (
	"context"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// box is what the ledger knows of an instance that is there, read by its keys: agents
// ask every minute, and an account's whole book would be too much for that.
func (s *server) box(ctx context.Context, at guard.Instant, text string) (policy.Facts, error) {
	var f policy.Facts
	account, id, err := s.resource(text)
	if err != nil {
		return f, err
	}
	err = s.Ledger.View(ctx, func(v *store.View) error {
		f, err = s.boxIn(v, at, account, id)
		return err
	})
	return f, err
}

func (s *server) boxIn(v *store.View, at guard.Instant, account, id string) (policy.Facts, error) {
	key := guard.ResourceID{Account: account, Kind: guard.Instance, ID: id}.Key()
	f := policy.Facts{At: at.Wall, Zone: s.Location(), Deployment: s.Ledger.Deployment(), Mode: guard.Observe}
	o, ok, err := v.Observed.Get(key)
	switch {
	case err != nil:
		return f, err
	case !ok:
		return f, faultf(guard.ErrNotFound, "guard knows of no instance %s/%s", account, clip(id)).
			hinted("One that was just made may take a minute to show.")
	case !o.Live():
		return f, faultf(guard.ErrConflict, "%s is gone since %s", o.Resource.ID, s.stamp(o.Gone.At))
	}
	f.Observed = &o
	if f.Account, _, err = v.Accounts.Get(account); err != nil {
		return f, err
	}
	if a, ok := s.Account(account); ok {
		f.Configured, f.Mode, f.May, f.Stop = true, a.Mode, policy.May(a.MayRelease), a.Provider.Truths().Stop
	}
	if l, ok, err := v.LeaseOf(key); err != nil {
		return f, err
	} else if ok {
		f.Lease = &l
		if f.Plan, _, err = v.Plans.Get(l.ID); err != nil {
			return f, err
		}
	}
	if r, ok, err := v.Releases.Get(key); err != nil {
		return f, err
	} else if ok {
		f.Release = &r
	}
	for m, err := range v.Mutes.All(string(guard.Veto) + "|" + o.Resource.ID.String() + "|") {
		if err != nil {
			return f, err
		}
		if m.At(at.Wall) {
			f.Mutes = append(f.Mutes, m)
		}
	}
	return f, nil
}

// ordersFor is what a box has to know of its own end.
func (s *server) ordersFor(f policy.Facts, at guard.Instant) wire.Orders {
	limit := s.hardLimit(f, at.Wall)
	return wire.Orders{Release: s.coming(f.Release), Limit: s.local(limit), End: s.asksFor(f, limit)}
}

// asksFor is why a box shall end itself: its release is due and passed every check, and
// nobody but a person, or the box, can carry it out. A word of people's that puts it off
// counts at once, before the release is withdrawn.
func (s *server) asksFor(f policy.Facts, limit time.Time) string {
	r := f.Release
	a, ok := s.Account(f.Observed.Resource.ID.Account)
	switch {
	case r == nil || !ok || !a.Provider.Truths().ByHand,
		r.State != guard.ReleaseBlocked || r.Reason != guard.BlockPerson || r.Action != guard.ActRelease,
		f.Mode != guard.Enforce || f.Untouchable() != "" || s.Modes.Pause().On() || f.Protection(s.Rules()).On,
		len(f.Mutes) > 0, f.Lease != nil && !f.Lease.HeldUntil(f.At).IsZero(),
		r.Cause != guard.CausePerson && (limit.IsZero() || limit.After(f.At)):
		return ""
	}
	return r.Why
}

// coming is the notice of a release. A judgement waits for people before it acts, and a
// blocked release for what blocks it: no job is ended for what may never come.
func (s *server) coming(r *guard.Release) *wire.Notice {
	if r == nil || r.State == guard.ReleaseBlocked || !r.State.Open() {
		return nil
	}
	called := r.State == guard.ReleaseIntended || r.State == guard.ReleaseIssued
	if r.Cause.Judgement() && !called {
		return nil
	}
	return &wire.Notice{ID: r.ID, Action: string(r.Action), Cause: string(r.Cause), Why: r.Why, Due: r.Due.In(s.Location())}
}

// hardLimit is when guard acts on the first limit that a person set, at the latest: the
// notice of an expiry may still have to find a channel, and a hold or a veto gives fresh
// notice when it ends. Zero where guard would not act.
func (s *server) hardLimit(f policy.Facts, now time.Time) time.Time {
	if f.Lease == nil || f.Untouchable() != "" || s.Modes.Pause().On() {
		return time.Time{}
	}
	protection := f.Protection(s.Rules())
	var first time.Time
	for _, d := range deadlines(*f.Lease, f.Plan) {
		l := *f.Lease
		if d.Reason == guard.DeadlineCeiling {
			l.OnLimit = guard.ActRelease // whatever the lease says
		}
		if !s.doing(l, f.Mode, protection).acts {
			continue
		}
		due := d.Due
		if held, _ := waits(*f.Lease, f.Mutes, d.Reason, now); held.After(due) {
			due = held.Add(l.Grace)
		}
		if d.Reason == guard.DeadlineExpiry {
			due = due.Add(l.Grace)
		}
		if first.IsZero() || due.Before(first) {
			first = due
		}
	}
	return first
}
