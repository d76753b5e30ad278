package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/policy/say"
	"guard/store"
)

const (
	// lookAfter is how long a post of unknown fate gets to show up in the
	// history before its absence there means anything.
	lookAfter = 10 * time.Second
	// looks is how many failed look-ups in a row make guard post without one.
	looks = 5
	// A channel that fails is tried again after firstFailing, then after twice
	// that, up to mostFailing; one that needs a person up to maxWait.
	firstFailing = 2 * time.Second
	mostFailing  = time.Minute
	firstRefused = time.Minute
	// throttledFor is the wait where a channel throttles without saying how long;
	// throttledMore is added to every such wait, for the way of the answer.
	throttledFor  = 30 * time.Second
	throttledMore = time.Second
	// errorRunes bounds the error text kept with a message.
	errorRunes = 300
)

// mayRepeat is the title of a copy whose original may have arrived.
const mayRepeat = "(may repeat) %s"

// deliver looks where that is needed, then posts. It returns those of the
// members that still wait.
func (c *line) deliver(ctx context.Context, at guard.Instant, p post) ([]guard.Message, error) {
	if p.look {
		if err := c.settle(ctx, at); err != nil {
			return nil, err
		}
		done, rest, err := c.look(ctx, at, &p)
		if done || err != nil {
			return rest, err
		}
	}
	p, thread, err := c.intend(ctx, at, p)
	if err != nil || len(p.members) == 0 {
		return nil, err
	}
	m := p.members[0]
	if p.digest() {
		m = digest(p.members)
	}
	if m.MayRepeat {
		m.Title = say.In(m.Lang, mayRepeat, m.Title)
	}
	call, cancel := context.WithTimeout(ctx, postTimeout)
	posted, failed := c.channel.Post(call, m, thread)
	cancel()
	// The answer counts even where guardd is stopping.
	ctx = context.WithoutCancel(ctx)
	if failed == nil {
		return nil, c.take(ctx, at, p, posted)
	}
	return c.failed(ctx, at, p, thread, failed)
}

// look searches the history for a post of unknown fate. Done: it was found and
// acknowledged, or must be looked for again later.
func (c *line) look(ctx context.Context, at guard.Instant, p *post) (done bool, rest []guard.Message, err error) {
	m := p.members[0]
	var thread string
	err = c.loop.ledger.View(ctx, func(v *store.View) (err error) {
		thread, err = c.thread(v, m.Thread)
		return err
	})
	if err != nil {
		return false, nil, err
	}
	if p.digest() {
		m, thread = digest(p.members), ""
	}
	call, cancel := context.WithTimeout(ctx, postTimeout)
	posted, found, failed := c.channel.Find(call, m, thread)
	cancel()
	if failed == nil && found {
		return true, nil, c.take(ctx, at, *p, posted)
	}
	if failed != nil {
		c.loop.log.Warn("message not looked up", "channel", c.name, "message", p.id, "error", failed.Error())
	}
	tries := m.Looks + 1
	blind := errors.Is(failed, guard.ErrUnsupported) || errors.Is(failed, guard.ErrPermission) ||
		errors.Is(failed, guard.ErrNotFound) || tries >= looks
	for i := range p.members {
		o := &p.members[i]
		switch {
		case failed == nil: // it did not arrive: nothing repeats
			o.Looks, o.MayRepeat = 0, false
		case blind:
			o.Looks, o.MayRepeat = tries, true
		default:
			o.Looks, o.NextTry = tries, at.Wall.Add(backoff(lookAfter/2, tries, mostFailing))
			if after, ok := guard.RetryAfter(failed); ok {
				o.NextTry = at.Wall.Add(min(after+throttledMore, maxWait))
			}
			o.LastError = cut(failed.Error(), errorRunes)
		}
	}
	if failed == nil || blind {
		return false, nil, nil // intend makes the marks durable
	}
	looked := p.members
	err = c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
		return each(tx, looked, func(m *guard.Message, i int) {
			m.Looks, m.NextTry, m.LastError = looked[i].Looks, looked[i].NextTry, looked[i].LastError
		}, nil)
	})
	return true, looked, err
}

