// Package release is the table of a release: which states there are, what leads
// from one to the next, when to look and when to try again. It is pure; the
// loops of daemon/decide and daemon/release do what it says.
//
// A release ends in two ways only, released (with proof) or withdrawn; until
// then it is never dropped, whatever fails. The call to the provider is allowed
// in one state only, intended, and that is durable before it.
package release

import (
	"fmt"
	"time"

	"guard"
)

// The table's times.
const (
	// ReadAhead is how old the fresh read before a call may be, and so how far
	// ahead of the deadline it may begin (law 5).
	ReadAhead = 30 * time.Second
	// readLead is when the read before a deadline is made, so that no I/O stands
	// between the deadline and the intent, and a failed one can be tried again.
	readLead = 15 * time.Second
	// blindFor is how old the last complete observation may be for a hard cap to
	// go on when the fresh read fails (law 5).
	blindFor = 10 * time.Minute
	// pageEvery is how often people are paged about a hard cap that is blocked;
	// pageSlow about everything else.
	pageEvery = time.Hour
	pageSlow  = 24 * time.Hour
	// stale is how long a block may last before its end needs a new notice.
	stale = time.Hour
	// ManyFailures is after how many failures in a row people are told, once.
	ManyFailures = 3
)

// Found is what a look at the target found.
type Found string

// What a look can find. The zero value means that nobody has looked.
const (
	NotLooked Found = ""
	// Same: it is the very thing, alive, and nothing is ending it.
	Same Found = "same"
	// Ending: it is the very thing and on its way out.
	Ending Found = "ending"
	// Ended: it is proven gone; or stopped, where the action is a stop.
	Ended Found = "ended"
	// Missing: it was not found, and that is no proof yet.
	Missing Found = "missing"
	// Other: the ID names another thing now.
	Other Found = "other"
	// Mismatch: the credentials are another account's.
	Mismatch Found = "mismatch"
	// Unread: the read failed.
	Unread Found = "unread"
)

// Look is a fresh read of the target, folded with what is known of it.
type Look struct {
	Found Found
	At    time.Time
	// Protected is the provider's own protection against the action.
	Protected guard.Tri
	// NextAt is when a further read can tell more; zero: no wish.
	NextAt time.Time
	// Err is why it is Unread.
	Err error
	// Complete is the last complete observation of the target under the recorded
	// identity, and Immutable whether its ID never names another thing.
	Complete  time.Time
	Immutable bool
}

// Standing is what a fresh judgement by the rules says of a release.
type Standing string

// The standings. The zero value means that nobody has judged.
const (
	NotJudged Standing = ""
	// Stands: it is to be done when due.
	Stands Standing = "stands"
	// Void: it is no longer to be done.
	Void Standing = "void"
	// Barred: it is to be done and must not, for the reason in Block.
	Barred Standing = "barred"
)

// Judgement is what the rules say of a release now.
type Judgement struct {
	Standing Standing
	// Due is when the call is due; it may have moved.
	Due   time.Time
	Block guard.BlockReason
	Why   string
}

// Call is the recorded outcome of one call; Err nil means accepted.
type Call struct{ Err error }

// Input is what Step judges beside the release itself.
type Input struct {
	At time.Time
	// Verify is how long after acceptance the thing may live.
	Verify time.Duration
	// Configured is false where the configuration has no such account.
	Configured bool
	// Noticed: the notice is queued in the same transaction.
	Noticed bool
	// Unprotect: the provider's own protection may be stripped.
	Unprotect bool
	Look      Look
	Judged    Judgement
	Call      *Call
}

// Move is one transition.
type Move struct {
	From, To guard.ReleaseState
	Why      string
}

// Outcome is what Step says.
type Outcome struct {
	Release guard.Release
	Moves   []Move
	// Call: once Release is durable, the call is to be made, once.
	Call bool
	// Page: people are to be told, urgently, that it is blocked.
	Page bool
	// Failing: it has failed ManyFailures times; people are told once.
	Failing bool
	// Stalled: it was accepted and is still alive past the verify deadline.
	Stalled bool
	// Renotice: the old notice is stale and a new one is to be queued.
	Renotice bool
}

// New makes a planned release.
func New(target guard.Observed, lease *guard.Lease, action guard.Action, cause guard.Cause, by, why string, due, stood, at time.Time) guard.Release {
	r := guard.Release{
		ID:     fmt.Sprintf("%s|%s|%d", target.Resource.ID.Key(), cause, at.UnixMilli()),
		Target: target.Resource.ID, Action: action, Cause: cause, By: by, Why: why,
		Created: target.Resource.Created, Identity: target.Identity,
		State: guard.ReleasePlanned, Due: due, Stood: stood, PlannedAt: at,
	}
	if lease != nil {
		r.Lease = lease.ID
		if !lease.ResourceCreated.IsZero() {
			r.Created = lease.ResourceCreated
		}
		if lease.Identity != "" {
			r.Identity = lease.Identity
		}
	}
	return r
}

// Withdrawable reports whether a person's word can still withdraw the release:
// no call of it may have gone out.
func Withdrawable(r guard.Release) bool {
	switch r.State {
	case guard.ReleasePlanned, guard.ReleaseNoticed:
		return true
	case guard.ReleaseBlocked:
		return r.Calls == r.Attempt
	}
	return false
}
