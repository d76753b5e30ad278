package observe

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
	"guard/store"
)

// listed is when the lists of a kind in a scope were asked for, in whole minutes.
func (b *bench) listed(kind guard.Kind, scope string) (out []int) {
	for _, c := range b.cloud.CallsOf(fake.CallList, "") {
		if c.Kind == kind && c.Scope == scope {
			out = append(out, int(c.At.Sub(b.cloud.At(0).Wall)/time.Minute))
		}
	}
	return out
}

func (b *bench) scope(kind guard.Kind, scope string) (s guard.ScopeStatus) {
	b.t.Helper()
	b.view(func(v *store.View) (err error) {
		s, _, err = v.Scopes.Get(store.ScopeKey(guard.ScopeStatus{Account: "lab", Kind: kind, Scope: scope}))
		return err
	})
	return s
}

func refused(from, during time.Duration, scope string) fake.Fault {
	return fake.Fault{Call: fake.CallList, Scope: scope, From: from, For: during, Reply: fake.Reply{Status: 429, RetryAfter: "300"}}
}

// One scope's list is refused for five minutes: it alone is not asked again, and
// its age is the truth.
func TestARefusedScopeIsHeld(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Scopes = []string{"zone-a", "zone-b"}
		s.Resources = []fake.Resource{{ID: "i-1", Scope: "zone-a"}, {ID: "i-2", Scope: "zone-b"}}
		s.Faults = []fake.Fault{refused(3*time.Minute, 6*time.Minute, "zone-b")}
	})
	b.once(time.Minute)
	b.until(14 * time.Minute)
	if got := b.listed(guard.Instance, "zone-a"); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}) {
		t.Errorf("zone-a was listed at %v", got)
	}
	if got := b.listed(guard.Instance, "zone-b"); !slices.Equal(got, []int{1, 2, 3, 8, 13, 14}) {
		t.Errorf("zone-b was listed at %v", got)
	}
	if b.err != nil || !b.box("i-2").Live() {
		t.Errorf("i-2: %+v, %v", b.box("i-2"), b.err)
	}
	if s := b.scope(guard.Instance, "zone-b"); !s.Failing.IsZero() || !s.Complete.Equal(b.now.Wall) {
		t.Errorf("after it: %+v", s)
	}
}

// While it is held it fails since it was refused, and nothing in it is doubted.
func TestAHeldScopeAges(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Scopes = []string{"zone-a", "zone-b"}
		s.Resources = []fake.Resource{{ID: "i-1", Scope: "zone-a"}, {ID: "i-2", Scope: "zone-b"}}
		s.Faults = []fake.Fault{refused(3*time.Minute, time.Minute, "zone-b")}
	})
	b.once(time.Minute)
	b.until(7 * time.Minute)
	if s := b.scope(guard.Instance, "zone-b"); !s.Failing.Equal(b.cloud.At(3*time.Minute).Wall) || !s.Complete.Equal(b.cloud.At(2*time.Minute).Wall) || s.Error == "" {
		t.Errorf("zone-b: %+v", s)
	}
	if got := b.cloud.CallsOf(fake.CallGet, ""); len(got) > 0 {
		t.Errorf("read by ID: %+v", got)
	}
}

// Every list is refused at the first poll: the account is left alone until then.
func TestARefusedAccountIsPutOff(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Faults = []fake.Fault{refused(0, 2*time.Minute, "")} })
	if next := b.once(time.Minute); next.Sub(b.now) != 5*time.Minute {
		t.Errorf("next in %v", next.Sub(b.now))
	}
	calls := len(b.cloud.Calls())
	b.until(5 * time.Minute)
	if got := b.cloud.CallsSince(calls); len(got) > 0 {
		t.Errorf("calls while it is put off: %+v", got)
	}
	b.until(6 * time.Minute)
	if !b.box("i-1").Live() {
		t.Errorf("i-1: %+v", b.box("i-1"))
	}
}

// Instances are refused between two sweeps. A sweep that is asked for meanwhile is
// made, and one of what is refused itself is made up for.
func TestASweepMeanwhile(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Faults = []fake.Fault{refused(3*time.Minute, time.Minute, "")} })
	b.once(time.Minute)
	b.until(3 * time.Minute)
	b.loop.RequestSweep()
	b.once(3*time.Minute + 30*time.Second) // refused
	b.loop.RequestSweep()
	b.once(5 * time.Minute) // held
	b.until(12 * time.Minute)
	scope := b.cloud.ID(guard.Instance, "i-1").Scope
	if got := b.listed(guard.Instance, scope); !slices.Equal(got, []int{1, 2, 3, 8, 9, 10, 11, 12}) {
		t.Errorf("instances were listed at %v", got)
	}
	if got := b.listed(guard.Volume, scope); !slices.Equal(got, []int{1, 3, 9}) { // held until 8:30
		t.Errorf("volumes were listed at %v", got)
	}
}

// A reading by ID that is due while the lists are held is taken.
func TestAReadingByIDIsNotHeld(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Lag.Disappears = 0
		s.Faults = []fake.Fault{refused(11*time.Minute, time.Minute, "")}
	})
	b.once(9 * time.Minute)
	if err := b.cloud.Do(fake.Event{ID: "i-1", Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.once(10 * time.Minute) // it is missing: the first reading
	if len(b.loop.checks) == 0 {
		t.Fatalf("nothing to prove: %+v", b.box("i-1"))
	}
	b.loop.RequestSweep()
	b.once(11 * time.Minute)
	b.until(15 * time.Minute)
	if o := b.box("i-1"); o.Gone == nil {
		t.Errorf("not proven while the lists are held: %+v", o)
	}
}

// What failed and is read again leaves an outage behind, if it lasted; a poll between two
// adds none.
func TestAnOutageIsKept(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Scopes = []string{"zone-a", "zone-b"}
		s.Resources = []fake.Resource{{ID: "i-1", Scope: "zone-a"}, {ID: "i-2", Scope: "zone-b"}}
		down := fake.Reply{Status: 503}
		s.Faults = []fake.Fault{{Call: fake.CallList, Scope: "zone-b", From: 3 * time.Minute, For: 8 * time.Minute, Reply: down},
			{Call: fake.CallAny, From: 20 * time.Minute, For: 9 * time.Minute, Reply: down},
			{Call: fake.CallAny, From: 40 * time.Minute, For: 2 * time.Minute, Reply: down}}
	})
	b.once(time.Minute)
	b.until(50 * time.Minute)
	at := func(minute int) time.Time { return b.cloud.At(time.Duration(minute) * time.Minute).Wall }
	if got := b.scope(guard.Instance, "zone-b").Outages; !slices.Equal(got, []guard.Outage{{From: at(3), Until: at(11)}}) {
		t.Errorf("zone-b: %+v", got)
	}
	if got := b.scope(guard.Instance, "zone-a").Outages; len(got) > 0 {
		t.Errorf("zone-a: %+v", got)
	}
	if got := b.status().Outages; !slices.Equal(got, []guard.Outage{{From: at(20), Until: at(29)}}) {
		t.Errorf("the account: %+v", got)
	}
}
