package api

import (
	"fmt"

	"guard"
	"guard/daemon/wire"
)

// confirmed takes the caller's word that an instance is gone, where nobody but a person can
// tell. A release that asked people for it is done with that; without one the lease ends
// here.
func (s *server) confirmed(c *scene, why string, out *wire.ReleaseOutcome) (edit, error) {
	id := c.observed.Resource.ID
	switch {
	case c.acct == nil:
		return edit{}, faultf(guard.ErrRefused, "cannot take it that %s is gone: account %s is no longer configured, so guard does not know who else could tell", id, id.Account).
			hinted("Put the account back into guardd's configuration.")
	case !c.acct.Provider.Truths().ByHand:
		return edit{}, faultf(guard.ErrRefused, "cannot take anybody's word that %s is gone: the provider of account %s tells, and guard proves it by that", id, id.Account).
			hinted("guard show %s says what is known of it.", id)
	case !c.inLedger:
		return edit{}, faultf(guard.ErrConflict, "nobody has registered %s, so nothing counts for it", id)
	}
	asked := c.release != nil && c.release.Action == guard.ActRelease
	o := c.observed
	// When it ended is not known better than that it is over.
	o.Gone = &guard.Gone{At: c.at.Wall, Estimated: true, How: guard.ByOutside, Proof: guard.ProofOf(c.who), ProvenAt: c.at.Wall}
	if asked && c.release.Attempt > 0 {
		o.Gone.How = guard.ByRelease
	}
	o.Resource.State, o.Resource.Bills, o.Resource.Ended = guard.StateGone, guard.No, o.Gone.How
	e := edit{observed: &o, entry: c.entry("confirmed_gone", fmt.Sprintf("%s is gone, by the word of %s%s", id, c.who, prefixed(": ", why)), nil)}
	if l := c.lease; l != nil && l.Status.Open() && !asked {
		ended := *l
		ended.Status, ended.EndedAt, ended.EndedHow, ended.Estimated = guard.LeaseGone, o.Gone.At, o.Gone.How, true
		ended.UpdatedAt, ended.UpdatedBy = c.at.Wall, c.who
		e.lease = &ended
	}
	out.Outcome, out.Text = wire.OutcomeConfirmed, "counts as gone from now on; its proof is your word alone"
	return e, nil
}
