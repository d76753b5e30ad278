package decide

import (
	"fmt"

	"guard"
	"guard/policy"
)

// wallet gathers what is left in an account that pays ahead, and what draws on it; nil
// where the subject is no account, or nobody tells of a balance.
func (w *watch) wallet(s *subject) (*policy.Wallet, error) {
	a := w.l.accounts[s.account]
	if s.key != s.account || a == nil {
		return nil, nil
	}
	kept, ok, err := w.v.Wallets.Get(s.account)
	if err != nil || !ok {
		return nil, err
	}
	out := &policy.Wallet{Wallet: kept, AtZero: a.Provider.Truths().AtZero}
	for o, err := range w.v.Observed.All(s.account + "/") {
		if err != nil {
			return nil, fmt.Errorf("add up what draws on the balance of %s: %w", s.account, err)
		}
		m, _, err := w.v.Metered.Get(observedKey(o))
		if err != nil {
			return nil, err
		}
		out.Draw(o, m)
		if !o.Live() || o.Resource.ID.Kind != guard.Instance || o.Resource.State == guard.StateStopped {
			continue
		}
		lease, _, err := w.v.LeaseOf(observedKey(o))
		if err != nil {
			return nil, err
		}
		box := policy.Box{ID: o.Resource.ID, Purpose: lease.Purpose}
		for _, c := range o.Resource.Children {
			if c.GoesWithInstance == guard.No {
				box.Stays = append(box.Stays, c.ID.ID)
			}
		}
		out.Boxes = append(out.Boxes, box)
	}
	out.Add(w.m.now)
	return out, nil
}
