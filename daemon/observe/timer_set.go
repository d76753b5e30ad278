package observe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/store"
)

// keepTimer reads one timer back, and sets it where it is not what is wanted. The error
// is the ledger's; the provider's is kept in the lease.
func (r *round) keepTimer(ctx, calls context.Context, j timerJob) error {
	l := r.l
	try := l.timed.of[j.key]
	if try == nil {
		try = &timerTry{}
		l.timed.of[j.key] = try
	}
	try.want = j.want
	var news string
	if j.settled() {
		at, err := l.account.Timer.Armed(calls, j.lease.Resource)
		switch {
		case err != nil:
			return r.tookTimer(ctx, j, try, nil, fmt.Errorf("it cannot be read back: %w", err), "")
		case policy.SameTimer(at, j.want):
			return r.tookTimer(ctx, j, try, &at, nil, "")
		case !try.told:
			try.told = true
			news = fmt.Sprintf("the provider has forgotten its timer of %s and shows %s: guard sets it again", r.stampTimer(j.want), r.stampTimer(at))
		}
	}
	if stands, err := r.askTimer(ctx, j); err != nil || !stands {
		return err
	}
	at, err := providers.SetTimer(calls, l.account.Timer, j.lease.Resource, j.want)
	switch {
	case err != nil:
		return r.tookTimer(ctx, j, try, nil, err, news)
	case policy.SameTimer(at, j.want):
	case at.IsZero():
		err = fmt.Errorf("%w: the provider accepts it and shows none, so that nothing goes off", guard.ErrBadReply)
	default:
		err = fmt.Errorf("%w: the provider accepts %s and shows %s", guard.ErrBadReply, r.stampTimer(j.want), r.stampTimer(at))
	}
	return r.tookTimer(ctx, j, try, &at, err, news)
}

// askTimer writes down what is about to be asked for. It is false where the lease has
// changed since it was looked at: the next run looks again.
func (r *round) askTimer(ctx context.Context, j timerJob) (stands bool, err error) {
	err = r.l.ledger.Update(ctx, func(tx *store.Tx) error {
		now, ok, err := tx.Leases.Get(j.lease.ID)
		stands = err == nil && ok && reflect.DeepEqual(now, j.lease)
		if !stands || j.want.IsZero() || now.Timer.Asked.Equal(j.want) {
			return err
		}
		now.Timer.Asked = j.want
		return tx.Leases.Put(now)
	})
	return stands, wrap("remember the timer of "+j.lease.Resource.String(), err)
}

// tookTimer keeps what was read back (nil: nothing was) and what went wrong, and when to
// look again. That a timer is set, moved or taken away is journalled, and once that it
// cannot be.
func (r *round) tookTimer(ctx context.Context, j timerJob, try *timerTry, read *time.Time, failed error, news string) error {
	l := r.l
	wait := timerFresh
	if try.failed++; failed == nil {
		try.failed = 0
	} else {
		wait = min(timerRetry<<min(try.failed-1, 10), timerRetryMost)
		if asked, ok := guard.RetryAfter(failed); ok {
			wait = max(wait, asked)
			if errors.Is(failed, guard.ErrThrottled) {
				l.timed.from = r.at.Add(asked)
			}
		}
		l.log.Warn("timer not set", "account", l.account.Name, "id", j.lease.Resource.ID, "error", failed)
	}
	try.next = r.at.Add(wait)
	moved := false
	err := l.ledger.Update(ctx, func(tx *store.Tx) error {
		now, ok, err := tx.Leases.Get(j.lease.ID)
		if err != nil || !ok || now.Resource.Key() != j.key {
			return err
		}
		was := now.Timer
		moved = !reflect.DeepEqual(unTimed(now), unTimed(j.lease))
		if read != nil {
			now.Timer.At, now.Timer.Read = *read, r.at.Wall
		}
		switch now.Timer.Error = ""; {
		case failed != nil:
			now.Timer.Error = clip(failed.Error())
		case j.want.IsZero():
			now.Timer = guard.Timer{}
		}
		if err := tx.Leases.Put(now); err != nil {
			return err
		}
		e := guard.JournalEntry{At: r.at.Wall, Who: "guard", Subject: now.Resource.String(), Lease: now.ID}
		for _, said := range []struct{ verb, text string }{{"timer_forgotten", news}, r.timerNews(was, j.want, failed)} {
			if e.Verb, e.Text = said.verb, said.text; e.Text == "" {
				continue
			}
			if err := tx.Journal(e); err != nil {
				return err
			}
		}
		return nil
	})
	if moved { // somebody has moved the limit meanwhile
		try.next = r.at
		l.kick(l.Name())
	}
	return wrap("remember the timer of "+j.lease.Resource.String(), err)
}

// unTimed is a lease without what is told of its timer.
func unTimed(l guard.Lease) guard.Lease {
	l.Timer = guard.Timer{}
	return l
}

// timerNews is the journal's line about a timer, "" where nothing is new.
func (r *round) timerNews(was guard.Timer, want time.Time, failed error) (out struct{ verb, text string }) {
	switch {
	case failed != nil && was.Error != "":
	case failed != nil && want.IsZero():
		out.verb = "timer_not_set"
		out.text = "the provider's own timer could not be taken away: " + clip(failed.Error()) + "; guard goes on trying"
	case failed != nil:
		out.verb = "timer_not_set"
		out.text = "the provider's own timer is not certain: " + clip(failed.Error()) + "; guard releases by itself all the same, and goes on trying"
	case want.IsZero() && was.At.IsZero():
	case want.IsZero():
		out.verb, out.text = "timer_taken_away", "the provider's own timer is taken away"
	case was.Error != "" || !policy.SameTimer(was.At, want):
		out.verb = "timer_set"
		out.text = "the provider's own timer is set to " + r.stampTimer(want) + ", and ends it then even if guard is not alive"
	}
	return out
}

// stampTimer is a timer's time as people read it.
func (r *round) stampTimer(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return policy.Stamp(t, time.UTC)
}
