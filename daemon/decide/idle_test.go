package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy/activity"
	"guard/policy/release"
	"guard/store"
)

// eyes is what samples tell of the instances of a world, by their keys.
type eyes struct {
	*world
	states map[string]func(at time.Time) activity.State
	moved  []string // whose changed, in order; its length is the version
}

func newEyes(t *testing.T, mode guard.Mode) *eyes {
	t.Helper()
	e := &eyes{world: newWorld(t, mode), states: map[string]func(time.Time) activity.State{}}
	e.config.Activity = func(key string) (activity.State, bool) {
		s, ok := e.states[key]
		if !ok {
			return activity.State{}, false
		}
		return s(e.at.Wall), true
	}
	e.config.Stirred = func(since uint64) ([]string, bool, uint64) {
		return e.moved[min(since, uint64(len(e.moved))):], false, uint64(len(e.moved))
	}
	e.restart()
	return e
}

// see says what samples tell from now on.
func (e *eyes) see(name string, s func(at time.Time) activity.State) {
	e.states[id(name).Key()] = s
	e.moved = append(e.moved, id(name).Key())
}

// idle is a box that has been so since a time, seen without a hole.
func idle(sort activity.Quiet, since time.Time) func(time.Time) activity.State {
	return func(at time.Time) activity.State {
		s := activity.State{At: at, Heard: at, Interval: time.Minute, Basis: guard.Summary, Source: "agent", Sort: sort, Sorted: since,
			Worked: since, Work: "gpu 95 %", Idle: activity.Span{Since: since, End: at, Seen: at.Sub(since)}}
		for i := range s.Told {
			s.Told[i] = at
		}
		return s
	}
}

// working is one that does.
func working(at time.Time) activity.State {
	return activity.State{At: at, Heard: at, Interval: time.Minute, Basis: guard.Summary, Source: "agent", Worked: at, Work: "gpu 93 %"}
}

// box is an idle, leased instance that has run for long, as of zero.
func (e *eyes) box(sort activity.Quiet, change ...func(*guard.Lease)) {
	e.instance("i-1", func(o *guard.Observed) { o.Resource.Created = zero.Add(-time.Hour) })
	e.lease("i-1", 48*time.Hour, change...)
	e.see("i-1", idle(sort, zero))
}

// TestIdleStops: told after half an hour, stopped after an hour, and never released.
func TestIdleStops(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Empty)
	e.to(30*time.Minute - time.Second)
	if _, ok := e.release("i-1"); ok || len(e.about("i-1")) > 0 {
		t.Fatalf("planned before anybody was told: %q", e.about("i-1"))
	}
	e.to(30 * time.Minute)
	r, ok := e.release("i-1")
	if !ok || r.Action != guard.ActStop || r.Cause != guard.CauseIdle || r.State != guard.ReleaseNoticed || !r.Due.Equal(zero.Add(time.Hour)) {
		t.Fatalf("%+v", r)
	}
	if about := e.about("i-1"); len(about) != 1 || !strings.HasPrefix(about[0], "30m0s idle_empty:") || !strings.Contains(about[0], "stop it at 2026-03-06T11:00:00Z") {
		t.Errorf("%q", about)
	}
	e.to(time.Hour - time.Second)
	if stands(e.world, "i-1") {
		t.Error("it stands a second before")
	}
	e.to(time.Hour)
	if !stands(e.world, "i-1") {
		t.Errorf("it does not stand: %+v", e.judge("i-1"))
	}
	e.view(func(v *store.View) error {
		keys, err := v.Observed.Keys("")
		if n := len(keys); n != 1 {
			t.Error(n)
		}
		return err
	})
	if len(e.about("i-1")) != 1 {
		t.Errorf("%q", e.about("i-1"))
	}
}

// TestIdleWaitsToBeHeard: a guess waits for its notice to be taken by people, as long as
// that takes, and for its grace after that (law 9). guard's own log is nobody; a channel
// that stands in for another is somebody.
func TestIdleWaitsToBeHeard(t *testing.T) {
	for _, channel := range []string{"slack", "pager"} {
		t.Run(channel, func(t *testing.T) {
			e := newEyes(t, guard.Enforce)
			e.box(activity.Empty)
			heard := 9 * time.Hour
			var stood time.Duration
			for d := time.Duration(0); d < 12*time.Hour && stood == 0; d += time.Minute {
				e.at = e.at.Reach(zero.Add(d))
				e.once()
				switch d {
				case 31 * time.Minute:
					e.taken("i-1", "log")
				case heard:
					e.taken("i-1", channel)
				}
				if r, ok := e.release("i-1"); ok && r.State == guard.ReleaseNoticed && stands(e.world, "i-1") {
					stood = d
				}
			}
			if stood != heard+10*time.Minute {
				t.Errorf("it stands from %s, want the grace after %s", stood, heard)
			}
			if about := e.about("i-1"); len(about) != 1 {
				t.Errorf("the wait was told: %q", about)
			}
			r, _ := e.release("i-1")
			var past []any
			e.view(func(v *store.View) error { _, err := v.Value("decide/unforeseen", &past); return err })
			if len(past) > 0 {
				t.Errorf("a stop that people knew of counts as a surprise: %v (%+v)", past, r)
			}
		})
	}
}

