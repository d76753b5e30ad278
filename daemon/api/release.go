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
	ids := in.IDs
	switch {
	case in.All && len(in.IDs) > 0:
		return out, faultf(guard.ErrInvalid, "name resources, or give all and match, not both")
	case in.All && len(in.Match) == 0:
		return out, faultf(guard.ErrInvalid, "all needs match: guard does not release everything there is")
	case in.All:
		if ids, err = s.matching(ctx, in.Match); err != nil {
			return out, err
		}
	case len(ids) == 0:
		return out, faultf(guard.ErrInvalid, "release what? Name ACCOUNT/ID, or give all and match")
	}
	// A name that is not one stops everything before anything is ordered.
	for _, id := range ids {
		if _, _, err := s.resource(id); err != nil {
			return out, err
		}
	}
	done := map[string]bool{}
	for _, id := range ids {
		if done[id] {
			continue
		}
		done[id] = true
		out.Results = append(out.Results, s.order(ctx, at, id, why, in.DryRun))
	}
	if len(in.IDs) == 1 && out.Results[0].Error != nil {
		return out, fromWire(out.Results[0].Error)
	}
	return out, nil
}

// matching are the live instances with all of the tags.
func (s *server) matching(ctx context.Context, match map[string]string) ([]string, error) {
	var ids []string
	err := s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, "")
		if err != nil {
			return err
		}
		for _, key := range b.keys {
			o := b.observed[key]
			var lease *guard.Lease
			if l, ok := b.leases[key]; ok && l.Status.Open() {
				lease = &l
			}
			if o.Live() && o.Resource.ID.Kind == guard.Instance && has(tagsOf(o, lease), match) {
				ids = append(ids, o.Resource.ID.String())
			}
		}
		return nil
	})
	return ids, err
}

// order plans the release of one resource, or says why not.
func (s *server) order(ctx context.Context, at guard.Instant, text, why string, dry bool) wire.ReleaseOutcome {
	out := wire.ReleaseOutcome{ID: text}
	account, id, err := s.resource(text)
	var c *scene
	if err == nil {
		c, _, err = s.decide(ctx, at, account, id, func(c *scene) (edit, error) {
			return s.plan(ctx, c, account, id, why, dry, &out)
		})
	}
	if err != nil {
		p := newProblem(err)
		if p.Kind == wire.KindInternal {
			s.Log.Error("api release failed", "id", text, "error", err.Error())
		}
		out.Outcome, out.Text, out.Error = wire.OutcomeRefused, p.Message, &p.wireError
		return out
	}
	if out.Outcome == wire.OutcomeOrdered || out.Outcome == wire.OutcomeUnder {
		s.kick("decide", "release/"+account)
	}
	out.Name = c.observed.Resource.Name
	return out
}

// plan decides about one order.
func (s *server) plan(ctx context.Context, c *scene, account, id, why string, dry bool, out *wire.ReleaseOutcome) (edit, error) {
	if err := s.target(ctx, c, account, id); err != nil {
		return edit{}, err
	}
	target := c.observed.Resource.ID
	if g := c.observed.Gone; g != nil {
		out.Outcome = wire.OutcomeGone
		about := ""
		if g.Estimated {
			about = "about "
		}
		out.Text = fmt.Sprintf("gone already, since %s%s (%s); there is nothing to release", about, g.At.In(s.Location()).Format(time.RFC3339), hows[g.How])
		return edit{}, nil
	}
	if err := s.allowed(c); err != nil {
		return edit{}, err
	}
	out.Erases, out.Survives = s.losses(c.book, c.observed, c.acct, guard.ActRelease)
	if r := c.release; r != nil && r.Action == guard.ActRelease && !release.Withdrawable(*r) {
		out.Outcome, out.Text = wire.OutcomeUnder, "guard is releasing it already, since "+r.IntendedAt.In(s.Location()).Format(time.RFC3339)+" ("+r.Why+")"
		if r.State == guard.ReleaseBlocked {
			out.Text = fmt.Sprintf("guard tries to release it since %s and is blocked (%s): %s", r.IntendedAt.In(s.Location()).Format(time.RFC3339), r.Reason, r.LastError)
		}
		return edit{}, nil
	}
	if r := c.release; r != nil && !release.Withdrawable(*r) {
		return edit{}, faultf(guard.ErrConflict, "cannot release %s: guard is stopping it at this moment; try again when it has stopped", target)
	}
	if dry {
		out.Outcome, out.Text = wire.OutcomeWould, "would be released"
		return edit{}, nil
	}
	return s.ordered(c, why, out), nil
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

// allowed refuses what guard must not touch, whoever asks.
func (s *server) allowed(c *scene) error {
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

// ordered is the release as a person ordered it; decide queues the notice of it
// and lets it go on. What was planned for the same resource gives way.
func (s *server) ordered(c *scene, why string, out *wire.ReleaseOutcome) edit {
	text := "ordered by " + c.who
	if why != "" {
		text += ": " + why
	}
	r := release.New(c.observed, c.lease, guard.ActRelease, guard.CausePerson, c.who, text, c.at.Wall, c.at.Wall, c.at.Wall)
	e := edit{entry: c.entry("ordered", "release "+text, nil)}
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
	out.Outcome, out.Text = wire.OutcomeOrdered, "release ordered; guard reads it once more, ends it and proves that (guard show "+r.Target.String()+")"
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
