package report

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/store"
)

// Digest is the daemon's loop "digest".
type Digest struct {
	Config
	// next is the first time after another at which one is due.
	next  func(after time.Time) time.Time
	alive func() Alive
}

// Alive is what the digest of a week tells of this guardd.
type Alive struct {
	Version string
	Started time.Time
}

// NewDigest makes the loop. next tells when a digest is due, by the calendar of c.Zone.
func NewDigest(c Config, next func(after time.Time) time.Time, alive func() Alive) *Digest {
	return &Digest{Config: c.ready(), next: next, alive: alive}
}

// Name is "digest".
func (l *Digest) Name() string { return "digest" }

// digestName is the ledger's value with the last digest.
const digestName = "report/digest"

// told is the last digest.
type told struct {
	// Began is the loop's first run ever: none is owed from before that.
	Began time.Time `json:"began,omitzero"`
	At    time.Time `json:"at,omitzero"`
	// Week is when guard last said that it is alive.
	Week time.Time `json:"week,omitzero"`
}

// look is how soon the loop runs again anyway, for the wall clock may be set meanwhile.
const look = time.Hour

// Once tells the digest that is due: once a day, however often guard starts and whatever
// the clocks of the zone do. One that was missed is told late, and only one however many
// were.
func (l *Digest) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	if l.Doubt() {
		return at.Add(time.Minute), nil // it may be another day
	}
	now := at.Wall
	was, err := read[told](ctx, l.Ledger, digestName)
	if err != nil {
		return at.Add(look), fmt.Errorf("digest: read the ledger: %w", err)
	}
	if past(was.Began, now).IsZero() {
		was.Began = now
		err := l.Ledger.Update(ctx, func(tx *store.Tx) error { return tx.SetValue(digestName, was) })
		if err != nil {
			return at.Add(look), fmt.Errorf("digest: write down when it began: %w", err)
		}
	}
	if due := l.due(was, now); due.IsZero() || due.After(now) {
		return l.wait(at, due), nil
	}
	next, err := l.tell(ctx, at, was)
	if err != nil {
		return at.Add(time.Minute), fmt.Errorf("digest: %w", err)
	}
	return l.wait(at, l.due(next, now)), nil
}

func (l *Digest) wait(at guard.Instant, due time.Time) guard.Instant {
	if due.IsZero() {
		return at.Add(look)
	}
	return guard.Earliest(at.Reach(due), at.Add(look))
}

// due is when the next digest is to be told; zero: never. One of a day on which one was
// told already says nothing: it has the same ID.
func (l *Digest) due(was told, now time.Time) time.Time {
	if last := past(was.At, now); !last.IsZero() {
		return l.next(last)
	}
	return l.next(was.Began)
}

// tell queues the digest, and writes down that it was told.
func (l *Digest) tell(ctx context.Context, at guard.Instant, was told) (told, error) {
	now := at.Wall
	next := told{Began: was.Began, At: now, Week: was.Week}
	weekly := l.weekly(past(was.Week, now), now)
	if weekly {
		next.Week = now
	}
	d, err := l.Gather(ctx, at, weekly)
	if err != nil {
		return was, fmt.Errorf("read the ledger: %w", err)
	}
	err = l.Ledger.Update(ctx, func(tx *store.Tx) error {
		if err := tell(tx, l.Audience, "guard|digest", now.In(l.Zone).Format(time.DateOnly), d.Message); err != nil {
			return err
		}
		return tx.SetValue(digestName, next)
	})
	if err != nil {
		return was, fmt.Errorf("queue: %w", err)
	}
	l.Kick("notify")
	return next, nil
}

// weekly reports whether a digest is the first of its week, which begins on Monday.
func (l *Digest) weekly(last, now time.Time) bool {
	if last.IsZero() {
		return true
	}
	y, w := last.In(l.Zone).ISOWeek()
	year, week := now.In(l.Zone).ISOWeek()
	return y != year || w != week
}
