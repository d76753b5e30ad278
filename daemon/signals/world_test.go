package signals

import (
	"context"
	"errors"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
	"guard/store/samples"
)

var start = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

func instant(at time.Time) guard.Instant {
	return guard.Instant{Wall: at, Elapsed: at.Sub(start) + time.Hour}
}

// world is a ledger with one account, and a book of it.
type world struct {
	testing.TB
	backend *backend
	ledger  *store.Ledger
	store   *samples.Store
	book    *Book
	account *providers.Account
	kicks   []string
	now     time.Time
}

// backend is a ledger's that may refuse to write, and counts.
type backend struct {
	store.Backend
	full    bool
	updates int
}

func (b *backend) Update(ctx context.Context, fn func(store.Writer) error) error {
	if b.full {
		return errors.Join(guard.ErrUnavailable, errors.New("the disk is full"))
	}
	b.updates++
	return b.Backend.Update(ctx, fn)
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, backend: &backend{Backend: memory.New()}, store: samples.Memory(), now: start,
		account: &providers.Account{Name: "lab", Kind: "cloud", Poll: time.Minute}}
	var err error
	if w.ledger, err = store.Open(t.Context(), w.backend, instant(start)); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.see("i-1", guard.StateRunning)
	w.backend.updates = 0
	return w
}

// restart makes a new book of what is stored.
func (w *world) restart() {
	w.book = NewBook(Config{Ledger: w.ledger, Store: w.store, Kick: func(l string) { w.kicks = append(w.kicks, l) }})
}

func idOf(id string) guard.ResourceID {
	return guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id}
}

const box1 = "lab/instance/i-1"

// see writes into the ledger that an instance is there, created two hours before start.
func (w *world) see(id string, s guard.State) {
	w.observe(guard.Observed{Resource: guard.Resource{ID: idOf(id), State: s, Created: start.Add(-2 * time.Hour), GPUs: 1, GPUModel: "H100"}})
}

func (w *world) observe(os ...guard.Observed) {
	w.Helper()
	if err := w.ledger.UpdateEach(w.Context(), len(os), func(tx *store.Tx, i int) error { return tx.Observed.Put(os[i]) }); err != nil {
		w.Fatal(err)
	}
}

// sample is one of a minute of a source.
func sample(source string, at time.Time, util float64) guard.Sample {
	return guard.Sample{At: at, Interval: time.Minute, Basis: guard.Summary, Source: source, CPUCores: guard.Known(0.1),
		Rx: guard.Known(1000), Tx: guard.Known(1000), Disk: guard.Known(0), Processes: guard.Known(0), Sessions: guard.Known(0),
		GPUs: []guard.GPUSample{{Util: guard.Known(util), UtilMax: guard.Known(util), MemUsed: guard.Known(4), MemTotal: guard.Known(80_000),
			Power: guard.Known(70 + 4*util), PowerLimit: guard.Known(700)}}}
}

func run(source string, from time.Time, n int, util float64) (out []guard.Sample) {
	for i := range n {
		out = append(out, sample(source, from.Add(time.Duration(i+1)*time.Minute), util))
	}
	return out
}

func (w *world) push(xs ...guard.Sample) error {
	return w.book.Push(w.Context(), instant(w.now), idOf("i-1"), xs)
}

// cloud is a source that tells what it is told to.
type cloud struct {
	name    string
	util    float64
	late    time.Duration
	err     error
	silent  bool
	asked   []providers.SignalQuery
	answers func(context.Context, providers.SignalQuery) []providers.Signals
}

func (c *cloud) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	c.asked = append(c.asked, q)
	if c.answers != nil {
		return c.answers(ctx, q)
	}
	now, _ := guard.InstantFrom(ctx)
	out := make([]providers.Signals, len(q.Of))
	for i, of := range q.Of {
		out[i].Err = c.err
		if c.err != nil || c.silent {
			continue
		}
		for at := of.Since.Truncate(time.Minute).Add(time.Minute); !at.After(now.Wall.Add(-c.late)); at = at.Add(time.Minute) {
			if at.After(of.Since) {
				out[i].Samples = append(out[i].Samples, sample(c.name, at, c.util))
			}
		}
	}
	return out
}

// poll runs loops once a minute, n times, and returns the last errors.
func (w *world) poll(n int, loops ...*Loop) (errs []error) {
	w.Helper()
	for range n {
		w.now = w.now.Add(time.Minute)
		errs = nil
		for _, l := range loops {
			at := instant(w.now)
			next, err := l.Once(guard.WithInstant(w.Context(), at), at)
			if next.Sub(at) < w.account.Poll {
				w.Fatalf("%s wants to run again after %s", l.Name(), next.Sub(at))
			}
			errs = append(errs, err)
		}
	}
	return errs
}

func (w *world) own(c *cloud) *Loop {
	w.account.Signals = c
	return New(w.book, w.account)
}

// fine fails the test at an error.
func (w *world) fine(errs ...error) {
	w.Helper()
	if err := errors.Join(errs...); err != nil {
		w.Fatal(err)
	}
}
