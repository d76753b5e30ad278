package observe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// bench is the loop over the fake cloud and a ledger in memory.
type bench struct {
	t       *testing.T
	cloud   *fake.Cloud
	account *providers.Account
	backend *memory.Backend
	ledger  *store.Ledger
	loop    *Loop
	kicks   []string
	err     error
	now     guard.Instant
	next    guard.Instant
}

func newBench(t *testing.T, change func(*fake.Script)) *bench {
	t.Helper()
	script := fake.Lab()
	if change != nil {
		change(&script)
	}
	b := &bench{t: t, cloud: fake.MustCloud(script), backend: memory.New()}
	b.account = b.cloud.Account()
	b.account.Mode, b.account.Poll, b.account.Sweep = guard.Enforce, time.Minute, 30*time.Minute
	b.restart()
	return b
}

// restart is what a crash leaves: the ledger and nothing else.
func (b *bench) restart() {
	b.t.Helper()
	ledger, err := store.Open(context.Background(), b.backend, b.cloud.At(0))
	if err != nil {
		b.t.Fatal(err)
	}
	b.ledger = ledger
	b.loop = New(Config{Ledger: ledger, Account: b.account, Kick: func(name string) { b.kicks = append(b.kicks, name) }})
}

func (b *bench) once(d time.Duration) guard.Instant {
	b.t.Helper()
	b.now = b.cloud.At(d)
	b.cloud.Advance(b.now.Wall)
	b.next, b.err = b.loop.Once(guard.WithInstant(context.Background(), b.now), b.now)
	if !b.now.Before(b.next) {
		b.t.Fatalf("at %v the loop wants to run at once, for ever", d)
	}
	return b.next
}

// until runs the loop as the scheduler would.
func (b *bench) until(d time.Duration) {
	b.t.Helper()
	end := b.cloud.At(d)
	for !end.Before(b.next) {
		b.once(b.next.Sub(b.cloud.At(0)))
	}
}

