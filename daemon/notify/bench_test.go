package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store"
)

// tb is what the bench needs of a test; a property's test has it too.
type tb interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// bench runs the loop on virtual time as the scheduler would.
type bench struct {
	t        tb
	backend  *mortal
	ledger   *store.Ledger
	channels []notify.Channel
	loop     *notify.Loop
	at, next guard.Instant
	kicked   []string
	quiet    func(time.Time) time.Time
}

// mortal is a backend that can die, as kill -9 would have it: nothing that comes
// later is written.
type mortal struct {
	store.Backend
	mu   sync.Mutex // for left, and dead where loops run
	dead bool
	left int // updates until it dies; 0: it lives on
}

var errKilled = errors.New("killed")

func (m *mortal) Update(ctx context.Context, fn func(store.Writer) error) error {
	m.mu.Lock()
	dead := m.dead
	if m.left--; m.left == 0 {
		m.dead = true
	}
	m.mu.Unlock()
	if dead {
		return errKilled
	}
	return m.Backend.Update(ctx, fn)
}

func newBench(t tb, b store.Backend, channels ...notify.Channel) *bench {
	w := &bench{t: t, channels: channels, at: guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour}}
	w.start(b)
	return w
}

// start begins a life of guardd on the backend.
func (w *bench) start(b store.Backend) {
	w.t.Helper()
	w.backend = &mortal{Backend: b}
	l, err := store.Open(context.Background(), w.backend, w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledger = l
	w.loop = notify.New(notify.Config{Ledger: l, Kick: func(name string) { w.kicked = append(w.kicked, name) }, Quiet: w.quiet}, w.channels...)
	w.next = w.at
}

func (w *bench) ctx() context.Context { return guard.WithInstant(context.Background(), w.at) }

// restart is kill -9 and a new life.
func (w *bench) restart() { w.start(w.backend.Backend) }

// run is one run of the loop, now.
func (w *bench) run() error {
	next, err := w.loop.Once(guard.WithInstant(context.Background(), w.at), w.at)
	w.next = next
	if err != nil && !errors.Is(err, errKilled) {
		w.t.Errorf("at %s: %v", w.at.Wall.Format(time.TimeOnly), err)
	}
	if err == nil && (next.IsZero() || next.Before(w.at)) {
		w.t.Fatalf("at %s: next is %+v", w.at.Wall.Format(time.TimeOnly), next)
	}
	return err
}

// pass lets d go by.
func (w *bench) pass(d time.Duration) {
	end := w.at.Add(d)
	for range 100_000 {
		if end.Before(w.next) || w.next.IsZero() {
			w.at = end
			return
		}
		if wait := w.next.Sub(w.at); wait > 0 {
			w.at = w.at.Add(wait) // the wall clock may have been set meanwhile
		}
		if w.run() != nil {
			w.at = end
			return
		}
	}
	w.t.Fatal("the loop asks to run without end")
}

// queue writes messages as their cause would, and kicks the loop. False: guardd
// was killed before they were durable.
func (w *bench) queue(ms ...guard.Message) bool {
	w.t.Helper()
	err := w.ledger.UpdateEach(context.Background(), len(ms), func(tx *store.Tx, i int) error { return tx.Queue(ms[i]) })
	if errors.Is(err, errKilled) {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.next = w.at
	w.pass(0)
	return true
}

// message is a normal message of its own kind, queued now: it goes out alone.
func (w *bench) message(id string) guard.Message {
	m := notifytest.Message(w.channels[0].Name(), id)
	m.CreatedAt = w.at.Wall
	m.Rule = guard.Rule("rule_" + id)
	return m
}

func (w *bench) urgent(id string) guard.Message {
	m := w.message(id)
	m.Urgent = true
	return m
}

// pending are the messages that still wait; sent those acknowledged.
func (w *bench) pending() (pending, sent map[string]guard.Message) {
	w.t.Helper()
	pending, sent = map[string]guard.Message{}, map[string]guard.Message{}
	err := w.ledger.View(context.Background(), func(v *store.View) error {
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			pending[m.ID] = m
		}
		for m, err := range v.SentMessages.All("") {
			if err != nil {
				return err
			}
			sent[m.ID] = m
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pending, sent
}

func (w *bench) health() notify.ChannelHealth {
	w.t.Helper()
	var hs []notify.ChannelHealth
	err := w.ledger.View(context.Background(), func(v *store.View) (err error) {
		hs, err = notify.Health(v, w.at.Wall, w.quiet, w.channels[0].Name())
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return hs[slices.IndexFunc(hs, func(h notify.ChannelHealth) bool { return h.Channel == w.channels[0].Name() })]
}

// ids says what people saw, in order: message IDs, a digest as its title.
func ids(ds []notifytest.Delivery) string {
	var out []string
	for _, d := range ds {
		id := d.Message.ID
		if strings.Contains(id, "|digest|") {
			id = d.Message.Title
		}
		out = append(out, strings.TrimPrefix(id, "memory|"))
	}
	return strings.Join(out, " ")
}

func expect(t tb, ds []notifytest.Delivery, want string) {
	t.Helper()
	if got := ids(ds); got != want {
		t.Errorf("got the posts %q, want %q", got, want)
	}
}

func spaced(t tb, ds []notifytest.Delivery, least time.Duration) {
	t.Helper()
	for i := 1; i < len(ds); i++ {
		if gap := ds[i].At.Sub(ds[i-1].At); gap < least {
			t.Errorf("posts %d and %d are %s apart, want at least %s", i, i+1, gap, least)
		}
	}
}
