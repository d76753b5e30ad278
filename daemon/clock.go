package daemon

import (
	"context"
	"sync"

	"guard"
	"guard/policy/presence"
	"guard/store"
)

// timekeeper makes the time that guard goes by of what the machine's clocks tell. It is
// the one place where the machine's own wall clock counts: loops and people's
// commands get the time from here.
type timekeeper struct {
	ledger   *store.Ledger
	accounts func() []string

	mu     sync.Mutex
	belief presence.Belief
	clocks []presence.Clock // as of the ledger's version
	seen   store.Version
}

// keepTime goes on from what the ledger knows of the time.
func keepTime(ctx context.Context, l *store.Ledger, boot string, at guard.Instant, accounts func() []string) (*timekeeper, error) {
	var kept presence.Belief
	err := l.View(ctx, func(v *store.View) error {
		_, err := v.Value(presence.BeliefName, &kept)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &timekeeper{ledger: l, accounts: accounts, belief: presence.Begin(kept, boot, at)}, nil
}

// Believe is the instant that guard goes by when the machine tells another.
func (k *timekeeper) Believe(at guard.Instant) guard.Instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listen()
	b := k.belief.Next(at, k.clocks)
	if !at.Before(k.belief.At) {
		k.belief = b
	}
	return b.At
}

// Belief is what is known of the time as it was told last.
func (k *timekeeper) Belief() presence.Belief {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.belief
}

// listen reads what the providers told of the time, where the ledger has changed. What
// cannot be read leaves the time as it was: it is carried on by what has elapsed.
func (k *timekeeper) listen() {
	_ = k.ledger.View(context.Background(), func(v *store.View) error {
		if v.Version() == k.seen {
			return nil
		}
		var clocks []presence.Clock
		for _, name := range k.accounts() {
			var c presence.Clock
			ok, err := v.Value(presence.ClockName(name), &c)
			if err != nil {
				return err
			}
			if ok {
				clocks = append(clocks, c)
			}
		}
		k.clocks, k.seen = clocks, v.Version()
		return nil
	})
}
