package decide_test

import (
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/daemon/decide"
	"guard/policy"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
)

// large is a ledger with so many leased instances, each with a cap and two disks,
// and a loop that has judged them once.
func large(t testing.TB, instances int) (twin, guard.Instant) {
	t.Helper()
	at := guard.Instant{Wall: zero, Elapsed: time.Hour}
	ledger, err := store.Open(t.Context(), memory.New(), at)
	if err != nil {
		t.Fatal(err)
	}
	rate, err := guard.ParseRate("2.40CNY/h")
	if err != nil {
		t.Fatal(err)
	}
	resource := func(tx *store.Tx, r, parent guard.ResourceID) error {
		return put(tx.Observed.Put(guard.Observed{Identity: "acct", FirstSeen: zero, Seen: zero, Instance: parent,
			Resource: guard.Resource{ID: r, State: guard.StateRunning, Created: zero, GPUs: 1, HasGPU: guard.Yes, Rate: rate, Bills: guard.Yes}}),
			tx.Metered.Put(guard.Metered{Resource: r, Segments: []guard.Segment{{Resource: r, State: guard.StateRunning, Rate: rate, From: zero, Granularity: time.Second}}}))
	}
	if err := ledger.UpdateEach(t.Context(), instances, func(tx *store.Tx, i int) error {
		name := fmt.Sprintf("%06d", i)
		r := id("i-" + name)
		return put(resource(tx, r, guard.ResourceID{}), resource(tx, id("v-"+name), r), resource(tx, id("v-"+name+"b"), r),
			tx.Leases.Put(guard.Lease{ID: name, Resource: r, Identity: "acct", Purpose: "lora 70b", Owner: "ana", RegisteredAt: zero, ExpiresAt: zero.Add(300 * time.Hour),
				Budget: guard.MustMoney("2400CNY"), OnLimit: guard.ActRelease, Grace: 10 * time.Minute, Status: guard.LeaseActive, UpdatedAt: zero, UpdatedBy: "ana"}),
			tx.Plans.Put(guard.Plan{Lease: name, SolvedAt: zero, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: zero.Add(333 * time.Hour), Due: zero.Add(333 * time.Hour), Stood: zero}}}))
	}); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Update(t.Context(), func(tx *store.Tx) error {
		return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Mode: guard.Enforce, Identity: guard.Identity{ID: "acct"}, Polled: zero})
	}); err != nil {
		t.Fatal(err)
	}
	tw := twin{ledger, decide.New(decide.Config{Ledger: ledger, Rules: policy.DefaultRules(), Audience: []guard.Audience{{Channel: "log"}},
		Accounts: []*providers.Account{{Name: "lab", Kind: "still", Provider: still{}, Mode: guard.Enforce, MayRelease: providers.MayRelease{GPU: true}}}})}
	tw.once(t, at)
	return tw, at
}

func (tw twin) once(t testing.TB, at guard.Instant) {
	t.Helper()
	if _, err := tw.loop.Once(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

// polled is what a poll that finds nothing new writes.
func (tw twin) polled(t testing.TB, at guard.Instant) {
	t.Helper()
	if err := tw.ledger.Update(t.Context(), func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get("lab")
		a.Polled = at.Wall
		return put(err, tx.Accounts.Put(a), tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Complete: at.Wall}))
	}); err != nil {
		t.Fatal(err)
	}
}

// TestQuiet: where nothing has changed nothing is read, and nothing is judged but what
// has its turn, a part of all in each minute; a poll that finds nothing new makes no more
// than its account stale.
func TestQuiet(t *testing.T) {
	tw, begun := large(t, 2000) // and 4000 disks
	at := begun
	judged, read := tw.loop.Work()
	if judged != 6002 { // and the account, and guard itself
		t.Fatalf("judged %d at first", judged)
	}
	const turns = 6002 / 60 * 3 / 2 // in a minute, at the most
	for before := judged; at.Before(begun.Add(10 * time.Minute)); {
		at = at.Add(20 * time.Second)
		tw.once(t, at)
		j, r := tw.loop.Work()
		if j-before > turns || r != read {
			t.Errorf("%d subjects judged, %d records read in an idle run", j-before, r-read)
		}
		before = j
	}
	before, _ := tw.loop.Work()
	for range 10 {
		at = at.Add(time.Second)
		tw.polled(t, at)
		tw.once(t, at)
	}
	if j, r := tw.loop.Work(); j-before > 10 || r-read > 10 {
		t.Errorf("ten quiet polls: %d subjects judged, %d records read", j-before, r-read)
	}
	for at.Before(begun.Add(time.Hour)) {
		at = at.Add(20 * time.Second)
		tw.once(t, at)
	}
	if j, _ := tw.loop.Work(); j-judged < 6002 || j-judged > 6002+100 {
		t.Errorf("%d judged in an hour, each has one turn", j-judged)
	}
	before, _ = tw.loop.Work()
	at = at.Add(5 * time.Hour)
	tw.once(t, at)
	if j, r := tw.loop.Work(); j-before != 6002 || r != read { // the count of what was read begins anew
		t.Errorf("%d judged and %d read after six hours", j-before, r)
	}
}

