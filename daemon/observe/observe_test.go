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
	b.loop = New(Config{Ledger: ledger, Account: b.account, Boot: "boot-1", Kick: func(name string) { b.kicks = append(b.kicks, name) }})
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
	if !slices.Contains(b.kicks, "meter") {
		t.Errorf("meter was not kicked: %v", b.kicks)
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
	ours := b.box("i-1")
	ours.Resource.Ended = guard.ByRelease
	b.put(func(tx *store.Tx) error { return tx.Observed.Put(ours) })
	b.until(20 * time.Minute)
	if how := b.box("i-1").Resource.Ended; how != guard.ByRelease {
		t.Errorf("our stop is told of as by %q", how)
	}
	b.restart()
	b.once(time.Hour)
	if how := b.box("i-1").Resource.Ended; how == guard.ByRelease {
		t.Error("it ran since our stop, and another's is told of as ours")
	}
	p := b.box("i-1").Pending
	if len(p) != 4 {
		t.Fatalf("got %+v", p)
	}
	if ran := p[2]; ran.State != guard.StateRunning || !ran.At.Equal(b.cloud.At(20*time.Minute).Wall) {
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
	t.Run("no mark of ours in observe mode, none over another guard's", func(t *testing.T) {
		b := newBench(t, func(s *fake.Script) { s.Resources[0].Tags = map[string]string{guard.TagDeployment: "another"} })
		b.once(time.Minute)
		b.register("i-1", nil)
		b.register("i-2", nil)
		b.account.Mode = guard.Observe
		b.until(3 * time.Minute)
		if tags := b.cloud.Tags("i-2"); tags[guard.TagLease] == "" || tags[guard.TagDeployment] != "" {
			t.Errorf("in observe mode: %v", tags)
		}
		b.account.Mode = guard.Enforce
		b.cloud.Fault(fake.Fault{Call: fake.CallList, From: 3*time.Minute + time.Second, For: time.Minute,
			Reply: fake.Reply{SetFields: map[string]any{"tags": map[string]string{}}}}) // one odd reading
		b.until(5 * time.Minute)
		if tags := b.cloud.Tags("i-2"); tags[guard.TagDeployment] != b.ledger.Deployment() {
			t.Errorf("in enforce mode: %v", tags)
		}
		if n := len(b.cloud.CallsOf(fake.CallTag, "i-1")); n != 0 {
			t.Errorf("%d calls on another guard's box", n)
		}
		if calls := b.cloud.CallsOf(fake.CallTag, "i-2"); len(calls) != 2 {
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
	for _, d := range []time.Duration{0, time.Minute, 2 * time.Minute} {
		b.now = b.cloud.At(3*time.Hour + d)
		if _, err := b.loop.Once(guard.WithInstant(context.Background(), b.now), b.now); err != nil {
			t.Fatal(err)
		}
		var c presence.Clock
		b.view(func(v *store.View) error {
			_, err := v.Value(presence.ClockName("lab"), &c)
			return err
		})
		off := b.now.Wall.Sub(presence.Belief{At: b.now, Boot: "boot-1"}.Next(b.now, []presence.Clock{c}).At.Wall)
		if want := d / (2 * time.Minute) * 2 * time.Hour; (off - want).Abs() > 2*time.Second {
			t.Errorf("after %v guard's clock is taken to be %v off", d, off)
		}
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
