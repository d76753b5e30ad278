package release_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/release"
	"guard/policy"
	judging "guard/policy/release"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

var zero = fake.DefaultStart

// due is when the releases of these tests are due.
const due = 10 * time.Hour

// judge says what a test wants; by default every release stands.
type judge func(r guard.Release, fresh *guard.Resource) judging.Judgement

func (j judge) Judge(_ *store.Tx, _ guard.Instant, r guard.Release, fresh *guard.Resource) (judging.Judgement, error) {
	return j(r, fresh), nil
}

// Tell queues what is said for the one channel there is.
func (j judge) Tell(tx *store.Tx, _ guard.Instant, r guard.Release, stage string, in func(guard.Lang) guard.Message) error {
	for _, m := range policy.Copies([]guard.Audience{{Channel: "slack"}}, r.ID, stage, in) {
		if err := tx.Queue(m); err != nil {
			return err
		}
	}
	return nil
}

func stands(r guard.Release, _ *guard.Resource) judging.Judgement {
	return judging.Judgement{Standing: judging.Stands, Due: r.Due, Why: r.Why}
}

// crashing is a backend that fails from one update on, as a process does that is
// killed between two of them.
type crashing struct {
	store.Backend
	mu   sync.Mutex
	left int // updates until then; below 0: never
}

var errKilled = errors.New("killed")

func (c *crashing) Update(ctx context.Context, fn func(store.Writer) error) error {
	c.mu.Lock()
	killed := c.left == 0
	if !killed {
		c.left--
	}
	c.mu.Unlock()
	if killed {
		return errKilled
	}
	return c.Backend.Update(ctx, fn)
}

// world is a fake cloud, a ledger and the two loops, on virtual time.
type world struct {
	t       *testing.T
	cloud   *fake.Cloud
	account *providers.Account
	backend *crashing
	ledger  *store.Ledger
	config  release.Config
	judging *release.Loop
	calling *release.Caller
	at      guard.Instant
	next    map[string]guard.Instant
	sweeps  int
	mu      sync.Mutex // calls are made side by side, and each kicks
}

func newWorld(t *testing.T, s fake.Script) *world {
	t.Helper()
	s.Account = "lab"
	if s.ReleaseTakes == 0 {
		s.ReleaseTakes = 45 * time.Second
	}
	cloud, err := fake.NewCloud(s)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, cloud: cloud, account: cloud.Account(), backend: &crashing{Backend: memory.New(), left: -1},
		at: guard.Instant{Wall: zero, Elapsed: time.Hour}}
	w.account.Mode = guard.Enforce
	if w.ledger, err = store.Open(t.Context(), w.backend, w.at); err != nil {
		t.Fatal(err)
	}
	w.config = release.Config{Ledger: w.ledger, AccountName: "lab", Account: w.account, Judge: judge(stands), Verify: 5 * time.Minute,
		Audience: []guard.Audience{{Channel: "slack"}}, Sweep: func(string) { w.sweeps++ },
		Kick: func(loop string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, ok := w.next[loop]; ok {
				w.next[loop] = w.at
			}
		}}
	w.restart()
	return w
}

// restart makes new loops, as a new process does: all are due.
func (w *world) restart() {
	w.judging, w.calling = release.New(w.config)
	w.next = map[string]guard.Instant{w.judging.Name(): w.at, w.calling.Name(): w.at}
}

func (w *world) update(fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.ledger.Update(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

func id(name string) guard.ResourceID {
	return guard.ResourceID{Account: "lab", Kind: guard.Instance, Scope: "default", ID: name}
}

// know observes instances and the account now, as observe would, and plans a
// noticed release of each, due at `due`.
func (w *world) know(cause guard.Cause, names ...string) {
	w.t.Helper()
	ctx := guard.WithInstant(w.t.Context(), w.at)
	who, err := w.account.Provider.Identity(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.update(func(tx *store.Tx) error {
		return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Mode: guard.Enforce, Identity: who, Polled: w.at.Wall})
	})
	ids := make([]guard.ResourceID, len(names))
	for i, n := range names {
		ids[i] = id(n)
	}
	found := w.account.Provider.Get(ctx, ids...)
	err = w.ledger.UpdateEach(ctx, len(names), func(tx *store.Tx, i int) error {
		res := found[i].Resource
		if found[i].Verdict != guard.VerdictFound {
			return fmt.Errorf("%s: %v", names[i], found[i])
		}
		o := guard.Observed{Resource: res, Identity: who.ID, FirstSeen: w.at.Wall, Seen: w.at.Wall}
		l := guard.Lease{ID: "l-" + names[i], Resource: res.ID, ResourceCreated: res.Created, Identity: who.ID, Purpose: "lora 70b", Owner: "ana",
			RegisteredAt: w.at.Wall, ExpiresAt: zero.Add(due), OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseActive,
			Budget: guard.MustMoney("2500USD")}
		m := guard.Metered{Resource: res.ID, Lease: l.ID, Segments: []guard.Segment{{Resource: res.ID, Lease: l.ID, State: guard.StateRunning,
			Rate: res.Rate, From: res.Created, Granularity: time.Second}}}
		r := judging.New(o, &l, guard.ActRelease, cause, "guard", "its time is up", zero.Add(due), zero, w.at.Wall)
		r = judging.Step(r, judging.Input{At: w.at.Wall, Configured: true, Noticed: true}).Release
		return errors.Join(tx.Observed.Put(o), tx.Leases.Put(l), tx.Metered.Put(m), tx.Releases.Put(r))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.listed()
}

// listed is a complete list of the account's instances, now.
func (w *world) listed() {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		return tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "default", Complete: w.at.Wall})
	})
}

