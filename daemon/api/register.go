package api

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/presence"
	"guard/policy/spend"
)

func (s *server) register(ctx context.Context, at guard.Instant, in wire.RegisterRequest) (wire.Registered, error) {
	out := wire.Registered{Now: s.now(at), Changes: []wire.Change{}, Erases: []string{}, Survives: []string{}}
	w, err := s.wish(in, at)
	if err != nil {
		return out, err
	}
	seen, err := s.sight(ctx, at, w)
	if err != nil {
		return out, err
	}
	var warnings, defaults []string
	var l guard.Lease
	c, _, err := s.decide(ctx, at, w.account, w.id, func(c *scene) (edit, error) {
		if err := seen.into(c, w, at); err != nil {
			return edit{}, err
		}
		if before, err := s.before(ctx, c, w); err != nil || before {
			l, warnings, defaults = *c.lease, nil, nil
			out.Outcome, w.notes = "unchanged", []string{"this registration was carried out before; nothing was changed now"}
			return edit{}, err
		}
		var err error
		if l, defaults, err = s.claim(c, w); err != nil {
			return edit{}, err
		}
		for _, is := range []*guard.Lease{claimed(c.lease), &l} {
			if err := allowed(ctx, is, l.Resource, "register"); err != nil {
				return edit{}, err
			}
		}
		if err := s.honest(ctx, c, w); err != nil {
			return edit{}, err
		}
		if warnings, err = s.judge(c, w, l); err != nil {
			return edit{}, err
		}
		e := s.registration(c, l, &out)
		e.more = remember(w, l, at)
		if err = s.moveTimer(ctx, c, &e, "change the registration of", s.timerNow(c)); err == nil {
			l.Timer = e.lease.Timer
		}
		return e, err
	})
	if err != nil {
		return out, err
	}
	s.after(c, l)
	out.Item, out.Limits = s.outcome(c, l)
	if !c.expected && l.OnLimit != guard.ActAlert && !out.Item.Protected {
		out.Erases, out.Survives = s.losses(c.book, c.observed, c.acct, l.OnLimit)
	}
	out.Notes, out.Warnings, out.Defaults = w.notes, append(warnings, s.soon(l, c.book.plans[l.ID], at)...), defaults
	s.kick("observe/"+w.account, "meter", "decide", "release/"+w.account)
	return out, nil
}

// claimed is a lease that somebody holds; nil for one that guard made because nobody
// did.
func claimed(l *guard.Lease) *guard.Lease {
	if l != nil && l.Adopted {
		return nil
	}
	return l
}

// sighting is what a registration knows of its instance from the provider; nil where
// none is there yet, and none needs to be.
type sighting struct {
	resource guard.Resource
	identity string
}

// sight reads what is to be registered. What is only expected is not looked for.
func (s *server) sight(ctx context.Context, at guard.Instant, w *wish) (*sighting, error) {
	c, err := s.scene(ctx, at, w.account, w.id)
	if err != nil {
		return nil, err
	}
	id := guard.ResourceID{Account: w.account, Kind: guard.Instance, ID: w.id}
	if c.inLedger {
		id = c.observed.Resource.ID // a lease's ID names its instance
		w.id = id.ID
	}
	if err := allowed(ctx, claimed(c.lease), id, "register"); err != nil {
		return nil, err
	}
	switch {
	case w.Expect != nil && w.id != "" && !c.expected:
		return nil, faultf(guard.ErrInvalid, "what is expected has no ID yet: name the account alone, not %s/%s", w.account, clip(w.id)).
			hinted("To register what is there already, leave expect out.")
	case w.Expect != nil, c.expected:
		return nil, nil
	}
	r, identity, err := s.inspect(ctx, at, "register", w.account, w.id, w.acct)
	if err != nil {
		return nil, err
	}
	w.lock = locked(ctx, w.acct, r)
	return &sighting{r, identity}, nil
}

// into puts what was read into a scene.
func (g *sighting) into(c *scene, w *wish, at guard.Instant) error {
	switch {
	case g == nil && c.inLedger:
		return faultf(guard.ErrConflict, "%s/%s is no longer expected: it has appeared as %s", w.account, w.id, c.observed.Resource.ID).
			hinted("Register that: guard register %s", c.observed.Resource.ID)
	case g == nil:
		c.await(w)
		return nil
	case c.inLedger && c.observed.Live():
		c.observed = renewed(c.observed, g.resource, at)
	default:
		c.observed = spend.First(g.resource, g.identity, at.Wall)
	}
	c.attach()
	return nil
}