// intend makes it durable that the post is about to go out: from here on its
// fate is unknown until the channel's answer is on record too.
func (c *line) intend(ctx context.Context, at guard.Instant, p post) (out post, thread string, err error) {
	s := c.state
	s.LastPost = at.Wall
	batch := ""
	if p.digest() {
		batch = p.id
	}
	err = c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
		out, thread = post{id: p.id}, ""
		if c.taken != nil {
			if err := c.receipt(tx, at, c.taken, 0); err != nil {
				return err
			}
		}
		err := each(tx, p.members, func(m *guard.Message, i int) {
			m.Attempts++
			m.Uncertain, m.Batch = true, batch
			m.NextTry = at.Wall.Add(lookAfter)
			m.Looks, m.MayRepeat = p.members[i].Looks, p.members[i].MayRepeat
		}, &out.members)
		if err != nil || len(out.members) == 0 {
			return err
		}
		if batch == "" {
			if thread, err = c.thread(tx, out.members[0].Thread); err != nil {
				return err
			}
		}
		return tx.SetValue(stateName(c.name), s)
	})
	if err == nil {
		c.settled()
		c.state, c.lastPost = s, at
	}
	return out, thread, err
}

// each changes the messages that are still in the outbox and adds them, changed,
// to now.
func each(tx *store.Tx, ms []guard.Message, change func(m *guard.Message, i int), now *[]guard.Message) error {
	for i, old := range ms {
		m, ok, err := tx.Outbox.Get(old.ID)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		change(&m, i)
		if err := tx.Outbox.Put(m); err != nil {
			return err
		}
		if now != nil {
			*now = append(*now, m)
		}
	}
	return nil
}

// take is what follows from a channel's acknowledgement.
func (c *line) take(ctx context.Context, at guard.Instant, p post, posted guard.Posted) error {
	s := c.state
	s.LastAck = at.Wall
	s.Wait, s.Until, s.Failures, s.Since, s.Error, s.ErrorAt = "", time.Time{}, 0, time.Time{}, "", time.Time{}
	c.state, c.until = s, guard.Instant{}
	c.taken = &taken{p, posted}
	if p.digest() {
		return c.settle(ctx, at)
	}
	return nil
}

// settle puts on record what was taken last. A digest may take two transactions; a
// member left over by a crash between them is found in the history.
func (c *line) settle(ctx context.Context, at guard.Instant) error {
	if c.taken == nil {
		return nil
	}
	t := c.taken
	// It was told, even where guardd is stopping.
	err := c.loop.ledger.UpdateEach(context.WithoutCancel(ctx), len(t.members), func(tx *store.Tx, i int) error {
		return c.receipt(tx, at, t, i)
	})
	if err != nil {
		c.taken, c.loaded = nil, false // begin from what is durable
		return fmt.Errorf("notify %s: keep the receipt of %s: %w", c.name, t.id, err)
	}
	c.settled()
	return nil
}

// receipt moves a member to the archive with the channel's receipt.
func (c *line) receipt(tx *store.Tx, at guard.Instant, t *taken, i int) error {
	if i == 0 {
		if err := tx.SetValue(stateName(c.name), c.state); err != nil {
			return err
		}
	}
	m, ok, err := tx.Outbox.Get(t.members[i].ID)
	if err != nil || !ok {
		return err
	}
	m.Acked, m.Receipt = at.Wall, t.posted.Receipt
	m.Uncertain, m.Looks, m.LastError, m.NextTry = false, 0, "", time.Time{}
	if m.Thread != "" && m.Batch == "" && t.posted.Thread != "" {
		was, err := c.thread(tx, m.Thread)
		if err == nil && was != t.posted.Thread {
			err = c.begins(tx, m.Thread, t.posted.Thread, m.ID)
		}
		if err != nil {
			return err
		}
	}
	return tx.Sent(m)
}

// settled tells who waits for it that people have been told.
func (c *line) settled() {
	if c.taken == nil {
		return
	}
	for _, m := range c.taken.members {
		if m.Release != "" && len(m.About) > 0 {
			c.loop.kick("release/" + m.About[0].Account)
		}
	}
	c.taken = nil
}

