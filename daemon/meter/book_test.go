package meter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// twins are two meters over the same story: one remembers, the other begins anew
// with every run.
type twins struct {
	*rapid.T
	remembers, anew *bench
	now             guard.Instant
}

func newTwins(t *testing.T, rt *rapid.T) *twins {
	start := fake.DefaultStart
	w := &twins{T: rt, now: guard.Instant{Wall: start, Elapsed: time.Hour}}
	w.remembers, w.anew = newBench(t), newBench(t)
	return w
}

func (w *twins) put(fn func(tx *store.Tx) error) {
	for _, b := range []*bench{w.remembers, w.anew} {
		if err := b.ledger.Update(context.Background(), fn); err != nil {
			w.Fatal(err)
		}
	}
}

// run lets both meter, and compares what they wrote and when they come again.
func (w *twins) run() {
	b := w.anew
	rules := policy.Rules{Ceilings: policy.Ceilings{TTL: 90 * time.Hour, Budget: []guard.Money{guard.MustMoney("500 CNY")}}}
	b.loop = New(Config{Ledger: b.ledger, Account: b.loop.account, Rules: rules, Sweep: b.loop.sweep})
	w.remembers.loop.rules, w.remembers.sweeps, w.anew.sweeps = rules, 0, 0
	var next [2]guard.Instant
	for i, b := range []*bench{w.remembers, w.anew} {
		var err error
		if next[i], err = b.loop.Once(guard.WithInstant(context.Background(), w.now), w.now); err != nil {
			w.Fatal(err)
		}
	}
	if next[0] != next[1] || (w.remembers.sweeps > 0) != (w.anew.sweeps > 0) {
		w.Fatalf("at %v it comes again at %v and asked for %d sweeps, begun anew %v and %d", w.now, next[0], w.remembers.sweeps, next[1], w.anew.sweeps)
	}
	got, want := w.written(w.remembers), w.written(w.anew)
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			w.Fatalf("at %v it wrote\n%v\nand begun anew\n%s", w.now, got[min(i, len(got)):min(i+1, len(got))], want[i])
		}
	}
	if len(got) != len(want) {
		w.Fatalf("at %v it wrote more: %s", w.now, got[len(want)])
	}
}