// claim is the lease as it will be: the one that is there with what was asked
// for, or a new one. It also names what the daemon's defaults filled in.
func (s *server) claim(c *scene, w *wish) (guard.Lease, []string, error) {
	if c.lease == nil || !c.lease.Status.Open() {
		return s.fresh(c, w)
	}
	l := *c.lease
	if l.Adopted {
		return s.takeOver(c, w)
	}
	mine := w.Owner == l.Owner || w.Owner == "" && (c.who == l.Owner || c.who == l.UpdatedBy)
	if !mine && !w.Reassign {
		until := "without an expiry"
		if !l.ExpiresAt.IsZero() {
			until = "until " + s.stamp(l.ExpiresAt)
		}
		return l, nil, faultf(guard.ErrConflict, "%s is registered already: %s has it %s, for %q", nameOf(l), l.Owner, until, l.Purpose).
			hinted("Talk to %s. To change it for them, add --owner %q; to take it over, --reassign.", l.Owner, l.Owner)
	}
	if !presence.SameCreation(l.ResourceCreated, c.observed.Resource.Created) {
		return l, nil, faultf(guard.ErrConflict, "%s is leased by %s, but what has that ID now is another machine", l.Resource, l.Owner).
			hinted("Guard is proving the end of the first one, which takes some minutes; try again then.")
	}
	if err := c.inTime("change the registration of"); err != nil {
		return l, nil, err
	}
	if w.Reassign || w.Owner != "" {
		l.Owner = w.Owner
		if l.Owner == "" {
			l.Owner = c.who
		}
	}
	s.apply(&l, w)
	return l, nil, nil
}

// fresh is a new lease, filled up with the defaults.
func (s *server) fresh(c *scene, w *wish) (guard.Lease, []string, error) {
	r := c.observed.Resource
	l := guard.Lease{
		ID: policy.LeaseID(s.Ledger.Deployment(), r.ID, c.at.Wall), Resource: r.ID, ResourceCreated: r.Created, Identity: c.observed.Identity,
		RegisteredAt: c.at.Wall, Status: guard.LeaseActive,
	}
	switch {
	case c.expected:
		l.Resource, l.Status = guard.ResourceID{Account: w.account, Kind: guard.Instance}, guard.LeaseExpected
		l.ID = c.book.unusedID(s.Ledger.Deployment(), l.Resource, c.at.Wall)
	case r.State == guard.StateStopped:
		l.Status = guard.LeaseStopped
	}
	if c.lease != nil && !c.expected {
		l = policy.Follow(l, *c.lease)
	}
	return s.filled(c, w, l)
}

// takeOver makes a person's lease of one that guard made because nobody had: it
// begins as if there were none, but for what was spent and since when.
func (s *server) takeOver(c *scene, w *wish) (guard.Lease, []string, error) {
	l := *c.lease
	if err := c.inTime("change the registration of"); err != nil {
		return l, nil, err
	}
	l.Adopted, l.Owner, l.Purpose, l.ExpiresAt, l.OnLimit, l.Grace = false, "", "", time.Time{}, "", 0
	return s.filled(c, w, l)
}

// filled is a lease with what was asked for and, where nothing was, the defaults.
func (s *server) filled(c *scene, w *wish, l guard.Lease) (guard.Lease, []string, error) {
	if l.Owner = w.Owner; l.Owner == "" {
		l.Owner = c.who
	}
	s.apply(&l, w)
	rules := s.Rules().Defaults
	var defaults []string
	if l.ExpiresAt.IsZero() && rules.TTL > 0 {
		var err error
		if l.ExpiresAt, err = s.ahead(rules.TTL, w.asked, c.at); err != nil {
			return l, nil, err
		}
		text := "ttl " + span(rules.TTL)
		if end, ok := s.Rules().CeilingOf(l); ok && l.ExpiresAt.After(end) {
			l.ExpiresAt, text = end, text+", cut to the ceiling"
		}
		defaults = append(defaults, text)
	}
	if l.OnLimit == "" {
		l.OnLimit = rules.OnLimit
		defaults = append(defaults, "on_limit "+string(rules.OnLimit))
	}
	if l.Grace == 0 {
		l.Grace = rules.Grace
		defaults = append(defaults, "grace "+span(rules.Grace))
	}
	return l, defaults, nil
}

// registration is what is written, if anything changed.
func (s *server) registration(c *scene, l guard.Lease, out *wire.Registered) edit {
	e := edit{lease: &l}
	verb, text := "registered", fmt.Sprintf("registered by %s for %s: %s", c.who, l.Owner, orNone(l.Purpose))
	if c.expected {
		text += ", expected until " + s.stamp(l.Expect.Until) + prefixed(" under the name ", l.Expect.Name)
	}
	out.Outcome, out.Changes = "created", []wire.Change{}
	if c.lease != nil && c.lease.ID == l.ID {
		out.Changes = s.diff(*c.lease, l, c.at.Wall)
		if out.Outcome = "updated"; len(out.Changes) == 0 {
			out.Outcome = "unchanged"
			return e
		}
		verb, text = "updated", fmt.Sprintf("registration changed by %s", c.who)
	}
	l.UpdatedAt, l.UpdatedBy = c.at.Wall, c.who
	e.entry = c.entry(verb, text, out.Changes)
	e.entry.Lease, e.entry.Subject = l.ID, nameOf(l)
	if verb == "registered" {
		e.entry.Data = map[string]string{"owner": l.Owner, "on_limit": string(l.OnLimit)}
		if !l.ExpiresAt.IsZero() {
			e.entry.Data["expires_at"] = l.ExpiresAt.Format(time.RFC3339)
		}
		if l.Budget.IsSet() {
			e.entry.Data["budget"] = l.Budget.String()
		}
	}
	if !c.expected && (!c.inLedger || !c.book.observed[l.Resource.Key()].Live()) {
		o := c.observed
		e.observed = &o
	}
	return e
}
