package observe

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// A field that is compared by nobody would be observed by nobody.
func TestEveryFieldOfAResourceIsCompared(t *testing.T) {
	values := map[reflect.Type]reflect.Value{}
	for _, v := range []any{"x", 7, int64(7), true, time.Unix(1e9, 0), guard.ResourceID{ID: "x"}, map[string]string{"a": "b"}, []string{"x"},
		[]guard.Child{{ID: guard.ResourceID{ID: "x"}}}, guard.Rate{Amount: guard.MustMoney("1 USD"), Per: time.Hour},
		guard.EgressPrice{PerGB: guard.MustMoney("1 USD")}, guard.Lump{Amount: guard.MustMoney("1 USD")}, guard.PlatformEnd{At: time.Unix(1e9, 0)}} {
		values[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	typ := reflect.TypeFor[guard.Resource]()
	for i := range typ.NumField() {
		var r guard.Resource
		field := reflect.ValueOf(&r).Elem().Field(i)
		switch v, ok := values[field.Type()]; {
		case ok:
			field.Set(v)
		case field.Kind() == reflect.String:
			field.SetString("x")
		default:
			t.Fatalf("no value of type %s for field %s", field.Type(), typ.Field(i).Name)
		}
		if resourceEqual(guard.Resource{}, r) || resourceEqual(r, guard.Resource{}) || !resourceEqual(r, r) {
			t.Errorf("%s is not compared", typ.Field(i).Name)
		}
	}
}

// A volume that went along with its instance ended by the same hand.
func TestAChildFollowsItsInstance(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Lag.Disappears = 0 })
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
	b.until(25 * time.Minute)
	for kind, id := range map[guard.Kind]string{guard.Instance: "i-1", guard.Volume: "v-0"} {
		if o := b.observed(kind, id); o.Gone == nil || o.Gone.How != guard.ByRelease {
			t.Errorf("%s: %+v", id, o.Gone)
		}
	}
	// One that is deleted by hand while its instance runs is not of that kind.
	if err := b.cloud.Do(fake.Event{ID: "v-2", Delete: true}); err != nil {
		t.Fatal(err)
	}
	b.until(70 * time.Minute)
	if o := b.observed(guard.Volume, "v-2"); o.Gone == nil || o.Gone.How != guard.ByOutside {
		t.Errorf("v-2: %+v", o.Gone)
	}
}

