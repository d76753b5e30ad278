package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/store"
)

func runLedger(t *testing.T, s Suite) {
	for name, test := range map[string]func(*testing.T, *store.Ledger){
		"Records":           testRecords,
		"Leases":            testLeases,
		"LeaseMoves":        testLeaseMoves,
		"Findings":          testFindings,
		"Releases":          testReleases,
		"Outbox":            testOutbox,
		"Values":            testValues,
		"Find":              testFind,
		"Journal":           testJournal,
		"JournalConcurrent": testJournalConcurrent,
		"UpdateEach":        testUpdateEach,
		"OneThing":          testOneThing,
		"Over":              testOver,
		"Snapshots":         testSnapshots,
		"Changed":           testChanged,
		"ReadAfterWrite":    testReadAfterWrite,
		"Own":               testOwn,
		"Prune":             testPrune,
	} {
		t.Run("Ledger/"+name, func(t *testing.T) { t.Parallel(); test(t, Ledger(t, s.open(t))) })
	}
	t.Run("Ledger/Deployment", func(t *testing.T) { t.Parallel(); testDeployment(t, s) })
	t.Run("Ledger/Undecodable", func(t *testing.T) { t.Parallel(); testUndecodable(t, s) })
	t.Run("Ledger/Past", func(t *testing.T) { t.Parallel(); testPast(t, s) })
	t.Run("Ledger/Check", func(t *testing.T) { t.Parallel(); testCheck(t, s) })
}

var ctx = context.Background()

func change(t testing.TB, l *store.Ledger, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := l.Update(ctx, fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func look(t testing.TB, l *store.Ledger, fn func(v *store.View) error) {
	t.Helper()
	if err := l.View(ctx, fn); err != nil {
		t.Fatalf("view: %v", err)
	}
}

func instance(account, id string) guard.ResourceID {
	return guard.ResourceID{Account: account, Kind: guard.Instance, Scope: "east", ID: id}
}

func lease(id, instanceID string, registered time.Duration, status guard.LeaseStatus) guard.Lease {
	return guard.Lease{ID: id, Resource: instance("lab", instanceID), Purpose: "training", Owner: "ana",
		RegisteredAt: At.Wall.Add(registered), Status: status, Budget: guard.MustMoney("2400.50 CNY"),
		OnLimit: guard.ActRelease, Grace: 30 * time.Minute, Tags: map[string]string{"team": "nlp"}}
}

func collect[T any](t testing.TB, table store.Table[T], prefix string, name func(T) string) []string {
	t.Helper()
	var got []string
	for r, err := range table.All(prefix) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name(r))
	}
	return got
}

