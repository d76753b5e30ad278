// Package notify tells people: it drains the ledger's outbox into channels.
//
// A message was written in the transaction that causes it. Here it is delivered
// at least once, urgent ones first, and never again once a channel has taken it,
// across restarts and outages. That a post is about to go out is durable before
// it does; so after a crash, a time-out or a 429 the channel's history is looked
// at before the same message is posted again. What cannot be delivered is kept
// and tried for ever, ever more slowly, up to once an hour.
//
// What was overtaken while it waited is not told as if it were news; what can wait is
// held in quiet hours; while a channel takes nothing, another one is told what is urgent.
// Behind all posts, the first post of a thread is edited to show the present state.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"guard"
	"guard/store"
)

// Channel is one place where people read. Its methods get an Instant in ctx, make
// one attempt each, never sleep, and return errors that contain no secret. The
// root package's error kinds say what an error means:
//
//   - ErrThrottled, or a *guard.RetryError: nothing is posted before the wait ends.
//   - ErrUnavailable: nothing left this machine; the channel is tried again soon.
//   - ErrInvalid: the channel refuses this message; others may go.
//   - ErrConflict: the thread is not there any more.
//   - ErrPermission, ErrNotFound, ErrRefused, ErrUnsupported: the channel takes
//     nothing until a person mends it.
//   - ErrUncertain and everything else: it may have arrived or not.
type Channel interface {
	// Name is what messages are queued for.
	Name() string
	// Post posts the message once, under the thread that an earlier Posted named,
	// or on its own where thread is "". m.ID goes with it, for Find.
	Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error)
	// Find looks for the message m.ID among what was posted since m.CreatedAt, in
	// the thread and outside it. False without an error means that it is not
	// there; where that cannot be told there is an error. ErrUnsupported,
	// ErrPermission and ErrNotFound mean that looking again will not help.
	Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error)
}

// Limited is a channel that bounds how often and how much may be posted. Only
// such a channel gets digests.
type Limited interface {
	// Pace is the least time between two posts.
	Pace() time.Duration
	// Fits reports whether m can be posted without being cut.
	Fits(m guard.Message) bool
}

// Editor is a channel that can replace what it has posted. Edit replaces the post of a
// receipt by m: the text as it was first posted, with the card and the offers of now. Its
// errors are those of Post; editing twice is the same as editing once. ErrNotFound means
// that the post is not there any more.
type Editor interface {
	Edit(ctx context.Context, receipt string, m guard.Message) error
}

// Reserve is a channel that may be there only for what the others cannot be told: where
// Fallback is true, no message is written for it but by this package.
type Reserve interface {
	Fallback() bool
}

// IsFallback reports whether a channel is there only for what the others cannot be told.
func IsFallback(c Channel) bool {
	r, ok := c.(Reserve)
	return ok && r.Fallback()
}

const (
	// postTimeout bounds one call to a channel; channels have their own,
	// shorter ones.
	postTimeout = 30 * time.Second
	// burst is how many messages a channel without a pace takes in one run.
	burst = 32
	// idle is how soon the outbox is looked at again without a kick: a kick that
	// was forgotten costs a minute, not an alert.
	idle = time.Minute
)

// Config is what the loop works with.
type Config struct {
	Ledger *store.Ledger
	Log    *slog.Logger // may be nil
	// Kick makes another loop due: an acknowledged notice lets a release go on. It may be
	// nil, and is called from several goroutines.
	Kick func(loop string)
	// Quiet is until when what can wait is held back; zero: it is not. Nil: never.
	Quiet func(at time.Time) time.Time
	Zone  *time.Location // of times in what is told; nil: UTC
}

// Loop is the daemon's loop "notify".
type Loop struct {
	ledger *store.Ledger
	log    *slog.Logger
	kick   func(loop string)
	quiet  func(at time.Time) time.Time
	zone   *time.Location
	lines  []*line

	version store.Version // of the outbox as the lines have it
	damaged error         // what of it cannot be read
}

// New makes the loop for the channels, in the order in which they stand in for each
// other. Messages for a channel that is not among them are kept.
func New(c Config, channels ...Channel) *Loop {
	l := &Loop{ledger: c.Ledger, log: c.Log, kick: c.Kick, quiet: c.Quiet, zone: c.Zone}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.kick == nil {
		l.kick = func(string) {}
	}
	if l.quiet == nil {
		l.quiet = func(time.Time) time.Time { return time.Time{} }
	}
	if l.zone == nil {
		l.zone = time.UTC
	}
	for _, c := range channels {
		limits, _ := c.(Limited)
		editor, _ := c.(Editor)
		l.lines = append(l.lines, &line{loop: l, channel: c, limits: limits, editor: editor, name: c.Name()})
	}
	for _, c := range l.lines {
		c.clear()
	}
	return l
}

// Name is "notify".
func (l *Loop) Name() string { return "notify" }

// Once posts what is due: one message or digest for each channel that has a
// pace, several for one that has none. Channels do not wait for each other's
// answers, and a failing one does not hold up the others: once it has failed for
// long, another stands in for it.
func (l *Loop) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	if err := l.refresh(ctx); err != nil {
		return guard.Instant{}, err
	}
	nexts := make([]guard.Instant, len(l.lines))
	errs := make([]error, len(l.lines), len(l.lines)+2)
	var wg sync.WaitGroup
	for i, c := range l.lines {
		wg.Go(func() { nexts[i], errs[i] = c.safely(ctx, at) })
	}
	wg.Wait()
	relief, err := l.relieve(ctx, at)
	next := guard.Earliest(append(nexts, relief, at.Add(idle))...)
	return next, errors.Join(append(errs, err, l.damaged)...)
}

// refresh brings what the lines have of the outbox up to date. A record that cannot
// be read is reported and stays; the others are told all the same.
func (l *Loop) refresh(ctx context.Context) error {
	return l.ledger.View(ctx, func(v *store.View) error {
		keys, known := v.Outbox.Changed(l.version)
		if !known || l.damaged != nil {
			l.reread(v)
			return nil
		}
		for _, key := range keys {
			m, ok, err := v.Outbox.Get(key)
			l.damaged = errors.Join(l.damaged, err)
			for _, c := range l.lines {
				c.forget(key)
				if ok && m.Channel == c.name {
					c.keep(m)
				}
			}
		}
		l.version = v.Version()
		return nil
	})
}

// reread begins with the whole outbox.
func (l *Loop) reread(v *store.View) {
	byName := map[string]*line{}
	for _, c := range l.lines {
		c.clear()
		byName[c.name] = c
	}
	var damaged []error
	for m, err := range v.Outbox.All("") {
		if err != nil {
			damaged = append(damaged, err)
		} else if c, ok := byName[m.Channel]; ok {
			c.keep(m)
		}
	}
	l.damaged, l.version = errors.Join(damaged...), v.Version()
}
