package decide_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/decide"
	"guard/policy"
	"guard/policy/presence"
	"guard/policy/release"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
)

var zero = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// still is a provider that declares and never answers: decide calls no cloud.
type still struct{ providers.Provider }

func (still) Truths() guard.Truths {
	return guard.Truths{ImmutableIDs: true, HasGet: true, Stop: guard.StopSavesCompute, ReleaseLead: 45 * time.Second}
}

// world is a ledger and the loop on it, on virtual time.
type world struct {
	t       *testing.T
	backend *memory.Backend
	ledger  *store.Ledger
	config  decide.Config
	loop    *decide.Loop
	at      guard.Instant
	belief  presence.Belief // but for its instant
	kicks   map[string]int
	edited  []guard.Message // that deliver has taken
}

func newWorld(t *testing.T, mode guard.Mode) *world {
	t.Helper()
	w := &world{t: t, backend: memory.New(), at: guard.Instant{Wall: zero, Elapsed: time.Hour}, kicks: map[string]int{}}
	w.config = decide.Config{Rules: policy.DefaultRules(), Audience: []guard.Audience{{Channel: "slack"}, {Channel: "log"}}, Fallback: []guard.Audience{{Channel: "pager"}},
		Accounts: []*providers.Account{{Name: "lab", Kind: "still", Provider: still{}, Mode: mode, MayRelease: providers.MayRelease{GPU: true}}},
		Clock:    func() presence.Belief { return w.belief },
		Kick:     func(loop string) { w.kicks[loop]++ }}
	var err error
	if w.ledger, err = store.Open(t.Context(), w.backend, w.at); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.update(func(tx *store.Tx) error {
		return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Mode: mode, Identity: guard.Identity{ID: "acct", Strong: true}, Polled: zero})
	})
	return w
}

// restart makes a new process on the same ledger.
func (w *world) restart() {
	w.config.Ledger = w.ledger
	w.loop = decide.New(w.config)
}

func (w *world) update(fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.ledger.Update(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) view(fn func(v *store.View) error) {
	w.t.Helper()
	if err := w.ledger.View(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func id(name string) guard.ResourceID {
	kind := guard.Instance
	if strings.HasPrefix(name, "v-") {
		kind = guard.Volume
	}
	return guard.ResourceID{Account: "lab", Kind: kind, ID: name}
}

// instance puts a running instance of 240 CNY an hour into the ledger.
func (w *world) instance(name string, change ...func(*guard.Observed)) {
	w.t.Helper()
	rate, err := guard.ParseRate("240CNY/h")
	if err != nil {
		w.t.Fatal(err)
	}
	o := guard.Observed{Identity: "acct", FirstSeen: w.at.Wall, Seen: w.at.Wall,
		Resource: guard.Resource{ID: id(name), State: guard.StateRunning, Created: w.at.Wall, GPUs: 1, HasGPU: guard.Yes, Rate: rate, Bills: guard.Yes}}
	for _, c := range change {
		c(&o)
	}
	w.update(func(tx *store.Tx) error {
		return put(tx.Observed.Put(o), tx.Metered.Put(guard.Metered{Resource: o.Resource.ID, Lease: "l-" + name,
			Segments: []guard.Segment{{Resource: o.Resource.ID, Lease: "l-" + name, State: guard.StateRunning, Rate: rate, From: o.Resource.Created}}}))
	})
}

func put(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lease registers an instance; a budget's deadline is solved as the meter would.
func (w *world) lease(name string, ttl time.Duration, change ...func(*guard.Lease)) {
	w.t.Helper()
	l := guard.Lease{ID: "l-" + name, Resource: id(name), Identity: "acct", Purpose: "lora 70b", Owner: "ana", RegisteredAt: w.at.Wall,
		OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseActive, UpdatedAt: w.at.Wall, UpdatedBy: "ana"}
	if ttl > 0 {
		l.ExpiresAt = w.at.Wall.Add(ttl)
	}
	for _, c := range change {
		c(&l)
	}
	w.update(func(tx *store.Tx) error { return tx.Leases.Put(l) })
}

func (w *world) change(name string, fn func(*guard.Lease)) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		l, _, err := tx.Leases.Get("l-" + name)
		if err != nil {
			return err
		}
		l.UpdatedAt = w.at.Wall
		fn(&l)
		return tx.Leases.Put(l)
	})
}

// deadline writes a plan with a budget deadline.
func (w *world) deadline(name string, due time.Duration, stood time.Duration) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		return tx.Plans.Put(guard.Plan{Lease: "l-" + name, SolvedAt: zero, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget,
			Limit: zero.Add(due + 45*time.Second), Due: zero.Add(due), Lead: 45 * time.Second, Stood: zero.Add(stood)}}})
	})
}