// failed records why a post failed, and what that means for the message and for
// the channel.
func (c *line) failed(ctx context.Context, at guard.Instant, p post, thread string, cause error) ([]guard.Message, error) {
	s := c.state
	s.Error, s.ErrorAt = cut(cause.Error(), errorRunes), at.Wall
	f := fateOf(cause, thread)
	wait := time.Duration(0)
	switch f {
	case throttled:
		s.Wait, wait = waitThrottled, throttledWait(cause)
	case uncertain, unsent:
		s.Failures++
		s.Wait, wait = waitFailing, backoff(firstFailing, s.Failures, mostFailing)
	case closed:
		if s.Wait == waitRefused && at.Before(c.until) {
			wait = c.until.Sub(at) // a first try of a new message leaves the pace of the old ones
			break
		}
		s.Failures++
		s.Wait, wait = waitRefused, backoff(firstRefused, s.Failures, maxWait)
	case refused, threadless: // the message's own trouble: the channel is well
		s = c.state
	}
	if wait > 0 {
		s.Until = at.Wall.Add(wait)
		c.fails(&s, at)
	}
	var rest []guard.Message
	err := c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
		rest = nil
		err := each(tx, p.members, func(m *guard.Message, _ int) {
			m.LastError = cut(cause.Error(), errorRunes)
			m.NextTry = time.Time{}
			switch f {
			case uncertain:
				m.NextTry = at.Wall.Add(lookAfter)
			case throttled: // it may have been stored all the same
			case refused:
				if m.Short {
					m.NextTry = at.Wall.Add(backoff(firstRefused, m.Attempts-1, maxWait))
				}
				m.Short = true
				m.Batch, m.Uncertain = "", m.MayRepeat
			default:
				// This one did not arrive; an earlier one that nobody could look
				// for may have.
				if m.Uncertain = m.MayRepeat; !m.Uncertain {
					m.Batch = ""
				}
			}
		}, &rest)
		if err != nil {
			return err
		}
		if f == threadless && len(rest) > 0 {
			if err := c.begins(tx, rest[0].Thread, "", ""); err != nil {
				return err
			}
		}
		return tx.SetValue(stateName(c.name), s)
	})
	if err != nil {
		return nil, fmt.Errorf("notify %s: record that %s failed (%v): %w", c.name, p.id, cause, err)
	}
	c.state = s
	if wait > 0 {
		c.until = at.Add(wait)
	}
	c.loop.log.Warn("message not delivered", "channel", c.name, "message", p.id, "error", cause.Error(), "wait", wait.String())
	return rest, nil
}

// fate is what an error says of a post.
type fate int

const (
	uncertain  fate = iota // it may have arrived
	throttled              // the channel asks to wait; it may have stored it all the same
	unsent                 // nothing left this machine
	refused                // the channel will not take this message
	threadless             // the thread is gone
	closed                 // the channel takes nothing
)

func fateOf(err error, thread string) fate {
	is := func(kinds ...error) bool {
		for _, k := range kinds {
			if errors.Is(err, k) {
				return true
			}
		}
		return false
	}
	_, asks := guard.RetryAfter(err)
	switch {
	case asks || is(guard.ErrThrottled):
		return throttled
	case is(guard.ErrUncertain):
		return uncertain
	case is(guard.ErrConflict) && thread != "":
		return threadless
	case is(guard.ErrInvalid, guard.ErrConflict):
		return refused
	case is(guard.ErrPermission, guard.ErrNotFound, guard.ErrRefused, guard.ErrUnsupported, guard.ErrAccount):
		return closed
	case is(guard.ErrUnavailable):
		return unsent
	}
	return uncertain
}

// throttledWait is how long a channel asks to wait.
func throttledWait(cause error) time.Duration {
	after, ok := guard.RetryAfter(cause)
	if !ok {
		after = throttledFor
	}
	return min(max(after, time.Second)+throttledMore, maxWait)
}

// backoff is first for n = 1, then twice as long each time, up to most.
func backoff(first time.Duration, n int, most time.Duration) time.Duration {
	for ; n > 1 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}