func (b *bench) view(fn func(v *store.View) error) {
	b.t.Helper()
	if err := b.ledger.View(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) observed(kind guard.Kind, id string) (o guard.Observed) {
	b.t.Helper()
	b.view(func(v *store.View) (err error) {
		o, _, err = v.Observed.Get(b.cloud.ID(kind, id).Key())
		return err
	})
	return o
}

func (b *bench) box(id string) guard.Observed { return b.observed(guard.Instance, id) }

func (b *bench) status() (a guard.AccountStatus) {
	b.t.Helper()
	b.view(func(v *store.View) (err error) {
		a, _, err = v.Accounts.Get("lab")
		return err
	})
	return a
}

func (b *bench) lease(id string) (l guard.Lease) {
	b.t.Helper()
	b.view(func(v *store.View) (err error) {
		l, _, err = v.Leases.Get(id)
		return err
	})
	return l
}

func (b *bench) register(id string, change func(*guard.Lease)) {
	b.t.Helper()
	l := guard.Lease{ID: "L-" + id, Resource: b.cloud.ID(guard.Instance, id), Purpose: "lora 70b", Owner: "ana", Identity: "acct-1",
		RegisteredAt: b.now.Wall, ExpiresAt: b.now.Wall.Add(8 * time.Hour), Status: guard.LeaseActive, ResourceCreated: b.box(id).Resource.Created}
	if change != nil {
		change(&l)
	}
	b.put(func(tx *store.Tx) error { return tx.Leases.Put(l) })
}

func (b *bench) put(fn func(tx *store.Tx) error) {
	b.t.Helper()
	if err := b.ledger.Update(context.Background(), fn); err != nil {
		b.t.Fatal(err)
	}
}

// verbs are the journal's verbs about a subject, oldest first.
func (b *bench) verbs(subject string) (out []string) {
	b.t.Helper()
	b.view(func(v *store.View) error {
		es, err := v.JournalOf(subject, 0)
		for _, e := range es {
			out = append(out, e.Verb)
		}
		slices.Reverse(out)
		return err
	})
	return out
}

func (b *bench) wantVerbs(subject string, want ...string) {
	b.t.Helper()
	if got := b.verbs(subject); !slices.Equal(got, want) {
		b.t.Errorf("journal of %s: %v, want %v", subject, got, want)
	}
}

func TestFirstPoll(t *testing.T) {
	b := newBench(t, nil)
	if next := b.once(time.Minute); next.Sub(b.now) != time.Minute {
		t.Errorf("next in %v", next.Sub(b.now))
	}
	o := b.box("i-1")
	if !o.FirstSeen.Equal(b.now.Wall) || o.Identity != "acct-1" || o.Resource.GPUs != 8 {
		t.Errorf("got %+v", o)
	}
	if len(o.Pending) != 1 || !o.Pending[0].At.Equal(b.cloud.At(-10*time.Minute).Wall) {
		t.Errorf("the meter is not told to count from the provider's start: %+v", o.Pending)
	}
	v := b.observed(guard.Volume, "v-1")
	if v.Instance.ID != "i-1" {
		t.Errorf("a volume does not know its instance: %+v", v)
	}
	a := b.status()
	if a.Identity.ID != "acct-1" || !a.Identity.Strong || !a.Polled.Equal(b.now.Wall) || a.Mode != guard.Enforce {
		t.Errorf("got %+v", a)
	}
	b.wantVerbs("lab/i-1", "found")
	for _, want := range []string{"meter", "decide"} {
		if !slices.Contains(b.kicks, want) {
			t.Errorf("%s was not kicked: %v", want, b.kicks)
		}
	}
}

// counter counts what a poll costs the ledger.
type counter struct {
	store.Backend
	updates, writes int
}

func (c *counter) Update(ctx context.Context, fn func(store.Writer) error) error {
	c.updates++
	return c.Backend.Update(ctx, func(w store.Writer) error { return fn(countingWriter{w, c}) })
}

type countingWriter struct {
	store.Writer
	c *counter
}

func (w countingWriter) Put(table, key string, value []byte) error {
	w.c.writes++
	return w.Writer.Put(table, key, value)
}

func TestNothingNewIsOneSmallTransaction(t *testing.T) {
	b := newBench(t, nil)
	c := &counter{Backend: b.backend}
	ledger, err := store.Open(context.Background(), c, b.cloud.At(0))
	if err != nil {
		t.Fatal(err)
	}
	b.ledger, b.loop = ledger, New(Config{Ledger: ledger, Account: b.account, Kick: func(string) { b.kicks = append(b.kicks, "") }})
	b.once(time.Minute)
	b.kicks = nil
	*c = counter{Backend: b.backend}
	for i := 2; i < 12; i++ {
		b.once(time.Duration(i) * time.Minute)
	}
	// The memory backend runs each update twice: scope, account and clock.
	if c.updates != 10 || c.writes != 10*2*3 || len(b.kicks) > 0 {
		t.Errorf("10 quiet polls: %d updates, %d writes, kicks %v", c.updates, c.writes, b.kicks)
	}
}

func TestGoneByWhom(t *testing.T) {
	for _, c := range []struct {
		name  string
		lag   time.Duration
		event fake.Event
		how   guard.How
		est   bool
		proof string
	}{
		{"deleted by a person, tombstone", time.Hour, fake.Event{ID: "i-2", Delete: true}, guard.ByOutside, false, guard.ProofTerminal},
		{"reclaimed, tombstone", time.Hour, fake.Event{ID: "i-2", Reclaim: &fake.Reclaim{}}, guard.ByReclaim, false, guard.ProofTerminal},
		{"by the platform, tombstone", time.Hour, fake.Event{ID: "i-2", Delete: true, By: guard.ByPlatform}, guard.ByPlatform, false, guard.ProofTerminal},
		{"vanished", 0, fake.Event{ID: "i-1", Delete: true}, guard.ByOutside, true, guard.ProofAbsence},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(s *fake.Script) { s.Lag.Disappears = c.lag })
			b.once(10 * time.Minute)
			b.register(c.event.ID, nil)
			b.cloud.Advance(b.cloud.At(20*time.Minute + 30*time.Second).Wall)
			b.until(20 * time.Minute)
			if err := b.cloud.Do(c.event); err != nil {
				t.Fatal(err)
			}
			b.until(21*time.Minute + 31*time.Second)
			o := b.box(c.event.ID)
			if o.Gone == nil || o.Gone.How != c.how || o.Gone.Estimated != c.est || o.Gone.Proof != c.proof {
				t.Fatalf("got %+v, readings %+v", o.Gone, o.Absent)
			}
			if l := b.lease("L-" + c.event.ID); l.Status != guard.LeaseGone || l.EndedHow != c.how || !l.EndedAt.Equal(o.Gone.At) {
				t.Errorf("lease: %+v", l)
			}
			b.wantVerbs("lab/"+c.event.ID, "found", "tagged", "gone")
			if !slices.Contains(b.kicks, "release/lab") {
				t.Error("the release loop does not hear of it")
			}
			// Its children are looked at soon, not with the next sweep.
			b.until(22 * time.Minute)
			calls := b.cloud.CallsOf(fake.CallList, "")
			last := calls[len(calls)-1]
			for _, call := range calls {
				if call.Kind == guard.Volume {
					last = call
				}
			}
			if wait := last.At.Sub(o.Gone.ProvenAt); wait < 0 || wait > 2*time.Second {
				t.Errorf("volumes were listed %v after the proof", wait)
			}
		})
	}
}

