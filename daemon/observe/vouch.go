package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/store"
)

// billedBy is how long after something was first seen a bill must name it.
const billedBy = 24 * time.Hour

// vouch is an error where what seems to be gone may only be out of sight. A weak identity is
// the key's and not the account's: a key that may not see the account any more finds nothing
// in it, and is the same key. So where a poll saw nothing there, and not because guard ended
// it, the account's own bill has to name something that guard knows. A bill that the key may
// not read, or of which nothing can stand on it yet, contradicts nothing.
func (r *round) vouch(ctx context.Context, id guard.Identity, looks []guard.Lookup) error {
	l := r.l
	if id.Strong || len(r.alive) > 0 || r.self.ID == "" || l.account.Biller == nil {
		return nil
	}
	lost := append([]guard.ResourceID(nil), r.unlisted...)
	for _, look := range looks {
		switch look.Verdict {
		case guard.VerdictFound:
			return nil // it sees that one, be it a tombstone
		case guard.VerdictAbsent:
			look.ID.Account = l.account.Name
			lost = append(lost, look.ID)
		}
	}
	missed, due := false, false // without our doing; and some of it long enough to be billed
	if err := r.look(ctx, func() {
		for _, gone := range lost {
			o, known := get(r, r.src.observed, gone.Key())
			if !known || o.Gone != nil || r.given(o).Issued {
				continue
			}
			rate := o.Resource.BillingRate()
			missed = true
			due = due || o.Resource.Bills == guard.Yes && rate.Known() && !rate.Amount.IsZero() && r.at.Wall.Sub(o.FirstSeen) >= billedBy
		}
	}); err != nil || !missed || !due {
		return err
	}
	lines, err := l.account.Biller.Charges(ctx, r.at.Wall.Add(-billedFor))
	switch {
	case errors.Is(err, guard.ErrPermission), errors.Is(err, guard.ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("everything in %s seems to be gone, and whether its key still sees the account cannot be told: %w", l.account.Name, err)
	}
	named := false
	err = l.ledger.View(ctx, func(v *store.View) error {
		for _, c := range lines {
			c.Resource.Account = l.account.Name
			if _, known, err := v.Observed.Get(c.Resource.Key()); err != nil || known {
				named = known
				return err
			}
		}
		return nil
	})
	if err != nil || named {
		return wrap("read what "+l.account.Name+" bills", err)
	}
	return fmt.Errorf("%w: everything in %s seems to be gone, and its bill names nothing that guard knows: the key may have lost its access. "+
		"Nothing is taken for gone, and what is known goes on counting", guard.ErrPermission, l.account.Name)
}
