package observe

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

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

// A list that lags behind a proof changes nothing, whenever it is written.
func TestAListingDoesNotRaiseTheDead(t *testing.T) {
	r := guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.StateRunning, Created: fake.DefaultStart}
	o := guard.Observed{Resource: r, Identity: "acct-1", FirstSeen: fake.DefaultStart, Gone: &guard.Gone{At: fake.DefaultStart.Add(time.Hour)}}
	s := sighting{fresh: r, at: fake.DefaultStart.Add(2 * time.Hour), identity: "acct-1"}
	if next, told := merge(o, true, s); told != newsNone || next.Gone == nil {
		t.Errorf("got %s %+v", told, next)
	}
	s.byID = true
	if next, told := merge(o, true, s); told != newsBack || next.Gone != nil {
		t.Errorf("got %s %+v", told, next)
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

// A kind that nothing can be read of by ID is gone after two listings that are as far apart
// as law 2 wants, whoever makes them.
func TestGoneByListingsAlone(t *testing.T) {
	b := newBench(t, nil)
	b.account.Provider = listing{b.account.Provider}
	b.once(10 * time.Minute)
	b.until(25 * time.Minute)
	if err := b.cloud.Do(fake.Event{ID: "v-2", Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.until(2 * time.Hour)
	g := b.observed(guard.Volume, "v-2").Gone
	if g == nil || g.Proof != guard.ProofAbsence || len(g.Readings) != 2 {
		t.Fatalf("got %+v", g)
	}
	if first, last := g.Readings[0], g.Readings[1]; first.ByID || last.ByID || last.At.Sub(first.At) < presence.ListApart || last.At.Sub(first.At) > presence.ListApart+time.Minute {
		t.Errorf("proven by %+v", g.Readings)
	}
}

// listing is a provider that looks a volume up in a list of all.
type listing struct{ providers.Provider }

func (p listing) Truths() guard.Truths {
	t := p.Provider.Truths()
	t.ListedOnly = []guard.Kind{guard.Volume}
	return t
}
