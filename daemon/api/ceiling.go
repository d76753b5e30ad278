package api

import (
	"context"

	"guard"
	"guard/policy/spend"
)

// underCeilings refuses a change that would take a lease past a ceiling, and says
// what is possible. What it passed already, it was not this change that took it there.
func (s *server) underCeilings(c *scene, verb string, l guard.Lease, old *guard.Lease) error {
	if old == nil || old.ID != l.ID {
		old = &guard.Lease{}
	}
	name := nameOf(l)
	if c.expected && l.Expect != nil && c.lease == nil {
		name = l.Resource.Account + prefixed("/", l.Expect.Name)
	}
	if end, ok := s.Rules().CeilingOf(l); ok && !l.ExpiresAt.Equal(old.ExpiresAt) {
		latest := s.stamp(end)
		switch {
		case !end.After(c.at.Wall):
			return faultf(guard.ErrRefused, "cannot %s %s: the ceiling of %s from its first registration was reached at %s", verb, name, span(s.Rules().Ceilings.TTL), latest).
				hinted("Nothing takes it further; an admin sets ceilings.ttl in guardd's configuration.")
		case l.ExpiresAt.After(end):
			return faultf(guard.ErrRefused, "cannot %s %s until %s: the ceiling is %s from its first registration, so %s is the latest that is possible", verb, name,
				s.stamp(l.ExpiresAt), span(s.Rules().Ceilings.TTL), latest).
				hinted("Say --until %s, or leave more to an admin: ceilings.ttl in guardd's configuration.", latest)
		}
	}
	if currency := billsIn(c, l); currency != "" && old.ID == "" {
		if _, ok, configured := s.Rules().MoneyCeiling(currency); configured && !ok {
			return faultf(guard.ErrRefused, "cannot %s %s: it costs %s, and there is no ceiling in that currency", verb, name, currency).
				hinted("An admin adds one to ceilings.budget in guardd's configuration.")
		}
	}
	if !l.Budget.IsSet() || l.Budget.String() == old.Budget.String() {
		return nil
	}
	most, ok, configured := s.Rules().MoneyCeiling(l.Budget.Currency())
	switch {
	case !ok && configured:
		return faultf(guard.ErrRefused, "cannot %s %s up to %s: there is no ceiling in that currency", verb, name, l.Budget).
			hinted("An admin adds one to ceilings.budget in guardd's configuration.")
	case ok:
		if n, err := l.Budget.Cmp(most); err != nil || n > 0 {
			return faultf(guard.ErrRefused, "cannot %s %s up to %s: the ceiling is %s, which is the most that is possible", verb, name, l.Budget, most)
		}
	}
	return nil
}

// unreached refuses to register what has cost as much as an admin allows already, or all
// but: it would be released at once.
func (s *server) unreached(c *scene, l guard.Lease) error {
	family := s.metered(c.book, c.observed, l, c.acct, c.at)
	for _, most := range s.Rules().Ceilings.Budget {
		if d, ok := spend.Landing(segments(family, l.ID), most, c.lead, c.at.Wall); ok && !d.Due.After(c.at.Wall) {
			spent := spentBy(family, l.ID, c.at.Wall).In(most.Currency())
			return faultf(guard.ErrRefused, "cannot register %s: the ceiling of %s is reached, and it would be released at once: it has cost %s since the provider's start", l.Resource, most, readable(spent)).
				hinted("Release it (guard release %s), or leave more to an admin: ceilings.budget in guardd's configuration.", l.Resource)
		}
	}
	return nil
}

// billsIn is the currency that something is known to bill in; "" where it is not.
func billsIn(c *scene, l guard.Lease) string {
	rate := l.Price
	if !c.expected {
		rate = rateOf(c.observed, c.book.metered[c.observed.Resource.ID.Key()], &l)
	}
	if !rate.Known() {
		return ""
	}
	return rate.Currency()
}

// honest refuses a price that would take what is spent past a ceiling in money
// unseen: one that is not at least what the provider tells is an admin's to state.
func (s *server) honest(ctx context.Context, c *scene, w *wish) error {
	if !w.price.Known() || len(s.Rules().Ceilings.Budget) == 0 || callerOf(ctx).Role.Covers(guard.Admin) {
		return nil
	}
	told := "what it costs is not known yet"
	if reported := c.observed.Resource.Rate; !c.expected && reported.Known() {
		real, _ := reported.Hourly()
		stated, _ := w.price.Hourly()
		if n, err := stated.Cmp(real); err == nil && n >= 0 {
			return nil
		}
		told = "the provider tells " + readable(real) + " per hour"
	} else if !c.expected {
		return nil // nobody else knows better
	}
	return faultf(guard.ErrPermission, "%s may not state the price %s: %s, and there is a ceiling in money", c.who, w.price.Quote(), told).
		hinted("Leave --price out, or ask an admin to register it.")
}