func testRecords(t *testing.T, l *store.Ledger) {
	in := lease("l1", "i-1", 0, guard.LeaseActive)
	in.Price = guard.Rate{Amount: guard.MustMoney("2.50 USD"), Per: time.Hour, Unit: "machine", Source: "person"}
	in.Holds = []guard.Hold{{Until: At.Wall.Add(time.Hour), By: "bo", Since: At.Wall}}
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(in),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: instance("lab", "i-2"), State: guard.StateRunning}}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: instance("lab", "i-1"), State: guard.StateRunning}}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Volume, ID: "v-1"}}}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: instance("lab2", "i-1")}}),
			tx.Metered.Put(guard.Metered{Resource: instance("lab", "i-1"), Lease: "l1"}),
			tx.Plans.Put(guard.Plan{Lease: "l1", SolvedAt: At.Wall}),
			tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "east"}),
			tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance}), // a cloud without scopes
			tx.Accounts.Put(guard.AccountStatus{Name: "lab", Mode: guard.Enforce}))
	})
	id := func(o guard.Observed) string { return o.Resource.ID.String() }
	look(t, l, func(v *store.View) error {
		out, ok, err := v.Leases.Get("l1")
		if err != nil || !ok {
			t.Fatalf("get: %v, %v", ok, err)
		}
		want(t, out.Budget.Equal(in.Budget) && out.Price.Same(in.Price), true)
		out.Budget, out.Price, in.Budget, in.Price = guard.Money{}, guard.Rate{}, guard.Money{}, guard.Rate{}
		want(t, fmt.Sprint(out), fmt.Sprint(in))
		want(t, collect(t, v.Observed, "lab/", id), []string{"lab/i-1", "lab/i-2", "lab/v-1"})
		want(t, collect(t, v.Observed, "lab/instance/", id), []string{"lab/i-1", "lab/i-2"})
		want(t, len(collect(t, v.Observed, "", id)), 4)
		want(t, len(collect(t, v.Scopes, "lab/", store.ScopeKey)), 2)
		if _, ok, err := v.Accounts.Get("none"); ok || err != nil {
			t.Errorf("an account that is not there: %v, %v", ok, err)
		}
		for range v.Observed.All("") {
			break // a range that ends early
		}
		return nil
	})
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Plans.Delete("l1"), tx.Plans.Delete("none"), tx.Leases.Delete("none"))
	})
	for _, put := range []func(tx *store.Tx) error{
		func(tx *store.Tx) error { return tx.Leases.Put(guard.Lease{}) },
		func(tx *store.Tx) error { return tx.Observed.Put(guard.Observed{}) },
		func(tx *store.Tx) error { return tx.Metered.Put(guard.Metered{Resource: instance("lab", "")}) },
		func(tx *store.Tx) error { return tx.Findings.Put(guard.Finding{}) },
		func(tx *store.Tx) error { return tx.Queue(guard.Message{}) },
		func(tx *store.Tx) error { return tx.SetValue("", 1) },
		func(tx *store.Tx) error { return tx.SetValue("channel", make(chan int)) },
	} {
		wantError(t, l.Update(ctx, put), guard.ErrInvalid)
	}
}

func testLeases(t *testing.T, l *store.Ledger) {
	key := instance("lab", "i-1").Key()
	counts := func(wanted string) {
		t.Helper()
		look(t, l, func(v *store.View) error {
			got, ok, err := v.LeaseOf(key)
			if err != nil || ok != (wanted != "") || got.ID != wanted {
				t.Fatalf("the lease that counts: got %q, %v, %v, want %q", got.ID, ok, err, wanted)
			}
			return nil
		})
	}
	step := func(fn func(tx *store.Tx) error) { t.Helper(); change(t, l, fn) }
	put := func(lease guard.Lease) { t.Helper(); step(func(tx *store.Tx) error { return tx.Leases.Put(lease) }) }
	counts("")
	put(lease("old", "i-1", 0, guard.LeaseReleased))
	counts("old")
	put(lease("older", "i-1", -time.Hour, guard.LeaseGone))
	counts("old")
	put(lease("open", "i-1", -2*time.Hour, guard.LeaseActive)) // open beats newer
	counts("open")
	put(lease("twice", "i-1", time.Hour, guard.LeaseExpected)) // newer beats older
	counts("twice")
	put(lease("twice", "i-1", time.Hour, guard.LeaseGone)) // an older one is still open
	counts("open")
	put(lease("open", "i-1", -2*time.Hour, guard.LeaseReleased))
	counts("twice")
	step(func(tx *store.Tx) error { return tx.Leases.Delete("twice") })
	counts("old")
	step(func(tx *store.Tx) error {
		if err := tx.Leases.Put(lease("new", "i-1", 2*time.Hour, guard.LeaseActive)); err != nil {
			return err
		}
		got, ok, err := tx.LeaseOf(key) // an update sees its own
		if !ok || got.ID != "new" {
			t.Errorf("inside the update: got %q, %v, %v", got.ID, ok, err)
		}
		return err
	})
	counts("new")
	step(func(tx *store.Tx) error {
		var errs []error
		for _, id := range []string{"old", "older", "open", "new"} {
			errs = append(errs, tx.Leases.Delete(id))
		}
		return errors.Join(errs...)
	})
	counts("")
}

// testLeaseMoves is a lease that learns, or changes, what it is for.
func testLeaseMoves(t *testing.T, l *store.Ledger) {
	for _, id := range []string{"", "i-1", "i-2"} {
		change(t, l, func(tx *store.Tx) error { return tx.Leases.Put(lease("l1", id, 0, guard.LeaseExpected)) })
	}
	look(t, l, func(v *store.View) error {
		if _, ok, err := v.LeaseOf(instance("lab", "i-1").Key()); ok || err != nil {
			t.Errorf("the place it left still has it: %v", err)
		}
		got, ok, err := v.LeaseOf(instance("lab", "i-2").Key())
		want(t, ok && got.ID == "l1", true)
		return err
	})
}

