package decide_test

import (
	"strings"
	"testing"
	"time"

	"guard"
	"guard/store"
)

// TestUnholdSaysNow: what a hold put off is due now when that is lifted, not in the past.
func TestUnholdSaysNow(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.change("i-1", func(l *guard.Lease) {
		l.Holds = []guard.Hold{{Until: zero.Add(10*time.Hour + 30*time.Minute), By: "ana", Since: w.at.Wall}}
	})
	w.to(10*time.Hour + 10*time.Minute)
	w.change("i-1", func(l *guard.Lease) { l.Holds = nil })
	w.once()
	got := w.about("i-1")
	if last := got[len(got)-1]; !strings.Contains(last, "lab/i-1: due now, not at 2026-03-06T20:30:00Z") {
		t.Errorf("messages: %q", got)
	}
}

// TestWastesMore: what an open finding is about in money is kept up to date, and nobody
// is told again; a little more or less is not written each time.
func TestWastesMore(t *testing.T) {
	w := newWorld(t, guard.Observe)
	w.instance("i-1")
	w.to(time.Hour)
	for _, c := range []struct{ now, kept string }{{"250CNY/h", "240.00 CNY"}, {"900CNY/h", "900.00 CNY"}, {"", "unknown"}, {"100CNY/h", "100.00 CNY"}} {
		rate, _ := guard.ParseRate(c.now)
		w.update(func(tx *store.Tx) error {
			m, _, err := tx.Metered.Get(id("i-1").Key())
			if err != nil {
				return err
			}
			o, _, err := tx.Observed.Get(id("i-1").Key())
			if err != nil {
				return err
			}
			o.Resource.Rate, m.Segments = rate, nil
			return put(tx.Metered.Put(m), tx.Observed.Put(o))
		})
		w.once()
		f, ok := w.finding(guard.RuleUnregistered, "lab/i-1")
		if !ok || f.Wastes.String() != c.kept || strings.Count(strings.Join(w.about("i-1"), "\n"), "unregistered:") != 1 {
			t.Errorf("at %q: %t, wastes %s, want %s; told %q", c.now, ok, f.Wastes, c.kept, w.about("i-1"))
		}
	}
}
