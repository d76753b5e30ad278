package observe

import (
	"context"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/store"
)

// snapshot is what the ledger knew of the account when a run began, but for the
// things in it, which are looked up one by one: see look. Decisions are made on it
// and made again in the transaction that writes them.
type snapshot struct {
	account  guard.AccountStatus
	scopes   map[string]guard.ScopeStatus
	releases map[string]guard.Release // open ones, by the target's key
}

func (l *Loop) snapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{scopes: map[string]guard.ScopeStatus{}, releases: map[string]guard.Release{}}
	prefix := l.account.Name + "/"
	err := l.ledger.View(ctx, func(v *store.View) (err error) {
		if s.account, _, err = v.Accounts.Get(l.account.Name); err != nil {
			return err
		}
		for c, err := range v.Scopes.All(prefix) {
			if err != nil {
				return err
			}
			s.scopes[store.ScopeKey(c)] = c
		}
		for r, err := range v.Releases.All(prefix) {
			if err != nil {
				return err
			}
			s.releases[r.Target.Key()] = r
		}
		return l.claims(v)
	})
	return s, wrap("read what is known of "+l.account.Name, err)
}

// claims keeps which things of the account an open lease claims, and which of them
// may need other tags than they have.
func (l *Loop) claims(v *store.View) error {
	note := func(lease guard.Lease) error {
		if lease.Resource.Account != l.account.Name {
			return nil
		}
		key := lease.Resource.Key()
		lease, ok, err := v.LeaseOf(key)
		if ok && lease.Status.Open() {
			l.leased[key], l.untagged[key] = true, true
		} else {
			delete(l.leased, key)
			delete(l.untagged, key)
		}
		return err
	}
	changed, known := v.Leases.Changed(l.claimed)
	for _, id := range changed {
		lease, ok, err := v.Leases.Get(id)
		if err != nil {
			return err
		}
		if !ok {
			known = false // deleted: whose it was is not known any more
			break
		}
		if err := note(lease); err != nil {
			return err
		}
	}
	if !known {
		clear(l.leased)
		clear(l.untagged)
		for lease, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			if err := note(lease); err != nil {
				return err
			}
		}
	}
	l.claimed = v.Version()
	return nil
}

// source is where the records of single things are read: a view or a transaction.
type source struct {
	observed func(key string) (guard.Observed, bool, error)
	lease    func(key string) (guard.Lease, bool, error)
	release  func(key string) (guard.Release, bool, error)
	wallet   func(account string) (guard.Wallet, bool, error)
}

func fromView(v *store.View) source {
	return source{v.Observed.Get, v.LeaseOf, v.Releases.Get, v.Wallets.Get}
}

func fromTx(tx *store.Tx) source {
	return source{tx.Observed.Get, tx.LeaseOf, tx.Releases.Get, tx.Wallets.Get}
}

// look runs fn with the ledger at hand. What cannot be read there ends the run.
func (r *round) look(ctx context.Context, fn func()) error {
	err := r.l.ledger.View(ctx, func(v *store.View) error {
		r.v, r.src, r.damage = v, fromView(v), nil
		defer func() { r.v, r.src = nil, source{} }()
		fn()
		return r.damage
	})
	return wrap("read what is known of "+r.l.account.Name, err)
}

// get reads a record inside look. A damaged one passes for none, until look tells.
func get[T any](r *round, from func(string) (T, bool, error), key string) (T, bool) {
	v, ok, err := from(key)
	if err != nil {
		r.damage = err
	}
	return v, ok && err == nil
}

// lease is the open lease of a thing.
func (r *round) lease(key string) (guard.Lease, bool) {
	if !r.l.leased[key] {
		return guard.Lease{}, false
	}
	lease, ok := get(r, r.src.lease, key)
	return lease, ok && lease.Status.Open()
}

// claimed reports whether an open lease or release is about a resource.
func (r *round) claimed(key string) bool {
	_, releasing := r.s.releases[key]
	return releasing || r.l.leased[key]
}

// completed is when a resource's scope was last completely listed before; zero
// where it never was.
func (s *snapshot) completed(id guard.ResourceID) time.Time { return s.scopes[scopeOf(id)].Complete }

// scopeOf is the key of a resource's scope.
func scopeOf(id guard.ResourceID) string {
	return store.ScopeKey(guard.ScopeStatus{Account: id.Account, Kind: id.Kind, Scope: id.Scope})
}

// record is what the ledger has of a resource, and whether that is a record of its
// own. A lease of something that was registered alive and never polled stands in
// for it, so that it cannot get lost between the register and the first poll.
func (r *round) record(key string) (o guard.Observed, known, recorded bool) {
	if o, ok := get(r, r.src.observed, key); ok {
		return o, true, true
	}
	lease, ok := r.lease(key)
	if !ok {
		return guard.Observed{}, false, false
	}
	o, known = standIn(lease)
	return o, known, false
}

func standIn(lease guard.Lease) (guard.Observed, bool) {
	if lease.Status == guard.LeaseExpected || lease.Identity == "" {
		return guard.Observed{}, false
	}
	return first(guard.Resource{ID: lease.Resource, State: guard.StateRunning, Created: lease.ResourceCreated},
		sighting{identity: lease.Identity, at: lease.RegisteredAt}), true
}

// circumstances is what must be known beside the readings of a thing.
func (r *round) circumstances(src source, o guard.Observed) (presence.Case, error) {
	id := o.Resource.ID
	c := presence.Case{HasGet: r.l.account.Provider.Truths().ReadsByID(id.Kind)}
	lease, ok, err := src.lease(id.Key())
	if err != nil {
		return c, err
	}
	if ok && lease.Status.Open() {
		c.Registered = lease.RegisteredAt
	}
	rel, ok, err := src.release(id.Key())
	if err != nil {
		return c, err
	}
	c.Issued = ok && issued(rel)
	if id.Kind == guard.Instance && r.deletesAtZero() {
		w, _, err := src.wallet(r.l.account.Name)
		if err != nil {
			return c, err
		}
		c.UsedUp = w.UsedUp() && w.Failing.IsZero() // else nobody knows what is left by now
	}
	if o.Instance.IsZero() {
		return c, nil
	}
	instance, ok, err := src.observed(o.Instance.Key())
	if err != nil || !ok || !goesAlong(instance, id) {
		return c, err
	}
	if instance.Gone != nil {
		c.With = instance.Gone.How
		return c, nil
	}
	if rel, ok, err = src.release(o.Instance.Key()); ok && issued(rel) {
		c.With = guard.ByRelease
	}
	return c, err
}

// goesAlong reports whether the provider ends a child with its instance.
func goesAlong(instance guard.Observed, child guard.ResourceID) bool {
	for _, c := range instance.Resource.Children {
		if c.ID.Key() == child.Key() {
			return c.GoesWithInstance == guard.Yes
		}
	}
	return false
}

// issued reports whether a release of ours may have ended its target. Stopping
// ends nothing.
func issued(r guard.Release) bool {
	return r.Action == guard.ActRelease && (r.State == guard.ReleaseIntended || r.State == guard.ReleaseIssued || !r.IssuedAt.IsZero())
}
