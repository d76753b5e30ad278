package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/spend"
	"guard/providers"
)

// readFor bounds the read of a resource at its provider.
const readFor = 20 * time.Second

// lockFor bounds the question for the provider's own lock on it.
const lockFor = 5 * time.Second

// inspect reads an instance at its provider: it must be there now, under the
// account that the ledger has always seen. It returns the account's identity,
// too.
func (s *server) inspect(ctx context.Context, at guard.Instant, verb, account, id string, acct *providers.Account) (guard.Resource, string, error) {
	var none guard.Resource
	c, err := s.scene(ctx, at, account, id)
	if err != nil {
		return none, "", err
	}
	status := c.book.accounts[account]
	if status.Mismatch != "" {
		return none, "", faultf(guard.ErrAccount, "cannot %s %s/%s: the credentials of account %s now belong to %s, and the ledger knows it as %s", verb, account, id, account, status.Mismatch, status.Identity.ID).
			hinted("Put the right credentials back, or configure the other account under a name of its own.")
	}
	if c.inLedger && c.observed.Resource.ID.Kind != guard.Instance {
		return none, "", faultf(guard.ErrInvalid, "cannot %s %s/%s: it is of kind %s. Name the instance; what hangs on it counts to its lease", verb, account, id, c.observed.Resource.ID.Kind)
	}
	target := guard.ResourceID{Account: account, Kind: guard.Instance, ID: id, Scope: c.observed.Resource.ID.Scope}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	identity := status.Identity.ID
	if identity == "" { // not polled yet
		who, err := acct.Provider.Identity(ctx)
		if err != nil {
			return none, "", fmt.Errorf("cannot %s %s: asking whose credentials account %s has failed: %w; nothing was done, try again", verb, target, account, err)
		}
		identity = who.ID
	}
	r, err := present(c, verb, target, acct.Provider.Get(ctx, target))
	return r, identity, err
}

// present is the resource of a read by ID, if it is there and is the one that
// the ledger knows.
func present(c *scene, verb string, id guard.ResourceID, answers []guard.Lookup) (guard.Resource, error) {
	if len(answers) != 1 {
		return guard.Resource{}, fmt.Errorf("%w: cannot %s %s: the provider answered %d times to one question", guard.ErrBadReply, verb, id, len(answers))
	}
	switch l := answers[0]; {
	case l.Verdict == guard.VerdictAbsent:
		return guard.Resource{}, notThere(c.book, id.Account, id.ID, "cannot "+verb+" %s/%s: the provider says that it is not there (one that was just created may take a minute to show)")
	case errors.Is(l.Err, guard.ErrInvalid): // no such ID can be
		return guard.Resource{}, fmt.Errorf("cannot %s %s: %w", verb, id, l.Err)
	case l.Verdict != guard.VerdictFound && l.Err != nil:
		again := ", try again"
		if errors.Is(l.Err, guard.ErrPermission) {
			again = "" // that helps nobody
		}
		return guard.Resource{}, fmt.Errorf("cannot %s %s: reading it at the provider failed: %w; nothing was done%s", verb, id, l.Err, again)
	case l.Verdict != guard.VerdictFound:
		return guard.Resource{}, faultf(guard.ErrUnavailable, "cannot %s %s: the provider's answer does not tell whether it is there; nothing was done, try again", verb, id)
	case l.Resource.ID.Key() != id.Key():
		return guard.Resource{}, faultf(guard.ErrBadReply, "cannot %s %s: the provider answered about %s", verb, id, l.Resource.ID)
	case !l.Resource.Live():
		return guard.Resource{}, faultf(guard.ErrConflict, "cannot %s %s: the provider says that it has ended (%s)", verb, id, orNone(l.Resource.RawState))
	case c.inLedger && c.observed.Live() && !presence.Same(c.observed.Resource, l.Resource):
		return guard.Resource{}, faultf(guard.ErrConflict, "cannot %s %s: the ledger knows one that was created at %s, and the one there now was created at %s", verb, id,
			c.observed.Resource.Created.Format(time.RFC3339), l.Resource.Created.Format(time.RFC3339)).
			hinted("Guard is proving the end of the first one, which takes some minutes; try again then.")
	default:
		return l.Resource, nil
	}
}

// renewed is a known record with a fresh reading, for the answer only: what
// bills otherwise does so from now on. The observer writes it down.
func renewed(o guard.Observed, fresh guard.Resource, at guard.Instant) guard.Observed {
	was, is := spend.ChangeTo(o.Resource, at.Wall), spend.ChangeTo(fresh, at.Wall)
	if was.State != is.State || was.Bills != is.Bills || !was.Rate.Same(is.Rate) {
		o.Pending, o.Batch = append(slices.Clone(o.Pending), is), 0
	}
	o.Resource = fresh
	return o
}
