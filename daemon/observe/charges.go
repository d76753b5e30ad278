package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"guard"
	"guard/store"
)

const (
	// chargesEvery is how far apart readings of the bill are, and billedFor how far back
	// each goes.
	chargesEvery = time.Hour
	billedFor    = 72 * time.Hour
	// settled is how long after its end a line of the bill may still grow.
	settled = 3 * time.Hour
)

// charges reads the provider's own bill, now and then, and keeps what it came to for each
// thing that is known: beside what guard counts, and never in place of it. That it cannot
// be read is no error of the poll.
func (r *round) charges(ctx context.Context) error {
	l := r.l
	if l.account.Biller == nil || r.at.Before(l.chargesAt) {
		return nil
	}
	l.chargesAt = r.at.Add(chargesEvery)
	lines, err := l.account.Biller.Charges(ctx, r.at.Wall.Add(-billedFor))
	switch wait, asked := guard.RetryAfter(err); {
	case errors.Is(err, guard.ErrUnsupported):
		l.chargesAt = r.at.Add(offersNone)
		return nil
	case asked && wait > chargesEvery:
		l.chargesAt = r.at.Add(wait)
	}
	if err != nil {
		l.log.Warn("the bill cannot be read", "error", err)
		return nil
	}
	by := map[string][]guard.Charge{}
	for _, c := range lines {
		if c.Resource.Account = l.account.Name; c.Resource.ID != "" && c.From.Before(c.To) && !c.To.After(r.at.Wall.Add(-settled)) {
			by[c.Resource.Key()] = append(by[c.Resource.Key()], c)
		}
	}
	keys := make([]string, 0, len(by))
	for key := range by {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	err = l.ledger.UpdateEach(ctx, len(keys), func(tx *store.Tx, i int) error {
		o, known, err := tx.Observed.Get(keys[i])
		if err != nil || !known {
			return err
		}
		m, _, err := tx.Metered.Get(keys[i])
		if err != nil {
			return err
		}
		b, _, err := tx.Bills.Get(keys[i])
		if err != nil {
			return err
		}
		now, ok := sum(by[keys[i]], m)
		if !ok {
			return nil
		}
		now.Read = plain(r.at.Wall)
		return tx.Bills.Put(guard.Bill{Resource: o.Resource.ID, Last: now, Before: b.Last})
	})
	l.kick("decide")
	return wrap("write down what "+l.account.Name+" bills", err)
}

// sum is what lines come to. Since a price is reported that is not believed, only what is
// billed since then tells anything of it.
func sum(lines []guard.Charge, m guard.Metered) (guard.Billed, bool) {
	var b guard.Billed
	for _, c := range lines {
		if m.Odd != nil && c.From.Before(m.OddSince) {
			continue
		}
		if b.From.IsZero() {
			b = guard.Billed{From: plain(c.From), To: plain(c.To), Amount: c.Amount}
			continue
		}
		b.From, b.To = earlier(b.From, plain(c.From)), later(b.To, plain(c.To))
		total, err := b.Amount.Add(c.Amount)
		if err != nil {
			total = guard.Money{}
		}
		b.Amount = total
	}
	return b, !b.From.IsZero()
}