// written is all that a meter writes.
func (w *twins) written(b *bench) (lines []string) {
	err := b.ledger.View(context.Background(), func(v *store.View) error {
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			lines = append(lines, w.text(m))
		}
		for p, err := range v.Plans.All("") {
			if err != nil {
				return err
			}
			lines = append(lines, w.text(p))
		}
		for o, err := range v.Observed.All("") {
			if err != nil {
				return err
			}
			m, _, err := v.Metered.Get(o.Resource.ID.Key())
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%s pending %d", o.Resource.ID, len(o.Unmetered(m))))
		}
		es, err := v.JournalSince(0, 0)
		for _, e := range es {
			lines = append(lines, w.text(e))
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return lines
}

func (w *twins) text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}

func (w *twins) draw(label string, n int) int { return rapid.IntRange(0, n-1).Draw(w.T, label) }

func (w *twins) resource() guard.ResourceID {
	n := w.draw("resource", 6)
	if n < 3 {
		return w.anew.cloud.ID(guard.Instance, fmt.Sprintf("i-%d", n))
	}
	return w.anew.cloud.ID(guard.Volume, fmt.Sprintf("v-%d", n))
}

func (w *twins) rate() guard.Rate {
	rates := []guard.Rate{{}, cny("1", hour), cny("1.10", hour), cny("10", hour), cny("25", hour), cny("250", hour),
		{Amount: guard.MustMoney("2 USD"), Per: hour}}
	return rates[w.draw("rate", len(rates))]
}

// observe writes what the observer would: something new, another state or price,
// an end, another thing under the ID, or nothing but that it was seen.
func (w *twins) observe() {
	id, rate, what := w.resource(), w.rate(), w.draw("what", 8)
	lag := time.Duration(w.draw("lag", 3)-1) * 30 * time.Second
	lump, renews := w.draw("paid ahead", 8), []guard.Tri{guard.Yes, guard.No, guard.Unknown}[w.draw("renews", 3)]
	instance := w.anew.cloud.ID(guard.Instance, fmt.Sprintf("i-%d", w.draw("on", 3)))
	now := w.now.Wall
	numbered := w.draw("numbered", 4) > 0
	w.put(func(tx *store.Tx) error {
		o, ok, err := tx.Observed.Get(id.Key())
		if err != nil {
			return err
		}
		change := guard.Change{At: now.Add(lag), State: guard.StateRunning, Bills: guard.Yes, Rate: rate}
		switch {
		case !ok || what == 0:
			o = guard.Observed{Identity: "acct-1", FirstSeen: now}
			o.Resource.Created = now
		case what == 1:
			change = guard.Change{At: now, State: guard.StateGone, Bills: guard.No}
			o.Gone = &guard.Gone{At: now.Add(-time.Minute), How: guard.ByOutside}
		case what == 2:
			change.State, change.Saves = guard.StateStopped, guard.StopSavesCompute
		case what == 3:
			o.Absent = []guard.Reading{{At: now}}
		case what == 4:
			o.Absent, o.NotSame, o.Gone = nil, time.Time{}, nil
		}
		o.Resource.ID, o.Resource.State, o.Resource.Rate, o.Seen = id, change.State, rate, now
		switch from := now.Truncate(5 * hour); lump {
		case 0:
			o.Resource.Lump = guard.Lump{}
		case 1:
			o.Resource.Lump = guard.Lump{From: from, Until: from.Add(5 * hour), Renews: renews}
		case 2, 3:
			o.Resource.Lump = guard.Lump{Amount: guard.MustMoney([]string{"30 CNY", "40 CNY"}[lump-2]), From: from, Until: from.Add(5 * hour), Renews: renews}
		}
		m, _, err := tx.Metered.Get(id.Key())
		if err != nil {
			return err
		}
		o.Pending = slices.Clone(o.Unmetered(m))
		if what != 3 && what != 4 {
			o.Pending = append(o.Pending, change)
		}
		if o.Batch = 0; numbered {
			o.Number(m)
		}
		if id.Kind != guard.Instance {
			o.Instance = instance
		}
		return tx.Observed.Put(o)
	})
}

// word writes what a person, or a release, does to a lease.
func (w *twins) word() {
	n, what := w.draw("lease", 4), w.draw("word", 6)
	budget := guard.MustMoney([]string{"5 CNY", "100 CNY", "2000 CNY", "30 USD"}[w.draw("budget", 4)])
	ttl := time.Duration(w.draw("hours", 30)) * time.Hour
	rate, now := w.rate(), w.now.Wall
	w.put(func(tx *store.Tx) error {
		id := fmt.Sprintf("L-%d", n)
		l, ok, err := tx.Leases.Get(id)
		if err != nil {
			return err
		}
		if !ok {
			l = guard.Lease{ID: id, Resource: w.anew.cloud.ID(guard.Instance, fmt.Sprintf("i-%d", n%3)), RegisteredAt: now, Status: guard.LeaseActive, Identity: "acct-1"}
		}
		l.UpdatedAt, l.UpdatedBy = now, "ana"
		switch what {
		case 0:
			l.Budget = budget
		case 1:
			l.ExpiresAt = now.Add(ttl)
		case 2:
			l.Price = rate
		case 3:
			l.Status, l.EndedAt, l.UpdatedBy = guard.LeaseGone, now, "guard"
		case 4:
			l.Status, l.EndedAt, l.UpdatedBy = guard.LeaseActive, time.Time{}, "guard"
		case 5:
			l.Budget = guard.Money{}
		}
		return tx.Leases.Put(l)
	})
}

// released ends a release that took a while.
func (w *twins) released() {
	took := time.Duration(w.draw("minutes", 30)) * time.Minute
	id, now := w.resource(), w.now.Wall
	r := guard.Release{ID: fmt.Sprintf("%s|expiry|%d", id.Key(), now.UnixNano()), Target: id, Action: guard.ActRelease, State: guard.ReleaseIssued}
	w.put(func(tx *store.Tx) error { return tx.Releases.Put(r) })
	if w.draw("seen open", 2) == 0 {
		w.run()
	}
	r.State, r.EndedAt, r.Receipt = guard.ReleaseDone, now, &guard.Receipt{Took: took}
	w.put(func(tx *store.Tx) error { return tx.EndRelease(r) })
}

func (w *twins) poll() {
	for _, b := range []*bench{w.remembers, w.anew} {
		b.put(func(tx *store.Tx) error {
			for _, kind := range []guard.Kind{guard.Instance, guard.Volume} {
				st := guard.ScopeStatus{Account: "lab", Scope: b.cloud.ID(kind, "x").Scope, Kind: kind, Complete: w.now.Wall}
				if err := tx.Scopes.Put(st); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// A meter that remembers writes what one that begins anew with every run does,
// at the same moments.
func TestWhatIsRememberedChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newTwins(t, rt)
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			switch w.draw("step", 10) {
			case 0, 1, 2:
				w.observe()
			case 3, 4:
				w.word()
			case 5:
				w.released()
			case 6, 7:
				w.poll()
			case 8:
				w.now.Wall = w.now.Wall.Add(time.Duration(w.draw("clock", 5)-2) * 40 * time.Minute)
			}
			waits := []time.Duration{time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 9 * time.Minute, 70 * time.Minute, 5 * hour}
			w.now = w.now.Add(waits[w.draw("wait", len(waits))])
			if w.draw("run", 3) > 0 {
				w.run()
			}
		}
		w.run()
	})
}

// fleet is a ledger with n leased instances, and so many children of each.
func fleet(t testing.TB, instances, children int) *bench {
	b := &bench{t: t, cloud: fake.MustCloud(fake.Lab()), backend: memory.New()}
	b.account = b.cloud.Account()
	b.restart()
	add := func(id guard.ResourceID, rate guard.Rate, on guard.ResourceID) func(*store.Tx) error {
		o := guard.Observed{Identity: "acct-1", FirstSeen: b.wall(0), Seen: b.wall(0), Instance: on}
		o.Resource = guard.Resource{ID: id, State: guard.StateRunning, Rate: rate, Created: b.wall(0)}
		o.Pending = []guard.Change{{At: b.wall(0), State: guard.StateRunning, Rate: rate}}
		return func(tx *store.Tx) error { return tx.Observed.Put(o) }
	}
	var puts []func(*store.Tx) error
	for i := range instances {
		id := b.cloud.ID(guard.Instance, fmt.Sprintf("i-%05d", i))
		puts = append(puts, add(id, cny("10", hour), guard.ResourceID{}))
		for k := range children {
			puts = append(puts, add(b.cloud.ID(guard.Volume, fmt.Sprintf("v-%05d-%d", i, k)), cny("0.1", hour).PerGB(int64(100+i)), id))
		}
		l := guard.Lease{ID: fmt.Sprintf("L-%05d", i), Resource: id, RegisteredAt: b.wall(0), Status: guard.LeaseActive, Identity: "acct-1",
			UpdatedAt: b.wall(0), UpdatedBy: "ana", Budget: guard.MustMoney("100000 CNY"), ExpiresAt: b.wall(1000 * hour)}
		puts = append(puts, func(tx *store.Tx) error { return tx.Leases.Put(l) })
	}
	if err := b.ledger.UpdateEach(context.Background(), len(puts), func(tx *store.Tx, i int) error { return puts[i](tx) }); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAQuietRunFoldsAndSolvesNothing(t *testing.T) {
	b := fleet(t, 5000, 1)
	b.once(time.Minute)
	if b.loop.last.folded < 10000 || b.loop.last.solved < 5000 {
		t.Fatalf("the first run: %+v", b.loop.last)
	}
	b.once(2 * time.Minute) // what the meter itself wrote
	for i := range 20 {
		d := time.Duration(3+i) * time.Minute
		b.poll(d)
		if b.once(d); b.loop.last != (work{}) {
			t.Fatalf("at %v: %+v", d, b.loop.last)
		}
	}
	// One changes: it, its disk and its lease are looked at, and no other. The memory
	// backend runs each update twice.
	b.see(guard.Instance, "i-00007", 30*time.Minute, cny("11", hour), nil)
	b.once(30 * time.Minute)
	if w := b.loop.last; w.folded == 0 || w.folded > 3 || w.solved == 0 || w.solved > 3 {
		t.Errorf("one change: %+v", w)
	}
	var open int
	b.view(func(v *store.View) error {
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			open += len(m.Segments)
		}
		return nil
	})
	if open != 10001 {
		t.Errorf("%d segments", open)
	}
}

// BenchmarkMeter measures a run in which nothing changed over 10,000 instances with
// eight disks each, and tells how many times of it are the first run, which counts
// all, and one that looks at everything and finds it as it was.
func BenchmarkMeter(b *testing.B) {
	f := fleet(b, 10_000, 8)
	first := took(func() { f.once(time.Minute) })
	f.once(2 * time.Minute)
	f.loop.book = nil
	whole := took(func() { f.once(3 * time.Minute) })
	for b.Loop() {
		f.once(4 * time.Minute)
	}
	quiet := float64(b.Elapsed()) / float64(b.N)
	b.ReportMetric(float64(first)/quiet, "times-quiet-first")
	b.ReportMetric(float64(whole)/quiet, "times-quiet-whole")
	b.ReportMetric(float64(first)/1e6, "ms-first")
	b.ReportMetric(float64(whole)/1e6, "ms-whole")
}

func took(work func()) time.Duration {
	start := time.Now()
	work()
	return time.Since(start)
}
