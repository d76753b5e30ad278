package api

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy/release"
	"guard/policy/spend"
	"guard/store"
)

func (s *server) release(ctx context.Context, at guard.Instant, in wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
	out := wire.ReleaseAnswer{Now: s.now(at), Results: []wire.ReleaseOutcome{}}
	why, err := line("reason", in.Reason, 300)
	if err != nil {
		return out, err
	}
	switch {
	case in.All && len(in.IDs) > 0:
		return out, faultf(guard.ErrInvalid, "name resources, or give all and match, not both")
	case in.All && len(in.Match) == 0:
		return out, faultf(guard.ErrInvalid, "all needs match: guard does not release everything there is")
	case !in.All && len(in.IDs) == 0:
		return out, faultf(guard.ErrInvalid, "release what? Name ACCOUNT/ID, or give all and match")
	case in.All && in.ConfirmGone:
		return out, faultf(guard.ErrInvalid, "that something is gone is confirmed of what is named, one by one")
	}
	orders, notes, err := s.orders(ctx, at, in)
	if err != nil {
		return out, err
	}
	for _, o := range orders {
		o.confirm = in.ConfirmGone
		o.edit, o.err = s.plan(ctx, o, o.scene, why)
	}
	out.Notes, out.Plan = notes, planned(orders)
	out.Saves, out.NoPrice = saved(orders)
	if in.Plan != "" && in.Plan != out.Plan {
		return out, s.otherwise(orders, in.Goes)
	}
	if in.DryRun {
		for _, o := range orders {
			o.rehearse()
		}
	} else if err := s.carryOut(ctx, at, orders, why, in.Plan != ""); err != nil {
		return out, err
	}
	for _, o := range orders {
		out.Results = append(out.Results, s.told(o))
	}
	if len(in.IDs) == 1 && out.Results[0].Error != nil {
		return out, fromWire(out.Results[0].Error)
	}
	return out, nil
}

// plan decides about one order.
func (s *server) plan(ctx context.Context, o *order, c *scene, why string) (edit, error) {
	out := &o.out
	if c.expected {
		return s.cancel(ctx, c, why, out)
	}
	if err := s.target(ctx, c, o.account, o.id); err != nil {
		return edit{}, err
	}
	target := c.observed.Resource.ID
	if err := allowed(ctx, c.lease, target, "release"); err != nil {
		return edit{}, err
	}
	if g := c.observed.Gone; g != nil {
		out.Outcome = wire.OutcomeGone
		about := ""
		if g.Estimated {
			about = "about "
		}
		out.Text = fmt.Sprintf("gone already, since %s%s (%s); there is nothing to release", about, s.stamp(g.At), hows[g.How])
		return edit{}, nil
	}
	if o.confirm {
		return s.confirmed(c, why, out)
	}
	if err := s.touchable(c); err != nil {
		return edit{}, err
	}
	out.Erases, out.Survives = s.losses(c.book, c.observed, c.acct, guard.ActRelease)
	if r := c.release; r != nil && r.Action == guard.ActRelease && !release.Withdrawable(*r) {
		out.Outcome, out.Text = wire.OutcomeUnder, "guard is releasing it already, since "+s.stamp(r.IntendedAt)+" ("+r.Why+")"
		if r.State == guard.ReleaseBlocked {
			out.Text = fmt.Sprintf("guard tries to release it since %s and is blocked (%s): %s", s.stamp(r.IntendedAt), r.Reason, r.LastError)
		}
		return edit{}, nil
	}
	if r := c.release; r != nil && !release.Withdrawable(*r) {
		return edit{}, faultf(guard.ErrConflict, "cannot release %s: guard is stopping it at this moment; try again when it has stopped", target)
	}
	return s.ordered(c, guard.ActRelease, why, out), nil
}

// hows is how an end came about, for people.
var hows = map[guard.How]string{
	guard.ByRelease:  "released by guard",
	guard.ByReclaim:  "taken back by the provider",
	guard.ByOutside:  "ended outside guard",
	guard.ByPlatform: "ended by the provider",
}

