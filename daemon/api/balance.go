package api

import (
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// balance is what is left in an account; nil where it does not pay ahead.
func (s *server) balance(v *store.View, b *book, account string, now time.Time) (*wire.Balance, error) {
	kept, ok, err := v.Wallets.Get(account)
	if err != nil || !ok {
		return nil, err
	}
	w := policy.Wallet{Wallet: kept}
	for _, key := range b.keys {
		if o := b.observed[key]; o.Resource.ID.Account == account {
			w.Draw(o, b.metered[key])
		}
	}
	w.Add(now)
	out := &wire.Balance{At: s.local(w.At()), Known: w.Known(now), UsedUp: w.UsedUp()}
	if !out.Known {
		out.Error = w.Error
	}
	if w.Balance.Amount.IsSet() {
		out.Left = readable(w.Balance.Amount)
	}
	if empty, latest := w.Empty(s.Rules().Exchange); !out.UsedUp {
		out.Empty, out.AtLatest = s.local(empty), latest
	}
	return out, nil
}

// paidAhead fills in what was paid ahead for a thing, and when the provider ends it.
func (s *server) paidAhead(it *wire.Item, o guard.Observed, now time.Time) {
	if !o.Live() {
		return
	}
	if l := o.Resource.Lump; l.Until.After(now) {
		it.PaidUntil, it.Renews = s.local(l.Until), l.Renews.String()
		it.Paid = moneyText(l.Amount)
	}
	it.PlatformEnds, it.PlatformWhy = s.local(o.Resource.PlatformEnds.At), o.Resource.PlatformEnds.Why
}
