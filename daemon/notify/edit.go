package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"guard"
	"guard/policy/say"
	"guard/store"
)

// edit brings the first post of one thread up to date: the text as it was posted, with
// the card and the offers of now. It is paced as posts are and comes behind all that are
// due; it is the same done once or twice, so nothing is written before it. Where it is
// not edited, later is when one may be.
func (c *line) edit(ctx context.Context, at guard.Instant) (edited bool, later guard.Instant, err error) {
	if c.edits.len() == 0 {
		return false, later, nil
	}
	wait := guard.Instant{}
	for _, last := range []guard.Instant{c.lastPost, c.lastEdit} {
		if next := last.Add(c.pace()); !last.IsZero() && at.Before(next) && wait.Before(next) {
			wait = next
		}
	}
	for _, until := range []guard.Instant{c.until, c.editUntil} {
		if at.Before(until) && wait.Before(until) {
			wait = until
		}
	}
	if !wait.IsZero() {
		return false, wait, nil
	}
	e, first, idle, err := c.due(ctx)
	if err != nil {
		return false, later, err
	}
	if err := c.unedited(ctx, idle); err != nil || e.ID == "" {
		return false, later, err
	}
	m := first
	m.Card, m.Offers, m.Short = e.Card, e.Offers, first.Short || e.Short
	if m.MayRepeat {
		m.Title = say.In(m.Lang, mayRepeat, m.Title)
	}
	c.lastEdit = at
	call, cancel := context.WithTimeout(ctx, postTimeout)
	failed := c.editor.Edit(call, first.Receipt, m)
	cancel()
	ctx = context.WithoutCancel(ctx)
	if failed != nil {
		return true, later, c.notEdited(ctx, at, e, failed)
	}
	c.editUntil, c.editFails = guard.Instant{}, 0
	first.Card, first.Offers = e.Card, e.Offers // what people see, and may click
	err = c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Sent(first); err != nil {
			return err
		}
		return over(tx, e)
	})
	if err == nil {
		c.edits.remove(e.ID) // a newer one comes back with what has changed
	}
	return true, later, err
}

// due is the first edit whose thread has begun, with the message that began it. Idle are
// those that have nothing to edit.
func (c *line) due(ctx context.Context) (e, first guard.Message, idle []guard.Message, err error) {
	err = c.loop.ledger.View(ctx, func(v *store.View) error {
		e, first, idle = guard.Message{}, guard.Message{}, nil
		for w := range c.edits.all() {
			if c.editor == nil {
				idle = append(idle, w.Message)
				continue
			}
			thread, err := c.thread(v, w.Thread)
			if err != nil {
				return err
			}
			if thread == "" && c.pending.threads[w.Thread] > 0 {
				continue // it is about to begin
			}
			id, err := c.first(v, w.Thread)
			if err != nil {
				return err
			}
			m, ok, err := v.SentMessages.Get(id)
			if err != nil {
				return err
			}
			if thread == "" || !ok || m.Receipt == "" {
				idle = append(idle, w.Message)
				continue
			}
			e, first = w.Message, m
			return nil
		}
		return nil
	})
	return e, first, idle, err
}

// unedited drops edits that there is nothing to edit for.
func (c *line) unedited(ctx context.Context, idle []guard.Message) error {
	if len(idle) == 0 {
		return nil
	}
	err := c.loop.ledger.UpdateEach(ctx, len(idle), func(tx *store.Tx, i int) error { return over(tx, idle[i]) })
	if err != nil {
		return err
	}
	for _, e := range idle {
		c.edits.remove(e.ID)
	}
	return nil
}

// notEdited is what follows from a failed edit. Posts wait for none but one that the
// channel asked to wait after.
func (c *line) notEdited(ctx context.Context, at guard.Instant, e guard.Message, cause error) error {
	c.loop.log.Warn("message not edited", "channel", c.name, "message", e.ID, "error", cause.Error())
	f := fateOf(cause, "")
	mends := errors.Is(cause, guard.ErrPermission) || errors.Is(cause, guard.ErrAccount)
	switch {
	case f == throttled:
		return c.throttledBy(ctx, at, cause)
	case f == closed && !mends, f == refused && e.Short: // the post is gone, or takes no such text
		return c.unedited(ctx, []guard.Message{e})
	case f == refused:
		e.Short = true
		c.edits.put(e, time.Time{})
		return c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
			if now, ok, err := tx.Outbox.Get(e.ID); err != nil || !ok || !same(now, e) {
				return err
			}
			return tx.Outbox.Put(e)
		})
	}
	first, most := firstFailing, mostFailing
	if f == closed {
		first, most = firstRefused, maxWait
	}
	c.editFails++
	c.editUntil = at.Add(backoff(first, c.editFails, most))
	return nil
}

// throttledBy puts off posts as well as edits.
func (c *line) throttledBy(ctx context.Context, at guard.Instant, cause error) error {
	s, wait := c.state, throttledWait(cause)
	s.Wait, s.Until, s.Error, s.ErrorAt = waitThrottled, at.Wall.Add(wait), cut(cause.Error(), errorRunes), at.Wall
	c.fails(&s, at)
	if err := c.loop.ledger.Update(ctx, func(tx *store.Tx) error { return tx.SetValue(stateName(c.name), s) }); err != nil {
		return err
	}
	c.state, c.until = s, at.Add(wait)
	return nil
}

// over takes an edit out of the outbox, unless a newer state has taken its place.
func over(tx *store.Tx, e guard.Message) error {
	now, ok, err := tx.Outbox.Get(e.ID)
	if err != nil || !ok || !same(now, e) {
		return err
	}
	return tx.Outbox.Delete(e.ID)
}

// same reports whether two edits show the same state.
func same(a, b guard.Message) bool {
	state := func(m guard.Message) []byte {
		b, err := json.Marshal([]any{m.CreatedAt.UTC(), m.Card, m.Offers})
		if err != nil {
			return nil
		}
		return b
	}
	x := state(a)
	return x != nil && bytes.Equal(x, state(b))
}