func TestChildrenAfterTheInstance(t *testing.T) {
	b := newBench(t, nil)
	b.once(10 * time.Minute)
	if err := b.cloud.Do(fake.Event{ID: "i-1", Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.until(20 * time.Minute)
	if o := b.observed(guard.Volume, "v-0"); o.Gone == nil {
		t.Errorf("a volume that went along is not gone: %+v", o)
	}
	if o := b.observed(guard.Volume, "v-1"); o.Gone != nil || o.Instance.ID != "i-1" || o.DetachedAt.IsZero() {
		t.Errorf("the one left behind: %+v", o)
	}
}

// Law 2, way by way: none of these ends anything, and money goes on.
func TestNoOtherWayOfNotSeeingEndsAnything(t *testing.T) {
	only := func(call string, reply fake.Reply) []fake.Fault {
		return []fake.Fault{{Call: call, From: 5 * time.Minute, Reply: reply}}
	}
	for _, c := range []struct {
		name   string
		faults []fake.Fault
		really bool // the things are really gone, and guard cannot know
		event  *fake.Event
	}{
		{name: "the list fails", faults: only(fake.CallList, fake.Reply{Status: 503})},
		{name: "no connection", faults: only(fake.CallAny, fake.Reply{Unreachable: true})},
		{name: "no permission any more", faults: only(fake.CallAny, fake.Reply{Status: 403})},
		{name: "HTML", faults: only(fake.CallAny, fake.Reply{HTML: true})},
		{name: "an empty list", faults: only(fake.CallList, fake.Reply{Empty: true})},
		{name: "a dropped page", faults: only(fake.CallList, fake.Reply{DropPage: 1})},
		{name: "an empty list and no reads", faults: append(only(fake.CallList, fake.Reply{Empty: true}), only(fake.CallGet, fake.Reply{Status: 500})...)},
		{name: "an empty list and null objects", faults: append(only(fake.CallList, fake.Reply{Empty: true}), only(fake.CallGet, fake.Reply{NullFields: []string{"id", "state", "kind"}})...)},
		{name: "an empty list and empty answers", faults: append(only(fake.CallList, fake.Reply{Empty: true}), only(fake.CallGet, fake.Reply{Empty: true})...)},
		{name: "entries without a name", faults: only(fake.CallList, fake.Reply{NullFields: []string{"id"}})},
		{name: "states without a word", faults: only(fake.CallAny, fake.Reply{NullFields: []string{"state", "rate"}})},
		{name: "someone else's credentials", event: &fake.Event{Identity: "acct-2"}},
		{name: "someone else's credentials, whose identity is hidden", event: &fake.Event{Identity: "acct-2"},
			faults: only(fake.CallIdentity, fake.Reply{Status: 503})},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.once(time.Minute)
			b.register("i-1", nil)
			b.until(4 * time.Minute)
			b.cloud.Advance(b.cloud.At(5 * time.Minute).Wall)
			if c.event != nil {
				if err := b.cloud.Do(*c.event); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range c.faults {
				b.cloud.Fault(f)
			}
			b.until(2 * time.Hour)
			for _, id := range []string{"i-1", "i-2", "i-3"} {
				if o := b.box(id); o.Gone != nil {
					t.Errorf("%s: %+v", id, o.Gone)
				}
			}
			for _, id := range []string{"v-0", "v-1", "v-2"} {
				if o := b.observed(guard.Volume, id); o.Gone != nil {
					t.Errorf("%s: %+v", id, o.Gone)
				}
			}
			if l := b.lease("L-i-1"); l.Status != guard.LeaseActive {
				t.Errorf("lease: %+v", l)
			}
			for _, change := range b.box("i-1").Pending {
				if change.Bills == guard.No || change.State == guard.StateGone {
					t.Errorf("the meter is told to stop: %+v", change)
				}
			}
			// And when all is well again, all is as before.
			b.cloud.ClearFaults()
			if c.event != nil {
				if err := b.cloud.Do(fake.Event{Identity: "acct-1"}); err != nil {
					t.Fatal(err)
				}
			}
			b.until(3 * time.Hour)
			if o := b.box("i-1"); o.Gone != nil || len(o.Absent) > 0 || o.Resource.State != guard.StateRunning {
				t.Errorf("afterwards: %+v", o)
			}
			if a := b.status(); !a.Failing.IsZero() || a.Mismatch != "" {
				t.Errorf("afterwards: %+v", a)
			}
		})
	}
}

func TestPartialListKeepsThatScope(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Scopes = []string{"zone-a", "zone-b"}
		s.Resources[4].Scope = "zone-b" // v-2
		s.Resources[3].Scope = "zone-b" // i-2
	})
	b.once(time.Minute)
	b.cloud.Fault(fake.Fault{Call: fake.CallList, Scope: "zone-b", Reply: fake.Reply{Status: 503}})
	for _, id := range []string{"i-2", "i-3"} {
		if err := b.cloud.Do(fake.Event{ID: id, Delete: true}); err != nil {
			t.Fatal(err)
		}
	}
	b.until(20 * time.Minute)
	if o := b.box("i-3"); o.Gone == nil {
		t.Error("what went from the zone that answers is not noticed")
	}
	var st guard.ScopeStatus
	b.view(func(v *store.View) (err error) {
		st, _, err = v.Scopes.Get("lab/instance/zone-b")
		return err
	})
	if st.Failing.IsZero() || st.Error == "" || !st.Complete.Equal(b.cloud.At(time.Minute).Wall) {
		t.Errorf("scope: %+v", st)
	}
}

