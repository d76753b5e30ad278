package notify

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"guard"
	"guard/store"
)

// line is the way to one channel.
type line struct {
	loop    *Loop
	channel Channel
	limits  Limited // nil: no pace, no digests
	editor  Editor  // nil: what was posted stays as it is
	name    string
	pending *queue
	edits   *queue

	loaded   bool
	state    state         // as in the ledger, in calendar time
	until    guard.Instant // state.Until and LastPost on the clock that never steps
	lastPost guard.Instant
	taken    *taken        // not on record yet
	down     guard.Instant // state.Since on that clock
	standIn  standIn
	copied   map[string]bool // what its stand-in was given

	asked, quiet time.Time // when quiet hours were asked for last, and their end then; zero: none

	lastEdit  guard.Instant
	editUntil guard.Instant // no edit before: posts do not wait for it
	editFails int
}

// taken is a post that the channel has acknowledged. Its receipt is written with
// the intent of the next post, before which nothing else goes out: to a crash that is
// the same as one right after the answer, and to the disk half the work.
type taken struct {
	post
	posted guard.Posted
}

// clear forgets what waits.
func (c *line) clear() { c.pending, c.edits = newQueue(), newQueue() }

// keep takes what waits for the channel.
func (c *line) keep(m guard.Message) {
	if m.Edit {
		c.edits.put(m, time.Time{})
		return
	}
	c.pending.put(m, c.heldUntil(m, m.CreatedAt))
}

func (c *line) forget(id string) {
	c.pending.remove(id)
	c.edits.remove(id)
}

func (c *line) pace() time.Duration {
	if c.limits == nil {
		return 0
	}
	return c.limits.Pace()
}

// safely is run, on a goroutine of its own: a channel that panics must not take
// guardd and the other channels with it.
func (c *line) safely(ctx context.Context, at guard.Instant) (next guard.Instant, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.loop.log.Error("channel panicked", "channel", c.name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			next, err = at.Add(mostFailing), fmt.Errorf("%w: channel %s panicked; tried again in %s", guard.ErrUnavailable, c.name, mostFailing)
			err = errors.Join(err, c.settle(ctx, at))
			c.loaded = false // begin from what is durable
		}
	}()
	return c.run(ctx, at)
}

// run delivers what is due, edits where nothing is, and tells when to run again; zero:
// when something comes.
func (c *line) run(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	if err := c.load(ctx, at); err != nil {
		return guard.Instant{}, err
	}
	if err := c.newest(ctx); err != nil {
		return guard.Instant{}, err
	}
	for n := 0; ; n++ {
		p, ok, wake := c.pick(at)
		if n == burst {
			return at, c.settle(ctx, at)
		}
		if ok {
			changed, err := c.deliver(ctx, at, p)
			if err != nil {
				return guard.Instant{}, errors.Join(err, c.settle(ctx, at))
			}
			c.replace(p.members, changed)
			continue
		}
		if err := c.settle(ctx, at); err != nil {
			return guard.Instant{}, err
		}
		if edited, later, err := c.edit(ctx, at); !edited || err != nil {
			return guard.Earliest(wake, later), err
		}
	}
}

// replace takes the old messages out and puts those in that still wait.
func (c *line) replace(old, still []guard.Message) {
	for _, m := range old {
		c.pending.remove(m.ID)
	}
	for _, m := range still {
		c.keep(m)
	}
}

// load reads the state that the last guardd left. A wait never counts for longer
// than it can have been, whatever the clock says.
func (c *line) load(ctx context.Context, at guard.Instant) error {
	if c.loaded {
		return nil
	}
	var s state
	var stands standIn
	err := c.loop.ledger.View(ctx, func(v *store.View) error {
		if _, err := v.Value(standInName(c.name), &stands); err != nil {
			return err
		}
		_, err := v.Value(stateName(c.name), &s)
		return err
	})
	if err != nil {
		return fmt.Errorf("notify %s: %w", c.name, err)
	}
	if s.Wait != "" && s.Since.IsZero() { // of an older record
		s.Since = at.Wall
	}
	c.state, c.standIn, c.copied, c.loaded = s, stands, map[string]bool{}, true
	c.down = at.Add(-max(0, at.Wall.Sub(s.Since)))
	if wait := s.Until.Sub(at.Wall); wait > 0 && wait <= maxWait {
		c.until = at.Add(wait)
	}
	if ago := at.Wall.Sub(s.LastPost); ago >= 0 && ago < c.pace() {
		c.lastPost = at.Add(-ago)
	}
	return nil
}

// fails notes since when the channel takes nothing.
func (c *line) fails(s *state, at guard.Instant) {
	if s.Since.IsZero() {
		s.Since, c.down = at.Wall, at
	}
}

// thread is what later messages of a thread are posted under; "" where it has not begun,
// or is gone.
func (c *line) thread(get values, key string) (thread string, err error) {
	if key != "" {
		_, err = get.Value(store.ThreadName(c.name, key), &thread)
	}
	return thread, err
}

// first is the ID of the message that a thread began with; "" where nobody knows.
func (c *line) first(get values, key string) (id string, err error) {
	_, err = get.Value(store.FirstName(c.name, key), &id)
	return id, err
}

// begins keeps where a thread is from now on, and the message that it began with.
func (c *line) begins(tx *store.Tx, key, thread, first string) error {
	return errors.Join(tx.SetValue(store.ThreadName(c.name, key), thread), tx.SetValue(store.FirstName(c.name, key), first))
}

// values is a View or a Tx.
type values interface {
	Value(name string, v any) (bool, error)
}
