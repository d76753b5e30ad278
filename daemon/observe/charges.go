package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// inFull is how long a line of the bill may go on after what it is of has ended.
	inFull = time.Hour
	// mostUnseen is how many of what is billed and not known are named.
	mostUnseen = 10
)

// charges reads the provider's own bill, now and then, and keeps what it came to for each
// thing that is known: beside what guard counts, and never in place of it. What it names and
// nobody has seen is kept with the account. That it cannot be read is written down, and is
// no error of the poll.
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
		return r.billed(ctx, func(b *guard.BillStatus) {
			if b.Error = clip(err.Error()); b.Failing.IsZero() {
				b.Failing = plain(r.at.Wall)
			}
		})
	}
	by := map[string][]guard.Charge{}
	for _, c := range lines {
		if c.Resource.Account = l.account.Name; c.Resource.ID != "" && c.From.Before(c.To) && !c.To.After(r.at.Wall.Add(-settled)) {
			by[c.Resource.Key()] = append(by[c.Resource.Key()], c)
		}
	}
	until := time.Time{} // what the bill has reached
	for _, lines := range by {
		for _, c := range lines {
			until = later(until, plain(c.To))
		}
	}
	keys := slices.Sorted(maps.Keys(by))
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
		bill := guard.Bill{Resource: o.Resource.ID, Last: now, Before: b.Last}
		if err := tx.Bills.Put(bill); err != nil || !ends(bill, o, until) {
			return err
		}
		return r.charged(tx, o, bill)
	})
	if err != nil {
		return wrap("write down what "+l.account.Name+" bills", err)
	}
	l.kick("meter")
	unseen, err := r.unseen(ctx, by)
	if err != nil {
		return wrap("read what "+l.account.Name+" bills and is not known", err)
	}
	return r.billed(ctx, func(b *guard.BillStatus) { *b = unseen.after(*b, plain(r.at.Wall)) })
}

// ends reports whether the bill proves that the meter of something stopped of which only an
// absence did: two readings long after its end have it to its end and not beyond, while the
// bill has reached later times.
func ends(b guard.Bill, o guard.Observed, until time.Time) bool {
	g := o.Gone
	if g == nil || g.Proof != guard.ProofAbsence {
		return false
	}
	last := g.At.Add(inFull)
	return b.Last.Amount.IsSet() && !b.Last.To.After(last) && b.Before.To.Equal(b.Last.To) && until.After(last) && b.Before.Read.After(last.Add(settled))
}

// charged writes that proof down, with the release that ended it.
func (r *round) charged(tx *store.Tx, o guard.Observed, b guard.Bill) error {
	gone := *o.Gone
	gone.Proof = guard.ProofCharge
	o.Gone = &gone
	if err := tx.Observed.Put(o); err != nil {
		return err
	}
	id := o.Resource.ID
	rel, ok, err := tx.Releases.Get(id.Key())
	if err != nil {
		return err
	}
	if ok && rel.Receipt != nil && rel.Receipt.Proof == guard.ProofAbsence {
		receipt := *rel.Receipt
		receipt.Proof = guard.ProofCharge
		rel.Receipt = &receipt
		if err := tx.Releases.Put(rel); err != nil {
			return err
		}
	}
	return tx.Journal(guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: "charge_ends", Subject: id.String(),
		Text: fmt.Sprintf("%s: the provider's own bill has it until %s and nothing after that: its meter stopped", id, b.Last.To.Format(time.RFC3339))})
}

// billed writes down how well the bill is read.
func (r *round) billed(ctx context.Context, change func(*guard.BillStatus)) error {
	err := r.l.ledger.Update(ctx, func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get(r.l.account.Name)
		if err != nil {
			return err
		}
		a = r.l.stamp(a)
		change(&a.Bill)
		return tx.Accounts.Put(a)
	})
	r.l.kick("decide")
	return wrap("write down how the bill of "+r.l.account.Name+" is read", err)
}

// strangers are the lines of a bill for what the ledger has never had, a thing each.
type strangers [][]guard.Charge

// unseen finds them. A machine that is part of a thing is known with it.
func (r *round) unseen(ctx context.Context, by map[string][]guard.Charge) (strangers, error) {
	unknown := map[string]bool{}
	err := r.l.ledger.View(ctx, func(v *store.View) error {
		for key := range by {
			_, known, err := v.Observed.Get(key)
			if err != nil {
				return err
			}
			if !known {
				unknown[key] = true
			}
		}
		if len(unknown) == 0 {
			return nil
		}
		for o, err := range v.Observed.All(r.l.account.Name + "/" + string(guard.Instance) + "/") {
			if err != nil {
				return err
			}
			for _, id := range o.Resource.Nodes {
				delete(unknown, guard.ResourceID{Account: r.l.account.Name, Kind: guard.Instance, ID: id}.Key())
			}
		}
		return nil
	})
	var out strangers
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		out = append(out, by[key])
	}
	return out, err
}

// after is a status after a reading: what is billed from before the first one may have
// ended before guard ever looked.
func (s strangers) after(was guard.BillStatus, now time.Time) guard.BillStatus {
	b := guard.BillStatus{Since: was.Since, Read: now}
	if b.Since.IsZero() {
		b.Since = now
	}
	sums := map[string]guard.Money{}
	for _, lines := range s {
		counts := false
		for _, c := range lines {
			if c.From.Before(b.Since) || !c.Amount.IsPositive() {
				continue
			}
			sum, ok := sums[c.Amount.Currency()]
			if !ok {
				sum = guard.ZeroMoney(c.Amount.Currency())
			}
			if more, err := sum.Add(c.Amount); err == nil {
				sums[c.Amount.Currency()], counts = more, true
			}
		}
		if !counts {
			continue
		}
		if b.Count++; b.Count <= mostUnseen {
			b.Unseen = append(b.Unseen, lines[0].Resource)
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		b.Sum = append(b.Sum, sums[currency])
	}
	if b.Count > 0 {
		b.Found = now
		if was.Count > 0 {
			b.Found = was.Found
		}
	}
	return b
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
