package signals

import (
	"context"
	"fmt"
	"maps"
	"time"

	"guard"
	"guard/policy/activity"
	"guard/policy/presence"
	"guard/store"
	"guard/store/samples"
)

// MostPushed is how many samples one push may have: a day and more of minutes.
const MostPushed = 2000

// told is what one source tells of one instance.
type told struct {
	id      guard.ResourceID
	box     activity.Box
	source  string
	samples []guard.Sample // in the order of their time
	err     error          // why it tells nothing, or no more
	asked   bool           // and it answered
	paysIn  bool           // what the instance receives costs
}

// Push takes in samples that an agent sends, in the order of their time. What was taken
// in before is no error and changes nothing, and neither does what comes later than
// newer samples of another source; a sample that cannot be believed is guard.ErrInvalid
// and says why, and the others count. An instance that guard does not know is
// guard.ErrNotFound.
func (b *Book) Push(ctx context.Context, at guard.Instant, id guard.ResourceID, pushed []guard.Sample) error {
	if len(pushed) > MostPushed {
		return fmt.Errorf("%w: %d samples at once: send %d at the most", guard.ErrInvalid, len(pushed), MostPushed)
	}
	var o guard.Observed
	err := b.Ledger.View(ctx, func(v *store.View) (err error) {
		var known bool
		if o, known, err = v.Observed.Get(id.Key()); err == nil && (!known || !o.Live()) {
			err = fmt.Errorf("%w: guard knows of no live %s", guard.ErrNotFound, id)
		}
		return err
	})
	if err != nil {
		return err
	}
	refused, err := b.take(ctx, at, []told{{id: o.Resource.ID, box: boxOf(o.Resource), source: "agent", samples: pushed, paysIn: o.Resource.Egress.InPerGB.IsPositive()}})
	if err != nil {
		return err
	}
	return refused[id.Key()]
}

// boxOf is what the ledger tells of a machine.
func boxOf(r guard.Resource) activity.Box {
	return activity.Box{GPUs: r.GPUs, GPUModel: r.GPUModel, Created: r.Created, Running: r.State == guard.StateRunning || r.State == guard.StateUnknown}
}

// take folds what sources tell, and keeps it. Why a sample was refused is told by the
// instance's key. With an error nothing of it counts, and it may be told again.
func (b *Book) take(ctx context.Context, at guard.Instant, each []told) (refused map[string]error, err error) {
	b.taking.Lock()
	defer b.taking.Unlock()
	b.start(at)
	changed, fresh := map[string]*entry{}, map[string][]guard.Sample{}
	refused = map[string]error{}
	for _, t := range each {
		key := t.id.Key()
		e := changed[key]
		if e == nil {
			e = b.entry(key)
		}
		next, kept, why := b.fold(e, t, at.Wall)
		changed[key], fresh[key] = next, append(fresh[key], kept...)
		if why != nil {
			refused[key] = why
		}
	}
	metered, err := b.meter(ctx, at.Wall, changed, fresh)
	if err != nil {
		return nil, err
	}
	b.keep(at.Wall, changed, fresh)
	if b.put(changed) {
		b.Kick("decide")
	}
	if metered {
		b.Kick("meter")
	}
	return refused, nil
}

// start notes when the book was first used: what it was told before counts from then.
func (b *Book) start(at guard.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.IsZero() {
		b.began = at.Wall
	}
}

// fold takes in what one source tells of one instance. kept are the samples that were
// folded, why the first one is refused that cannot be believed.
func (b *Book) fold(e *entry, t told, at time.Time) (next *entry, kept []guard.Sample, why error) {
	next = b.known(e, t.id, t.box, at)
	next.Heard = maps.Clone(next.Heard)
	if next.Heard == nil {
		next.Heard = map[string]heard{}
	}
	next.paysIn = t.paysIn
	if t.asked {
		next.answered = maps.Clone(next.answered)
		if next.answered == nil {
			next.answered = map[string]time.Time{}
		}
		next.answered[t.source] = at
	}
	busy := b.Busy()
	for _, x := range t.samples {
		if x.Source == guard.Heartbeat {
			if x.At.Sub(at) < time.Minute {
				next.Beats = next.Beats.with(x.At.UTC())
			}
			continue
		}
		h := next.Heard[t.source]
		if !x.At.IsZero() && !x.At.After(h.At) {
			continue // it was told before
		}
		if err := b.refuse(next, x, at); err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		x.At = x.At.UTC()
		x = next.beaten(x)
		h.At, h.Interval, h.Rank = x.At, x.Interval, rank(x.Source)
		if tells(x) {
			h.Told = at
		}
		next.Heard[t.source] = h
		if !next.judges(t.source, h.Rank, tells(x), at, b.began) || !x.At.After(next.State.Heard) {
			continue
		}
		fold := next.State.Fold
		if next.recalled(t.source, x, at) {
			fold = next.State.Recall
		}
		next.State, next.Judge = fold(busy, next.box, x, at), t.source
		kept = append(kept, x)
	}
	next.fail(t.source, at, t.err, why)
	return next, kept, why
}

