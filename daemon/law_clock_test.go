package daemon_test

import (
	"errors"
	"fmt"
	"math/big"
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

// Whatever guard's clock does around a deadline, and whether it is put right, guard
// crashes or its machine sleeps meanwhile: expiries and caps fall at their true time,
// what is not due stays, and it is told for as long as the clock is wrong.
func TestLawClockStepsAndStays(t *testing.T) {
	t.Parallel()
	due := 2*time.Hour + time.Minute
	capAt := 2*time.Hour - 40*time.Second
	steps := []time.Duration{-10 * 365 * 24 * time.Hour, -time.Hour, -3 * time.Minute, time.Minute, 3 * time.Minute, time.Hour, 26 * time.Hour, 10 * 365 * 24 * time.Hour}
	for i, step := range steps {
		for j, at := range []time.Duration{time.Hour, capAt - 15*time.Second, capAt + 20*time.Second, due - 5*time.Second, due + 5*time.Second} {
			for k, then := range []string{"left so", "put right", "a crash", "a sleep"} {
				if testing.Short() && (i+j+k)%4 != 0 {
					continue
				}
				t.Run(fmt.Sprint(step, at, then), func(t *testing.T) {
					t.Parallel()
					w := story(t, lab(gpu("i-1", "3"), gpu("far", "3"), gpu("cap", "10")))
					w.until(time.Minute)
					w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
					w.register(wire.RegisterRequest{ID: "lab/far", TTL: "20h", Budget: "50USD"})
					w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "30h", Budget: "20USD"})
					w.until(at)
					w.step(step)
					w.until(at + 10*time.Second)
					slept := time.Duration(0)
					step := step
					switch then {
					case "put right":
						w.until(at + 4*time.Minute)
						w.step(-step)
						step = 0
					case "a crash":
						w.boot()
					case "a sleep":
						if slept = 20 * time.Minute; at != time.Hour {
							slept = 3 * time.Second
						}
						w.sleep(slept)
					}
					w.until(3*time.Hour + 20*time.Minute)
					w.gone("lab", "i-1", due, due+time.Minute+slept)
					w.gone("lab", "cap", capAt, capAt+time.Minute)
					if spent := w.spent("lab", "cap"); spent.Cmp(big.NewRat(20, 1)) > 0 {
						t.Errorf("the cap is passed: %s", spent.FloatString(3))
					}
					w.truth("lab", "far", fake.TruthRunning)
					it := w.item("lab/far")
					if it.Lease != "active" || *it.Spend != spentText(w.spent("lab", "far")) {
						t.Errorf("far: spent %s by the cloud: %s", spentText(w.spent("lab", "far")), w.tell("lab/far"))
					}
					w.finding(step.Abs() > time.Minute, guard.RuleClockJump, "")
					w.toldOnce()
				})
			}
		}
	}
}

// What people say from now, while the clock is wrong, counts from the true time.
func TestLawPeopleUnderAWrongClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-26 * time.Hour, -50 * time.Minute, 50 * time.Minute, 10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			w := story(t, lab(gpu("i", "3", func(r *fake.Resource) { r.Count = 3 })))
			w.until(10 * time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-002", TTL: "1h"})
			w.register(wire.RegisterRequest{ID: "lab/i-003", TTL: "2h"})
			w.until(20 * time.Minute)
			w.step(step)
			w.register(wire.RegisterRequest{ID: "lab/i-001", TTL: "2h"})
			w.extend(wire.ExtendRequest{ID: "lab/i-002", By: "30m"})
			if _, err := w.client.Hold(t.Context(), wire.HoldRequest{ID: "lab/i-003", For: "3h"}); err != nil {
				t.Fatal(err)
			}
			w.until(time.Hour)
			w.step(-step)
			w.until(4 * time.Hour)
			w.gone("lab", "i-001", 2*time.Hour+20*time.Minute, 2*time.Hour+21*time.Minute)
			w.gone("lab", "i-002", 100*time.Minute, 101*time.Minute)
			w.gone("lab", "i-003", 3*time.Hour+20*time.Minute, 3*time.Hour+21*time.Minute)
		})
	}
}

// Down over a deadline, and up again in another boot with whatever clock: everything
// overdue gets fresh notice, nothing else goes, and money is counted truly.
func TestLawReboot(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, 50 * time.Minute, 10 * 365 * 24 * time.Hour, -8 * time.Hour, -10 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			t.Parallel()
			w := story(t, lab(gpu("i-1", "3"), gpu("cap", "10"), gpu("far", "3")))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "4h"})
			w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "30h", Budget: "30USD"})
			w.register(wire.RegisterRequest{ID: "lab/far", TTL: "20h", Budget: "50USD"})
			w.until(time.Hour)
			w.sleep(5 * time.Hour)
			w.step(off)
			w.bootID = "boot-2"
			w.boot()
			up := w.offset()
			w.until(up + 9*time.Minute + 50*time.Second)
			w.untouched("lab")
			w.until(up + 20*time.Minute)
			for _, id := range []string{"i-1", "cap"} {
				w.gone("lab", id, up+10*time.Minute, up+15*time.Minute)
			}
			if off != 0 {
				w.finding(true, guard.RuleClockJump, "")
			}
			w.until(up + 2*time.Hour)
			w.truth("lab", "far", fake.TruthRunning)
			for _, id := range []string{"i-1", "cap", "far"} {
				if it := w.item("lab/" + id); *it.Spend != spentText(w.spent("lab", id)) {
					t.Errorf("spent %s by the cloud: %s", spentText(w.spent("lab", id)), w.tell("lab/"+id))
				}
			}
			w.toldOnce()
		})
	}
}

// Up again after a long time, with a clock that nobody confirms: nothing is released
// by it, and what people say from now is refused with a word.
func TestLawRebootWithoutAWord(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("i-1", "3"), gpu("i-2", "3")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "9h"})
	w.until(time.Hour)
	w.sleep(3 * time.Hour)
	w.step(24 * time.Hour)
	w.clouds["lab"].Fault(fake.Fault{Call: fake.CallList, From: w.offset(), For: time.Hour, Reply: fake.Reply{Unreachable: true}})
	w.bootID = "boot-2"
	w.boot()
	up := w.offset()
	w.until(up + 30*time.Minute)
	w.untouched("lab")
	w.finding(true, guard.RuleClockJump, "")
	_, ttl := w.client.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-2", Purpose: "x", TTL: "8h"})
	_, by := w.client.Hold(t.Context(), wire.HoldRequest{ID: "lab/i-1", For: "1h"})
	for _, err := range []error{ttl, by} {
		if e := new(wire.Error); !errors.As(err, &e) || e.Kind != wire.KindUnavailable || e.Hint == "" {
			t.Errorf("said from now: %v", err)
		}
	}
	w.until(up + 65*time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-2", TTL: "8h"})
	w.until(10 * time.Hour)
	w.gone("lab", "i-1", 9*time.Hour+time.Minute, 9*time.Hour+3*time.Minute)
	w.until(14 * time.Hour)
	w.gone("lab", "i-2", up+65*time.Minute+8*time.Hour, up+65*time.Minute+8*time.Hour+2*time.Minute)
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