// Nothing can be read by ID for an hour, and for five minutes of it lists show that
// the box has ended: that proves nothing, and tells when.
func TestAListedEndTellsTheTime(t *testing.T) {
	end := 20*time.Minute + 30*time.Second
	story := func(t *testing.T) *bench {
		b := newBench(t, func(s *fake.Script) { s.Lag.Disappears = 5 * time.Minute })
		b.once(10 * time.Minute)
		b.register("i-1", nil)
		b.until(20 * time.Minute)
		b.cloud.Fault(fake.Fault{Call: fake.CallGet, From: 20 * time.Minute, For: time.Hour, Reply: fake.Reply{Status: 500}})
		b.cloud.Advance(b.cloud.At(end).Wall)
		if err := b.cloud.Do(fake.Event{ID: "i-1", Delete: true}); err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Run("proven later, by ID", func(t *testing.T) {
		b := story(t)
		b.until(79 * time.Minute)
		if o := b.box("i-1"); o.Gone != nil || len(o.Absent) != 1 || o.Absent[0].ByID {
			t.Fatalf("a listing proved an end, or was not kept: %+v, %+v", o.Gone, o.Absent)
		}
		b.until(90 * time.Minute)
		o := b.box("i-1")
		if o.Gone == nil || o.Gone.Estimated || !o.Gone.At.Equal(b.cloud.At(end).Wall) {
			t.Fatalf("got %+v", o.Gone)
		}
		if o.Gone.Proof != guard.ProofAbsence || slices.ContainsFunc(o.Gone.Readings, func(r guard.Reading) bool { return !r.ByID }) {
			t.Errorf("the list is part of the proof: %+v", o.Gone)
		}
	})
	t.Run("and yet alive", func(t *testing.T) {
		b := newBench(t, nil)
		b.once(10 * time.Minute)
		b.register("i-1", nil)
		b.until(20 * time.Minute)
		b.cloud.Fault(fake.Fault{Call: fake.CallGet, From: 20 * time.Minute, For: time.Hour, Reply: fake.Reply{Status: 500}})
		before := b.box("i-1")
		odd := before.Resource
		odd.State, odd.Changed = guard.StateGone, b.now.Wall
		s, err := b.loop.snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r := newRound(b.loop, s, b.now, "acct-1")
		r.complete[scopeOf(odd.ID)] = true
		if err := r.look(context.Background(), func() { r.see(odd.ID.Key(), &odd, false) }); err != nil {
			t.Fatal(err)
		}
		ctx := guard.WithInstant(context.Background(), b.now)
		if err := r.read(ctx, r.doubts); err != nil {
			t.Fatal(err)
		}
		if err := r.finish(ctx); err != nil {
			t.Fatal(err)
		}
		if o := b.box("i-1"); len(o.Absent) != 1 || o.Gone != nil {
			t.Fatalf("got %+v, %+v", o.Absent, o.Gone)
		}
		b.until(22 * time.Minute)
		if o := b.box("i-1"); len(o.Absent) > 0 || o.Gone != nil || len(o.Pending) != len(before.Pending) {
			t.Errorf("one odd listing left something: %+v", o)
		}
	})
}

// BenchmarkPoll measures a poll in which nothing changed, and a bare listing of the
// same cloud; "times bare" is the ratio of the two.
func BenchmarkPoll(b *testing.B) {
	const instances = 1000
	s := fake.Script{Account: "lab", PageSize: 100}
	for i := range instances {
		disk := fmt.Sprintf("v-%04d", i)
		s.Resources = append(s.Resources, fake.Resource{ID: disk, Kind: guard.Volume, SizeGB: 100, Rate: &fake.Rate{Amount: "0.10", Per: "gb_month"}},
			fake.Resource{ID: fmt.Sprintf("i-%04d", i), Attached: []string{disk}, Rate: &fake.Rate{Amount: "3.20", Per: "hour"}})
	}
	cloud := fake.MustCloud(s)
	account := cloud.Account()
	account.Mode, account.Poll, account.Sweep = guard.Observe, time.Minute, time.Hour
	ledger, err := store.Open(context.Background(), memory.New(), cloud.At(0))
	if err != nil {
		b.Fatal(err)
	}
	l := New(Config{Ledger: ledger, Account: account})
	at := cloud.At(time.Minute)
	ctx := guard.WithInstant(context.Background(), at)
	poll := func() {
		if _, err := l.Once(ctx, at); err != nil {
			b.Fatal(err)
		}
	}
	list := func() {
		if _, err := account.Provider.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}}); err != nil {
			b.Fatal(err)
		}
	}
	poll()
	at = at.Add(2 * time.Minute)
	var polls, lists time.Duration
	for b.Loop() {
		start := time.Now()
		poll()
		middle := time.Now()
		list()
		polls, lists = polls+middle.Sub(start), lists+time.Since(middle)
		at = at.Add(time.Second)
	}
	b.ReportMetric(float64(polls)/float64(lists), "times-bare")
	b.ReportMetric(float64(polls-lists)/float64(b.N)/instances, "ns/instance-over-bare")
}

// What the meter has in its record is dropped with the next change, and only that.
func TestWhatIsMeteredIsNotPendingAgain(t *testing.T) {
	for _, metered := range []bool{true, false} {
		b := newBench(t, nil)
		b.once(time.Minute)
		first := b.box("i-1")
		if len(first.Pending) != 1 || first.Batch == 0 {
			t.Fatalf("pending %+v, number %d", first.Pending, first.Batch)
		}
		m := guard.Metered{Resource: first.Resource.ID}
		if metered {
			m.Batch = first.Batch
		}
		b.put(func(tx *store.Tx) error { return tx.Metered.Put(m) })
		b.until(10 * time.Minute)
		if o := b.box("i-1"); o.Batch != first.Batch {
			t.Errorf("nothing happened, and its number is %d", o.Batch)
		}
		if err := b.cloud.Do(fake.Event{ID: "i-1", State: "stopped"}); err != nil {
			t.Fatal(err)
		}
		b.until(12 * time.Minute)
		o := b.box("i-1")
		want := 2
		if metered {
			want = 1
		}
		if n := len(o.Pending); n != want || o.Pending[n-1].State != guard.StateStopped || len(o.Unmetered(m)) != want {
			t.Errorf("metered %t: pending %+v, number %d after %d", metered, o.Pending, o.Batch, m.Batch)
		}
	}
}
