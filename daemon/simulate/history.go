package simulate

import (
	"slices"
	"time"

	"guard/daemon/notify/notifytest"
	"guard/providers/fake"
	"guard/store"
)

// History is what really happened in a story, for whoever checks it by other
// means than the file's expectations. The ledger is there as bytes: whoever
// reads it believes the daemon.
type History struct {
	Start  time.Time
	Length time.Duration
	// Clouds are the accounts' clouds, by account, as they are at the end.
	Clouds map[string]*fake.Cloud
	// Calls are all requests to all clouds, in their order.
	Calls []CloudCall
	// Posts are all requests to post to Slack, in their order.
	Posts []notifytest.Post
	// Commands are the command lines of people, in their order.
	Commands []Ran
	// Down are the stretches in which no daemon ran, after a crash, in their order.
	Down   []Stretch
	Ledger store.Backend
}

// Stretch is a time of the story, from a moment to another.
type Stretch struct{ From, To time.Duration }

// CloudCall is one request to one account's cloud.
type CloudCall struct {
	Account string
	fake.Call
}

// Ran is a command line that was run, and what came of it.
type Ran struct {
	At     time.Duration // since the start of the story
	Line   string
	Status int // its exit status
	Said   string
	// Crashed: the daemon died over it, and what it was told may be durable or not.
	Crashed bool
}

func (r *runner) history() *History {
	h := &History{Start: r.story.start, Length: r.story.length, Clouds: map[string]*fake.Cloud{}, Posts: r.slack.Posts(),
		Commands: slices.Clone(r.ran), Down: slices.Clone(r.down), Ledger: r.backend}
	for _, name := range r.order {
		h.Clouds[name] = r.clouds[name].Cloud
	}
	for _, c := range r.calls {
		h.Calls = append(h.Calls, CloudCall{c.account, c.Call})
	}
	return h
}
