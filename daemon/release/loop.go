package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/policy/release"
	"guard/store"
)

const (
	// readTimeout bounds one reading of all targets.
	readTimeout = 20 * time.Second
	// gather is how far ahead other releases' readings are taken along, so that
	// many releases make few calls.
	gather = 5 * time.Second
	// soon keeps the loop from spinning where nothing moves a release.
	soon = 5 * time.Second
	// farthest is how far ahead a release can sensibly want to be looked at. What
	// lies further was written under a clock that has been set back since.
	farthest = time.Hour
	// longest is how long a refused call is waited with at most: what is in use is asked
	// for again once a day, at least.
	longest = 25 * time.Hour
)

// scene is what the ledger knows, at one moment, of an account's releases that
// something can move now.
type scene struct {
	releases []guard.Release
	observed map[string]guard.Observed
	status   guard.AccountStatus
	scopes   []guard.ScopeStatus
}

// Once moves the account's releases as far as they go. It returns when one of
// them wants to be looked at again.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	s, err := l.read(ctx, at)
	if err != nil {
		return at.Add(soon), fmt.Errorf("%s: read the ledger: %w", l.Name(), err)
	}
	for id, k := range l.looks {
		if l.book.open[k.lookup.ID.Key()].ID != id {
			delete(l.looks, id)
		}
	}
	if len(s.releases) == 0 {
		return l.next(ctx, at)
	}
	// What is due and was read already goes first: no I/O stands before an intent.
	err = l.step(ctx, at, s, l.looks)
	if wanted := l.wanted(at, s); len(wanted) > 0 && l.Account != nil {
		fresh := l.look(ctx, at, s, wanted)
		for id, k := range fresh {
			l.looks[id] = k
		}
		err = errors.Join(err, l.step(ctx, at, s, fresh))
	}
	next, viewErr := l.next(ctx, at)
	return next, errors.Join(err, viewErr)
}

// rests reports a release that waits for its time: it was not read and nothing of
// it is under way. What changes it meanwhile changes its record, in decide.
func (l *Loop) rests(at guard.Instant, r guard.Release) bool {
	_, read := l.looks[r.ID]
	return r.State == guard.ReleaseNoticed && r.Attempt == 0 && !read &&
		release.WakeAt(r, false).After(at.Wall.Add(gather)) && r.NextAt.Sub(at.Wall) <= farthest
}

func (l *Loop) read(ctx context.Context, at guard.Instant) (*scene, error) {
	s := &scene{observed: map[string]guard.Observed{}}
	err := l.Ledger.View(ctx, func(v *store.View) error {
		if err := l.book.releases(v); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(l.book.open)) {
			r := l.book.open[key]
			if l.rests(at, r) {
				continue
			}
			s.releases = append(s.releases, r)
			o, ok, err := v.Observed.Get(key)
			if err != nil {
				return err
			}
			if ok {
				s.observed[key] = o
			}
		}
		if len(s.releases) == 0 {
			return nil
		}
		if err := l.book.children(v); err != nil {
			return err
		}
		for c, err := range v.Scopes.All(l.AccountName + "/") {
			if err != nil {
				return err
			}
			s.scopes = append(s.scopes, c)
		}
		var err error
		s.status, _, err = v.Accounts.Get(l.AccountName)
		return err
	})
	return s, err
}

// beyond reports a time that a release cannot sensibly want to be looked at.
func beyond(r guard.Release, want, at time.Time) bool {
	if r.State == guard.ReleaseNoticed || want.Sub(at) <= farthest {
		return false
	}
	waits := r.State == guard.ReleaseIntended && !r.IntendedAt.After(at) && want.Sub(r.IntendedAt) <= longest
	return !waits
}

// wanted is the releases whose target is to be read now: those that are due for
// it and, along with them, those that soon will be.
func (l *Loop) wanted(at guard.Instant, s *scene) []guard.Release {
	if l.imminent(at, s) {
		return nil
	}
	var due, along []guard.Release
	for _, r := range s.releases {
		want := release.ReadAt(r)
		if r.State == guard.ReleasePlanned || want.IsZero() && r.State != guard.ReleaseIntended && r.State != guard.ReleaseIssued ||
			l.flight.has(r.ID) || s.observed[r.Target.Key()].Gone != nil {
			continue
		}
		if beyond(r, want, at.Wall) {
			want = at.Wall
		}
		if k, ok := l.looks[r.ID]; ok && at.Sub(k.at) < l.again(r, k) {
			continue
		}
		switch {
		case !want.After(at.Wall):
			due = append(due, r)
		case !want.After(at.Wall.Add(gather)):
			along = append(along, r)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return append(due, along...)
}

// imminent reports a deadline within the next second that needs no more reading:
// nothing is read before it.
func (l *Loop) imminent(at guard.Instant, s *scene) bool {
	for _, r := range s.releases {
		if k, ok := l.looks[r.ID]; ok && r.State == guard.ReleaseNoticed && k.Err == nil {
			if d := r.Due.Sub(at.Wall); d > 0 && d <= time.Second && at.Sub(k.at)+d <= release.ReadAhead {
				return true
			}
		}
	}
	return false
}

// again is how old a read must be before the next one of the same release.
func (l *Loop) again(r guard.Release, k look) time.Duration {
	d := soon
	if r.State == guard.ReleaseNoticed && k.Err == nil {
		d = release.ReadAhead / 2
	}
	if hint, ok := guard.RetryAfter(k.Err); ok {
		d = max(d, hint)
	}
	return d
}

// next is when one of the releases wants to be looked at.
func (l *Loop) next(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	var next guard.Instant
	err := l.Ledger.View(ctx, func(v *store.View) error {
		next = guard.Instant{}
		if err := l.book.releases(v); err != nil {
			return err
		}
		for _, r := range l.book.open {
			if l.flight.has(r.ID) {
				continue // its outcome kicks this loop
			}
			k, read := l.looks[r.ID]
			if read && k.Err != nil && r.State == guard.ReleaseNoticed {
				next = guard.Earliest(next, l.readable(at, r, k)) // there is time to try again
			}
			read = read && r.Due.Sub(at.Wall)+at.Sub(k.at) <= release.ReadAhead
			wake := release.WakeAt(r, read)
			if wake.IsZero() {
				continue
			}
			want := at.Reach(wake)
			switch {
			case beyond(r, wake, at.Wall), !at.Before(want):
				want = at.Add(soon)
				if read || r.State != guard.ReleaseNoticed {
					want = guard.Earliest(want, l.readable(at, r, k))
				}
			}
			next = guard.Earliest(next, want)
		}
		return nil
	})
	if err != nil {
		return at.Add(soon), err
	}
	return next, nil
}

// readable is when a release that is waiting for a read may be read again.
func (l *Loop) readable(at guard.Instant, r guard.Release, k look) guard.Instant {
	if k.at.IsZero() {
		return at.Add(soon)
	}
	if t := k.at.Add(l.again(r, k)); at.Before(t) {
		return t
	}
	return at.Add(time.Second)
}