func finding(id string, closed time.Time) guard.Finding {
	return guard.Finding{ID: id, Rule: guard.RuleExpired, Subject: "lab/i-1", Opened: At.Wall, Closed: closed}
}

func testFindings(t *testing.T, l *store.Ledger) {
	id := func(f guard.Finding) string { return f.ID }
	state := func(open, closed []string) {
		t.Helper()
		look(t, l, func(v *store.View) error {
			want(t, collect(t, v.Findings, "", id), open)
			want(t, collect(t, v.ClosedFindings, "", id), closed)
			return nil
		})
	}
	change(t, l, func(tx *store.Tx) error { return tx.Findings.Put(finding("f1", time.Time{})) })
	state([]string{"f1"}, nil)
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.Findings.Put(finding("f2", time.Time{})) }), guard.ErrConflict, "f1", "f2")
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.CloseFinding(finding("f1", time.Time{})) }), guard.ErrInvalid)
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.CloseFinding(finding("f2", At.Wall)) }), guard.ErrConflict)
	state([]string{"f1"}, nil)
	change(t, l, func(tx *store.Tx) error { return tx.CloseFinding(finding("f1", At.Wall)) })
	state(nil, []string{"f1"})
	change(t, l, func(tx *store.Tx) error { return tx.Findings.Put(finding("f2", time.Time{})) })
	state([]string{"f2"}, []string{"f1"})
}

func release(id string, state guard.ReleaseState) guard.Release {
	return guard.Release{ID: id, Lease: "l1", Target: instance("lab", "i-1"), Action: guard.ActRelease, State: state}
}

func testReleases(t *testing.T, l *store.Ledger) {
	id := func(r guard.Release) string { return r.ID + " " + string(r.State) }
	state := func(open, ended []string) {
		t.Helper()
		look(t, l, func(v *store.View) error {
			want(t, collect(t, v.Releases, "lab/", id), open)
			want(t, collect(t, v.EndedReleases, "", id), ended)
			return nil
		})
	}
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)), tx.Releases.Put(release("r1", guard.ReleasePlanned)))
	})
	change(t, l, func(tx *store.Tx) error { return tx.Releases.Put(release("r1", guard.ReleaseIntended)) })
	state([]string{"r1 intended"}, nil)
	// A release is never dropped: neither written over nor put away while it runs.
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.Releases.Put(release("r2", guard.ReleasePlanned)) }), guard.ErrConflict, "r1", "r2")
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.EndRelease(release("r1", guard.ReleaseIssued)) }), guard.ErrInvalid)
	wantError(t, l.Update(ctx, func(tx *store.Tx) error { return tx.EndRelease(release("r2", guard.ReleaseDone)) }), guard.ErrConflict)
	state([]string{"r1 intended"}, nil)
	change(t, l, func(tx *store.Tx) error { return tx.EndRelease(release("r1", guard.ReleaseDone)) })
	state(nil, []string{"r1 released"})
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Releases.Put(release("r2", guard.ReleasePlanned)), tx.EndRelease(release("r2", guard.ReleaseWithdrawn)))
	})
	state(nil, []string{"r1 released", "r2 withdrawn"})
}

func testOutbox(t *testing.T, l *store.Ledger) {
	id := func(m guard.Message) string { return m.ID + " " + m.Title }
	state := func(pending, sent []string) {
		t.Helper()
		look(t, l, func(v *store.View) error {
			want(t, collect(t, v.Outbox, "slack|", id), pending)
			want(t, collect(t, v.SentMessages, "", id), sent)
			return nil
		})
	}
	queue := func(title string) {
		t.Helper()
		change(t, l, func(tx *store.Tx) error { return tx.Queue(guard.Message{ID: "slack|f1|warn", Title: title}) })
	}
	queue("first")
	queue("again")
	state([]string{"slack|f1|warn first"}, nil)
	change(t, l, func(tx *store.Tx) error { return tx.Outbox.Put(guard.Message{ID: "slack|f1|warn", Title: "tried"}) })
	state([]string{"slack|f1|warn tried"}, nil)
	change(t, l, func(tx *store.Tx) error { return tx.Sent(guard.Message{ID: "slack|f1|warn", Title: "tried"}) })
	state(nil, []string{"slack|f1|warn tried"})
	queue("after it was sent")
	state(nil, []string{"slack|f1|warn tried"})
}