func TestYoungAndInvisible(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Lag.Appears = 3 * time.Minute
		s.Timeline = []fake.Event{{At: 10 * time.Minute, Create: &fake.Resource{ID: "i-9", Rate: &fake.Rate{Amount: "5", Per: "hour"}}}}
	})
	b.once(10 * time.Minute)
	// Registered half a second after it was created: the register's own read saw
	// it, the lists do not yet.
	b.register("i-9", func(l *guard.Lease) { l.ResourceCreated = b.now.Wall })
	b.until(12 * time.Minute)
	if l := b.lease("L-i-9"); l.Status != guard.LeaseActive {
		t.Fatalf("lease: %+v", l)
	}
	b.until(16 * time.Minute)
	o := b.box("i-9")
	if o.Gone != nil || len(o.Absent) > 0 || !o.Resource.Created.Equal(b.cloud.At(10*time.Minute).Wall) {
		t.Errorf("got %+v", o)
	}
}

func TestExpectedLeaseBecomesActive(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Timeline = []fake.Event{{At: 5 * time.Minute, Create: &fake.Resource{ID: "i-9"}}}
	})
	b.once(time.Minute)
	b.register("i-9", func(l *guard.Lease) { l.Status, l.Identity, l.ResourceCreated = guard.LeaseExpected, "", time.Time{} })
	b.until(4 * time.Minute)
	if l := b.lease("L-i-9"); l.Status != guard.LeaseExpected {
		t.Fatalf("lease: %+v", l)
	}
	b.until(6 * time.Minute)
	if l := b.lease("L-i-9"); l.Status != guard.LeaseActive || l.Identity != "acct-1" || l.ResourceCreated.IsZero() {
		t.Errorf("lease: %+v", l)
	}
	b.wantVerbs("lab/i-9", "found", "activated", "tagged")
}

