// Package presence judges whether a thing is gone. Not seeing something has many
// causes, and only one of them is that it ended: every other one has its own
// [Verdict] and leaves the thing, and its meter, running.
//
// It also judges what time it is, of which a machine's own wall clock is one witness
// among several: see [Belief].
//
// It is pure: the loops that read a cloud pass in what they read and when.
package presence

import "time"

// How far apart, and how long after birth, readings must be to prove absence.
const (
	// Apart is the least time between two reads by ID that prove an end.
	Apart = 30 * time.Second
	// Settled is how long after its creation or registration a thing may be
	// invisible because the provider is not consistent yet.
	Settled = 5 * time.Minute
	// ListApart is the least time between two complete listings that prove an
	// end where the provider has no read by ID.
	ListApart = 5 * time.Minute
	// Skew is how far a provider's clock may be off ours before its times are
	// not believed.
	Skew = time.Minute
	// CreationTolerance is how far two tellings of one creation time may differ:
	// some APIs cut it to the second, some round it.
	CreationTolerance = 2 * time.Second
)

// Verdict is what is known of a thing's existence after a reading.
type Verdict string

// The verdicts. Only VerdictGone ends anything.
const (
	// VerdictPresent: this reading found it alive; what spoke for absence is void.
	VerdictPresent Verdict = "present"
	// VerdictGone: proven; Judgement.Gone is the proof.
	VerdictGone Verdict = "gone"
	// VerdictEnding: a read by ID found a terminal state; a second one is due.
	VerdictEnding Verdict = "terminal_once"
	// VerdictShown: a complete listing showed a terminal state, which tells when it
	// ended, once that is proven.
	VerdictShown Verdict = "terminal_listed"
	// VerdictMissing: a read by ID found nothing; a second one is due.
	VerdictMissing Verdict = "absent_once"
	// VerdictTooYoung: not found, but so soon after creation or registration that
	// the provider may only be slow to show it.
	VerdictTooYoung Verdict = "too_young"
	// VerdictUnlisted: left out of a complete listing, which alone proves nothing.
	VerdictUnlisted Verdict = "unlisted"
	// VerdictUnread: the read failed or its answer was ambiguous.
	VerdictUnread Verdict = "unread"
	// VerdictOtherIdentity: read with credentials of another account than the
	// thing was recorded under, which sees nothing of it.
	VerdictOtherIdentity Verdict = "other_identity"
	// VerdictNullObject: the answer is about nothing, or about another ID.
	VerdictNullObject Verdict = "null_object"
	// VerdictNotSame: the ID now names a thing of another creation.
	VerdictNotSame Verdict = "not_the_same"
)
