package signals

import (
	"context"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/activity"
	"guard/providers"
)

const (
	// gone is how long what is known of an instance outlives it.
	gone = 24 * time.Hour
	// missed is how many polls without an answer pass before it is told that a source
	// tells nothing, where it never did.
	missed = 3
	// tidying is how often old samples are dropped.
	tidying = time.Hour
)

// look takes in that time has passed for the instances of an account, whether anything
// told of them or not, and forgets those that are gone.
func (b *Book) look(ctx context.Context, at guard.Instant, a *providers.Account, here []guard.Resource) {
	b.taking.Lock()
	defer b.taking.Unlock()
	b.start(at)
	live := make(map[string]*guard.Resource, len(here))
	for i := range here {
		live[here[i].ID.Key()] = &here[i]
	}
	changed := map[string]*entry{}
	var forgotten []string
	for _, key := range b.keys(a.Name+"/", at.Wall.Add(-b.kept())) {
		e := b.entry(key)
		r, ok := live[key]
		switch {
		case ok:
			changed[key] = b.aged(e, *r, a.Poll, at.Wall)
		case e.Seen.After(at.Wall):
			// The clock was put back: it is forgotten a day later.
		case at.Wall.Sub(e.Seen) > b.kept(), strings.HasPrefix(key, a.Name+"/") && at.Wall.Sub(e.Seen) > gone:
			changed[key] = nil
			forgotten = append(forgotten, key)
		case strings.HasPrefix(key, a.Name+"/"):
			next := *e
			next.box.Running = false
			next.State = next.State.Look(b.Busy(), next.box, at.Wall)
			changed[key] = &next
		}
	}
	if moved, err := b.settle(ctx, at.Wall, changed); err != nil {
		b.Log.Warn("traffic of instances that run no more waits for the ledger", "account", a.Name, "error", err.Error())
	} else if moved {
		b.Kick("meter")
	}
	if len(forgotten) > 0 {
		b.Store.Forget(at.Wall, forgotten...)
	}
	kept := map[string]*entry{}
	for key, e := range changed {
		if e != nil {
			kept[key] = e
		}
	}
	b.keep(at.Wall, kept, nil)
	if b.put(changed) {
		b.Kick("decide")
	}
	b.tidy(at)
	if now := b.Trouble(); now != b.trouble {
		b.trouble = now
		if now == "" {
			b.Log.Info("samples are stored again")
		} else {
			b.Log.Warn("samples are not stored as they should be: guard works, and may forget how long a box is idle", "why", now)
		}
	}
}

// keys are those of the entries of an account, and of what was not seen since a time.
func (b *Book) keys(prefix string, since time.Time) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var keys []string
	for key, e := range b.entries {
		if strings.HasPrefix(key, prefix) || e.Seen.Before(since) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// aged is an entry a poll later.
func (b *Book) aged(e *entry, r guard.Resource, poll time.Duration, at time.Time) *entry {
	next := b.known(e, r.ID, boxOf(r), at)
	next.State = next.State.Look(b.Busy(), next.box, at)
	name, failing := next.failed()
	if !failing {
		return next
	}
	f := next.failing[name]
	switch why := name + ": " + f.Why; {
	case next.State.Lost.On():
		next.State.Lost.Why = why
	case next.State.Heard.IsZero() && next.box.Running && at.Sub(f.Since) >= missed*poll:
		next.State.Lost = activity.Span{Since: f.Since, Why: why}
	}
	return next
}

// failed is the source whose silence matters: the one that judged last, else the first
// by name.
func (e *entry) failed() (name string, ok bool) {
	if _, ok := e.failing[e.Judge]; ok {
		return e.Judge, true
	}
	for n := range e.failing {
		if !ok || n < name {
			name, ok = n, true
		}
	}
	return name, ok
}

// tidy drops samples that are too old, now and then.
func (b *Book) tidy(at guard.Instant) {
	if !b.tidied.IsZero() && at.Wall.Sub(b.tidied).Abs() < tidying {
		return
	}
	b.tidied = at.Wall
	b.Store.Retain(at.Wall.Add(-b.kept()))
}
