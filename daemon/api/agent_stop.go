package api

import (
	"context"

	"guard"
	"guard/daemon/wire"
	"guard/policy/release"
)

// stop orders the stop of one instance, with the same checks as a release.
func (s *server) stop(ctx context.Context, at guard.Instant, in wire.StopRequest) (wire.ReleaseOutcome, error) {
	out := wire.ReleaseOutcome{ID: in.ID}
	why, err := line("reason", in.Reason, 300)
	if err != nil {
		return out, err
	}
	account, id, err := s.resource(in.ID)
	if err != nil {
		return out, err
	}
	_, _, err = s.decide(ctx, at, account, id, func(c *scene) (edit, error) {
		out = wire.ReleaseOutcome{ID: in.ID}
		return s.stopping(ctx, c, account, id, why, &out)
	})
	if out.Outcome == wire.OutcomeOrdered {
		s.kick("decide", "release/"+account)
	}
	return out, err
}

// stopping decides about one stop.
func (s *server) stopping(ctx context.Context, c *scene, account, id, why string, out *wire.ReleaseOutcome) (edit, error) {
	if c.expected {
		return edit{}, faultf(guard.ErrConflict, "cannot stop %s: it has not been seen yet", c.subject())
	}
	if err := s.target(ctx, c, account, id); err != nil {
		return edit{}, err
	}
	r := c.observed.Resource
	if err := allowed(ctx, c.lease, r.ID, "stop"); err != nil {
		return edit{}, err
	}
	if c.observed.Gone != nil || r.State == guard.StateStopped {
		out.Outcome, out.Text = wire.OutcomeGone, "it runs no more; there is nothing to stop"
		return edit{}, nil
	}
	if err := s.touchable(c); err != nil {
		return edit{}, err
	}
	if why := unstoppable(r, c.acct); why != "" {
		return edit{}, faultf(guard.ErrRefused, "cannot stop %s: %s", r.ID, why).hinted("To end what it costs: guard release %s", r.ID)
	}
	if old := c.release; old != nil && !release.Withdrawable(*old) {
		out.Outcome, out.Text = wire.OutcomeUnder, "guard is ending it already, since "+s.stamp(old.IntendedAt)+" ("+old.Why+")"
		return edit{}, nil
	}
	return s.ordered(c, guard.ActStop, why, out), nil
}
