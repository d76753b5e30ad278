package observe

import (
	"context"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/presence"
	"guard/store"
)

// finish writes the run down: the things first, then the leases that follow
// them, and last how fresh the account is, so that a crash in between leaves
// nothing that claims more than was written.
func (r *round) finish(ctx context.Context) error {
	var ended, billing bool
	err := r.l.ledger.UpdateEach(ctx, len(r.updates), func(tx *store.Tx, i int) error {
		told, err := r.apply(tx, r.updates[i])
		ended = ended || told == newsGone
		billing = billing || told != newsNone
		return err
	})
	if err != nil {
		return wrap("write down what "+r.l.account.Name+" shows", err)
	}
	leases, err := r.follow(ctx)
	if err != nil {
		return wrap("bring the leases of "+r.l.account.Name+" up to date", err)
	}
	status, err := r.status(ctx)
	if err != nil {
		return wrap("write down how fresh "+r.l.account.Name+" is", err)
	}
	if ended {
		r.l.RequestSweep() // what it leaves behind is a finding
		r.l.kick("release/" + r.l.account.Name)
	}
	// The meter lets decide run after it, so that nothing is judged, and told, at
	// a spend that is not counted yet.
	switch {
	case billing || leases:
		r.l.kick("meter")
	case status:
		r.l.kick("decide")
	}
	return nil
}

// apply writes one thing, judged again on what the ledger has now. Everything it
// does is in the transaction.
func (r *round) apply(tx *store.Tx, u update) (news, error) {
	id := u.unlisted
	switch {
	case u.sight != nil:
		id = u.sight.fresh.ID
	case u.look != nil:
		id = u.look.ID
	case u.shown != nil:
		id = u.shown.ID
	}
	key := id.Key()
	o, known, err := tx.Observed.Get(key)
	if err != nil {
		return newsNone, err
	}
	m, _, err := tx.Metered.Get(key)
	if err != nil {
		return newsNone, err
	}
	o.Pending = o.Unmetered(m)
	lease, leased, err := tx.LeaseOf(key)
	if err != nil {
		return newsNone, err
	}
	leased = leased && lease.Status.Open()
	_, releasing, err := tx.Releases.Get(key)
	if err != nil {
		return newsNone, err
	}
	var c presence.Case
	var next guard.Observed
	var told news
	switch {
	case u.sight != nil:
		s := *u.sight
		s.claimed = leased || releasing
		next, told = merge(o, known, s)
	default:
		if !known {
			if !leased {
				return newsNone, nil
			}
			if o, known = standIn(lease); !known {
				return newsNone, nil
			}
		}
		if c, err = r.circumstances(fromTx(tx), o); err != nil {
			return newsNone, err
		}
		next, told = r.absent(o, u, c)
	}
	if told == newsNone {
		return told, nil
	}
	next.Number(m)
	if err := tx.Observed.Put(next); err != nil {
		return newsNone, err
	}
	if err := r.tell(tx, o, next, told, lease, leased); err != nil {
		return newsNone, err
	}
	switch told {
	case newsGone:
		if leased && !c.Issued {
			return told, r.end(tx, lease, next.Gone)
		}
	case newsBack:
		if !leased && lease.ID != "" {
			return told, r.reopen(tx, lease)
		}
	}
	return told, nil
}

// absent folds a reading that did not find the thing alive.
func (r *round) absent(o guard.Observed, u update, c presence.Case) (guard.Observed, news) {
	if o.Gone != nil {
		return o, newsNone
	}
	if len(o.Absent) == 0 && u.last.After(o.Seen) {
		o.Seen = u.last // until then every complete list had it
	}
	var next guard.Observed
	switch {
	case u.look != nil:
		next, _ = presence.Look(o, *u.look, r.identity, r.at, c)
	case u.shown != nil:
		next, _ = presence.Shown(o, *u.shown, r.identity, r.at, c)
	default:
		next, _ = presence.Unlisted(o, r.identity, r.at, c)
	}
	switch {
	case next.Gone != nil:
		next.Resource.State, next.Resource.Bills = guard.StateGone, guard.No
		next.Resource.Ended = next.Gone.How
		return next, newsGone
	case len(next.Absent) == 0:
		return o, newsNone
	}
	return next, newsChanged
}

// end closes the lease of something that ended without a release of ours; the
// release loop closes the others.
func (r *round) end(tx *store.Tx, lease guard.Lease, g *guard.Gone) error {
	lease.Status, lease.EndedAt, lease.EndedHow, lease.Estimated = guard.LeaseGone, g.At, g.How, g.Estimated
	lease.UpdatedAt, lease.UpdatedBy = r.at.Wall, "guard"
	return tx.Leases.Put(lease)
}

// reopen puts the lease of something back in force that was proven gone and
// lives: its limits must go on to hold.
func (r *round) reopen(tx *store.Tx, lease guard.Lease) error {
	lease.Status, lease.EndedAt, lease.EndedHow, lease.Estimated = guard.LeaseActive, time.Time{}, "", false
	lease.UpdatedAt, lease.UpdatedBy = r.at.Wall, "guard"
	return tx.Leases.Put(lease)
}

