package bench

import (
	"context"
	"slices"
	"time"

	"guard"
	"guard/store"
)

// patience is how long after the last deadline an intent is waited for.
const patience = time.Minute

// notice is how long before its end people are told of a lease, by the shipped
// rules.
const notice = time.Hour

// arm brings every lease within its notice, as far as half an hour of them goes,
// and measures that round.
func (b *bench) arm(ctx context.Context) (err error) {
	until := func(d time.Duration) time.Duration { return begin.Add(expire + d).Sub(b.now().Wall) }
	for until(-notice) > sweep { // no gap as long as a sleep
		if err := b.pass(ctx, sweep); err != nil {
			return err
		}
	}
	b.result.Cycles.Arming, err = b.profiled(ctx, "arming", func() (Cost, error) {
		return b.cost(ctx, func() error { return b.pass(ctx, until(-notice/2)) })
	})
	if err != nil {
		return err
	}
	b.result.Deadlines.Armed, b.result.Deadlines.PerSecond = 0, perSecond
	return b.ledger.View(ctx, func(v *store.View) error {
		b.result.Deadlines.Armed = 0
		for r, err := range v.Releases.All("") {
			if err != nil {
				return err
			}
			if r.State == guard.ReleaseNoticed {
				b.result.Deadlines.Armed++
			}
		}
		return nil
	})
}

// deadlines lets leases end at real speed, ten each second at the same moment,
// under the scheduler as it runs in production: every loop on a goroutine of its
// own, polls, messages and the calls to the cloud going on beside. What is measured
// is from the moment at which the deadline falls by the clock that the loops see
// until the update with the intent is on disk, which is before the call to the cloud
// may begin. Waiting for a busy loop, for the nine others due at that moment and for
// the disk is in it.
func (b *bench) deadlines(ctx context.Context) error {
	d := &b.result.Deadlines
	if d.Due = len(b.due); d.Due == 0 {
		return nil // so few leases that a quarter of them is none
	}
	window := time.Duration((d.Due+perSecond-1)/perSecond) * time.Second
	lead := min(max(window/4, time.Second), 5*time.Second)
	if err := b.pass(ctx, begin.Add(expire-lead).Sub(b.now().Wall)); err != nil {
		return err
	}
	b.counts.await()
	var start, ended time.Time
	var from guard.Instant
	var err error
	d.Meanwhile, err = b.profiled(ctx, "deadlines", func() (Cost, error) {
		return b.cost(ctx, func() error {
			start, from = b.pace()
			running, stop := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() { b.daemon.Run(running); close(done) }()
			b.watch(running, start.Add(lead+window+patience))
			ended = time.Now()
			stop()
			<-done
			b.halt()
			return ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	var took []time.Duration
	for key, due := range b.due {
		fell := start.Add(due.Sub(from.Wall))
		at, ok := b.counts.at(key)
		if !ok {
			d.Late++
			at = ended // it took longer than this
		}
		took = append(took, at.Sub(fell))
	}
	slices.Sort(took)
	d.P50, d.P99, d.Max = ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), ms(took[len(took)-1])
	return nil
}

// watch waits until every intent that is due is durable, at most until a time.
func (b *bench) watch(ctx context.Context, until time.Time) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(until) {
		all := true
		for key := range b.due {
			if _, ok := b.counts.at(key); !ok {
				all = false
				break
			}
		}
		if all {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// pace lets the fleet's time pass at real speed from now on.
func (b *bench) pace() (start time.Time, from guard.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paced = time.Now()
	return b.paced, b.at
}

// halt lets it stand still again.
func (b *bench) halt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.paced = b.at.Add(time.Since(b.paced)), time.Time{}
}
