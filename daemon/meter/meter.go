package meter

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/spend"
	"guard/store"
)

// share is whose budget a resource counts to, and from when on.
type share struct {
	lease        guard.Lease // none: nobody's, or as it was
	since, taken time.Time   // as in spend.Input
}

// share finds the lease that a resource counts to: its own, or that of the instance
// it was last attached to, open or ended, for what a lease leaves behind is still
// its own until it hangs on what another claims. A thing that came under the ID of
// an ended one is not.
func (r *run) share(v *store.View, o guard.Observed, m guard.Metered) (share, error) {
	lease, ok, err := v.LeaseOf(o.Resource.ID.Key())
	if err != nil {
		return share{}, err
	}
	if ok && !lease.Status.Open() {
		ok = presence.SameCreation(lease.ResourceCreated, o.Resource.Created) &&
			(lease.EndedAt.IsZero() || o.FirstSeen.Before(lease.EndedAt) || o.Gone != nil)
	}
	if ok {
		return share{lease: lease, taken: spend.Taken(time.Time{}, lease)}, nil
	}
	if o.Instance.IsZero() {
		return share{}, nil
	}
	lease, ok, err = v.LeaseOf(o.Instance.Key())
	if err != nil || !ok || !lease.Status.Open() && m.Lease != "" && m.Lease != lease.ID {
		return share{}, err
	}
	instance, ok, err := v.Observed.Get(o.Instance.Key())
	if err != nil || !ok {
		return share{}, err // not seen yet: since when is not known
	}
	since := spend.Since(o, instance)
	return share{lease, since, spend.Taken(since, lease)}, nil
}

// meter folds what changed, and what waits for a second reading of its price.
func (r *run) meter(ctx context.Context) error {
	var keys []string
	var shares []share
	err := r.ledger.View(ctx, func(v *store.View) error {
		fold, err := r.refresh(v)
		if err != nil {
			return err
		}
		for _, key := range fold {
			s, changes, err := r.changes(v, key)
			if err != nil {
				return err
			}
			if changes {
				keys, shares = append(keys, key), append(shares, s)
			}
		}
		return nil
	})
	if err != nil {
		return reading(err)
	}
	var was []guard.Metered // what each was before it was folded
	if err := r.ledger.UpdateEach(ctx, len(keys), func(tx *store.Tx, i int) error {
		for ; len(was) > i; was = was[:len(was)-1] {
			r.book.tally(keys[len(was)-1], was[len(was)-1]) // that transaction begins anew
		}
		m, _, err := tx.Metered.Get(keys[i])
		if err != nil {
			return err
		}
		was = append(was, m)
		return r.fold(tx, keys[i], m, shares[i])
	}); err != nil {
		return fmt.Errorf("meter: write segments: %w", err)
	}
	return nil
}

// changes reports whose a resource is and whether there is something to write of it.
func (r *run) changes(v *store.View, key string) (s share, changes bool, err error) {
	o, ok, err := v.Observed.Get(key)
	if err != nil || !ok {
		return s, false, err
	}
	m, _, err := v.Metered.Get(key)
	if err != nil {
		return s, false, err
	}
	if s, err = r.share(v, o, m); err != nil || len(o.Unmetered(m)) > 0 {
		return s, err == nil, err
	}
	b, _, err := v.Bills.Get(key)
	if err != nil {
		return s, false, err
	}
	in, ok := r.input(o, m, s, b)
	if !ok {
		return s, false, nil
	}
	e, _, err := v.Egress.Get(key)
	if err != nil {
		return s, false, err
	}
	r.folded++
	folded, _ := spend.Fold(in)
	return s, !reflect.DeepEqual(r.sent(in, folded, e), m), nil
}

