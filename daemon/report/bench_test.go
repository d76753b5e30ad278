package report_test

import (
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/daemon/report"
	"guard/store"
	"guard/store/memory"
)

// fleet is a ledger of so many things, each with a lease, a finding and a month of prices
// that change each day.
func fleet(b *testing.B, n int) (*store.Ledger, guard.Instant) {
	b.Helper()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := guard.Instant{Wall: start.Add(31 * 24 * time.Hour), Elapsed: time.Hour}
	l, err := store.Open(b.Context(), memory.New(), at)
	if err != nil {
		b.Fatal(err)
	}
	err = l.UpdateEach(b.Context(), n, func(tx *store.Tx, i int) error {
		r := id(fmt.Sprintf("i-%05d", i))
		m := guard.Metered{Resource: r}
		for day := range 30 {
			from := start.Add(time.Duration(day) * 24 * time.Hour)
			m.Segments = append(m.Segments, guard.Segment{Resource: r, Lease: r.ID, State: guard.StateRunning, From: from, To: from.Add(24 * time.Hour),
				Rate: guard.Rate{Amount: guard.MustMoney(fmt.Sprintf("2.%02d USD", day)), Per: time.Hour}})
		}
		m.Segments[29].To = time.Time{}
		for _, err := range []error{tx.Metered.Put(m),
			tx.Leases.Put(guard.Lease{ID: r.ID, Resource: r, Purpose: fmt.Sprint("p", i%50), Owner: "ana", Tags: map[string]string{"team": fmt.Sprint("t", i%9)}, Status: guard.LeaseActive}),
			tx.Findings.Put(guard.Finding{ID: r.ID, Rule: guard.RuleIdleEmpty, Subject: r.String(), Resource: r, Lease: r.ID, Opened: start, Wastes: guard.MustMoney("2 USD")})} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return l, at
}

// BenchmarkDigest is a digest of 10,000 things, read and put into words.
func BenchmarkDigest(b *testing.B) {
	l, at := fleet(b, 10_000)
	d := report.NewDigest(report.Config{Ledger: l, Loops: func() []report.Run { return nil }}, nil, nil)
	for b.Loop() {
		out, err := d.Gather(b.Context(), at, false)
		if err != nil || len(out.Message(guard.Chinese).Lines) == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkEscalate is a minute's look at 10,000 findings of which none escalates.
func BenchmarkEscalate(b *testing.B) {
	l, at := fleet(b, 10_000)
	e := report.NewEscalate(report.Config{Ledger: l}, circles)
	for b.Loop() {
		if _, err := e.Once(b.Context(), at); err != nil {
			b.Fatal(err)
		}
	}
}
