package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// order is one resource of a request to release, and what comes of it.
type order struct {
	account, id string
	scene       *scene
	confirm     bool // it is gone, by the caller's word
	edit        edit
	out         wire.ReleaseOutcome
	err         error // a refusal
}

// orders are the resources that a request means, read at one moment.
func (s *server) orders(ctx context.Context, at guard.Instant, in wire.ReleaseRequest) (orders []*order, notes []string, err error) {
	// A name that is not one stops everything before anything is ordered.
	for _, text := range in.IDs {
		account, id, err := s.resource(text)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(orders, func(o *order) bool { return o.account == account && o.id == id }) {
			orders = append(orders, &order{account: account, id: id, out: wire.ReleaseOutcome{ID: account + "/" + id}})
		}
	}
	err = s.Ledger.View(ctx, func(v *store.View) error {
		books := map[string]*book{}
		of := func(account string) (b *book, err error) {
			if books[account] == nil {
				books[account], err = read(v, account)
			}
			return books[account], err
		}
		if in.All {
			b, err := of("")
			if err != nil {
				return err
			}
			orders, notes = s.matching(b, in.Match)
			for _, o := range orders {
				books[o.account] = b
			}
		}
		for _, o := range orders {
			b, err := of(o.account)
			if err != nil {
				return err
			}
			o.scene = s.place(b, at, caller(ctx), o.account, o.id)
		}
		return nil
	})
	return orders, notes, err
}

// matching are the live instances with all of the tags, and what is to be said of
// those that only seem to have them.
func (s *server) matching(b *book, match map[string]string) (orders []*order, notes []string) {
	var near []string
	for _, key := range b.keys {
		o := b.observed[key]
		var lease *guard.Lease
		if l, ok := b.leases[key]; ok && l.Status.Open() {
			lease = &l
		}
		if !o.Live() || o.Resource.ID.Kind != guard.Instance {
			continue
		}
		switch tags := tagsOf(o, lease); {
		case has(tags, match):
			id := o.Resource.ID
			orders = append(orders, &order{account: id.Account, id: id.ID, out: wire.ReleaseOutcome{ID: id.String()}})
		case alike(tags, match):
			near = append(near, o.Resource.ID.String())
		}
	}
	if len(near) > 0 {
		notes = append(notes, fmt.Sprintf("tags are compared exactly, so what only looks alike does not match: %s", policy.Few(near, 5)))
	}
	for _, name := range s.AccountNames() {
		if a, ok := s.Account(name); ok && a.Tagger == nil {
			notes = append(notes, fmt.Sprintf("account %s: its provider has no tags, so only what was registered with them matches there", name))
		}
	}
	return orders, notes
}

// alike reports tags that differ from every pair by case and spaces only.
func alike(tags, match map[string]string) bool {
	plain := func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
	folded := map[string]string{}
	for k, v := range tags {
		folded[plain(k)] = plain(v)
	}
	for k, v := range match {
		if have, ok := folded[plain(k)]; !ok || have != plain(v) {
			return false
		}
	}
	return true
}

// goes reports an order that ends something.
func (o *order) goes() bool {
	return o.err == nil && (o.out.Outcome == wire.OutcomeOrdered || o.out.Outcome == wire.OutcomeCancelled)
}

// rehearse makes of an order what would be ordered.
func (o *order) rehearse() {
	switch {
	case o.out.Outcome == wire.OutcomeConfirmed:
		o.out.Outcome, o.out.Text = wire.OutcomeWould, "would count as gone, by your word alone"
	case !o.goes():
	case o.out.Outcome == wire.OutcomeCancelled:
		o.out.Outcome, o.out.Text = wire.OutcomeWould, "would no longer be expected"
	default:
		o.out.Outcome, o.out.Text = wire.OutcomeWould, "would be released"
	}
}

// planned is the digest of what goes: which things, as whose, and what that
// erases. What is spared is not in it.
func planned(orders []*order) string {
	var lines []string
	for _, o := range orders {
		if !o.goes() {
			continue
		}
		lease := ""
		if o.scene.lease != nil {
			lease = o.scene.lease.ID
		}
		lines = append(lines, fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%q", o.out.ID, o.scene.observed.Resource.Created.UTC().Format(time.RFC3339Nano),
			o.scene.observed.Identity, lease, o.out.Erases))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:12])
}

