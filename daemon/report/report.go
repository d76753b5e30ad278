// Package report tells people what no single event does: how the day was (the digest), what
// nobody has acknowledged (the escalation), that guard was away and what it missed, and,
// to an outside watcher, that it lives (the heartbeat).
//
// What is told is queued as all messages are, with IDs that make saying it again change
// nothing. The words are policy's.
package report

import (
	"context"
	"log/slog"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/store"
)

// Config is what the loops need.
type Config struct {
	Ledger   *store.Ledger
	Accounts []*providers.Account
	Audience []guard.Audience
	Zone     *time.Location // nil: UTC
	Rules    policy.Rules
	// Loops tells how the daemon's loops run. It is not asked inside a View of the ledger.
	Loops func() []Run
	// Doubt tells that nobody has confirmed the time yet, after a start of the machine; nil
	// where somebody always has.
	Doubt func() bool
	// Kick makes another loop due; nil where nobody listens.
	Kick func(loop string)
	Log  *slog.Logger // nil: silent
}

// Run is how one loop runs.
type Run struct {
	Loop string
	// Last is when its last run began; Running tells that it has not ended.
	Last    time.Time
	Running bool
	Failed  bool // the last one that ended
	Stale   bool // it should have run, or ended, and has not
	// Runs is how many there were since the loop was made.
	Runs uint64
}

func (c Config) ready() Config {
	if c.Kick == nil {
		c.Kick = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Doubt == nil {
		c.Doubt = func() bool { return false }
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	return c
}

// acts reports whether guard acts in an account. One that is not configured any more
// counts as one: that may be what keeps guard from acting.
func (c Config) acts(account string) bool {
	for _, a := range c.Accounts {
		if a.Name == account {
			return a.Mode == guard.Enforce
		}
	}
	return true
}

// tell queues what is told to each of an audience, once for a cause and a stage.
func tell(tx *store.Tx, to []guard.Audience, cause, stage string, in func(guard.Lang) guard.Message) error {
	for _, m := range policy.Copies(to, cause, stage, in) {
		if err := tx.Queue(m); err != nil {
			return err
		}
	}
	return nil
}

// read keeps in a value of the ledger what the loops know across restarts.
func read[T any](ctx context.Context, l *store.Ledger, name string) (v T, err error) {
	err = l.View(ctx, func(view *store.View) error {
		v = *new(T)
		_, err := view.Value(name, &v)
		return err
	})
	return v, err
}

// past is a remembered time; zero where it was written by a time that was put back since.
func past(t, now time.Time) time.Time {
	if t.After(now) {
		return time.Time{}
	}
	return t
}
