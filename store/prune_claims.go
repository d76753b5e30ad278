package store

import (
	"errors"
	"slices"
	"strings"
	"time"

	"guard"
)

// over reports whether a lease ended long ago.
func (p *pruner) over(l guard.Lease) bool {
	return !l.Status.Open() && p.old(later(l.EndedAt, l.UpdatedAt))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (p *pruner) leases() error {
	var ended []string
	err := p.l.View(p.ctx, func(v *View) error {
		needed, err := p.neededLeases(v)
		rows(p, v.Leases, func(l guard.Lease) {
			if p.over(l) && !needed[l.ID] {
				ended = append(ended, l.ID)
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	return p.each(ended, &p.done.Leases, func(tx *Tx, id string) (bool, error) {
		l, ok, err := tx.Leases.Get(id)
		if err != nil || !ok || !p.over(l) {
			return false, err
		}
		if r, ok, err := tx.Releases.Get(resourceKey(l.Resource)); err != nil || ok && r.Lease == id {
			return false, err
		}
		return true, errors.Join(tx.Leases.Delete(id), tx.Plans.Delete(id))
	})
}

// neededLeases are the ended leases that something still refers to: an open
// release or finding, or a resource that stays and whose own lease it was, or that
// of the instance it hung on, or that was paid for under it.
func (p *pruner) neededLeases(v *View) (map[string]bool, error) {
	needed := map[string]bool{}
	rows(p, v.Releases, func(r guard.Release) { needed[r.Lease] = true })
	rows(p, v.Findings, func(f guard.Finding) { needed[f.Lease] = true })
	var errs []error
	rows(p, v.Observed, func(o guard.Observed) {
		if p.gone(o) {
			return
		}
		key := resourceKey(o.Resource.ID)
		m, _, err := v.Metered.Get(key)
		errs = append(errs, err)
		for _, id := range leasesOf(m) {
			needed[id] = true
		}
		for _, of := range []string{key, resourceKey(o.Instance)} {
			l, _, err := v.LeaseOf(of)
			errs = append(errs, err)
			needed[l.ID] = true
		}
	})
	return needed, errors.Join(errs...)
}

// leasesOf are the leases that a resource counts or has counted to.
func leasesOf(m guard.Metered) []string {
	ids := []string{m.Lease}
	for _, s := range m.Segments {
		ids = append(ids, s.Lease)
	}
	for _, q := range m.Traffic {
		ids = append(ids, q.Lease)
	}
	for _, p := range m.Lumps {
		ids = append(ids, p.Lease)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// gone reports whether a resource was proven gone long ago.
func (p *pruner) gone(o guard.Observed) bool {
	return !o.Live() && p.old(later(o.Gone.At, o.Gone.ProvenAt))
}

func (p *pruner) resources() error {
	var gone []string
	threads := map[string][]string{}
	err := p.l.View(p.ctx, func(v *View) error {
		needed := p.neededResources(v)
		rows(p, v.Observed, func(o guard.Observed) {
			if key := resourceKey(o.Resource.ID); p.gone(o) && !needed[key] {
				gone = append(gone, key)
			}
		})
		return v.s.Scan(valuesTable, threadPrefix, "", func(name string, _ []byte) bool {
			_, key, _ := strings.Cut(strings.TrimPrefix(name, threadPrefix), "/")
			threads[key] = append(threads[key], name)
			return true
		})
	})
	if err != nil {
		return err
	}
	return p.each(gone, &p.done.Resources, func(tx *Tx, key string) (bool, error) {
		o, ok, err := tx.Observed.Get(key)
		if err != nil || !ok || !p.gone(o) {
			return false, err
		}
		if counted, err := tx.counted(key); err != nil || counted {
			return false, err
		}
		errs := []error{tx.Observed.Delete(key), tx.Metered.Delete(key), tx.Egress.Delete(key), tx.Bills.Delete(key)}
		for _, name := range threads[key] {
			errs = append(errs, tx.o.delete(valuesTable, name))
		}
		return true, errors.Join(errs...)
	})
}

// counted reports whether a lease or a release needs a resource.
func (tx *Tx) counted(key string) (bool, error) {
	if _, ok, err := leaseIndex.now(tx.o, key); err != nil || ok {
		return ok, err
	}
	if _, ok, err := tx.Releases.Get(key); err != nil || ok {
		return ok, err
	}
	m, _, err := tx.Metered.Get(key)
	if err != nil {
		return false, err
	}
	for _, id := range leasesOf(m) {
		if _, ok, err := tx.Leases.Get(id); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// neededResources are the gone resources that something still refers to: a lease,
// its family, an open release or finding, and what hung on these or on what stays.
func (p *pruner) neededResources(v *View) map[string]bool {
	needed := map[string]bool{}
	leases := map[string]bool{}
	rows(p, v.Leases, func(l guard.Lease) { leases[l.ID], needed[resourceKey(l.Resource)] = true, true })
	rows(p, v.Plans, func(plan guard.Plan) {
		for _, key := range plan.Family {
			needed[key] = needed[key] || leases[plan.Lease]
		}
	})
	rows(p, v.Metered, func(m guard.Metered) {
		if slices.ContainsFunc(leasesOf(m), func(id string) bool { return leases[id] }) {
			needed[resourceKey(m.Resource)] = true
		}
	})
	rows(p, v.Releases, func(r guard.Release) { needed[resourceKey(r.Target)] = true })
	rows(p, v.Findings, func(f guard.Finding) { needed[resourceKey(f.Resource)] = true })
	hung := map[string][]string{}
	var from []string
	rows(p, v.Observed, func(o guard.Observed) {
		key := resourceKey(o.Resource.ID)
		hung[key] = []string{resourceKey(o.Instance), resourceKey(o.Resource.Parent)}
		if !p.gone(o) || needed[key] {
			from = append(from, hung[key]...)
		}
	})
	for len(from) > 0 {
		key := from[len(from)-1]
		from = from[:len(from)-1]
		if key != "" && !needed[key] {
			needed[key] = true
			from = append(from, hung[key]...)
		}
	}
	return needed
}
