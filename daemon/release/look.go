package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/release"
)

// look is one read of a release's target, as the provider gave it. It is folded
// with what the ledger knows where it is used.
type look struct {
	at     guard.Instant
	lookup guard.Lookup
	// identity is whose credentials it was read with; Err is why they could not
	// be told, or why the read failed.
	identity string
	strong   bool
	Err      error
}

// look reads the targets of releases: whose credentials these are, then all of
// the targets in one go. It never fails: what could not be read says so.
func (l *Loop) look(ctx context.Context, at guard.Instant, s *scene, rs []guard.Release) map[string]look {
	ctx, cancel := context.WithTimeout(ctx, l.patience(at, s))
	defer cancel()
	out := make(map[string]look, len(rs))
	ids := make([]guard.ResourceID, len(rs))
	for i, r := range rs {
		ids[i] = r.Target
	}
	who, err := l.Account.Provider.Identity(ctx)
	if err != nil {
		for _, r := range rs {
			out[r.ID] = look{at: at, lookup: guard.Lookup{ID: r.Target, Verdict: guard.VerdictUnknown, Err: err}, Err: err}
		}
		return out
	}
	if who.ID != s.status.Identity.ID && s.status.Identity.ID != "" {
		for _, r := range rs {
			out[r.ID] = look{at: at, lookup: guard.Lookup{ID: r.Target, Verdict: guard.VerdictUnknown}, identity: who.ID, strong: who.Strong}
		}
		return out
	}
	found := l.Account.Provider.Get(ctx, ids...)
	for i, r := range rs {
		k := look{at: at, identity: who.ID, strong: who.Strong,
			lookup: guard.Lookup{ID: r.Target, Verdict: guard.VerdictUnknown, Err: fmt.Errorf("%w: the adapter gave no answer for %s", guard.ErrBadReply, r.Target)}}
		if i < len(found) {
			k.lookup = found[i]
		}
		k.Err = k.lookup.Err
		out[r.ID] = k
	}
	return out
}

// patience bounds a read by the next deadline that needs no read any more, so
// that a provider that hangs holds it up by nothing.
func (l *Loop) patience(at guard.Instant, s *scene) time.Duration {
	d := readTimeout
	for _, r := range s.releases {
		if k, ok := l.looks[r.ID]; ok && r.State == guard.ReleaseNoticed && r.Due.After(at.Wall) && at.Sub(k.at) < release.ReadAhead {
			d = min(d, r.Due.Sub(at.Wall))
		}
	}
	return max(d, time.Second)
}