// fold meters one resource on what the ledger has now. Whose it is may have changed
// since the View: then its lease has, or its instance, and the next run sees to it.
func (r *run) fold(tx *store.Tx, key string, m guard.Metered, s share) error {
	o, ok, err := tx.Observed.Get(key)
	if err != nil || !ok {
		return err
	}
	b, _, err := tx.Bills.Get(key)
	if err != nil {
		return err
	}
	in, ok := r.input(o, m, s, b)
	if !ok {
		return nil
	}
	e, _, err := tx.Egress.Get(key)
	if err != nil {
		return err
	}
	r.folded++
	// What no longer has a segment of it has to be solved again too.
	r.solve = append(r.solve, leasesOf(m)...)
	folded, events := spend.Fold(in)
	folded = r.sent(in, folded, e)
	r.book.tally(key, folded)
	if err := tx.Metered.Put(folded); err != nil {
		return err
	}
	for _, e := range events {
		if err := tx.Journal(entry(o, folded.Lease, r.at.Wall, e)); err != nil {
			return err
		}
	}
	r.book.again[key] = true
	if o.Batch != 0 || len(o.Pending) == 0 {
		return nil
	}
	o.Pending = nil // it has no number to be known by
	return tx.Observed.Put(o)
}

// input gathers what Fold judges; false for an account that is not configured,
// whose adapter alone knows how it bills.
func (r *run) input(o guard.Observed, m guard.Metered, s share, b guard.Bill) (spend.Input, bool) {
	a, ok := r.account(o.Resource.ID.Account)
	if !ok {
		return spend.Input{}, false
	}
	return spend.Input{Observed: o, Metered: m, Lease: s.lease.ID, Since: s.since, Taken: s.taken,
		Price: s.lease.Price, Bill: b, Truths: a.Provider.Truths(), Poll: a.Poll, Read: r.read(o), At: r.at.Wall, Over: r.rules.PriceChanged.Over}, true
}

// read is when a resource was last read and was as the ledger says: every
// complete list of its scope had it, unless something speaks against it.
func (r *run) read(o guard.Observed) time.Time {
	id := o.Resource.ID
	c := r.complete[store.ScopeKey(guard.ScopeStatus{Account: id.Account, Kind: id.Kind, Scope: id.Scope})]
	if len(o.Absent) == 0 && o.Gone == nil && o.NotSame.IsZero() && c.After(o.Seen) {
		return c
	}
	return o.Seen
}

// doubtful reports whether the price in force was read only once.
func doubtful(m guard.Metered) bool {
	n := len(m.Segments)
	return n > 0 && m.Segments[n-1].Provisional > 0 && m.Segments[n-1].To.IsZero()
}

// leasesOf are the leases that segments count to, each once.
func leasesOf(m guard.Metered) []string {
	var leases []string
	for _, s := range spend.Segments(m) {
		if s.Lease != "" && !slices.Contains(leases, s.Lease) {
			leases = append(leases, s.Lease)
		}
	}
	return leases
}

// entry is the journal's line about a price.
func entry(o guard.Observed, lease string, now time.Time, e spend.Event) guard.JournalEntry {
	id := o.Resource.ID
	at := e.At.UTC().Format("2006-01-02 15:04:05 UTC")
	text := map[spend.EventKind]string{
		spend.EventPriceChanged:   fmt.Sprintf("%s: its price changed from %s to %s at %s; a second reading has to confirm it", id, e.From, e.To, at),
		spend.EventPriceConfirmed: fmt.Sprintf("%s: a second reading confirms its price of %s", id, e.To),
		spend.EventCorrected:      fmt.Sprintf("%s: spend corrected: the price of %s was read once and not again; it counts at %s as before", id, e.From, e.To),
		spend.EventUnitMismatch:   fmt.Sprintf("%s: a price of %s is reported since %s, too far from %s to be believed; the old one stays in force until a person states the price, or the provider's own bill confirms it", id, e.To, at, e.From),
		spend.EventUnitMatch:      fmt.Sprintf("%s: the reported price is %s again", id, e.To),
		spend.EventPriceMissing:   fmt.Sprintf("%s: no price is reported any more since %s; the last one, %s, stays in force", id, at, e.From),
		spend.EventPriced:         fmt.Sprintf("%s: its price is known now: %s; what ran before counts at it too", id, e.To),
		spend.EventBilled:         fmt.Sprintf("%s: the provider's own bill confirms %s; it counts at it since it was reported, and not at %s", id, e.To, e.From),
		spend.EventStated:         fmt.Sprintf("%s: it counts at the price that a person stated: %s", id, e.To),
	}[e.Kind]
	return guard.JournalEntry{At: now, Who: "guard", Verb: string(e.Kind), Subject: id.String(), Lease: lease, Text: text}
}
