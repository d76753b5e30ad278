// Package signals reads how hard instances work, from the clouds, from Prometheus, from
// agents on the boxes, and folds it into what judgements of idleness rest on. Samples
// live in a file of their own that may be lost: a full disk there never touches the
// ledger, and without it the quiet clocks begin anew.
package signals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/policy/activity"
	"guard/store"
	"guard/store/samples"
)

// Keep is how long samples are kept where nobody says.
const Keep = 30 * 24 * time.Hour

// Config is what a Book works with. Of its functions each may be nil.
type Config struct {
	Ledger *store.Ledger
	Store  *samples.Store
	// Busy is what counts as work, in the configuration in force.
	Busy func() activity.Busy
	// Keep is how long samples are kept.
	Keep func() time.Duration
	// Kick asks the scheduler to run a loop now.
	Kick func(loop string)
	Log  *slog.Logger // nil: silent
}

// Book keeps the activity of each instance. It goes on over reloads, and may be used
// from several goroutines.
type Book struct {
	Config
	// taking is held while samples are taken in: each is folded once, and in order.
	taking sync.Mutex

	mu      sync.RWMutex
	entries map[string]*entry
	// stirred is at which version a key was last to be judged anew; floor is the last
	// version of which keys have been dropped from it.
	stirred        map[string]uint64
	version, floor uint64
	began, tidied  time.Time
	trouble        string // of the store, as last told
	broken         map[string]Broken
}

// Broken is a source that tells nothing of any instance of an account.
type Broken struct {
	Account, Source, Loop string
	Failure
}

// entry is what is kept of one instance. It is replaced, never changed.
type entry struct {
	id  guard.ResourceID // zero: not seen since the start
	box activity.Box
	record
	// failing is why a source tells nothing of it, by the source's name, and answered
	// when one last answered, whatever it told.
	failing  map[string]Failure
	answered map[string]time.Time
	// counted is how far its traffic is in the ledger; paysIn: what it receives costs.
	counted counted
	paysIn  bool
}

// Failure is why a source tells nothing, and since when.
type Failure struct {
	Since time.Time
	Why   string
	kind  error
}

// kinds tell one reason from another: the words of one may be others each time.
var kinds = []error{guard.ErrPermission, guard.ErrRefused, guard.ErrThrottled, guard.ErrUnavailable, guard.ErrBadReply, guard.ErrInvalid}

// with is a failure with the reason that there is now: the first one while it is of that
// kind. The zero value begins.
func (f Failure) with(at time.Time, why error) (next Failure, changed bool) {
	i := slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(why, kind) })
	var kind error
	if i >= 0 {
		kind = kinds[i]
	}
	began := f.Since.IsZero()
	if !began && kind == f.kind {
		return f, false
	}
	if began {
		f.Since = at
	}
	f.Why, f.kind = clip(why.Error()), kind
	return f, true
}

// NewBook makes a book of what the store has.
func NewBook(c Config) *Book {
	if c.Busy == nil {
		c.Busy = activity.Defaults
	}
	if c.Kick == nil {
		c.Kick = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	b := &Book{Config: c, entries: map[string]*entry{}, stirred: map[string]uint64{}, broken: map[string]Broken{}, version: 1, floor: 1}
	for key, text := range c.Store.States() {
		r, err := readRecord(text)
		if err != nil {
			c.Log.Warn("what was known of an instance's activity cannot be read: it begins anew", "instance", key, "error", err.Error())
			continue
		}
		b.entries[key] = &entry{record: r}
	}
	return b
}

// kept is how long samples are kept.
func (b *Book) kept() time.Duration {
	if b.Keep == nil || b.Keep() <= 0 {
		return Keep
	}
	return b.Keep()
}

// Activity is what is known of an instance, by its key; false where nothing samples it.
func (b *Book) Activity(key string) (activity.State, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	e := b.entries[key]
	if !e.told() {
		return activity.State{}, false
	}
	return e.State, true
}

// told reports whether anything is known: what works there, or why nothing tells.
func (e *entry) told() bool {
	return e != nil && (!e.State.Heard.IsZero() || e.State.Lost.On())
}

// Stirred are the keys of which judgements may be other ones since a version, and the
// version now. all: that version is too old to tell, so it may be any of them.
func (b *Book) Stirred(since uint64) (keys []string, all bool, now uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if since < b.floor || since > b.version {
		return nil, true, b.version
	}
	for key, v := range b.stirred {
		if v > since {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, false, b.version
}

// mostStirred bounds how many keys are remembered as stirred.
const mostStirred = 100_000

// stir has a key judged anew; mu is held.
func (b *Book) stir(key string) {
	if len(b.stirred) >= mostStirred {
		clear(b.stirred)
		b.floor = b.version
	}
	b.version++
	b.stirred[key] = b.version
}

// put replaces entries, and reports whether any of them is to be judged anew.
func (b *Book) put(changed map[string]*entry) (stirred bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		e, was := changed[key], b.entries[key]
		switch {
		case e == nil:
			delete(b.entries, key)
		default:
			b.entries[key] = e
		}
		if was.told() != e.told() || e.told() && !was.State.Same(e.State) {
			b.stir(key)
			stirred = true
		}
	}
	return stirred
}

// entry is what is known of an instance; never nil.
func (b *Book) entry(key string) *entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if e := b.entries[key]; e != nil {
		return e
	}
	return &entry{}
}

// Recent are the stored samples of an instance since a time, oldest first.
func (b *Book) Recent(_ context.Context, key string, since time.Time) ([]guard.Sample, error) {
	return b.Store.Since(key, since), nil
}

// Broken are the sources that tell nothing at all, by the names of their loops.
func (b *Book) Broken() []Broken {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []Broken
	for _, name := range slices.Sorted(maps.Keys(b.broken)) {
		out = append(out, b.broken[name])
	}
	return out
}

// answered notes whether a source told anything; why is nil where it did.
func (b *Book) answered(l *Loop, at time.Time, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case why == nil:
		delete(b.broken, l.Name())
	default:
		f, _ := b.broken[l.Name()].with(at, why)
		b.broken[l.Name()] = Broken{l.account.Name, l.source.Name, l.Name(), f}
	}
}

// Trouble is why samples are not stored; "" where they are.
func (b *Book) Trouble() string { return b.Store.Trouble() }

// Failing are the sources that tell nothing of an instance, a line each.
func (b *Book) Failing(key string, zone *time.Location) []string {
	e := b.entry(key)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(e.failing)) {
		f := e.failing[name]
		lines = append(lines, fmt.Sprintf("%s tells nothing since %s: %s", name, f.Since.In(zone).Format(time.RFC3339), f.Why))
	}
	return lines
}