// TestBurstBeforeTheCall: what works at the last moment is not stopped, and people hear
// why.
func TestBurstBeforeTheCall(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Empty)
	e.to(time.Hour)
	e.see("i-1", working)
	if j := e.judge("i-1"); j.Standing != release.Void || !strings.Contains(j.Why, "it works again: gpu 93 %") {
		t.Errorf("%+v", j)
	}
	e.to(time.Hour + time.Second)
	if r, ok := e.release("i-1"); ok {
		t.Errorf("still planned: %+v", r)
	}
	if _, ok := e.finding(guard.RuleIdleEmpty, "lab/i-1"); ok {
		t.Error("the finding is open")
	}
	told := strings.Join(e.about("i-1"), "\n")
	if strings.Count(told, "idle_empty: lab/i-1 (lora 70b): it will not be stopped now: it works again: gpu 93 %") != 1 || strings.Count(told, "\n") != 1 {
		t.Errorf("%s", told)
	}
}

// TestUnseenIsNotIdle: what cannot be seen at the last moment is not stopped; it waits,
// the finding stays, and nothing more is told.
func TestUnseenIsNotIdle(t *testing.T) {
	for name, s := range map[string]func(at time.Time) activity.State{
		"stale": func(at time.Time) activity.State { return idle(activity.Empty, zero)(zero.Add(50 * time.Minute)) },
		"half of it": func(at time.Time) activity.State {
			s := idle(activity.Empty, zero)(at)
			s.Idle.Seen = at.Sub(zero) * 7 / 10
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEyes(t, guard.Enforce)
			e.box(activity.Empty)
			e.to(50 * time.Minute)
			e.see("i-1", s)
			for d := 50 * time.Minute; d < 3*time.Hour; d += 5 * time.Minute {
				e.to(d)
				if j := e.judge("i-1"); !e.at.Before(guard.Instant{Wall: zero.Add(time.Hour), Elapsed: 2 * time.Hour}) &&
					(j.Standing != release.Stands || !j.Due.After(e.at.Wall)) {
					t.Fatalf("at %s: %+v", d, j)
				}
			}
			if about := e.about("i-1"); len(about) != 1 {
				t.Errorf("%q", about)
			}
			e.see("i-1", idle(activity.Empty, zero))
			e.to(3 * time.Hour)
			if !stands(e.world, "i-1") {
				t.Errorf("seen again: %+v", e.judge("i-1"))
			}
			if about := e.about("i-1"); len(about) != 1 {
				t.Errorf("%q", about)
			}
		})
	}
}

// TestNothingKnown: where the samples were lost, or the quiet began anew after a hole,
// the finding stays open as it is, is told once, and closes on work only.
func TestNothingKnown(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Resident)
	e.to(70 * time.Minute)
	f, ok := e.finding(guard.RuleIdleResident, "lab/i-1")
	if !ok {
		t.Fatal("no finding")
	}
	delete(e.states, id("i-1").Key())
	e.moved = append(e.moved, id("i-1").Key())
	e.to(80 * time.Minute)
	e.see("i-1", func(at time.Time) activity.State {
		s := idle(activity.Resident, zero.Add(80*time.Minute))(at)
		s.Worked, s.Work = time.Time{}, ""
		return s
	})
	e.to(5 * time.Hour)
	if now, ok := e.finding(guard.RuleIdleResident, "lab/i-1"); !ok || now.ID != f.ID {
		t.Errorf("another finding: %+v, %v", now, ok)
	}
	if about := e.about("i-1"); len(about) != 2 { // and at its act
		t.Errorf("%q", about)
	}
	e.see("i-1", working)
	e.to(5*time.Hour + time.Second)
	if _, ok := e.finding(guard.RuleIdleResident, "lab/i-1"); ok {
		t.Error("it works, and the finding is open")
	}
}

// TestSortsThatFlap: what is loaded comes and goes each few minutes, and nobody is
// flooded; nothing is stopped either.
func TestSortsThatFlap(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Empty)
	for d := 5 * time.Minute; d <= 6*time.Hour; d += 5 * time.Minute {
		e.to(d)
		sorted := e.at.Wall
		sort := []activity.Quiet{activity.Empty, activity.Resident, activity.Blind}[int(d/(5*time.Minute))%3]
		e.see("i-1", func(at time.Time) activity.State {
			s := idle(sort, zero)(at)
			s.Sorted = sorted
			return s
		})
		if r, ok := e.release("i-1"); ok && stands(e.world, "i-1") {
			t.Fatalf("at %s it is stopped: %+v", d, r)
		}
	}
	var warned int
	for _, line := range e.about("i-1") {
		if !strings.Contains(line, "now due at") {
			warned++
		}
	}
	if warned > 8 {
		t.Errorf("%d messages in six hours: %q", warned, e.about("i-1"))
	}
}