func (w *world) once() guard.Instant {
	w.t.Helper()
	next, err := w.loop.Once(guard.WithInstant(context.Background(), w.at), w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	if !w.at.Before(next) {
		w.t.Fatalf("next run at %s is not after %s", next.Wall, w.at.Wall)
	}
	return next
}

// to runs the loop whenever it wants to, until an offset from zero. Everything
// queued is delivered at once.
func (w *world) to(d time.Duration) {
	w.t.Helper()
	end := zero.Add(d)
	for {
		next := w.once()
		w.deliver()
		if next.Wall.After(end) {
			break
		}
		w.at = next
	}
	w.at = w.at.Reach(end)
	w.once()
	w.deliver()
}

// skip goes on to an offset in strides, for the long stretches in which nothing
// is due: shorter than what counts as being away.
func (w *world) skip(d time.Duration) {
	w.t.Helper()
	for end := zero.Add(d); w.at.Wall.Before(end); {
		w.at = w.at.Reach(w.at.Wall.Add(min(50*time.Minute, end.Sub(w.at.Wall))))
		w.once()
		w.deliver()
	}
}

func (w *world) deliver() {
	w.t.Helper()
	var pending []guard.Message
	w.view(func(v *store.View) error {
		pending = nil
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			pending = append(pending, m)
		}
		return nil
	})
	if len(pending) == 0 {
		return
	}
	if err := w.ledger.UpdateEach(w.t.Context(), len(pending), func(tx *store.Tx, i int) error {
		m := pending[i]
		if m.Edit {
			return edited(tx, m)
		}
		m.Acked = w.at.Wall
		return tx.Sent(m)
	}); err != nil {
		w.t.Fatal(err)
	}
	for _, m := range pending {
		if m.Edit {
			w.edited = append(w.edited, m)
		}
	}
}

// taken makes a channel take the notice of a release; the pager takes it in the place of
// another, where it stays.
func (w *world) taken(name, channel string) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		r, _, err := tx.Releases.Get(id(name).Key())
		if err != nil {
			return err
		}
		m, _, err := tx.Outbox.Get("slack|" + r.Notice)
		m.ID, m.Channel, m.Acked = channel+"|"+r.Notice, channel, w.at.Wall
		return put(err, tx.Sent(m))
	})
}

// edited is what follows from an edit: the first post of the thread has its card.
func edited(tx *store.Tx, m guard.Message) error {
	first := guard.Message{ID: m.Channel + "|first|" + m.Thread, Channel: m.Channel, Thread: m.Thread, Card: m.Card, Offers: m.Offers}
	return put(tx.Sent(first), tx.Outbox.Delete(m.ID))
}

// said is what one channel was told, pending or sent, in the order of time.
func (w *world) said() []guard.Message {
	w.t.Helper()
	var out []guard.Message
	w.view(func(v *store.View) error {
		out = nil
		for _, t := range []store.Table[guard.Message]{v.Outbox, v.SentMessages} {
			for m, err := range t.All("slack|") {
				if err != nil {
					return err
				}
				if !m.Edit && !strings.HasPrefix(m.ID, "slack|first|") {
					out = append(out, m)
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b guard.Message) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out
}

// about is when each message about a resource was queued and what it says.
func (w *world) about(name string) []string {
	w.t.Helper()
	var out []string
	for _, m := range w.said() {
		if slices.ContainsFunc(m.About, func(r guard.ResourceID) bool { return r.Key() == id(name).Key() }) {
			out = append(out, fmt.Sprintf("%s %s: %s", m.CreatedAt.Sub(zero), m.Rule, m.Title))
		}
	}
	return out
}

func (w *world) release(name string) (guard.Release, bool) {
	w.t.Helper()
	var r guard.Release
	var ok bool
	w.view(func(v *store.View) (err error) {
		r, ok, err = v.Releases.Get(id(name).Key())
		return err
	})
	return r, ok
}

func (w *world) finding(rule guard.Rule, subject string) (guard.Finding, bool) {
	w.t.Helper()
	var f guard.Finding
	var ok bool
	w.view(func(v *store.View) (err error) {
		for f, err = range v.Findings.All(string(rule) + "|") {
			if ok = err == nil && f.Subject == subject; ok || err != nil {
				return err
			}
		}
		f = guard.Finding{}
		return nil
	})
	return f, ok
}

// judge asks as the release loop does, in a transaction that is kept. What was just
// read is what is observed, but for the changes.
func (w *world) judge(name string, change ...func(*guard.Resource)) release.Judgement {
	w.t.Helper()
	r, ok := w.release(name)
	if !ok {
		w.t.Fatalf("no release of %s", name)
	}
	var j release.Judgement
	w.update(func(tx *store.Tx) (err error) {
		o, _, err := tx.Observed.Get(id(name).Key())
		if err != nil {
			return err
		}
		fresh := o.Resource
		for _, c := range change {
			c(&fresh)
		}
		j, err = w.loop.Judge(tx, w.at, r, &fresh)
		return err
	})
	return j
}

// order is a person's word that an instance is to go now.
func (w *world) order(name string) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(id(name).Key())
		if err != nil {
			return err
		}
		return tx.Releases.Put(release.New(o, nil, guard.ActRelease, guard.CausePerson, "bo", "ordered by bo", w.at.Wall, w.at.Wall, w.at.Wall))
	})
}

func (w *world) account() guard.AccountStatus {
	w.t.Helper()
	var a guard.AccountStatus
	w.view(func(v *store.View) (err error) {
		a, _, err = v.Accounts.Get("lab")
		return err
	})
	return a
}