// target makes sure that the scene is about an instance that guard can act on.
func (s *server) target(ctx context.Context, c *scene, account, id string) error {
	if !c.inLedger {
		if c.acct == nil {
			return s.noAccount(account)
		}
		fresh, identity, err := s.inspect(ctx, c.at, "release", account, id, c.acct)
		if err != nil {
			return err
		}
		c.observed = spend.First(fresh, identity, c.at.Wall)
		c.attach()
		return nil
	}
	if k := c.observed.Resource.ID.Kind; k != guard.Instance {
		return faultf(guard.ErrUnsupported, "cannot release %s: it is of kind %s, and guard releases instances only; data is never deleted on a word", c.observed.Resource.ID, k).
			hinted("Delete it at the provider once nobody needs it.")
	}
	return nil
}

// touchable refuses what guard must not touch, whoever asks.
func (s *server) touchable(c *scene) error {
	id := c.observed.Resource.ID
	if c.acct == nil {
		return faultf(guard.ErrRefused, "cannot release %s: account %s is no longer configured, so guard has no credentials for it", id, id.Account).
			hinted("Put the account back into guardd's configuration.")
	}
	if c.acct.Mode != guard.Enforce {
		return faultf(guard.ErrRefused, "cannot release %s: account %s is in observe mode, and there guard releases nothing", id, id.Account).
			hinted("Set mode: enforce for the account in guardd's configuration, or release it at the provider.")
	}
	var open *guard.Lease
	if c.lease != nil && c.lease.Status.Open() {
		open = c.lease
	}
	f := s.facts(c.book, c.observed, open, c.acct, c.at)
	if why := f.Untouchable(); why != "" {
		return faultf(guard.ErrRefused, "cannot release %s: %s", id, why)
	}
	if p := f.Protection(s.Rules()); p.On {
		refusal := faultf(guard.ErrRefused, "cannot release %s: %s", id, p.Why)
		if open != nil && open.Protected {
			return refusal.hinted("If it really may go: guard unprotect %s, then release it.", id)
		}
		return refusal.hinted("If it really may go, take the tag away at the provider; guard sees that at its next poll.")
	}
	return nil
}

// ordered is the release or the stop as a person ordered it; decide queues the notice of it
// and lets it go on. What was planned for the same resource gives way.
func (s *server) ordered(c *scene, action guard.Action, why string, out *wire.ReleaseOutcome) edit {
	text := "ordered by " + c.who
	if why != "" {
		text += ": " + why
	}
	r := release.New(c.observed, c.lease, action, guard.CausePerson, c.who, text, c.at.Wall, c.at.Wall, c.at.Wall)
	e := edit{entry: c.entry("ordered", string(action)+" "+text, nil)}
	e.entry.Data = map[string]string{"release": r.ID}
	if !c.inLedger {
		o := c.observed
		e.observed = &o
	}
	old := c.release
	e.more = func(tx *store.Tx) error {
		if old != nil {
			gave := *old
			gave.State, gave.EndedAt, gave.NextAt = guard.ReleaseWithdrawn, c.at.Wall, time.Time{}
			if err := tx.EndRelease(gave); err != nil {
				return err
			}
		}
		return tx.Releases.Put(r)
	}
	out.Outcome, out.Text = wire.OutcomeOrdered, string(action)+" ordered; guard reads it once more, ends it and proves that (guard show "+r.Target.String()+")"
	if c.acct != nil && c.acct.Provider.Truths().ByHand {
		out.Text = string(action) + " ordered; guard asks people to end it. Once it is gone: guard release " + r.Target.String() + " --confirm-gone"
	}
	return e
}

// fromWire makes the error of a single order the error of the request.
func fromWire(e *wire.Error) error {
	f := &fault{text: e.Message, hint: e.Hint, details: e.Details}
	for _, k := range kinds {
		if k.word == e.Kind {
			f.kind = k.err
		}
	}
	return f
}
