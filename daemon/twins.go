package daemon

import (
	"context"
	"fmt"
	"sync"

	"guard"
	"guard/providers"
	"guard/store"
)

// distinct refuses two accounts with one identity: each would see the other's
// boxes as its own, or as nobody's. Who cannot be asked now is judged by what the
// ledger has on record, and by observe as soon as it answers.
//
// A start over a ledger that knows both is not refused: they became one while guard
// was there, and nobody may be at hand. The one whose credentials are not its own is
// watched by nobody and released by nobody until the right ones are back (observe finds
// it with its first poll); all others are watched as ever.
func (d *Daemon) distinct(ctx context.Context, accounts []*providers.Account, starting bool) error {
	ids := d.identities(ctx, accounts)
	known := make([]guard.AccountStatus, len(accounts))
	err := d.o.Ledger.View(ctx, func(v *store.View) (err error) {
		for i, a := range accounts {
			if known[i], _, err = v.Accounts.Get(a.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range ids {
		if ids[i].ID == "" {
			ids[i] = known[i].Identity
		}
	}
	met := func(s guard.AccountStatus) bool { return s.Identity.ID != "" || s.Mismatch != "" }
	for i, a := range accounts {
		for j, b := range accounts[:i] {
			if ids[i].ID == "" || ids[i].ID != ids[j].ID || a.Kind != b.Kind {
				continue
			}
			if starting && met(known[i]) && met(known[j]) {
				d.o.Log.Error("two accounts are one", "accounts", b.Name+", "+a.Name, "identity", ids[i].ID,
					"then", "guard does nothing in the one whose credentials changed, until the right ones are back")
				continue
			}
			return fmt.Errorf("%w: accounts %s and %s are the same %s account (%s): each would act on the other's boxes; remove one of them from the configuration",
				guard.ErrConflict, b.Name, a.Name, a.Kind, ids[i].ID)
		}
	}
	return nil
}

// identities asks every account whose its credentials are; an empty one could not be
// asked.
func (d *Daemon) identities(ctx context.Context, accounts []*providers.Account) []guard.Identity {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	ids := make([]guard.Identity, len(accounts))
	var wg sync.WaitGroup
	for i, a := range accounts {
		wg.Go(func() {
			id, err := a.Provider.Identity(ctx)
			if err != nil {
				d.o.Log.Warn("identity not read", "account", a.Name, "error", err.Error())
				return
			}
			ids[i] = id
		})
	}
	wg.Wait()
	return ids
}