func TestStoppedAndStarted(t *testing.T) {
	b := newBench(t, nil)
	b.once(time.Minute)
	b.register("i-1", nil)
	stop := b.cloud.At(10*time.Minute + 20*time.Second)
	b.until(10 * time.Minute)
	b.cloud.Advance(stop.Wall)
	if err := b.cloud.Do(fake.Event{ID: "i-1", State: "stopped"}); err != nil {
		t.Fatal(err)
	}
	b.until(12 * time.Minute)
	if l := b.lease("L-i-1"); l.Status != guard.LeaseStopped {
		t.Errorf("lease: %+v", l)
	}
	p := b.box("i-1").Pending
	if last := p[len(p)-1]; !last.At.Equal(stop.Wall) || last.State != guard.StateStopped {
		t.Errorf("the stop is not at the provider's time: %+v", p)
	}
	if err := b.cloud.Do(fake.Event{ID: "i-1", State: "running"}); err != nil {
		t.Fatal(err)
	}
	b.until(14 * time.Minute)
	if l := b.lease("L-i-1"); l.Status != guard.LeaseActive {
		t.Errorf("lease: %+v", l)
	}
	b.wantVerbs("lab/i-1", "found", "tagged", "stopped", "started")
}

// A gap in which it was started and stopped again: what nobody saw is assumed to
// have run.
func TestRanWhileNobodyLooked(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		for _, e := range []struct {
			at    time.Duration
			state string
		}{{5 * time.Minute, "stopped"}, {30 * time.Minute, "running"}, {40 * time.Minute, "stopped"}} {
			s.Timeline = append(s.Timeline, fake.Event{At: e.at, ID: "i-1", State: e.state})
		}
	})
	b.once(time.Minute)
	b.until(10 * time.Minute)
	b.restart()
	b.once(time.Hour)
	p := b.box("i-1").Pending
	if len(p) != 4 {
		t.Fatalf("got %+v", p)
	}
	if ran := p[2]; ran.State != guard.StateRunning || !ran.At.Equal(b.cloud.At(10*time.Minute).Wall) {
		t.Errorf("got %+v", ran)
	}
	if stop := p[3]; stop.State != guard.StateStopped || !stop.At.Equal(b.cloud.At(40*time.Minute).Wall) {
		t.Errorf("got %+v", stop)
	}
}

func TestOurReleaseIsLeftToTheReleaseLoop(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Lag.Disappears = time.Hour })
	b.once(10 * time.Minute)
	b.register("i-1", nil)
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "R1", Lease: "L-i-1", Target: b.cloud.ID(guard.Instance, "i-1"), Action: guard.ActRelease,
			State: guard.ReleaseIssued, IssuedAt: b.now.Wall})
	})
	ctx := guard.WithInstant(context.Background(), b.now)
	if err := b.account.Provider.Release(ctx, b.cloud.ID(guard.Instance, "i-1"), providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until(14 * time.Minute)
	if o := b.box("i-1"); o.Gone == nil || o.Gone.How != guard.ByRelease {
		t.Fatalf("got %+v", o.Gone)
	}
	if l := b.lease("L-i-1"); l.Status != guard.LeaseActive {
		t.Errorf("observe closed a lease that the release loop proves: %+v", l)
	}
}

