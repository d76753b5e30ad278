package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/store"
)

// testPrune is what is left of boxes that ended long ago: how long the last hundred
// releases took, and no more; and of one that lives, all.
func testPrune(t *testing.T, l *store.Ledger) {
	const boxes, keep = 150, 24 * time.Hour
	life := func(tx *store.Tx, i int) error {
		id := instance("lab", fmt.Sprintf("i-%03d", i))
		over := At.Wall.Add(time.Duration(i) * time.Second)
		lease := guard.Lease{ID: fmt.Sprintf("l-%03d", i), Resource: id, Status: guard.LeaseReleased, EndedAt: over}
		f := guard.Finding{Rule: guard.RuleExpired, Resource: id, Lease: lease.ID, Closed: over}
		f.ID = f.Key()
		r := guard.Release{ID: id.Key() + "|expiry", Lease: lease.ID, Target: id, Action: guard.ActRelease, State: guard.ReleaseDone, EndedAt: over, Receipt: &guard.Receipt{}}
		m := guard.Message{ID: "slack|" + f.ID + "|found", Finding: f.ID, Acked: over}
		return errors.Join(tx.Leases.Put(lease), tx.Plans.Put(guard.Plan{Lease: lease.ID, Family: []string{id.Key()}}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}, Gone: &guard.Gone{At: over, ProvenAt: over}}),
			tx.Metered.Put(guard.Metered{Resource: id, Lease: lease.ID, Segments: []guard.Segment{{Resource: id, Lease: lease.ID}}}),
			tx.SetValue(store.ThreadName("slack", id.Key()), "1"), tx.CloseFinding(f), tx.EndRelease(r), tx.Queue(m), tx.Sent(m),
			tx.Journal(guard.JournalEntry{At: over, Subject: id.String(), Lease: lease.ID, Text: "released"}))
	}
	if err := l.UpdateEach(ctx, boxes, life); err != nil {
		t.Fatal(err)
	}
	live := instance("lab", "i-live")
	change(t, l, func(tx *store.Tx) error {
		return errors.Join(tx.Leases.Put(guard.Lease{ID: "l-live", Resource: live, Status: guard.LeaseActive}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: live}}),
			tx.Journal(guard.JournalEntry{At: At.Wall.Add(2 * keep), Subject: live.String(), Text: "seen"}))
	})
	_, err := l.Prune(ctx, store.PruneOptions{At: At})
	wantError(t, err, guard.ErrInvalid)
	prune := func(after time.Duration, wanted store.Pruned) {
		t.Helper()
		got, err := l.Prune(ctx, store.PruneOptions{At: At.Add(after), Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		want(t, got, wanted)
		if err := l.Check(ctx); err != nil {
			t.Error(err)
		}
	}
	prune(keep, store.Pruned{})
	prune(2*keep, store.Pruned{Leases: boxes, Resources: boxes, Findings: boxes, Releases: boxes - 100, Messages: boxes, Entries: boxes})
	prune(2*keep, store.Pruned{})
	look(t, l, func(v *store.View) error {
		want(t, collect(t, v.Leases, "", func(l guard.Lease) string { return l.ID }), []string{"l-live"})
		want(t, collect(t, v.Observed, "", func(o guard.Observed) string { return o.Resource.ID.ID }), []string{"i-live"})
		took := collect(t, v.EndedReleases, "", func(r guard.Release) string { return r.Lease })
		want(t, fmt.Sprintf("%d %s", len(took), took[0]), "100 l-050")
		for name, of := range map[string]string{"all": "", "live": live.String(), "gone": "lab/i-001"} {
			entries, err := v.JournalOf(of, 0)
			if err != nil || len(entries) != map[string]int{"all": 1, "live": 1}[name] {
				t.Errorf("journal of %s: %v, %v", name, entries, err)
			}
		}
		return nil
	})
	change(t, l, func(tx *store.Tx) error { return tx.Journal(guard.JournalEntry{Text: "goes on"}) })
	look(t, l, func(v *store.View) error {
		entries, err := v.JournalSince(0, 0)
		want(t, len(entries) == 2 && entries[1].Seq == boxes+2, true)
		return err
	})
}
