package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/providers"
)

// timerFor bounds what an order spends on the provider's own timer.
const timerFor = 10 * time.Second

// moveTimer moves the provider's own timer out of the way of an edit that puts a limit
// off, before the ledger has it: only what the provider has told back is promised to
// people. Where it cannot be moved the edit is refused, but for a protection, which is
// better than none: it goes on with the lease telling what is wrong, and the loop tries on.
// Before is what timerOf said without the edit; one that puts nothing off moves nothing.
//
// No transaction is open meanwhile. If the edit is not written after all, the timer is
// later than the limit, which harms nobody, and the loop puts it right.
func (s *server) moveTimer(ctx context.Context, c *scene, e *edit, verb string, before time.Time) error {
	if c.lease == nil || c.expected || c.acct == nil || c.acct.Timer == nil {
		return nil
	}
	l := *c.lease
	if e.lease != nil {
		l = *e.lease
	}
	want := s.timerOf(c, l)
	early := want
	if !want.IsZero() {
		early = want.Add(-policy.TimerExact)
	}
	off := !before.IsZero() && (want.IsZero() || want.After(before)) || l.ExpiresAt.After(c.lease.ExpiresAt) || len(l.Holds) > len(c.lease.Holds)
	if !off || !l.Timer.Before(early) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timerFor)
	defer cancel()
	x, err := s.retime(ctx, c, l, want)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: the provider does not answer within %s", guard.ErrUnavailable, timerFor)
	}
	switch {
	case err == nil:
		l.Timer = x
	case l.Protected && !c.lease.Protected:
		l.Timer.Error = err.Error()
	default:
		return s.stuck(c, l, verb, err)
	}
	e.lease = &l
	return nil
}

// timerNow is timerOf of the lease that is there; zero where there is none.
func (s *server) timerNow(c *scene) time.Time {
	if c.lease == nil || c.expected {
		return time.Time{}
	}
	return s.timerOf(c, *c.lease)
}

// timerOf is when the provider's timer is to go off under a lease as it will be; zero:
// it is to have none, or the provider has no timers.
func (s *server) timerOf(c *scene, l guard.Lease) time.Time {
	if c.acct == nil || c.acct.Timer == nil {
		return time.Time{}
	}
	f := s.facts(c.book, c.observed, &l, c.acct, c.at)
	f.Mutes, f.Release = c.book.mutes[c.subject()], c.release
	return f.Timer(s.Rules())
}

// retime sets the timer and reads it back. What was accepted once and was never told back
// is looked for first: where there is none, none has to be moved.
func (s *server) retime(ctx context.Context, c *scene, l guard.Lease, want time.Time) (guard.Timer, error) {
	id, x := l.Resource, l.Timer
	if x.At.IsZero() {
		at, err := c.acct.Timer.Armed(ctx, id)
		if err != nil {
			return x, fmt.Errorf("whether it is set cannot be read: %w", err)
		}
		if at.IsZero() {
			return x, nil
		}
	}
	at, err := providers.SetTimer(ctx, c.acct.Timer, id, want)
	switch {
	case err != nil:
		return x, err
	case !policy.SameTimer(at, want):
		return x, fmt.Errorf("%w: the provider accepts %s and shows %s", guard.ErrBadReply, orNone(s.stampOr(want)), orNone(s.stampOr(at)))
	}
	if want.IsZero() {
		return guard.Timer{}, nil
	}
	return guard.Timer{Asked: want, At: at, Read: c.at.Wall}, nil
}

// stuck refuses an order because of a timer that stays where it is.
func (s *server) stuck(c *scene, l guard.Lease, verb string, err error) error {
	when := l.Timer.At
	if when.IsZero() {
		when = l.Timer.Asked
	}
	return (&fault{kind: err, text: fmt.Sprintf("cannot %s %s: the provider's own timer would end it at %s, and could not be moved: %v", verb, c.subject(), s.stamp(when), err)}).
		hinted("Nothing has changed. Try again in a minute. If that goes on failing, move the timer at the provider: guard goes by what it reads back.")
}

// timerNote is what people are told of a timer that is still set.
func (s *server) timerNote(l guard.Lease) []string {
	if x := l.Timer; x.Error != "" && l.Protected {
		return []string{"the provider's own timer may still end it, and could not be taken away: " + x.Error + "; guard goes on trying: look at guard show " + nameOf(l)}
	}
	return nil
}

// kickTimer has the loop look at a timer that is not where the lease wants it.
func (s *server) kickTimer(c *scene, l guard.Lease) {
	if c.acct != nil && c.acct.Timer != nil && !c.expected && !policy.SameTimer(l.Timer.At, s.timerOf(c, l)) {
		s.kick("observe/" + c.acct.Name)
	}
}

// wireTimer is the timer of an open lease as it is answered; nil where guard wants none.
func (s *server) wireTimer(l guard.Lease) *wire.Timer {
	x := l.Timer
	if !l.Status.Open() || x == (guard.Timer{}) {
		return nil
	}
	return &wire.Timer{At: s.local(x.At), Read: s.local(x.Read), Asked: s.local(x.Asked), Error: x.Error}
}