func testValues(t *testing.T, l *store.Ledger) {
	type clock struct{ Boot string }
	change(t, l, func(tx *store.Tx) error {
		var none clock
		if ok, err := tx.Value("clock", &none); ok || err != nil {
			t.Errorf("a value that is not there: %v, %v", ok, err)
		}
		return tx.SetValue("clock", clock{"b1"})
	})
	look(t, l, func(v *store.View) error {
		var got clock
		ok, err := v.Value("clock", &got)
		want(t, ok && got == clock{"b1"}, true)
		var number int
		_, bad := v.Value("clock", &number)
		wantError(t, bad, guard.ErrDamaged, `"clock"`)
		return err
	})
}

func testFind(t *testing.T, l *store.Ledger) {
	change(t, l, func(tx *store.Tx) error {
		var errs []error
		for _, id := range []guard.ResourceID{
			{Account: "lab", Kind: guard.Volume, ID: "x-1"}, {Account: "lab", Kind: guard.Instance, ID: "x-1"},
			{Account: "lab", Kind: guard.Snapshot, ID: "s/1"},
		} {
			errs = append(errs, tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}}))
		}
		return errors.Join(errs...)
	})
	look(t, l, func(v *store.View) error {
		for id, kind := range map[string]guard.Kind{"x-1": guard.Instance, "s/1": guard.Snapshot, "none": ""} {
			o, ok, err := v.Find("lab", id)
			if err != nil || ok != (kind != "") || o.Resource.ID.Kind != kind {
				t.Errorf("%s: got %v, %v, %v, want %s", id, o.Resource.ID, ok, err, kind)
			}
		}
		return nil
	})
}

func testJournal(t *testing.T, l *store.Ledger) {
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(
			tx.Journal(guard.JournalEntry{Subject: "lab/i-1", Lease: "l1", Text: "one"}),
			tx.Journal(guard.JournalEntry{Subject: "lab/i-10", Lease: "l1", Text: "two"}))
	})
	for _, e := range []guard.JournalEntry{
		{Subject: "lab/i-1", Text: "three", Seq: 99}, {Text: "four"},
		{Subject: "lab/i-1\x00fffffffffffffff0", Text: "five"}, // an ID made to look like an index line
	} {
		change(t, l, func(tx *store.Tx) error { return tx.Journal(e) })
	}
	boom := errors.New("boom")
	wantError(t, l.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.Journal(guard.JournalEntry{Text: "undone"}), boom)
	}), boom)
	look(t, l, func(v *store.View) error {
		line := func(entries []guard.JournalEntry, err error) string {
			if err != nil {
				t.Error(err)
			}
			var s []string
			for _, e := range entries {
				s = append(s, fmt.Sprint(e.Seq, e.Text))
			}
			return strings.Join(s, " ")
		}
		want(t, line(v.JournalSince(0, 0)), "1one 2two 3three 4four 5five")
		want(t, line(v.JournalSince(1, 2)), "2two 3three")
		want(t, line(v.JournalSince(5, 0)), "")
		want(t, line(v.JournalOf("lab/i-1", 0)), "3three 1one")
		want(t, line(v.JournalOf("lab/i-1", 1)), "3three")
		want(t, line(v.JournalOf("l1", 0)), "2two 1one")
		want(t, line(v.JournalOf("", 2)), "5five 4four")
		want(t, line(v.JournalOf("none", 0)), "")
		return nil
	})
}