// to runs the loops whenever they want to, until an offset from zero. It returns
// the first error of the ledger.
func (w *world) to(d time.Duration) error {
	w.t.Helper()
	end := zero.Add(d)
	for range 100_000 {
		name := w.judging.Name()
		if c := w.calling.Name(); !w.next[c].IsZero() && (w.next[name].IsZero() || w.next[c].Before(w.next[name])) {
			name = c
		}
		next := w.next[name]
		if next.IsZero() || next.Wall.After(end) {
			w.at = w.at.Reach(end)
			w.cloud.Advance(end)
			for n := range w.next {
				if w.next[n].IsZero() {
					continue
				}
				if w.next[n].Before(w.at) {
					w.next[n] = w.at
				}
			}
			return nil
		}
		if w.at.Before(next) {
			w.at = next
		}
		w.next[name] = guard.Instant{}
		once := w.judging.Once
		if name == w.calling.Name() {
			once = w.calling.Once
		}
		again, err := once(guard.WithInstant(context.Background(), w.at), w.at)
		if err != nil {
			return err
		}
		if !again.IsZero() && again.Before(w.at) {
			w.t.Fatalf("%s wants to run at %s, before %s", name, again.Wall, w.at.Wall)
		}
		w.next[name] = guard.Earliest(w.next[name], again)
	}
	w.t.Fatal("the loops spin")
	return nil
}

func (w *world) must(d time.Duration) {
	w.t.Helper()
	if err := w.to(d); err != nil {
		w.t.Fatalf("at %s: %v", w.at.Wall.Sub(zero), err)
	}
}

// release is the release of an instance, open or ended.
func (w *world) release(name string) guard.Release {
	w.t.Helper()
	var out guard.Release
	err := w.ledger.View(w.t.Context(), func(v *store.View) error {
		r, ok, err := v.Releases.Get(id(name).Key())
		if err != nil {
			return err
		}
		if ok {
			out = r
			return nil
		}
		for r, err := range v.EndedReleases.All("") {
			if err != nil {
				return err
			}
			if r.Target.Key() == id(name).Key() {
				out = r
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) lease(name string) guard.Lease {
	w.t.Helper()
	var l guard.Lease
	if err := w.ledger.View(w.t.Context(), func(v *store.View) (err error) {
		l, _, err = v.Leases.Get("l-" + name)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) observed(name string) guard.Observed {
	w.t.Helper()
	var o guard.Observed
	if err := w.ledger.View(w.t.Context(), func(v *store.View) (err error) {
		o, _, err = v.Observed.Get(id(name).Key())
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) said() []guard.Message {
	w.t.Helper()
	var out []guard.Message
	if err := w.ledger.View(w.t.Context(), func(v *store.View) error {
		out = nil
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	slices.SortStableFunc(out, func(a, b guard.Message) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out
}

// titles is what was said, with the offset.
func (w *world) titles() []string {
	w.t.Helper()
	var out []string
	for _, m := range w.said() {
		out = append(out, fmt.Sprintf("%s %s", m.CreatedAt.Sub(zero), strings.TrimPrefix(m.Title, "lab/")))
	}
	return out
}

func (w *world) open(rule guard.Rule, name string) bool {
	w.t.Helper()
	var ok bool
	if err := w.ledger.View(w.t.Context(), func(v *store.View) (err error) {
		_, ok, err = v.Findings.Get(guard.Finding{Rule: rule, Resource: id(name)}.Key())
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return ok
}

func (w *world) calls(call, name string) []time.Duration {
	var out []time.Duration
	for _, c := range w.cloud.CallsOf(call, name) {
		out = append(out, c.At.Sub(zero))
	}
	return out
}

// box is an instance of 240 USD an hour.
func box(name string, change ...func(*fake.Resource)) fake.Resource {
	r := fake.Resource{ID: name, Rate: &fake.Rate{Amount: "240", Per: "hour"}}
	for _, c := range change {
		c(&r)
	}
	return r
}

// one is a cloud with one box.
func one(faults ...fake.Fault) fake.Script {
	return fake.Script{Resources: []fake.Resource{box("i-1")}, Faults: faults}
}
