// Package release carries releases out. It performs what the table in
// policy/release says and adds nothing to it: it reads targets afresh, has the
// release judged again, makes the intent durable, calls the provider, and looks
// until the end is proven.
//
// Two loops serve an account. The judging one ("release/ACCOUNT") reads and
// decides; the calling one ("call/ACCOUNT") makes the calls that are intended, so
// that a provider that hangs holds up no deadline. What passes between them in
// memory is only which intents were made by this process: one that a restart
// finds is read again first.
package release

import (
	"log/slog"
	"sync"
	"time"

	"guard"
	"guard/policy/release"
	"guard/providers"
	"guard/store"
)

// Judge says whether a release still stands, given what was just read of its
// target (nil where it could not be read). It is asked inside the transaction
// that makes the intent durable and so may be asked twice; its only effects go
// through tx.
type Judge interface {
	Judge(tx *store.Tx, at guard.Instant, r guard.Release, fresh *guard.Resource) (release.Judgement, error)
	// Tell queues what is said of a release at a stage, to everybody in their language, and
	// beside it how its target does. The release is as it is in the ledger, or as it ended.
	Tell(tx *store.Tx, at guard.Instant, r guard.Release, stage string, in func(guard.Lang) guard.Message) error
}

// Config is what the loops of one account need.
type Config struct {
	Ledger *store.Ledger
	// AccountName is told even where Account is nil, which is where the ledger
	// still has releases of an account that the configuration has not: they are
	// blocked, and people are told.
	AccountName string
	Account     *providers.Account
	Judge       Judge
	// Verify is how long after acceptance a target may live, where the adapter does
	// not say that a release takes longer.
	Verify time.Duration
	// ForcedUnprotect lets the provider's protection be stripped where the lease
	// allows it too.
	ForcedUnprotect bool
	// Parallel is how many calls are out at once; zero is a sensible number, one
	// makes a story tell the same every time.
	Parallel int
	// Audience is whom messages are queued for.
	Audience []guard.Audience
	Zone     *time.Location
	// Kick asks the scheduler to run a loop now, Sweep asks for the account's
	// volumes and the like to be listed soon; nil where nobody listens.
	Kick  func(loop string)
	Sweep func(account string)
	Log   *slog.Logger // nil: silent
}

// Loop is the judging loop of one account.
type Loop struct {
	Config
	flight *flight
	book   *book
	// looks are the reads of this process, by release ID.
	looks map[string]look
}

// Caller is the calling loop of one account.
type Caller struct {
	Config
	flight *flight
}

// flight is what the two loops share: the intents that this process made durable
// and whose calls are to go out or are out, by release ID and attempt.
type flight struct {
	mu      sync.Mutex
	pending map[string]call
}

type call struct {
	target  guard.ResourceID
	attempt int
}

func (f *flight) add(id string, c call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending[id] = c
}

func (f *flight) done(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pending, id)
}

func (f *flight) has(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.pending[id]
	return ok
}

func (f *flight) all() map[string]call {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]call, len(f.pending))
	for id, c := range f.pending {
		out[id] = c
	}
	return out
}

// New makes the two loops of an account.
func New(c Config) (*Loop, *Caller) {
	if c.Kick == nil {
		c.Kick = func(string) {}
	}
	if c.Sweep == nil {
		c.Sweep = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &flight{pending: map[string]call{}}
	return &Loop{Config: c, flight: f, book: newBook(c.AccountName), looks: map[string]look{}}, &Caller{Config: c, flight: f}
}

// Name is "release/" and the account.
func (l *Loop) Name() string { return "release/" + l.AccountName }

// Name is "call/" and the account.
func (c *Caller) Name() string { return "call/" + c.AccountName }
