package decide

import (
	"cmp"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
	"guard/store"
)

// child gathers what a thing that is no instance hangs on, or was made from: its
// instance, that one's lease, and the disk of a snapshot.
func child(src source, f *policy.Facts) error {
	if f.Observed == nil || f.Observed.Resource.ID.Kind == guard.Instance {
		return nil
	}
	o := f.Observed
	if id := o.Instance; !id.IsZero() {
		var err error
		if f.Instance, err = src.host(id.Key()); err != nil {
			return err
		}
		f.InstanceLease, err = src.hosted(id.Key())
		if err == nil && f.InstanceLease == nil && f.Metered.Lease != "" {
			f.InstanceLease, err = found(src.byID, f.Metered.Lease) // it was started again as another
		}
		if err != nil {
			return err
		}
	}
	if key := madeFrom(*o); key != "" {
		var err error
		if f.Source, err = found(src.observed, key); err != nil {
			return err
		}
	}
	return nil
}

// madeFrom is the key of the disk that a snapshot was made from; "" where there is none.
func madeFrom(o guard.Observed) string {
	id := o.Resource.ID
	if id.Kind != guard.Snapshot || o.Resource.Source == "" {
		return ""
	}
	return guard.ResourceID{Account: id.Account, Kind: guard.Volume, ID: o.Resource.Source}.Key()
}

// burn is what an instance that does not run bills now, with what hangs on it and with
// what else counts to its lease.
func burn(src source, f *policy.Facts) error {
	if f.Observed == nil || !f.Observed.Live() || !policy.StandsStill(f.Observed.Resource) {
		return nil
	}
	segments := spend.Segments(f.Metered)
	seen := map[string]bool{}
	for _, c := range f.Observed.Resource.Children {
		m, _, err := src.metered(c.ID.Key())
		if err != nil {
			return err
		}
		seen[c.ID.Key()] = true
		segments = append(segments, spend.Segments(m)...)
	}
	for _, key := range f.Plan.Family {
		if seen[key] {
			continue
		}
		m, _, err := src.metered(key)
		if err != nil {
			return err
		}
		segments = append(segments, spend.Of(f.Plan.Lease, m)...)
	}
	now := spend.Burn(segments, f.At)
	f.Burn, f.BurnAtLeast, f.BurnMoves = now.Known, len(now.Unknown) > 0, spend.Moves(segments, f.At)
	return nil
}

// mostEnded bounds how many instances that have ended are looked at for the one in whose
// place another was started.
const mostEnded = 8

// ended are those of some instances that are gone and whose lease has ended, the last
// first.
func ended(src source, keys []string) ([]policy.Ended, error) {
	var out []policy.Ended
	for _, key := range keys {
		o, ok, err := src.observed(key)
		if err != nil {
			return nil, err
		}
		if !ok || o.Gone == nil {
			continue
		}
		lease, ok, err := src.lease(key)
		if err != nil {
			return nil, err
		}
		if ok && !lease.Status.Open() {
			out = append(out, policy.Ended{Observed: o, Lease: lease})
		}
	}
	slices.SortFunc(out, func(a, b policy.Ended) int {
		return cmp.Or(b.Observed.Gone.At.Compare(a.Observed.Gone.At), cmp.Compare(a.Lease.ID, b.Lease.ID))
	})
	return out[:min(len(out), mostEnded)], nil
}

// kin are the names under which an instance and the one that is started in its place
// are the same: a spot request, a group, how it looks.
func kin(r guard.Resource) []string {
	if r.ID.Kind != guard.Instance {
		return nil
	}
	var out []string
	if r.Parent.Kind == guard.SpotRequest {
		out = append(out, r.Parent.Key())
	}
	if r.Group != "" {
		out = append(out, r.ID.Account+"|group|"+r.Group)
	}
	if shape := policy.Shape(r); shape != "" {
		out = append(out, r.ID.Account+"|shape|"+shape)
	}
	return out
}

// related notes under which names an instance is known, and has those that may have been
// started in its place judged once it is gone.
func (x *index) related(s *subject, o guard.Observed, ok bool) {
	var names []string
	if ok {
		names = kin(o.Resource)
	}
	if !slices.Equal(names, s.kin) {
		for _, name := range s.kin {
			delete(x.kin[name], s.key)
			if len(x.kin[name]) == 0 {
				delete(x.kin, name)
			}
		}
		for _, name := range names {
			if x.kin[name] == nil {
				x.kin[name] = map[string]bool{}
			}
			x.kin[name][s.key] = o.Gone != nil
		}
		s.kin = names
	}
	if !ok || o.Gone == nil {
		return
	}
	for _, name := range names {
		x.kin[name][s.key] = true
		for key, gone := range x.kin[name] {
			if !gone {
				x.touch(key)
			}
		}
	}
}

// goneKin are the keys of the instances that are gone and that another may have been
// started in the place of.
func (x *index) goneKin(s *subject) []string {
	var out []string
	for _, name := range s.kin {
		for key, gone := range x.kin[name] {
			if gone {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reclaimTold notes that people are told of a reclaim.
func reclaimTold(tx *store.Tx, m guard.Message) error {
	name := reclaimValue(m.About[0].Account)
	var told []time.Time
	if _, err := tx.Value(name, &told); err != nil {
		return err
	}
	told = append(told, m.CreatedAt)
	return tx.SetValue(name, told[max(0, len(told)-policy.ReclaimsKept):])
}

// reclaimValue is the ledger's value with when people were last told of a reclaim.
func reclaimValue(account string) string { return "decide/reclaimed/" + account }

// reclaims tells, of an instance that the provider took back, when people last heard of
// such a one in its account.
func reclaims(src source, f *policy.Facts) error {
	o := f.Observed
	if o == nil || o.Resource.Ended != guard.ByReclaim && (o.Gone == nil || o.Gone.How != guard.ByReclaim) {
		return nil
	}
	_, err := src.value(reclaimValue(o.Resource.ID.Account), &f.ReclaimsTold)
	return err
}
