package release

import (
	"errors"
	"time"

	"guard"
)

// blockOf is why an error stands in the way of a release for longer than a
// retry; "" where trying again may help.
func blockOf(err error) guard.BlockReason {
	switch {
	case errors.Is(err, guard.ErrPermission):
		return guard.BlockPermission
	case errors.Is(err, guard.ErrProtected):
		return guard.BlockProtected
	case errors.Is(err, guard.ErrAccount):
		return guard.BlockAccount
	case errors.Is(err, guard.ErrUnsupported):
		return guard.BlockPerson
	}
	return ""
}

// inUse is the first wait after a leftover is refused because something uses it; each is
// twice the one before, up to a day.
const inUse = time.Minute

// wait is how long after the n-th failure in a row (from 1) the next try comes:
// 15 s, 30 s, then a minute, for ever. The provider's own hint lengthens it and
// never shortens it.
func wait(n int, err error) time.Duration {
	d := time.Minute
	switch {
	case n <= 1:
		d = 15 * time.Second
	case n == 2:
		d = 30 * time.Second
	}
	if hint, ok := guard.RetryAfter(err); ok && hint > d {
		d = hint
	}
	return d
}

// waitOf is wait, but for a leftover that something still uses: it may for long, and
// asking every minute helps nobody.
func waitOf(r guard.Release, err error) time.Duration {
	d := wait(r.Failures, err)
	if r.Cause != guard.CauseOrphan || !errors.Is(err, guard.ErrConflict) {
		return d
	}
	return max(d, min(inUse<<min(max(r.Failures-1, 0), 16), pageSlow))
}

// recheck is how long a blocked release waits before guard looks whether the
// cause is gone. Where that look is a call, it comes no more often than every
// five minutes.
func recheck(reason guard.BlockReason) time.Duration {
	switch reason {
	case guard.BlockPermission, guard.BlockProtected, guard.BlockNotSame:
		return 5 * time.Minute
	}
	return time.Minute
}

// verifyEvery is how often an accepted release is looked at, by how long ago it
// was accepted: often enough to prove its end soon, seldom enough that a slow
// one costs few calls.
func verifyEvery(since time.Duration) time.Duration {
	switch {
	case since < 5*time.Minute:
		return 15 * time.Second
	case since < time.Hour:
		return time.Minute
	}
	return 5 * time.Minute
}

// ReadAt is when the release wants its target read next; zero where a read would
// tell nothing.
func ReadAt(r guard.Release) time.Time {
	switch r.State {
	case guard.ReleaseNoticed:
		if at := r.Due.Add(-readLead); at.After(r.NextAt) {
			return at
		}
		return r.NextAt
	case guard.ReleaseIntended, guard.ReleaseIssued:
		return r.NextAt
	case guard.ReleaseBlocked:
		switch r.Reason {
		case guard.BlockSurprise, guard.BlockClock, guard.BlockProvider:
			return time.Time{} // judged again, not read again
		}
		return r.NextAt
	}
	return time.Time{}
}

// WakeAt is when the release wants to be stepped next; zero where only something
// else can move it. Looked tells that the read before the deadline is made.
func WakeAt(r guard.Release, looked bool) time.Time {
	switch r.State {
	case guard.ReleaseNoticed:
		if looked {
			return r.Due
		}
		return ReadAt(r)
	case guard.ReleaseIntended, guard.ReleaseIssued, guard.ReleaseBlocked:
		return r.NextAt
	}
	return time.Time{}
}
