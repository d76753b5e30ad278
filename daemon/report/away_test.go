package report_test

import (
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/report"
	"guard/policy/presence"
	"guard/store"
)

// ran writes down that guard ran last some time ago, in a boot.
func (w *world) ran(ago time.Duration, boot string) {
	w.t.Helper()
	at := w.at.Add(-ago)
	w.put(func(tx *store.Tx) error { return tx.SetValue(presence.BeliefName, presence.Belief{At: at, Boot: boot}) })
}

// polled writes down that an account was read completely now, and that all was judged a
// moment later.
func (w *world) polled(accounts ...string) {
	w.t.Helper()
	for _, name := range accounts {
		w.put(func(tx *store.Tx) error {
			if err := tx.Scopes.Put(guard.ScopeStatus{Account: name, Kind: guard.Instance, Scope: "a", Complete: w.at.Wall}); err != nil {
				return err
			}
			return tx.Accounts.Put(guard.AccountStatus{Name: name, Polled: w.at.Wall})
		})
	}
}

func (w *world) judged() { w.runs = []report.Run{{Loop: "decide", Last: w.at.Wall}} }

// starts is a start of guard: what it writes down before any loop runs, and the loop.
func (w *world) starts(boot string) *report.Away {
	w.t.Helper()
	if err := report.Return(w.t.Context(), w.ledger, boot, w.at); err != nil {
		w.t.Fatal(err)
	}
	return report.NewAway(w.config())
}

// settle lets guard look at everything once after a start.
func (w *world) settle(l *report.Away) {
	w.t.Helper()
	w.polled("lab")
	w.once(l)
	w.at = w.at.Add(10 * time.Second)
	w.judged()
	w.once(l)
}

func TestAwayIsTold(t *testing.T) {
	for _, c := range []struct {
		name          string
		ago           time.Duration
		boot          string // it ran in boot a
		stopped       time.Duration
		title, absent string
	}{
		{name: "a quick restart", ago: 9 * time.Minute, boot: "a"},
		{name: "a quick reboot", ago: 9 * time.Minute, boot: "b"},
		{name: "a crash", ago: 3 * time.Hour, boot: "a", title: "guard was down for 3h, and is back"},
		{name: "a reboot", ago: 3 * time.Hour, boot: "b", title: "guard was down for 3h while its machine was, and is back"},
		{name: "a stop", ago: 3 * time.Hour, boot: "b", stopped: 179 * time.Minute, title: "guard was stopped for 2h59m, and is back"},
		{name: "an earlier stop", ago: 3 * time.Hour, boot: "a", stopped: 5 * time.Hour, title: "guard was down for 3h, and is back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
			w.ran(c.ago, "a")
			if c.stopped > 0 {
				if err := report.Stopped(t.Context(), w.ledger, w.at.Add(-c.stopped)); err != nil {
					t.Fatal(err)
				}
			}
			l := w.starts(c.boot)
			w.once(l)
			if n := len(w.told()); n != 0 {
				t.Fatal("told before guard has looked at anything")
			}
			w.settle(l)
			got := w.told()
			switch {
			case c.title == "" && len(got) == 0:
			case c.title == "" || len(got) != 2:
				t.Fatalf("told %+v", got)
			case got[0].Title != c.title || got[1].Lang != guard.Chinese:
				t.Errorf("told %q", got[0].Title)
			}
			w.restart()
			l = report.NewAway(w.config())
			w.settle(l)
			if len(w.told()) != len(got) {
				t.Error("told again after a restart")
			}
		})
	}
}

// A first start has nothing to come back from.
func TestFirstStart(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
	w.settle(w.starts("a"))
	if n := len(w.told()); n != 0 {
		t.Fatal("told at a first start")
	}
}

// A crash before it was told loses nothing, and a second gap joins the first.
func TestAwayOverACrash(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
	w.ran(3*time.Hour, "a")
	w.once(w.starts("a"))
	w.ran(0, "a") // it ran, and crashed again before it had looked at anything
	w.at = w.at.Add(time.Hour)
	w.settle(w.starts("a"))
	if got := w.deliver("team"); len(got) != 1 || got[0].Title != "guard was down for 4h, and is back" {
		t.Fatalf("told %+v", got)
	}
}

// A machine that sleeps is seen in a process that goes on.
func TestAsleep(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
	l := report.NewAway(w.config())
	w.until(l, w.when("2026-03-06 18:30"))
	w.at = w.at.Add(9 * time.Minute)
	w.once(l)
	w.settle(l)
	if n := len(w.told()); n != 0 {
		t.Fatal("a nap is told")
	}
	w.at = w.at.Add(2 * time.Hour)
	w.once(l)
	w.settle(l)
	if got := w.deliver("team"); len(got) != 1 || !strings.Contains(got[0].Title, "asleep for 2h") {
		t.Fatalf("told %+v", got)
	}
	// A clock that is set is no sleep.
	w.at.Wall = w.at.Wall.Add(5 * time.Hour)
	w.once(l)
	w.settle(l)
	if n := len(w.told()); n != 0 {
		t.Fatal("a clock that was set is told as a sleep")
	}
}