// otherwise refuses an order whose plan no longer holds, and says what differs.
func (s *server) otherwise(orders []*order, goes []string) error {
	f := faultf(guard.ErrConflict, "what would be released has changed since the plan was made, so nothing was ordered").
		hinted("Look at the plan as it is now, and order that.")
	now := map[string]*order{}
	for _, o := range orders {
		now[o.out.ID] = o
		if o.goes() && !slices.Contains(goes, o.out.ID) {
			f.details = append(f.details, o.out.ID+" would go now, too")
		}
	}
	for _, id := range goes {
		switch o := now[id]; {
		case o == nil:
			f.details = append(f.details, id+" no longer matches")
		case o.err != nil:
			f.details = append(f.details, id+" is spared now: "+newProblem(o.err).Message)
		case !o.goes():
			f.details = append(f.details, id+": "+o.out.Text)
		}
	}
	if len(f.details) == 0 {
		f.details = []string{"the same ones, but one of them is registered otherwise now, or would erase something else"}
	}
	return f
}

// saved is what the things that go bill per hour, an amount a currency, and how
// many have no known price.
func saved(orders []*order) (amounts []string, unknown int) {
	sums := map[string]guard.Money{}
	for _, o := range orders {
		if !o.goes() || o.scene.expected {
			continue
		}
		c := o.scene
		h, ok := rateOf(c.observed, c.book.metered[c.observed.Resource.ID.Key()], c.lease).Hourly()
		if sum, have := sums[h.Currency()]; ok && have {
			h, ok = added(sum, h)
		}
		if !ok {
			unknown++
			continue
		}
		sums[h.Currency()] = h
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		amounts = append(amounts, readable(sums[currency]))
	}
	return amounts, unknown
}

func added(a, b guard.Money) (guard.Money, bool) {
	sum, err := a.Add(b)
	return sum, err == nil
}

// carryOut writes the orders, many in one update. Where something moved in between,
// a plan leaves that one alone; without a plan it is looked at again.
func (s *server) carryOut(ctx context.Context, at guard.Instant, orders []*order, why string, exactly bool) error {
	var write []*order
	for _, o := range orders {
		if o.err == nil && !o.edit.empty() {
			write = append(write, o)
		}
	}
	moved := make([]bool, len(write))
	err := s.Ledger.UpdateEach(ctx, len(write), func(tx *store.Tx, i int) error {
		err := s.put(ctx, tx, write[i].scene, write[i].edit)
		if moved[i] = errors.Is(err, errMoved); moved[i] {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	kick := map[string]bool{}
	for i, o := range write {
		switch {
		case moved[i] && exactly:
			o.err = faultf(guard.ErrConflict, "%s changed while the plan was carried out, so it was left alone", o.out.ID).hinted("Look at it, and order it again.")
		case moved[i]:
			o.scene, o.edit, o.err = s.decide(ctx, at, o.account, o.id, func(c *scene) (edit, error) { return s.plan(ctx, o, c, why) })
		}
		kick[o.account] = true
	}
	if slices.ContainsFunc(write, func(o *order) bool { return o.out.Outcome == wire.OutcomeConfirmed }) {
		s.kick("meter")
	}
	if len(kick) > 0 {
		s.kick("decide")
	}
	for _, account := range slices.Sorted(maps.Keys(kick)) {
		s.kick("release/" + account)
	}
	return nil
}

// told is the outcome of an order as it is answered.
func (s *server) told(o *order) wire.ReleaseOutcome {
	if o.err != nil {
		p := newProblem(o.err)
		if p.Kind == wire.KindInternal {
			s.Log.Error("api release failed", "id", o.out.ID, "error", o.err.Error())
		}
		return wire.ReleaseOutcome{ID: o.out.ID, Name: o.scene.observed.Resource.Name, Outcome: wire.OutcomeRefused, Text: p.Message, Error: &p.wireError}
	}
	o.out.Name = o.scene.observed.Resource.Name
	if o.scene.expected && o.scene.lease.Expect != nil {
		o.out.Name = o.scene.lease.Expect.Name
	}
	return o.out
}

// cancel ends a lease whose instance has not come.
func (s *server) cancel(ctx context.Context, c *scene, why string, out *wire.ReleaseOutcome) (edit, error) {
	l := *c.lease
	if err := allowed(ctx, &l, l.Resource, "release"); err != nil {
		return edit{}, err
	}
	if !l.Status.Open() {
		out.Outcome, out.Text = wire.OutcomeGone, "no longer expected, since "+s.stamp(l.EndedAt)
		return edit{}, nil
	}
	l.Status, l.EndedAt, l.UpdatedAt, l.UpdatedBy = guard.LeaseGone, c.at.Wall, c.at.Wall, c.who
	out.Outcome, out.Text = wire.OutcomeCancelled, "no longer expected"
	return edit{lease: &l, entry: c.entry("cancelled", "no longer expected"+prefixed(": ", why), nil)}, nil
}
