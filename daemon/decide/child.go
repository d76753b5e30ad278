package decide

import (
	"guard"
	"guard/policy"
)

// child gathers what a thing that is no instance hangs on, or was made from: its
// instance, that one's lease, and the disk of a snapshot.
func child(src source, f *policy.Facts) error {
	if f.Observed == nil || f.Observed.Resource.ID.Kind == guard.Instance {
		return nil
	}
	o := f.Observed
	if id := o.Instance; !id.IsZero() {
		i, ok, err := src.observed(id.Key())
		if err != nil {
			return err
		}
		if ok {
			f.Instance = &i
		}
		lease, ok, err := src.lease(id.Key())
		if err == nil && !ok && f.Metered.Lease != "" {
			lease, ok, err = src.byID(f.Metered.Lease) // it was started again as another
		}
		if err != nil {
			return err
		}
		if ok {
			f.InstanceLease = &lease
		}
	}
	if key := madeFrom(*o); key != "" {
		disk, ok, err := src.observed(key)
		if err != nil {
			return err
		}
		if ok {
			f.Source = &disk
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