// Where an account cannot be read, it is told in time all the same, and that what is there
// is not known.
func TestAwayWithABlindAccount(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
	w.ran(3*time.Hour, "a")
	l := w.starts("a")
	start := w.at.Wall
	w.until(l, start.Add(4*time.Minute))
	if n := len(w.told()); n != 0 {
		t.Fatal("told before the wait is over")
	}
	w.until(l, start.Add(6*time.Minute))
	got := w.deliver("team")
	if len(got) != 1 || got[0].Waits || !strings.Contains(strings.Join(got[0].Lines, "\n"), "is not known: lab.") {
		t.Fatalf("told %+v", got)
	}
}

// What happened meanwhile is told, and nothing that happened before or after.
func TestMissed(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
	w.ran(3*time.Hour, "a")
	during, before, after := w.at.Wall.Add(-time.Hour), w.at.Wall.Add(-4*time.Hour), w.at.Wall.Add(time.Hour)
	lease := func(name string, expires, cap time.Time, status guard.LeaseStatus, ended time.Time) {
		w.put(func(tx *store.Tx) error {
			if !cap.IsZero() {
				if err := tx.Plans.Put(guard.Plan{Lease: name, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: cap, Due: cap}}}); err != nil {
					return err
				}
			}
			return tx.Leases.Put(guard.Lease{ID: name, Resource: id(name), Purpose: "p", Status: status, ExpiresAt: expires, EndedAt: ended})
		})
	}
	lease("expired", during, time.Time{}, guard.LeaseActive, time.Time{})
	lease("earlier", before, before, guard.LeaseActive, time.Time{})
	lease("later", after, after, guard.LeaseActive, time.Time{})
	lease("capped", after, during, guard.LeaseActive, time.Time{})
	lease("gone", during, time.Time{}, guard.LeaseGone, during)
	lease("released", during, time.Time{}, guard.LeaseReleased, during)
	lease("overdue", during, during, guard.LeaseActive, time.Time{})
	w.put(func(tx *store.Tx) error {
		for name, seen := range map[string]time.Time{"new": w.at.Wall, "old": before} {
			if err := tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id(name), Name: "n"}, FirstSeen: seen}); err != nil {
				return err
			}
		}
		return tx.Releases.Put(guard.Release{ID: "r", Target: id("overdue"), State: guard.ReleaseNoticed, Due: w.at.Wall.Add(10 * time.Minute)})
	})
	w.settle(w.starts("a"))
	got := w.deliver("team")
	if len(got) != 1 {
		t.Fatalf("told %d times", len(got))
	}
	want := "Due meanwhile, and getting fresh notice first: lab/overdue (p).\nPassed its cap: lab/capped (p).\nIts time was up: lab/expired (p).\n" +
		"New: lab/new (n).\nEnded meanwhile, not by guard: lab/gone (p)."
	if text := strings.Join(got[0].Lines[2:], "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// A ledger that was put back, or woke up on another machine, tells nothing of where guard
// was: the pause is what people hear of.
func TestPausedIsNotAway(t *testing.T) {
	for _, told := range []bool{false, true} {
		w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
		w.ran(3*time.Hour, "a")
		w.put(func(tx *store.Tx) error {
			return tx.SetValue(guard.PauseName, guard.Pause{Cause: guard.PauseRestored, Why: "x", Since: w.at.Wall, Told: told})
		})
		w.settle(w.starts("a"))
		if n := len(w.deliver("team")); (n == 1) != told {
			t.Errorf("a pause that was told %t: told %d times", told, n)
		}
	}
}

// After a reboot with a clock that is wrong the time away is told once it is known.
func TestAwayUnderAWrongClock(t *testing.T) {
	for _, c := range []struct {
		name   string
		really time.Duration
		want   string
	}{{"two hours", 2 * time.Hour, "guard was down for 2h while its machine was, and is back"}, {"minutes", 5 * time.Minute, ""}} {
		w := newWorld(t, "Europe/Berlin", "2026-03-06 18:00")
		w.ran(0, "a")
		right := w.at.Wall.Add(c.really)
		w.at = guard.Instant{Wall: w.at.Wall.Add(30 * 24 * time.Hour), Elapsed: time.Minute}
		doubt := true
		if err := report.Return(t.Context(), w.ledger, "b", w.at); err != nil {
			t.Fatal(err)
		}
		config := w.config()
		config.Doubt = func() bool { return doubt }
		l := report.NewAway(config)
		w.until(l, w.at.Wall.Add(10*time.Minute))
		if n := len(w.told()); n != 0 {
			t.Fatalf("%s: told while the time is in doubt", c.name)
		}
		w.at.Wall, doubt = right.Add(10*time.Minute), false
		w.settle(l)
		got := w.deliver("team")
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Title != c.want {
			t.Errorf("%s: told %+v", c.name, got)
		}
	}
}
