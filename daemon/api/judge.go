package api

import (
	"context"
	"fmt"
	"strings"

	"guard"
	"guard/policy"
	"guard/providers"
)

// judge refuses what must not be registered, and warns of what may surprise.
func (s *server) judge(c *scene, w *wish, l guard.Lease) ([]string, error) {
	if err := s.underCeilings(c, "register", l, c.lease); err != nil {
		return nil, err
	}
	if c.expected {
		return nil, inCurrency(l)
	}
	r := c.observed.Resource
	status := c.book.accounts[w.account]
	var warnings []string
	if policy.Self(r, status) {
		return nil, faultf(guard.ErrRefused, "cannot register %s: guard itself runs on it, and guard never acts on its own machine", r.ID)
	}
	if d := policy.Foreign(r, s.Ledger.Deployment()); d != "" {
		return nil, faultf(guard.ErrRefused, "cannot register %s: it belongs to another guard (tag %s=%s)", r.ID, guard.TagDeployment, clip(d)).
			hinted("Register it there. If that guard is gone for good, remove the tag at the provider.")
	}
	if why, ok := policy.May(c.acct.MayRelease).Allows(r, l.NoGPUOK); !ok {
		f := faultf(guard.ErrRefused, "cannot register %s: %s", r.ID, why)
		if strings.Contains(why, "GPU instances only") {
			return nil, f.hinted("If guard really may release this machine at its limit, say so with --no-gpu-ok.")
		}
		return nil, f.hinted("may_release of account %s in guardd's configuration decides that.", w.account)
	}
	if c.lease == nil || l.OnLimit != c.lease.OnLimit || l.ID != c.lease.ID {
		if err := stoppable(r, c.acct, l.OnLimit); err != nil {
			return nil, err
		}
	}
	if c.lease == nil || l.ID != c.lease.ID || w.budget.IsSet() || w.price.Known() {
		if l.Budget.IsSet() {
			if err := s.affordable(c, l); err != nil {
				return nil, err
			}
		}
	}
	f := s.facts(c.book, c.observed, &l, c.acct, c.at)
	if p := f.Protection(s.Rules()); p.On {
		warnings = append(warnings, "guard will not touch it at its limits: "+p.Why)
	} else if old := claimed(c.lease); old == nil || l.ID != old.ID || w.price.Known() {
		if err := s.unreached(c, l); err != nil {
			return nil, err
		}
	}
	lock := map[guard.Action]guard.Tri{guard.ActRelease: w.lock.Release, guard.ActStop: w.lock.Stop}[l.OnLimit]
	if lock == guard.Yes && !(l.AllowUnprotect && s.Rules().Limits.ForcedUnprotect) {
		warnings = append(warnings, "the provider's own protection is on: at its limit guard is refused and pages. Switch the protection off at the provider before then")
	}
	if !l.Price.Known() && !r.BillingRate().Known() && r.Bills != guard.No {
		warnings = append(warnings, "its price is unknown, so guard cannot count what it costs: state the whole machine's, such as --price 2.50USD/h")
	}
	if reported := r.Rate; w.price.Known() && reported.Known() && !reported.Same(w.price) {
		h, _ := reported.Hourly()
		warnings = append(warnings, fmt.Sprintf("the provider reports %s per hour; the price you state is used instead", readable(h)))
	}
	return warnings, nil
}

// locked is the provider's own lock on a resource. Where a listing hides it, it is
// asked for: people are told now rather than at the limit. No answer is no lock;
// the provider has its word at the limit all the same.
func locked(ctx context.Context, acct *providers.Account, r guard.Resource) providers.Protection {
	p := providers.Protection{Release: r.ReleaseProtected, Stop: r.StopProtected}
	if acct.Protector == nil || p.Release != guard.Unknown && p.Stop != guard.Unknown {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, lockFor)
	defer cancel()
	if asked, err := acct.Protector.Protection(ctx, r.ID); err == nil {
		return asked
	}
	return p
}

// stoppable refuses to stop where that saves nothing.
func stoppable(r guard.Resource, acct *providers.Account, action guard.Action) error {
	if action != guard.ActStop {
		return nil
	}
	why := unstoppable(r, acct)
	if why == "" {
		return nil
	}
	return faultf(guard.ErrRefused, "cannot register %s with on_limit stop: %s", r.ID, why).hinted("Use --on-limit release or --on-limit alert.")
}

// unstoppable is why a stop would save nothing; "" where it saves something.
func unstoppable(r guard.Resource, acct *providers.Account) string {
	effect := r.StopSaves
	if effect == guard.StopUnknown {
		effect = acct.Provider.Truths().Stop
	}
	switch {
	case effect == guard.StopSavesNothing: // whether or not there is a stop
		return "a stopped machine costs the same there"
	case acct.Stopper == nil || effect == guard.StopUnsupported:
		return "the provider cannot stop it"
	case effect == guard.StopUnknown:
		return "nobody knows whether a stop saves anything there"
	}
	return ""
}

// affordable refuses a cap that guard could not keep, or that is reached already.
func (s *server) affordable(c *scene, l guard.Lease) error {
	if c.expected {
		return inCurrency(l)
	}
	id := l.Resource
	family, plan := s.solve(c.book, c.observed, l, c.acct, c.lead, c.at)
	rate := rateOf(c.observed, family[0].metered, &l)
	if !rate.Known() {
		return faultf(guard.ErrRefused, "cannot keep %s under %s: its price is unknown", id, l.Budget).
			hinted("State the whole machine's price, such as --price 2.50USD/h, or leave the budget out.")
	}
	if rate.Currency() != l.Budget.Currency() {
		return faultf(guard.ErrCurrency, "cannot keep %s under %s: it bills in %s (%s), and guard never converts for a cap", id, l.Budget, rate.Currency(), rate.Quote()).
			hinted("Give the budget in %s.", rate.Currency())
	}
	spent := spentBy(family, l.ID, c.at.Wall).In(l.Budget.Currency())
	since := c.observed.Resource.Created
	if since.IsZero() {
		since = c.observed.FirstSeen
	}
	if n, err := spent.Cmp(l.Budget); err != nil || n >= 0 {
		return faultf(guard.ErrRefused, "the budget of %s for %s is already spent: %s since it began at %s", l.Budget, id, readable(spent), s.stamp(since)).
			hinted("A budget counts from the provider's start. Give one above what is spent, or release the machine: guard release %s", id)
	}
	if d, ok := plan.Deadline(guard.DeadlineBudget); ok && !d.Due.After(c.at.Wall) {
		return faultf(guard.ErrRefused, "the budget of %s for %s is all but spent: %s so far, and a release takes up to %s in which it goes on billing", l.Budget, id, readable(spent), d.Lead).
			hinted("Give a larger budget, or release the machine: guard release %s", id)
	}
	return nil
}

// soon warns of limits that come before people can act on the notice, and of
// what the cap does not count.
func (s *server) soon(l guard.Lease, p guard.Plan, at guard.Instant) []string {
	var out []string
	for _, d := range p.Deadlines {
		if left := d.Due.Sub(at.Wall); left < l.Grace && l.OnLimit != guard.ActAlert {
			out = append(out, fmt.Sprintf("its %s comes in %s, sooner than the notice of %s that people get", d.Reason, span(left), span(l.Grace)))
		}
	}
	for _, part := range p.Unknown {
		out = append(out, "not counted into its budget: "+part)
	}
	return out
}