// recalled reports a sample of a time in which its source failed, for long, and which it
// tells now that it is old.
func (e *entry) recalled(source string, x guard.Sample, at time.Time) bool {
	f, failed := e.failing[source]
	return failed && x.At.After(f.Since) && at.Sub(f.Since) > activity.Hole && at.Sub(x.At) > 3*x.Interval
}

// known is a copy of an entry with what the ledger tells now. A thing that has the ID of
// an earlier one begins anew.
func (b *Book) known(e *entry, id guard.ResourceID, box activity.Box, at time.Time) *entry {
	next := *e
	if !presence.SameCreation(next.Created, box.Created) {
		b.Store.Forget(at, id.Key())
		next = entry{}
	}
	next.id, next.box, next.Seen = id, box, at
	if next.Created.IsZero() {
		next.Created = box.Created
	}
	return &next
}

// beaten is a sample with how long before its end a job last said that it works.
func (r record) beaten(x guard.Sample) guard.Sample {
	if r.Beats.To.IsZero() || x.At.Before(r.Beats.From) {
		return x
	}
	if age := max(x.At.Sub(r.Beats.To), 0).Seconds(); !x.HeartbeatAge.OK || x.HeartbeatAge.V > age {
		x.HeartbeatAge = guard.Known(age)
	}
	return x
}

// refuse is why a sample cannot be believed.
func (b *Book) refuse(e *entry, x guard.Sample, at time.Time) error {
	switch {
	case x.At.Before(e.box.Created):
		return fmt.Errorf("%w: a sample of %s is older than the instance, which began at %s", guard.ErrInvalid, x.At.Format(time.RFC3339), e.box.Created.Format(time.RFC3339))
	case at.Sub(x.At) > b.kept():
		return fmt.Errorf("%w: a sample of %s is older than any that guard keeps", guard.ErrInvalid, x.At.Format(time.RFC3339))
	}
	if !x.At.After(e.State.Heard) {
		return nil // late, which is no fault of the sample
	}
	return e.State.Admit(x, at)
}

// fail notes that a source tells nothing, since when and why, or that it
// tells again.
func (e *entry) fail(source string, at time.Time, errs ...error) {
	var why error
	for _, err := range errs {
		if why == nil {
			why = err
		}
	}
	was, failed := e.failing[source]
	if why == nil {
		if failed {
			e.failing = maps.Clone(e.failing)
			delete(e.failing, source)
		}
		return
	}
	f, changed := was.with(at, why)
	if !changed {
		return
	}
	if e.failing = maps.Clone(e.failing); e.failing == nil {
		e.failing = map[string]Failure{}
	}
	e.failing[source] = f
}

// clip bounds what an error may say.
func clip(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// keep gives the store what is new. What cannot be stored is no reason to forget it
// here.
func (b *Book) keep(at time.Time, changed map[string]*entry, fresh map[string][]guard.Sample) {
	var entries []samples.Entry
	for key, e := range changed {
		if len(fresh[key]) == 0 && b.entry(key).State.Same(e.State) {
			continue
		}
		text, err := e.bytes()
		if err != nil { // a state that is no JSON: a mistake of ours
			b.Log.Error("the activity of an instance cannot be written", "instance", key, "error", err.Error())
			text = nil
		}
		entries = append(entries, samples.Entry{Key: key, Samples: fresh[key], State: text})
	}
	b.Store.Append(at, entries...)
}
