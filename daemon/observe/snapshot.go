package observe

import (
	"context"
	"time"

	"guard"
	"guard/store"
)

// snapshot is what the ledger knew of the account when a run began. Decisions are
// made on it and made again in the transaction that writes them.
type snapshot struct {
	account  guard.AccountStatus
	observed map[string]guard.Observed // by key
	scopes   map[string]guard.ScopeStatus
	leases   map[string]guard.Lease   // open ones, by the resource's key
	releases map[string]guard.Release // open ones, by the target's key
}

func (l *Loop) snapshot(ctx context.Context) (*snapshot, error) {
	s := &snapshot{observed: map[string]guard.Observed{}, scopes: map[string]guard.ScopeStatus{},
		leases: map[string]guard.Lease{}, releases: map[string]guard.Release{}}
	prefix := l.account.Name + "/"
	err := l.ledger.View(ctx, func(v *store.View) error {
		a, _, err := v.Accounts.Get(l.account.Name)
		if err != nil {
			return err
		}
		s.account = a
		for o, err := range v.Observed.All(prefix) {
			if err != nil {
				return err
			}
			s.observed[o.Resource.ID.Key()] = o
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
		for lease, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			if lease.Resource.Account == l.account.Name && lease.Status.Open() {
				s.leases[lease.Resource.Key()] = lease
			}
		}
		return nil
	})
	return s, wrap("read what is known of "+l.account.Name, err)
}

// claimed reports whether an open lease or release is about a resource.
func (s *snapshot) claimed(key string) bool {
	_, leased := s.leases[key]
	_, releasing := s.releases[key]
	return leased || releasing
}

// completed is when a resource's scope was last completely listed before; zero
// where it never was.
func (s *snapshot) completed(id guard.ResourceID) time.Time {
	return s.scopes[store.ScopeKey(guard.ScopeStatus{Account: id.Account, Kind: id.Kind, Scope: id.Scope})].Complete
}

// record is what the ledger has of a resource. A lease of something that was
// registered alive and never polled stands in for it, so that it cannot get lost
// between the register and the first poll.
func (s *snapshot) record(key string) (guard.Observed, bool) {
	if o, ok := s.observed[key]; ok {
		return o, true
	}
	lease, ok := s.leases[key]
	if !ok {
		return guard.Observed{}, false
	}
	return standIn(lease)
}

func standIn(lease guard.Lease) (guard.Observed, bool) {
	if lease.Status == guard.LeaseExpected || lease.Identity == "" {
		return guard.Observed{}, false
	}
	return first(guard.Resource{ID: lease.Resource, State: guard.StateRunning, Created: lease.ResourceCreated},
		sighting{identity: lease.Identity, at: lease.RegisteredAt}), true
}