func TestIdentityStrong(t *testing.T) {
	b := newBench(t, nil)
	b.once(time.Minute)
	if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
		t.Fatal(err)
	}
	b.kicks = nil
	b.until(20 * time.Minute)
	if a := b.status(); a.Mismatch != "acct-2" || a.Identity.ID != "acct-1" {
		t.Errorf("got %+v", a)
	}
	b.wantVerbs("lab", "account_mismatch") // once
	if !slices.Contains(b.kicks, "decide") {
		t.Error("decide does not hear of it")
	}
	if n := len(b.cloud.CallsOf(fake.CallList, "")); n != 6 { // one instance list, five kinds swept
		t.Errorf("%d lists: someone else's account is listed", n)
	}
	// Also to a daemon that starts now.
	b.restart()
	b.once(21 * time.Minute)
	b.wantVerbs("lab", "account_mismatch")
	if err := b.cloud.Do(fake.Event{Identity: "acct-1"}); err != nil {
		t.Fatal(err)
	}
	b.until(23 * time.Minute)
	if a := b.status(); a.Mismatch != "" {
		t.Errorf("got %+v", a)
	}
	b.wantVerbs("lab", "account_mismatch", "account_matches")
}

func TestIdentityWeak(t *testing.T) {
	weak := func(s *fake.Script) {
		s.IdentityKind = "weak"
		// The same account under a new key: one box is visible under both.
		s.Resources = append(s.Resources, fake.Resource{ID: "i-7", Identity: "acct-2", Created: -time.Hour})
	}
	t.Run("a key that sees nothing of ours is a mismatch", func(t *testing.T) {
		b := newBench(t, weak)
		b.once(time.Minute)
		if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
			t.Fatal(err)
		}
		b.until(20 * time.Minute)
		if a := b.status(); a.Mismatch != "acct-2" {
			t.Errorf("got %+v", a)
		}
		if o := b.box("i-7"); !o.FirstSeen.IsZero() {
			t.Error("someone else's box was taken in")
		}
	})
	t.Run("a key that reads a live box of ours is adopted", func(t *testing.T) {
		b := newBench(t, weak)
		b.once(time.Minute)
		b.register("i-1", nil)
		b.put(func(tx *store.Tx) error {
			// i-7 as it was recorded under the first key.
			return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: b.cloud.ID(guard.Instance, "i-7"), State: guard.StateRunning,
				Created: b.cloud.At(-time.Hour).Wall}, Identity: "acct-1", FirstSeen: b.now.Wall, Seen: b.now.Wall})
		})
		if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
			t.Fatal(err)
		}
		b.once(2 * time.Minute)
		a := b.status()
		if a.Mismatch != "" || a.Identity.ID != "acct-2" {
			t.Fatalf("got %+v", a)
		}
		if o, l := b.box("i-1"), b.lease("L-i-1"); o.Identity != "acct-2" || l.Identity != "acct-2" {
			t.Errorf("left under the old key: %q %q", o.Identity, l.Identity)
		}
		b.wantVerbs("lab", "new_key")
	})
}

func TestSameIDOtherThing(t *testing.T) {
	other := 9 * time.Minute
	t.Run("leased: ours stays, the other is not taken for it", func(t *testing.T) {
		b := newBench(t, nil)
		b.once(time.Minute)
		b.register("i-1", nil)
		b.until(9 * time.Minute)
		if err := b.cloud.Do(fake.Event{ID: "i-1", Set: &fake.Changes{Created: &other}}); err != nil {
			t.Fatal(err)
		}
		b.until(30 * time.Minute)
		o := b.box("i-1")
		if o.Gone != nil || !o.Resource.Created.Equal(b.cloud.At(-10*time.Minute).Wall) || !o.NotSame.Equal(b.cloud.At(other).Wall) {
			t.Errorf("got %+v", o)
		}
		if l := b.lease("L-i-1"); l.Status != guard.LeaseActive {
			t.Errorf("lease: %+v", l)
		}
		b.wantVerbs("lab/i-1", "found", "tagged", "not_the_same")
	})
	t.Run("unclaimed: it is a new thing", func(t *testing.T) {
		b := newBench(t, nil)
		b.once(time.Minute)
		b.until(9 * time.Minute)
		if err := b.cloud.Do(fake.Event{ID: "i-1", Set: &fake.Changes{Created: &other}}); err != nil {
			t.Fatal(err)
		}
		b.until(10 * time.Minute)
		if o := b.box("i-1"); !o.FirstSeen.Equal(b.now.Wall) || !o.Resource.Created.Equal(b.cloud.At(other).Wall) {
			t.Errorf("got %+v", o)
		}
		b.wantVerbs("lab/i-1", "found", "replaced")
	})
}

