// Package decide turns what the ledger knows into findings, releases and
// messages. It gathers the facts about each subject, has policy judge them,
// compares that with what is open, and writes the difference: a change, its
// journal entry and its messages in one transaction, which reads again whatever
// it decides on.
//
// It makes no call to any cloud. It also judges, for daemon/release, whether a
// release still stands right before it is carried out.
package decide

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/activity"
	"guard/policy/presence"
	"guard/providers"
	"guard/store"
)

// Config is what the loop needs.
type Config struct {
	Ledger   *store.Ledger
	Accounts []*providers.Account
	Rules    policy.Rules
	// Audience is whom messages are queued for.
	Audience []guard.Audience
	// Fallback are the channels that are told only what the others could not be: whoever
	// is told there has heard it (law 9).
	Fallback []guard.Audience
	// Zone is how people read times; nil is UTC.
	Zone *time.Location
	// Clock tells what is known of the time that the loop's runs are given; nil where
	// nobody knows more than that.
	Clock func() presence.Belief
	// Activity is what the samples of an instance tell, by its key, and Stirred whose may
	// be judged otherwise since a version (all: anyone's), and the version now; nil where
	// nothing is sampled.
	Activity func(key string) (activity.State, bool)
	Stirred  func(since uint64) (keys []string, all bool, now uint64)
	// Kick asks the scheduler to run a loop now; nil where nobody listens.
	Kick func(loop string)
	Log  *slog.Logger // nil: silent
}

// Loop is the deciding loop, and the judge of releases.
type Loop struct {
	Config
	accounts map[string]*providers.Account

	// index is of the runs alone, which come one after the other.
	index      *index
	judgements int // of subjects, so far
	shown      cards

	mu    sync.Mutex
	clock clock          // as of the last run
	live  map[string]int // live instances of each account, as of the last run
}

// heartbeat is how often the loop runs at least, so that a gap in its runs means
// that guard was away or asleep.
const heartbeat = time.Minute

// After a reboot the providers have the time of hearing to tell the time before
// anything is judged by the wall clock alone; the loop looks every listening.
const (
	hearing   = 5 * time.Minute
	listening = 2 * time.Second
)

// Nothing should need to be judged but by what is said to have changed; these bound the
// harm where something does. Each subject is judged anew within anyway, a part of all in
// each minute, so that no run of a large fleet holds up what is due; wholly is how often
// everything is read, too.
const (
	anyway = time.Hour
	wholly = 6 * time.Hour
)

// New makes the loop. It keeps nothing that the ledger does not have, too.
func New(c Config) *Loop {
	l := &Loop{Config: c, accounts: map[string]*providers.Account{}, live: map[string]int{}}
	for _, a := range c.Accounts {
		l.accounts[a.Name] = a
	}
	if l.Kick == nil {
		l.Kick = func(string) {}
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	l.Log = l.Log.With("loop", l.Name())
	return l
}

// Name is "decide".
func (l *Loop) Name() string { return "decide" }

// Once judges everything of which the judgement may have changed: what the ledger
// has new facts about, and what changes by itself by now; beside that each subject once
// an hour. It judges all there is at first, where the time was put right, after a sleep,
// and every six hours. It returns the next moment at which a judgement changes by itself,
// at most a minute ahead.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	next := at.Add(heartbeat)
	if b := l.belief(); b.Doubt && !l.started() && at.Sub(b.Least) < hearing {
		return at.Add(listening), nil
	}
	c, changed, err := l.watchClock(ctx, at)
	if err != nil {
		return next, fmt.Errorf("decide: judge the clock: %w", err)
	}
	now := at.Wall
	if !l.started() || !c.away.IsZero() || c.back {
		if err := l.freshNotice(ctx, c, now); err != nil {
			return next, fmt.Errorf("decide: fresh notice: %w", err)
		}
	}
	if err := l.keepClock(ctx, at, c, changed); err != nil {
		return next, fmt.Errorf("decide: keep the clock: %w", err)
	}
	if x := l.index; x == nil || changed || now.Before(x.judged) || at.Sub(x.read) >= wholly {
		l.index = newIndex(at)
	}
	x, m := l.index, moment{now: now, clock: c}
	jobs, err := l.compare(ctx, x, m)
	if err != nil {
		l.index = nil
		return next, fmt.Errorf("decide: read the ledger: %w", err)
	}
	l.mu.Lock()
	l.live = maps.Clone(x.live)
	l.mu.Unlock()
	if err := l.apply(ctx, jobs, m); err != nil {
		return next, fmt.Errorf("decide: write: %w", err)
	}
	if first := x.next(); !first.IsZero() {
		if soon := at.Add(first.Sub(now)); soon.Before(next) {
			next = soon
		}
	}
	if !at.Before(next) {
		next = at.Add(time.Second)
	}
	return next, nil
}