// threads says that a channel has posted about each instance, and takes the messages that
// bring their cards up to date, as the drain does: how many there were of each.
func (tw twin) threads(t testing.TB, instances int) (edits func() map[string]int) {
	t.Helper()
	if err := tw.ledger.UpdateEach(t.Context(), instances, func(tx *store.Tx, i int) error {
		return begin(tx, "log", id(fmt.Sprintf("i-%06d", i)).Key(), nil)
	}); err != nil {
		t.Fatal(err)
	}
	return func() map[string]int {
		t.Helper()
		var ids []string
		out := map[string]int{}
		if err := tw.ledger.View(t.Context(), func(v *store.View) (err error) {
			ids, err = v.Outbox.Keys("log|card|")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := tw.ledger.UpdateEach(t.Context(), len(ids), func(tx *store.Tx, i int) error {
			m, _, err := tx.Outbox.Get(ids[i])
			return put(err, edited(tx, m))
		}); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			out[id]++
		}
		return out
	}
}

// TestCardsOfMany: a card in a thread ticks once an hour, spread over it; it costs a message
// that is gone once it is delivered, no line of the journal, and no more work between.
func TestCardsOfMany(t *testing.T) {
	const instances = 240
	tw, at := large(t, instances)
	edits := tw.threads(t, instances)
	kept := func() (entries, messages int) {
		if err := tw.ledger.View(t.Context(), func(v *store.View) error {
			j, err := v.JournalSince(0, 0)
			keys, err2 := v.Outbox.Keys("")
			entries, messages = len(j), len(keys)
			return put(err, err2)
		}); err != nil {
			t.Fatal(err)
		}
		return entries, messages
	}
	run := func(d time.Duration) (all map[string]int, most int) {
		all = map[string]int{}
		for end := at.Add(d); at.Before(end); {
			at = at.Add(20 * time.Second)
			tw.once(t, at)
			got := edits()
			for id, n := range got {
				all[id] += n
			}
			most = max(most, len(got))
		}
		return all, most
	}
	run(2 * time.Hour) // each is found, and has its turn
	entries, messages := kept()
	judged, read := tw.loop.Work()
	all, most := run(3 * time.Hour)
	for id, n := range all {
		if n != 3 {
			t.Errorf("%s: %d times in three hours", id, n)
		}
	}
	if len(all) != instances || most > instances/10 {
		t.Errorf("%d cards, %d at once", len(all), most)
	}
	if e, m := kept(); e != entries || m != messages {
		t.Errorf("%d entries and %d messages more", e-entries, m-messages)
	}
	if j, r := tw.loop.Work(); j-judged > 3*(3*instances+2)+3*100 || r != read {
		t.Errorf("%d judged, %d read", j-judged, r-read)
	}
}

// BenchmarkOnce is a run after a poll that found nothing new, and as ratios to it
// one after a change and a full pass.
func BenchmarkOnce(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tw, at := large(b, n)
			var quiet, one, full time.Duration
			timed := func(sum *time.Duration) {
				at = at.Add(time.Second)
				start := time.Now()
				tw.once(b, at)
				*sum += time.Since(start)
			}
			for b.Loop() {
				tw.polled(b, at)
				timed(&quiet)
				if err := tw.ledger.Update(b.Context(), func(tx *store.Tx) error {
					l, _, err := tx.Leases.Get("000007")
					l.UpdatedAt = at.Wall
					return put(err, tx.Leases.Put(l))
				}); err != nil {
					b.Fatal(err)
				}
				timed(&one)
				tw.loop.Forget()
				timed(&full)
			}
			b.ReportMetric(float64(quiet.Nanoseconds())/float64(b.N), "quiet-ns")
			b.ReportMetric(float64(one)/float64(quiet), "one/quiet")
			b.ReportMetric(float64(full)/float64(quiet), "full/quiet")
			b.ReportMetric(float64(full.Nanoseconds())/float64(b.N)/float64(3*n), "full-ns/subject")
		})
	}
}
