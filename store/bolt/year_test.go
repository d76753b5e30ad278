package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// year writes what a year of a hundred boxes leaves: ten a day come and go, each
// with a volume, a lease, what was metered, found, done and said, and its history.
func year(t testing.TB, path string) {
	t.Helper()
	const boxes, aDay, days = 100, 10, 365
	l := storetest.Ledger(t, open(t, path, bolt.Options{}))
	err := l.UpdateEach(context.Background(), aDay*days+boxes, func(tx *store.Tx, i int) error {
		from := storetest.At.Wall.Add(time.Duration(i-aDay*days-boxes) * 24 * time.Hour / aDay)
		return life(tx, i, from, i >= aDay*days)
	})
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
}

// life writes all that there is of one box: ten days of it, or what there is so far.
func life(tx *store.Tx, i int, from time.Time, lives bool) error {
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	to := from.Add(10 * 24 * time.Hour)
	o := seen(i)
	box := o.Resource.ID
	box.ID = fmt.Sprintf("i-%017x", i)
	disk := box
	disk.Kind, disk.ID = guard.Volume, fmt.Sprintf("vol-%017x", i)
	l := guard.Lease{ID: fmt.Sprintf("l-%06d", i), Resource: box, Purpose: "fine-tune the small model on the new set", Owner: fmt.Sprint("person-", i%20), RegisteredAt: from,
		ExpiresAt: to, Budget: guard.MustMoney("900.00 USD"), OnLimit: guard.ActRelease, Grace: 15 * time.Minute, Status: guard.LeaseActive, UpdatedAt: from, UpdatedBy: "guard"}
	plan := guard.Plan{Lease: l.ID, Family: []string{disk.Key()}, SolvedAt: to, Deadlines: []guard.Deadline{
		{Reason: guard.DeadlineExpiry, Limit: to, Due: to, Stood: from}, {Reason: guard.DeadlineBudget, Limit: to, Due: to, Lead: 3 * time.Minute, Stood: from}}}
	gone := &guard.Gone{At: to, ProvenAt: to.Add(time.Minute), How: guard.ByRelease, Proof: guard.ProofTerminal, Readings: []guard.Reading{
		{At: to, Verdict: guard.VerdictFound, State: guard.StateGone, ByID: true}, {At: to.Add(time.Minute), Verdict: guard.VerdictFound, State: guard.StateGone, ByID: true}}}
	if lives {
		gone = nil
	} else {
		l.Status, l.EndedAt, l.EndedHow = guard.LeaseReleased, to, guard.ByRelease
	}
	do(errors.Join(tx.Leases.Put(l), tx.Plans.Put(plan)))
	for _, id := range []guard.ResourceID{box, disk} {
		o.Resource.ID, o.Gone = id, gone
		m := guard.Metered{Resource: id, Lease: l.ID}
		for day := range 3 { // priced anew, stopped, started
			m.Segments = append(m.Segments, guard.Segment{Resource: id, Lease: l.ID, State: guard.StateRunning, Rate: o.Resource.Rate,
				From: from.Add(time.Duration(day) * 72 * time.Hour), To: from.Add(time.Duration(day+1) * 72 * time.Hour), Granularity: time.Second, Minimum: time.Minute})
		}
		do(errors.Join(tx.Observed.Put(o), tx.Metered.Put(m)))
	}
	if !lives {
		r := guard.Release{ID: fmt.Sprintf("%s|expiry|%d", box.Key(), to.Unix()), Lease: l.ID, Target: box, Action: guard.ActRelease, Cause: guard.CauseExpiry, By: "guard", Why: "its time was up",
			State: guard.ReleaseDone, Due: to, PlannedAt: from, NoticedAt: from, IntendedAt: to, IssuedAt: to, EndedAt: to.Add(time.Minute),
			Receipt: &guard.Receipt{Proof: guard.ProofTerminal, Readings: gone.Readings, GoneAt: to, ProvenAt: to, Took: time.Minute}}
		do(tx.EndRelease(r))
	}
	for n, rule := range []guard.Rule{guard.RuleUnregistered, guard.RuleBudgetWarning, guard.RuleExpired} {
		f := guard.Finding{Rule: rule, Subject: box.String(), Resource: box, Lease: l.ID, Since: from, Opened: from, Closed: to, Title: box.String() + " is not registered",
			Facts: []guard.Fact{{Name: "state", Value: "running", Source: "provider", At: from}, {Name: "price", Value: "32.77 USD/h", Source: "provider", At: from}}}
		f.ID = fmt.Sprintf("%s|%d", f.Key(), from.Unix())
		do(tx.CloseFinding(f))
		for _, stage := range []string{"found", "over"} {
			do(tx.Sent(guard.Message{ID: "slack|" + f.ID + "|" + stage, Channel: "slack", Thread: box.Key(), About: []guard.ResourceID{box}, Rule: rule, Finding: f.ID,
				Title: f.Title, Lines: []string{"It bills 32.77 USD an hour since yesterday.", "Register it: guard register " + box.String()}, CreatedAt: from, Acked: from, Receipt: "C024BE91L|1772784000.000100"}))
		}
		for range 5 {
			e := entry(i)
			e.At, e.Subject, e.Lease = from.Add(time.Duration(n)*time.Hour), box.String(), l.ID
			do(tx.Journal(e))
		}
	}
	do(tx.SetValue(store.ThreadName("slack", box.Key()), "1772784000.000100"))
	return errors.Join(errs...)
}

// BenchmarkYear is BenchmarkStart on the ledger of a year of a hundred boxes.
func BenchmarkYear(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	year(b, path)
	start(b, path)
}