// TestHoldIsWork: a hold puts the stop off and begins the quiet anew.
func TestHoldIsWork(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Empty)
	e.to(40 * time.Minute)
	e.change("i-1", func(l *guard.Lease) {
		l.Holds = []guard.Hold{{Until: zero.Add(2 * time.Hour), By: "ana", Since: e.at.Wall}}
	})
	e.to(41 * time.Minute)
	if r, ok := e.release("i-1"); ok {
		t.Errorf("still planned: %+v", r)
	}
	e.to(2*time.Hour + 30*time.Minute - time.Second)
	if _, ok := e.release("i-1"); ok {
		t.Error("planned within half an hour of the hold's end")
	}
	e.to(2*time.Hour + 30*time.Minute)
	if r, ok := e.release("i-1"); !ok || !r.Due.Equal(zero.Add(3*time.Hour)) {
		t.Errorf("%+v", r)
	}
}

// TestLimitBeforeGuess: a cap that falls due takes the place of a stop, whether that is
// only coming or waits for somebody to hear of it.
func TestLimitBeforeGuess(t *testing.T) {
	for name, due := range map[string]time.Duration{"before the stop": 50 * time.Minute, "while the stop waits": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			e := newEyes(t, guard.Enforce)
			e.box(activity.Empty, func(l *guard.Lease) { l.Budget = guard.MustMoney("480CNY") })
			e.deadline("i-1", due, 0)
			for d := time.Duration(0); d <= due; d += time.Minute { // nothing is delivered
				e.at = e.at.Reach(zero.Add(d))
				e.once()
			}
			r, _ := e.release("i-1")
			if r.Cause != guard.CauseBudget || r.Action != guard.ActRelease || !stands(e.world, "i-1") {
				t.Errorf("%+v: %+v", r, e.judge("i-1"))
			}
		})
	}
}

// TestGuessAfterAbsence: after a sleep, and where guard begins to act, a stop that is
// overdue gets notice anew (law 8).
func TestGuessAfterAbsence(t *testing.T) {
	t.Run("a sleep", func(t *testing.T) {
		e := newEyes(t, guard.Enforce)
		e.box(activity.Empty)
		e.to(40 * time.Minute)
		e.at = e.at.Add(3 * time.Hour)
		e.to(e.at.Wall.Sub(zero))
		if r, ok := e.release("i-1"); !ok || stands(e.world, "i-1") || r.Due.Before(e.at.Wall.Add(10*time.Minute)) {
			t.Fatalf("%+v", r)
		}
		e.to(e.at.Wall.Sub(zero) + 10*time.Minute)
		if !stands(e.world, "i-1") {
			t.Errorf("%+v", e.judge("i-1"))
		}
	})
	t.Run("enforce", func(t *testing.T) {
		e := newEyes(t, guard.Observe)
		e.box(activity.Empty)
		e.to(5 * time.Hour)
		would := slices.ContainsFunc(e.about("i-1"), func(l string) bool { return strings.HasPrefix(l, "1h0m0s") && strings.Contains(l, "would stop now") })
		if _, ok := e.release("i-1"); ok || !would || len(e.about("i-1")) != 2 {
			t.Fatalf("in observe mode: %q", e.about("i-1"))
		}
		e.config.Accounts[0].Mode = guard.Enforce
		e.update(func(tx *store.Tx) error {
			a, _, err := tx.Accounts.Get("lab")
			a.Mode = guard.Enforce
			return put(err, tx.Accounts.Put(a))
		})
		e.restart()
		e.to(5*time.Hour + time.Second)
		if r, ok := e.release("i-1"); !ok || stands(e.world, "i-1") || r.Due.Before(zero.Add(5*time.Hour+10*time.Minute)) {
			t.Fatalf("%+v", r)
		}
		e.to(5*time.Hour + 11*time.Minute)
		if !stands(e.world, "i-1") {
			t.Errorf("%+v", e.judge("i-1"))
		}
	})
}

// TestGuessThroughARestart: a restart tells nothing twice and acts in time.
func TestGuessThroughARestart(t *testing.T) {
	e := newEyes(t, guard.Enforce)
	e.box(activity.Empty)
	e.to(40 * time.Minute)
	e.restart()
	e.to(time.Hour)
	if !stands(e.world, "i-1") || len(e.about("i-1")) != 1 {
		t.Errorf("%+v, told %q", e.judge("i-1"), e.about("i-1"))
	}
}
