package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// counting is a backend that counts updates.
type counting struct {
	store.Backend
	n int
}

func (c *counting) Update(ctx context.Context, fn func(store.Writer) error) error {
	c.n++
	return c.Backend.Update(ctx, fn)
}

// quick is a channel that takes everything at once.
type quick struct{ n int }

func (*quick) Name() string { return "quick" }

func (q *quick) Post(context.Context, guard.Message, string) (guard.Posted, error) {
	q.n++
	return guard.Posted{Receipt: "read"}, nil
}

func (*quick) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, nil
}

// drain posts a backlog of n messages, and tells how long a message took and how
// many updates all took.
func drain(t testing.TB, n int) (each time.Duration, updates int) {
	t.Helper()
	b := &counting{Backend: memory.New()}
	l, err := store.Open(t.Context(), b, guard.Instant{Wall: notifytest.Start})
	if err != nil {
		t.Fatal(err)
	}
	err = l.UpdateEach(t.Context(), n, func(tx *store.Tx, i int) error {
		m := notifytest.Message("quick", fmt.Sprintf("%05d", i))
		m.Release, m.Thread = m.ID, ""
		return tx.Queue(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	q := &quick{}
	loop := notify.New(notify.Config{Ledger: l}, q)
	b.n = 0
	at := guard.Instant{Wall: notifytest.Start.Add(time.Minute), Elapsed: time.Hour}
	start := time.Now()
	for next := at; !at.Before(next); {
		if next, err = loop.Once(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if q.n != n {
		t.Fatalf("%d of %d were posted", q.n, n)
	}
	return time.Since(start) / time.Duration(n), b.n
}

// TestReceiptWithIntent: a receipt is written with the intent of the next post.
func TestReceiptWithIntent(t *testing.T) {
	if _, updates := drain(t, 64); updates > 64+4 {
		t.Errorf("%d updates for 64 messages", updates)
	}
}

// BenchmarkBacklog compares what a message of a long backlog takes with one of a
// short one.
func BenchmarkBacklog(b *testing.B) {
	var long, short time.Duration
	for b.Loop() {
		each, _ := drain(b, 500)
		short += each
		each, _ = drain(b, 8000)
		long += each
	}
	b.ReportMetric(float64(long)/float64(short), "x-short")
}
