package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// sleep is what a suspended machine sees: nothing runs, both clocks go on.
func (w *world) sleep(d time.Duration) { w.at = w.at.Add(d) }

// SCH-04: an hour back, and later ten years ahead for 20 s. Nothing is doomed by
// it, nothing is counted twice or backwards, and what was due stays due.
func TestLawClockSteps(t *testing.T) {
	t.Parallel()
	s := lab(gpu("i", "3.60", func(r *fake.Resource) { r.Count = 3 }))
	w := story(t, s)
	w.until(time.Minute)
	for i := range 3 {
		w.register(wire.RegisterRequest{ID: fmt.Sprintf("lab/i-%03d", i+1), TTL: "4h", Budget: "200USD"})
	}
	w.until(30 * time.Minute)
	w.step(-time.Hour)
	w.until(31 * time.Minute)
	w.step(time.Hour) // NTP puts it right
	w.until(2 * time.Hour)
	ten := 10 * 365 * 24 * time.Hour
	w.step(ten)
	w.until(2*time.Hour + 20*time.Second)
	w.finding(true, guard.RuleClockJump, "")
	w.untouched("lab")
	w.step(-ten)
	w.until(3*time.Hour + 59*time.Minute)
	w.untouched("lab")
	w.finding(false, guard.RuleClockJump, "")
	for i := range 3 {
		id := fmt.Sprintf("i-%03d", i+1)
		if it := w.item("lab/" + id); it.Lease != "active" || *it.Spend != spentText(w.spent("lab", id)) {
			t.Errorf("%s spent %s by the cloud: %s", id, spentText(w.spent("lab", id)), w.tell("lab/"+id))
		}
	}
	due := 4*time.Hour + time.Minute
	w.until(due + 15*time.Minute)
	for i := range 3 {
		w.gone("lab", fmt.Sprintf("i-%03d", i+1), due, due+11*time.Minute)
	}
	w.toldOnce()
}

// A clock that is wrong stays wrong: a step ahead that no provider confirms dooms
// nobody; one back holds nothing up for longer than it must.
func TestLawClockStepsAndStays(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, -3 * time.Minute, 3 * time.Minute, time.Hour + time.Minute, 26 * time.Hour, 10 * 365 * 24 * time.Hour} {
		for _, at := range []time.Duration{time.Hour, 2*time.Hour + time.Minute - 5*time.Second, 2*time.Hour + time.Minute + 5*time.Second} {
			t.Run(fmt.Sprint(step, at), func(t *testing.T) {
				t.Parallel()
				due := 2*time.Hour + time.Minute
				w := story(t, lab(gpu("i-1", "3"), gpu("far", "3"), gpu("cap", "10")))
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
				w.register(wire.RegisterRequest{ID: "lab/far", TTL: "20h", Budget: "50USD"})
				w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "30h", Budget: "20USD"}) // due about 1h59m20s
				w.until(at)
				w.step(step)
				w.until(3*time.Hour + 20*time.Minute)
				// An expiry is a time of the calendar, a cap is not.
				from, to := due, due+time.Minute
				switch {
				case at > due:
				case step < 0:
					from, to = due-step, due-step+12*time.Minute
				case step <= time.Hour:
					from = min(due, at)
				default:
					to = due + 11*time.Minute
				}
				w.gone("lab", "i-1", from, to)
				capAt := 2*time.Hour - 40*time.Second
				if at == time.Hour && step.Abs() <= time.Hour {
					capAt -= step // money is counted by guard's own clock
				}
				w.gone("lab", "cap", capAt, capAt+time.Minute)
				w.truth("lab", "far", fake.TruthRunning)
				if it := w.item("lab/far"); it.Lease != "active" {
					t.Errorf("far: %s", w.tell("lab/far"))
				}
			})
		}
	}
}

// Suspended for four hours, over a deadline whose notice was given, or over all:
// what is overdue gets fresh notice before anything is called, cap or expiry.
func TestLawSuspend(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{20 * time.Second, 8 * time.Second, 5 * time.Minute, 90 * time.Minute} {
		for _, limit := range []wire.RegisterRequest{{TTL: "2h"}, {TTL: "9d", Budget: "8USD"}} {
			t.Run(fmt.Sprint(before, limit.Budget), func(t *testing.T) {
				t.Parallel()
				due := 2*time.Hour + time.Minute
				if limit.Budget != "" {
					due = 2*time.Hour - 40*time.Second
				}
				w := story(t, lab(gpu("i-1", "4"), gpu("i-2", "4")))
				w.until(time.Minute)
				limit.ID = "lab/i-1"
				w.register(limit)
				w.until(due - before)
				w.sleep(4 * time.Hour)
				up := w.offset()
				w.until(up + 9*time.Minute + 50*time.Second)
				w.untouched("lab")
				if len(w.said("will release it at")) == 0 {
					t.Errorf("no notice: %q", w.posts("i-1"))
				}
				w.until(up + 15*time.Minute)
				w.gone("lab", "i-1", up+10*time.Minute, up+11*time.Minute)
				w.release("lab/i-1", "released")
				if it := w.item("lab/i-1"); *it.Spend != spentText(w.spent("lab", "i-1")) {
					t.Errorf("spent %s by the cloud: %s", spentText(w.spent("lab", "i-1")), w.tell("lab/i-1"))
				}
			})
		}
	}
}

// Away for less than an hour, or across a reboot with the clock wrong at first.
func TestLawShortSleepKeepsTheLimit(t *testing.T) {
	t.Parallel()
	due := 2*time.Hour + time.Minute
	w := story(t, lab(gpu("i-1", "4")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
	w.until(due - 20*time.Minute)
	w.sleep(50 * time.Minute)
	w.until(due + 32*time.Minute)
	w.gone("lab", "i-1", due+30*time.Minute, due+31*time.Minute)
}