func TestBackFromTheDead(t *testing.T) {
	b := newBench(t, nil)
	b.once(10 * time.Minute)
	b.register("i-1", func(l *guard.Lease) { l.RegisteredAt = b.cloud.At(-time.Hour).Wall })
	b.cloud.Fault(fake.Fault{Call: fake.CallList, Reply: fake.Reply{Empty: true}})
	id := b.cloud.ID(guard.Instance, "i-1")
	b.put(func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get(id.Key())
		if err != nil {
			return err
		}
		o.Gone = &guard.Gone{At: b.now.Wall, ProvenAt: b.now.Wall, How: guard.ByOutside}
		o.Resource.State, o.Pending = guard.StateGone, nil
		l, _, err := tx.Leases.Get("L-i-1")
		if err != nil {
			return err
		}
		l.Status, l.EndedAt = guard.LeaseGone, b.now.Wall
		if err := tx.Leases.Put(l); err != nil {
			return err
		}
		return tx.Observed.Put(o)
	})
	b.cloud.ClearFaults()
	gone := b.now.Wall
	b.until(12 * time.Minute)
	o := b.box("i-1")
	if o.Gone != nil || len(o.Pending) != 1 || !o.Pending[0].At.Equal(gone) {
		t.Fatalf("got %+v", o)
	}
	if l := b.lease("L-i-1"); l.Status != guard.LeaseActive || !l.EndedAt.IsZero() {
		t.Errorf("its lease does not hold again: %+v", l)
	}
}

