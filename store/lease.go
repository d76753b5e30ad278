package store

import (
	"cmp"
	"slices"
	"time"

	"guard"
)

// leaseRefs is the index of one resource's leases. It keeps all of them, not
// only the newest: when that one ends, an older one may still be open.
type leaseRefs struct {
	Resource string     `json:"resource"`
	Leases   []leaseRef `json:"leases"`
}

type leaseRef struct {
	ID         string    `json:"id"`
	Open       bool      `json:"open,omitzero"`
	Registered time.Time `json:"registered"`
}

func refOf(l guard.Lease) leaseRef {
	return leaseRef{ID: l.ID, Open: l.Status.Open(), Registered: l.RegisteredAt}
}

// same compares as the JSON of them does: the wall time, not its clock reading or
// its location.
func (r leaseRef) same(o leaseRef) bool {
	return r.ID == o.ID && r.Open == o.Open && r.Registered.Equal(o.Registered)
}

// best is the lease that speaks for the resource: an open one before an ended
// one, then the newest.
func (r leaseRefs) best() string {
	if len(r.Leases) == 0 {
		return ""
	}
	return slices.MaxFunc(r.Leases, func(a, b leaseRef) int {
		if a.Open != b.Open {
			if a.Open {
				return 1
			}
			return -1
		}
		return cmp.Or(a.Registered.Compare(b.Registered), cmp.Compare(a.ID, b.ID))
	}).ID
}

// LeaseOf returns the lease of a resource (by ResourceID.Key) that counts: the
// newest open one, or else the newest that has ended.
func (tx *Tx) LeaseOf(resource string) (guard.Lease, bool, error) {
	refs, ok, err := leaseIndex.now(tx.o, resource)
	if err != nil || !ok {
		return guard.Lease{}, false, err
	}
	return tx.Leases.Get(refs.best())
}

// LeaseOf is as in [Tx].
func (v *View) LeaseOf(resource string) (guard.Lease, bool, error) {
	refs, ok, err := v.leaseIndex.Get(resource)
	if err != nil || !ok {
		return guard.Lease{}, false, err
	}
	return v.Leases.Get(refs.best())
}

// indexLease keeps the index beside every write of a lease.
func (tx *Tx) indexLease(old, new *guard.Lease) error {
	if old != nil {
		from := resourceKey(old.Resource)
		if new == nil || from != resourceKey(new.Resource) {
			if err := tx.reindex(from, old.ID, nil); err != nil {
				return err
			}
		}
	}
	if new == nil {
		return nil
	}
	ref := refOf(*new)
	return tx.reindex(resourceKey(new.Resource), new.ID, &ref)
}

// reindex sets or (nil) removes a lease in the index of a resource. A lease that
// names no resource yet is in no index.
func (tx *Tx) reindex(resource, lease string, ref *leaseRef) error {
	if resource == "" || lease == "" {
		return nil
	}
	refs, _, err := leaseIndex.now(tx.o, resource)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(refs.Leases, func(r leaseRef) bool { return r.ID == lease })
	switch {
	case ref == nil && at < 0:
		return nil
	case ref == nil:
		refs.Leases = slices.Delete(refs.Leases, at, at+1)
	case at < 0:
		refs.Leases = append(refs.Leases, *ref)
	case refs.Leases[at].same(*ref):
		return nil
	default:
		refs.Leases[at] = *ref
	}
	if len(refs.Leases) == 0 {
		return tx.o.delete(leaseIndex.name, resource)
	}
	refs.Resource = resource
	return leaseIndex.put(tx.o, refs)
}