// fold turns a read into what the table knows, and brings the observation up to
// date with it: two reads that say gone are the proof (law 2).
func (l *Loop) fold(at guard.Instant, r guard.Release, k *look, o guard.Observed, known bool, le *guard.Lease, s *scene) (guard.Observed, release.Look, *guard.Resource) {
	out := release.Look{Complete: l.complete(o, s), Immutable: l.truths().ImmutableIDs}
	if known && o.Gone != nil {
		out.Found, out.At = release.Ended, at.Wall
		return o, out, nil
	}
	if k == nil {
		return o, out, nil
	}
	// How old a read is, is told by the axis that does not step.
	out.At, out.Err = at.Wall.Add(-at.Sub(k.at)), k.Err
	if k.identity != "" && (k.identity != s.status.Identity.ID && s.status.Identity.ID != "" || k.strong && r.Identity != "" && r.Identity != k.identity) {
		out.Found = release.Mismatch
		out.Err = fmt.Errorf("%w: account %s answers as %s, and the release is of %s", guard.ErrAccount, r.Target.Account, k.identity, orRecorded(r.Identity, s.status.Identity.ID))
		return o, out, nil
	}
	if k.identity == "" {
		out.Found = release.Unread // nobody knows who would have been asked
		return o, out, nil
	}
	if !known {
		out.Found = release.Unread
		out.Err = errors.Join(k.Err, fmt.Errorf("%w: the ledger has never seen %s", guard.ErrNotFound, r.Target))
		return o, out, nil
	}
	if k.lookup.Verdict == guard.VerdictAbsent && !k.strong && r.Attempt == 0 {
		// Nothing but itself vouches for such a key, and it may not see the account any
		// more. Whether the thing is gone is for the loop to say that sees all of it.
		out.Found = release.Missing
		return o, out, nil
	}
	c := presence.Case{Issued: r.Action == guard.ActRelease && r.Attempt > 0, HasGet: l.truths().ReadsByID(r.Target.Kind)}
	if le != nil {
		c.Registered = le.RegisteredAt
	}
	n, j := presence.Look(o, k.lookup, k.identity, k.at, c)
	out.NextAt = j.NextAt
	res := k.lookup.Resource
	switch j.Verdict {
	case presence.VerdictGone:
		out.Found = release.Ended
	case presence.VerdictPresent:
		out.Found, out.Protected = alive(r, res)
		if !presence.SameCreation(r.Created, res.Created) {
			out.Found = release.Other
			out.Err = fmt.Errorf("%w: %s was created at %s, and what is there now at %s", guard.ErrConflict, r.Target, r.Created.UTC().Format(time.RFC3339), res.Created.UTC().Format(time.RFC3339))
			return o, out, nil
		}
		// Kept, so that decide does not plan again what this reading is judged to forbid.
		known := presence.Known(n.Resource, res)
		n.LostTags, n.FreedAt = presence.LostTags(n, known, out.At), presence.FreedAt(n, known, out.At)
		n.Resource = presence.Refresh(n.Resource, res)
		return n, out, &res
	case presence.VerdictNotSame:
		out.Found = release.Other
		out.Err = fmt.Errorf("%w: %s is another thing now, created at %s", guard.ErrConflict, r.Target, res.Created.UTC().Format(time.RFC3339))
	case presence.VerdictOtherIdentity:
		out.Found = release.Mismatch
		out.Err = fmt.Errorf("%w: %s was seen as %s, and account %s answers as %s", guard.ErrAccount, r.Target, o.Identity, r.Target.Account, k.identity)
	case presence.VerdictUnread:
		out.Found = release.Unread
	case presence.VerdictNullObject:
		out.Found = release.Missing
	default:
		out.Found = release.Missing
	}
	return n, out, nil
}

// alive sorts a thing that exists: on its way out, stopped where that is what is
// asked for, or simply there.
func alive(r guard.Release, res guard.Resource) (release.Found, guard.Tri) {
	if r.Action == guard.ActStop {
		switch res.State {
		case guard.StateStopped:
			return release.Ended, res.StopProtected
		case guard.StateStopping:
			return release.Ending, res.StopProtected
		}
		return release.Same, res.StopProtected
	}
	if res.State == guard.StateReleasing {
		return release.Ending, res.ReleaseProtected
	}
	return release.Same, res.ReleaseProtected
}

// complete is the last moment at which the target was certainly there, under the
// recorded identity: it was read, or a complete list of its scope had it.
func (l *Loop) complete(o guard.Observed, s *scene) time.Time {
	if s.status.Mismatch != "" || len(o.Absent) > 0 || o.Gone != nil || o.Identity != s.status.Identity.ID {
		return time.Time{}
	}
	last := o.Seen
	for _, c := range s.scopes {
		if c.Scope == o.Resource.ID.Scope && c.Kind == o.Resource.ID.Kind && c.Complete.After(last) {
			last = c.Complete
		}
	}
	return last
}

func (c Config) truths() guard.Truths {
	if c.Account == nil {
		return guard.Truths{}
	}
	return c.Account.Provider.Truths()
}

// verify is how long after acceptance a target may live: as configured, or as long
// as its adapter says that a release takes, and the next readings' time.
func (c Config) verify() time.Duration { return max(c.Verify, c.truths().ReleaseLead+time.Minute) }

func orRecorded(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