func TestRestartInTheMiddleOfAProof(t *testing.T) {
	b := newBench(t, nil)
	b.once(10 * time.Minute)
	if err := b.cloud.Do(fake.Event{ID: "i-1", Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.until(11 * time.Minute)
	if o := b.box("i-1"); len(o.Absent) != 1 || o.Gone != nil {
		t.Fatalf("got %+v", o)
	}
	b.restart()
	b.once(11*time.Minute + 20*time.Second)
	if o := b.box("i-1"); o.Gone != nil {
		t.Fatal("proven 20 s apart")
	}
	b.until(11*time.Minute + 40*time.Second)
	if o := b.box("i-1"); o.Gone == nil || !o.Gone.At.Equal(b.cloud.At(11*time.Minute).Wall) {
		t.Fatalf("got %+v", o.Gone)
	}
	b.wantVerbs("lab/i-1", "found", "gone")
}

func TestTags(t *testing.T) {
	t.Run("written, and again after an extension", func(t *testing.T) {
		b := newBench(t, nil)
		b.once(time.Minute)
		b.register("i-1", nil)
		b.until(2 * time.Minute)
		tags := b.cloud.Tags("i-1")
		if tags[guard.TagLease] != "L-i-1" || tags[guard.TagPurpose] != "lora 70b" || tags[guard.TagDeployment] != b.ledger.Deployment() ||
			tags[guard.TagExpires] != "2026-03-06T18:01:00Z" || tags["team"] != "nlp" {
			t.Errorf("got %v", tags)
		}
		b.until(5 * time.Minute)
		if n := len(b.cloud.CallsOf(fake.CallTag, "i-1")); n != 1 {
			t.Errorf("%d tag calls", n)
		}
		b.put(func(tx *store.Tx) error {
			l, _, err := tx.Leases.Get("L-i-1")
			l.ExpiresAt = l.ExpiresAt.Add(time.Hour)
			return errorsJoin(err, tx.Leases.Put(l))
		})
		b.until(6 * time.Minute)
		if got := b.cloud.Tags("i-1")[guard.TagExpires]; got != "2026-03-06T19:01:00Z" {
			t.Errorf("got %v", got)
		}
		b.wantVerbs("lab/i-1", "found", "tagged")
	})
	t.Run("a failure is told once and tried each poll", func(t *testing.T) {
		b := newBench(t, nil)
		b.cloud.Fault(fake.Fault{Call: fake.CallTag, For: 6 * time.Minute, Reply: fake.Reply{Status: 403}})
		b.once(time.Minute)
		b.register("i-1", nil)
		b.until(5 * time.Minute)
		b.wantVerbs("lab/i-1", "found", "not_tagged")
		if n := len(b.cloud.CallsOf(fake.CallTag, "i-1")); n != 4 {
			t.Errorf("%d tries", n)
		}
		b.until(8 * time.Minute)
		b.wantVerbs("lab/i-1", "found", "not_tagged", "tagged")
	})
	t.Run("never in observe mode, never over another guard's mark", func(t *testing.T) {
		b := newBench(t, func(s *fake.Script) { s.Resources[0].Tags = map[string]string{guard.TagDeployment: "another"} })
		b.once(time.Minute)
		b.register("i-1", nil)
		b.register("i-2", nil)
		b.account.Mode = guard.Observe
		b.until(3 * time.Minute)
		b.account.Mode = guard.Enforce
		b.until(5 * time.Minute)
		if n := len(b.cloud.CallsOf(fake.CallTag, "i-1")); n != 0 {
			t.Errorf("%d calls on another guard's box", n)
		}
		calls := b.cloud.CallsOf(fake.CallTag, "i-2")
		if len(calls) != 1 || calls[0].At.Before(b.cloud.At(4*time.Minute).Wall) {
			t.Errorf("calls: %+v", calls)
		}
	})
}

func TestThrottledComesBackWhenAsked(t *testing.T) {
	b := newBench(t, nil)
	b.cloud.Fault(fake.Fault{Call: fake.CallAny, Times: 1, Reply: fake.Reply{Status: 429, RetryAfter: "300"}})
	if next := b.once(time.Minute); next.Sub(b.now) != 5*time.Minute {
		t.Errorf("next in %v (%v)", next.Sub(b.now), b.err)
	}
	if a := b.status(); a.Failing.IsZero() || a.Error == "" {
		t.Errorf("got %+v", a)
	}
	b.until(7 * time.Minute)
	if a := b.status(); !a.Failing.IsZero() || a.Error != "" {
		t.Errorf("got %+v", a)
	}
}

func TestClockIsComparedWithTheProviders(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Time = func(i guard.Instant) time.Time { return i.Wall.Add(-2 * time.Hour) }
	})
	b.now = b.cloud.At(3 * time.Hour)
	if _, err := b.loop.Once(guard.WithInstant(context.Background(), b.now), b.now); err != nil {
		t.Fatal(err)
	}
	var c presence.Clock
	b.view(func(v *store.View) error {
		_, err := v.Value(presence.ClockName("lab"), &c)
		return err
	})
	if c.Agrees() || (c.Offset-2*time.Hour).Abs() > 2*time.Second {
		t.Errorf("got %+v", c)
	}
}

func TestManyThingsInChunks(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Resources = []fake.Resource{{ID: "i-1", Count: 1200}}
		s.PageSize = 100
	})
	b.once(time.Minute)
	n := 0
	b.view(func(v *store.View) error {
		for _, err := range v.Observed.All("lab/instance/") {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if n != 1200 {
		t.Errorf("%d observed", n)
	}
}

func TestNothingSecretOrEndlessInTheLedger(t *testing.T) {
	b := newBench(t, nil)
	b.cloud.Fault(fake.Fault{Call: fake.CallAny, Reply: fake.Reply{Status: 500, Body: strings.Repeat("x", 1<<16)}})
	b.once(time.Minute)
	if a := b.status(); len(a.Error) > 600 {
		t.Errorf("%d bytes of an error were kept", len(a.Error))
	}
}

func errorsJoin(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
