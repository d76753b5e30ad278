package simulate

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"guard"
)

// Event is one thing that happened in a story: a line of the JSON output.
type Event struct {
	At      string `json:"at"` // RFC 3339, in the zone of the story's start; the cloud's time
	Offset  string `json:"offset"`
	Event   string `json:"event"`
	Account string `json:"account,omitempty"`
	ID      string `json:"id,omitempty"` // ACCOUNT/ID
	Kind    string `json:"kind,omitempty"`
	Lease   string `json:"lease,omitempty"`
	Rule    string `json:"rule,omitempty"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Channel string `json:"channel,omitempty"`
	Text    string `json:"text,omitempty"`
	Call    string `json:"call,omitempty"`
	Spend   string `json:"spend,omitempty"`
	Passed  *int   `json:"passed,omitempty"` // of result
	Failed  *int   `json:"failed,omitempty"`

	at  time.Duration
	seq int
}

// The events.
const (
	evObserved        = "observed"
	evLeaseChanged    = "lease_changed"
	evFindingOpened   = "finding_opened"
	evFindingClosed   = "finding_closed"
	evMessageQueued   = "message_queued"
	evMessageSent     = "message_sent"
	evProviderCall    = "provider_call"
	evRelease         = "release_" // and the state
	evDaemonStarted   = "daemon_started"
	evDaemonStopped   = "daemon_stopped"
	evDaemonCrashed   = "daemon_crashed"
	evDaemonSuspended = "daemon_suspended"
	evDaemonWoke      = "daemon_woke"
	evClockStepped    = "clock_stepped"
	evReloaded        = "reloaded"
	evRestored        = "restored"
	evCommand         = "command"
	evSaid            = "said"
	evResult          = "result"
)

// book is what a story has on record. Loops call several providers and channels
// at once, so it is safe for concurrent use, and in order only when sorted.
type book struct {
	mu     sync.Mutex
	start  time.Time
	zone   *time.Location
	events []Event
}

func (b *book) add(at time.Duration, e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.at, e.seq = at, len(b.events)
	e.At, e.Offset = b.start.Add(at).In(b.zone).Format(time.RFC3339), offsetText(at)
	b.events = append(b.events, e)
}

// sorted are all events. What happens at one moment to several things, or in
// several channels, has no order of its own: it is given one.
func (b *book) sorted() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.events)
	slices.SortStableFunc(out, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Account, y.Account),
			cmp.Compare(cause(x), cause(y)), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Channel, y.Channel), cmp.Compare(x.seq, y.seq))
	})
	return out
}

// cause puts the call that cancels a spot request before the release of its instance.
func cause(e Event) int {
	if e.Event == evProviderCall && e.Kind == string(guard.SpotRequest) {
		return 0
	}
	return 1
}

// rank puts a restart before what it does, and messages behind their causes.
func rank(e Event) int {
	switch e.Event {
	case evSaid, evRestored, evDaemonStarted, evDaemonWoke, evClockStepped:
		return 0
	case evMessageQueued, evMessageSent:
		return 2
	case evDaemonCrashed, evDaemonStopped, evDaemonSuspended:
		return 3
	}
	return 1
}
