package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/store"
)

// balanceEvery is how far apart readings of a balance are: each is a call, and people
// are warned a day ahead.
const balanceEvery = 10 * time.Minute

// offersNone is how long an account that has no balance, or tells no bill, is left alone.
const offersNone = 24 * time.Hour

// balance reads what is left in an account that pays ahead, now and then, and where something
// is missing that its provider may have deleted for want of it. That it cannot be read is
// written down, and is no error of the poll.
func (r *round) balance(ctx context.Context) error {
	l := r.l
	early := l.balanceTold && r.deletesAtZero() && r.missing()
	if l.account.Balancer == nil || r.at.Before(l.balanceAt) && !early {
		return nil
	}
	l.balanceAt = r.at.Add(balanceEvery)
	b, failed := l.account.Balancer.Balance(ctx)
	l.balanceTold = failed == nil
	if errors.Is(failed, guard.ErrUnsupported) {
		l.balanceAt = r.at.Add(offersNone)
		return nil
	}
	if failed == nil && !b.Amount.IsSet() {
		failed = fmt.Errorf("%w: %s tells of a balance without an amount", guard.ErrBadReply, l.account.Name)
	}
	if wait, ok := guard.RetryAfter(failed); ok && wait > balanceEvery {
		l.balanceAt = r.at.Add(wait)
	}
	err := l.ledger.Update(ctx, func(tx *store.Tx) error {
		w, _, err := tx.Wallets.Get(l.account.Name)
		if err != nil {
			return err
		}
		w.Account = l.account.Name
		switch {
		case failed == nil:
			b.At = plain(b.At)
			w = guard.Wallet{Account: w.Account, Balance: b, Read: plain(r.at.Wall)}
		case w.Failing.IsZero():
			w.Failing = plain(r.at.Wall)
			fallthrough
		default:
			w.Error = clip(failed.Error())
		}
		return tx.Wallets.Put(w)
	})
	l.kick("decide")
	return wrap("write down what is left in "+l.account.Name, err)
}

// deletesAtZero reports whether the provider deletes what runs when the balance is used up.
func (r *round) deletesAtZero() bool {
	return r.l.account.Provider.Truths().AtZero == guard.ZeroDeletes
}

// missing reports whether this run read of anything that it is not there.
func (r *round) missing() bool {
	return slices.ContainsFunc(r.updates, func(u update) bool {
		return u.look != nil && u.look.Verdict == guard.VerdictAbsent || !u.unlisted.IsZero()
	})
}