// follow makes leases follow what was seen: expected ones become active, and
// active and stopped ones are what their resource is.
func (r *round) follow(ctx context.Context) (changed bool, err error) {
	var ids []string
	err = r.look(ctx, func() {
		for key := range r.l.leased {
			fresh := r.alive[key]
			if fresh == nil {
				continue
			}
			lease, _ := r.lease(key)
			if _, want := followed(lease, *fresh); want != lease.Status {
				ids = append(ids, lease.ID)
			}
		}
	})
	if err != nil {
		return false, err
	}
	slices.Sort(ids)
	err = r.l.ledger.UpdateEach(ctx, len(ids), func(tx *store.Tx, i int) error {
		lease, ok, err := tx.Leases.Get(ids[i])
		if err != nil || !ok {
			return err
		}
		fresh := r.alive[lease.Resource.Key()]
		if fresh == nil {
			return nil
		}
		next, want := followed(lease, *fresh)
		if want == lease.Status {
			return nil
		}
		if lease.Status == guard.LeaseExpected && next.Identity == "" {
			next.Identity = r.identity
		}
		next.Status, next.UpdatedAt, next.UpdatedBy = want, r.at.Wall, "guard"
		if err := tx.Leases.Put(next); err != nil {
			return err
		}
		if lease.Status != guard.LeaseExpected {
			return nil
		}
		return tx.Journal(guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: "activated", Subject: next.Resource.String(), Lease: next.ID,
			Text: next.Resource.String() + " is there: the lease that waited for it is active"})
	})
	return len(ids) > 0, err
}

// followed is what a lease should be, given its resource as it was just read.
func followed(lease guard.Lease, fresh guard.Resource) (guard.Lease, guard.LeaseStatus) {
	if !lease.Status.Open() || !fresh.Live() || !presence.SameCreation(lease.ResourceCreated, fresh.Created) {
		return lease, lease.Status
	}
	if lease.ResourceCreated.IsZero() {
		lease.ResourceCreated = plain(fresh.Created)
	}
	if fresh.State == guard.StateStopped {
		return lease, guard.LeaseStopped
	}
	return lease, guard.LeaseActive
}

// status writes how fresh the account and its scopes are, each poll. It reports
// whether something began or ceased to fail.
func (r *round) status(ctx context.Context) (changed bool, err error) {
	if r.self.ID == "" {
		return false, nil // a run of readings by ID only
	}
	a := r.s.account
	changed = !a.Failing.IsZero() || a.Mismatch != "" || a.Polled.IsZero()
	for _, st := range r.scopes {
		old := r.s.scopes[store.ScopeKey(st)]
		changed = changed || old.Failing.IsZero() != st.Failing.IsZero() || old.Complete.IsZero()
	}
	// The account goes with the last of the scopes.
	err = r.l.ledger.UpdateEach(ctx, len(r.scopes)+1, func(tx *store.Tx, i int) error {
		if i < len(r.scopes) {
			return tx.Scopes.Put(r.scopes[i])
		}
		a, _, err := tx.Accounts.Get(r.l.account.Name)
		if err != nil {
			return err
		}
		over := a.Mismatch != ""
		a = r.l.stamp(a)
		if a.Identity.ID == "" || a.Identity.ID == r.self.ID {
			a.Identity = r.self
		}
		a.Outages = policy.Recovered(a.Outages, a.Failing, r.at.Wall)
		a.Polled, a.Failing, a.Error, a.Mismatch, a.Twin = r.at.Wall, time.Time{}, "", "", ""
		if err := tx.Accounts.Put(a); err != nil {
			return err
		}
		if err := r.hear(tx); err != nil {
			return err
		}
		if !over {
			return nil
		}
		return tx.Journal(guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: "account_matches", Subject: a.Name,
			Text: a.Name + ": the credentials are the recorded account's again"})
	})
	return changed, err
}

// whole is a scope of which a list was complete.
func whole(st guard.ScopeStatus, at guard.Instant) guard.ScopeStatus {
	st.Outages = policy.Recovered(st.Outages, st.Failing, at.Wall)
	st.Complete, st.Failing, st.Error = at.Wall, time.Time{}, ""
	return st
}

func failing(st guard.ScopeStatus, at guard.Instant, err error) guard.ScopeStatus {
	if st.Failing.IsZero() {
		st.Failing = at.Wall
	}
	st.Error = clip(strings.TrimSpace(err.Error()))
	return st
}

// hear keeps what the provider told of the time.
func (r *round) hear(tx *store.Tx) error {
	if r.told.IsZero() {
		return nil
	}
	name := presence.ClockName(r.l.account.Name)
	var c presence.Clock
	if _, err := tx.Value(name, &c); err != nil {
		return err
	}
	return tx.SetValue(name, c.Hear(r.told, r.at, r.l.boot, r.l.account.Poll))
}
