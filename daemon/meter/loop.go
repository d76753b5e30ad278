package meter

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/store"
)

// idle is how long the meter rests when nothing is to come; every change kicks
// it, so this only bounds the harm of a kick that got lost.
const idle = 10 * time.Minute

// Config is what a Loop needs.
type Config struct {
	Ledger *store.Ledger
	// Account finds a configured account.
	Account func(name string) (*providers.Account, bool)
	Rules   policy.Rules
	// Kick asks for another loop to run soon, Sweep for a listing of an account's
	// volumes and the like; nil where nobody listens.
	Kick  func(loop string)
	Sweep func(account string)
	Log   *slog.Logger // nil: silent
}

// Loop is the meter, for all accounts.
type Loop struct {
	ledger  *store.Ledger
	account func(string) (*providers.Account, bool)
	rules   policy.Rules
	kick    func(string)
	sweep   func(string)
	log     *slog.Logger

	book  *book // nil: nothing is remembered
	ended measured
	last  work
}

// work is how much one run had to do.
type work struct{ folded, solved int }

// New makes a meter.
func New(c Config) *Loop {
	l := &Loop{ledger: c.Ledger, account: c.Account, rules: c.Rules, kick: c.Kick, sweep: c.Sweep, log: c.Log}
	if l.kick == nil {
		l.kick = func(string) {}
	}
	if l.sweep == nil {
		l.sweep = func(string) {}
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l
}

// Name is "meter".
func (l *Loop) Name() string { return "meter" }

// Once meters what is pending and solves the deadlines of the open leases that it
// touches, or that time alone can move. It returns when a price or a deadline that
// waits for a second reading can be judged again.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	r := &run{Loop: l, at: at, next: at.Add(idle)}
	err := r.meter(ctx)
	if err == nil {
		err = r.plan(ctx)
	}
	l.last = r.work
	if err != nil {
		l.book = nil // how far it came is not known: look at everything
		return at.Add(time.Minute), err
	}
	l.log.Debug("metered", "folded", r.folded, "solved", r.solved)
	// Even where nothing moved: whoever kicked the meter may have changed what
	// only decide looks at.
	l.kick("decide")
	return r.next, nil
}

// run is one run of the loop.
type run struct {
	*Loop
	work
	at       guard.Instant
	next     guard.Instant        // when the meter wants to run again
	complete map[string]time.Time // by scope key
	solve    []string             // leases to solve
	families map[string]family    // of those whose plan is written
}

// poll is how often an account is read.
func (l *Loop) poll(account string) time.Duration {
	if a, ok := l.account(account); ok && a.Poll > 0 {
		return a.Poll
	}
	return idle
}

// second waits for a reading of a resource; one that is only swept is asked for.
func (r *run) second(id guard.ResourceID, when time.Time) {
	r.wait(when, r.poll(id.Account))
	if id.Kind != guard.Instance && !r.at.Wall.Before(when) {
		r.sweep(id.Account)
	}
}

// wait has the meter run again at a moment, or a poll from now where that is
// past: then the reading that it waits for is overdue.
func (r *run) wait(until time.Time, poll time.Duration) {
	due := r.at.Reach(until)
	if !r.at.Before(due) {
		due = r.at.Add(poll)
	}
	r.next = guard.Earliest(r.next, due)
}

func reading(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("meter: read the ledger: %w", err)
}