func testJournalConcurrent(t *testing.T, l *store.Ledger) {
	const writers, each = 8, 12
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				err := l.Update(ctx, func(tx *store.Tx) error {
					err := tx.Journal(guard.JournalEntry{Subject: fmt.Sprintf("lab/i-%d", i), Text: fmt.Sprint(j)})
					if j%3 == 2 { // what fails takes no number
						return errOdd
					}
					return err
				})
				if (j%3 == 2) != errors.Is(err, errOdd) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	look(t, l, func(v *store.View) error {
		all, err := v.JournalSince(0, 0)
		want(t, len(all), writers*each*2/3)
		for i, e := range all {
			want(t, e.Seq, uint64(i+1))
		}
		return err
	})
}

func testUpdateEach(t *testing.T, l *store.Ledger) {
	const n = 150
	put := func(tx *store.Tx, i int) error {
		id := instance("lab", fmt.Sprintf("i-%03d", i))
		return errors.Join(tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}}),
			tx.Journal(guard.JournalEntry{Subject: id.String(), Text: "seen"}))
	}
	count := func() (observed, journal int) {
		look(t, l, func(v *store.View) error {
			observed = len(collect(t, v.Observed, "", func(o guard.Observed) string { return "" }))
			entries, err := v.JournalSince(0, 0)
			journal = len(entries)
			return err
		})
		return observed, journal
	}
	if err := l.UpdateEach(ctx, n, put); err != nil {
		t.Fatal(err)
	}
	observed, journal := count()
	want(t, [2]int{observed, journal}, [2]int{n, n})

	// The 41st fails: what came before it counts, and nothing of itself.
	err := l.UpdateEach(ctx, n, func(tx *store.Tx, i int) error {
		if err := put(tx, n+i); err != nil || i < 40 {
			return err
		}
		return errOdd
	})
	wantError(t, err, errOdd)
	observed, journal = count()
	want(t, [2]int{observed, journal}, [2]int{n + 40, n + 40})

	// One that fits in no update at all.
	err = l.UpdateEach(ctx, 1, func(tx *store.Tx, _ int) error {
		for i := range store.MaxWrites + 1 {
			if err := tx.SetValue(fmt.Sprint(i), i); err != nil {
				return err
			}
		}
		return nil
	})
	wantError(t, err, store.ErrTooManyWrites)
}

// testOneThing writes the same records in every item: they cost one key each.
func testOneThing(t *testing.T, l *store.Ledger) {
	err := l.UpdateEach(ctx, 300, func(tx *store.Tx, i int) error {
		var n int
		if _, err := tx.Value("n", &n); err != nil {
			return err
		}
		return tx.SetValue("n", n+1)
	})
	if err != nil {
		t.Fatal(err)
	}
	look(t, l, func(v *store.View) error {
		var n int
		_, err := v.Value("n", &n)
		want(t, n, 300)
		return err
	})
}

func testOver(t *testing.T, l *store.Ledger) {
	var tx *store.Tx
	var v *store.View
	change(t, l, func(x *store.Tx) error { tx = x; return nil })
	look(t, l, func(x *store.View) error { v = x; return nil })
	wantError(t, tx.Journal(guard.JournalEntry{}), guard.ErrInvalid, "over")
	wantError(t, tx.SetValue("n", 1), guard.ErrInvalid, "over")
	_, _, err := v.Leases.Get("l1")
	wantError(t, err, guard.ErrInvalid, "over")
	for _, err := range v.Leases.All("") {
		wantError(t, err, guard.ErrInvalid, "over")
	}
}

func testDeployment(t *testing.T, s Suite) {
	b := s.open(t)
	l := Ledger(t, b)
	if len(l.Deployment()) != 32 {
		t.Errorf("deployment %q, want 16 bytes in hexadecimal", l.Deployment())
	}
	again, err := store.Open(ctx, b, At.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want(t, again.Deployment(), l.Deployment())
	if other := Ledger(t, s.open(t)); other.Deployment() == l.Deployment() {
		t.Errorf("two ledgers have deployment %q", l.Deployment())
	}
	var backup bytes.Buffer
	if err := l.Backup(ctx, &backup); err != nil {
		t.Fatal(err)
	}
	restored, err := s.Restore(t, backup.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want(t, Ledger(t, restored).Deployment(), l.Deployment())
}
