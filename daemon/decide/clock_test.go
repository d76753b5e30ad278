package decide_test

import (
	"testing"
	"time"

	"guard"
	"guard/policy/release"
)

// step sets the wall clock, and nothing else.
func (w *world) step(d time.Duration) { w.at.Wall = w.at.Wall.Add(d) }

const years = 10 * 365 * 24 * time.Hour

// TestYearsAhead: a bad step forward releases nothing, is told, and is over when
// the clock agrees again (SCH-04).
func TestYearsAhead(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(time.Hour + 30*time.Minute)
	w.compare(0)
	w.step(years)
	w.once()
	if j := w.judge("i-1"); j.Standing != release.Barred || j.Block != guard.BlockClock {
		t.Errorf("under the wrong clock: %+v", j)
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); !ok || !f.Urgent {
		t.Errorf("finding: %v %+v", ok, f)
	}
	w.at = w.at.Add(20 * time.Second)
	w.once()
	w.step(-years)
	w.once()
	if j := w.judge("i-1"); j.Standing != release.Stands || !j.Due.Equal(zero.Add(2*time.Hour)) {
		t.Errorf("with the right clock: %+v", j)
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("still open: %+v", f)
	}
	w.to(2 * time.Hour)
	if !stands(w, "i-1") {
		t.Error("not due at its own time")
	}
}

// TestWrongClockDoesNotHoldUpForEver: what is due by the time that should be is
// carried out although the clock is wrong.
func TestWrongClockDoesNotHoldUpForEver(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.step(2 * time.Hour)
	w.once()
	w.at = w.at.Add(29 * time.Minute)
	w.once()
	if j := w.judge("i-1"); j.Block != guard.BlockClock {
		t.Errorf("a minute early: %+v", j)
	}
	w.at = w.at.Add(time.Minute)
	w.once()
	w.deliver()
	if j := w.judge("i-1"); j.Standing != release.Stands {
		t.Errorf("at its own time: %+v", j)
	}
}

// TestConfirmedStep: the machine's clock was wrong before, and a provider says
// that it is right now.
func TestConfirmedStep(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.compare(-2 * time.Hour)
	w.step(2 * time.Hour)
	w.once()
	if j := w.judge("i-1"); j.Block != guard.BlockClock {
		t.Errorf("not confirmed yet: %+v", j)
	}
	w.compare(0)
	w.at = w.at.Add(time.Second)
	w.once()
	w.deliver()
	if j := w.judge("i-1"); j.Standing != release.Stands {
		t.Errorf("confirmed: %+v", j)
	}
}

// TestComparisonFromBefore: what a provider's clock said before the step says
// nothing of the time after it.
func TestComparisonFromBefore(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.skip(8 * time.Hour)
	w.to(9*time.Hour + 30*time.Minute)
	w.compare(0)
	w.step(61 * time.Minute)
	w.once()
	if j := w.judge("i-1"); j.Block != guard.BlockClock {
		t.Errorf("%+v", j)
	}
}

// TestBackAnHour: expiry is judged by the wall clock, and nothing is said twice.
func TestBackAnHour(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(90 * time.Minute)
	w.step(-time.Hour)
	w.once()
	if f, ok := w.finding(guard.RuleClockJump, ""); !ok || f.Urgent {
		t.Errorf("finding: %v %+v", ok, f)
	}
	w.to(2*time.Hour - time.Second)
	if stands(w, "i-1") {
		t.Error("due before its time by the new clock")
	}
	w.to(2 * time.Hour)
	if !stands(w, "i-1") {
		t.Error("not due at its time by the new clock")
	}
}

// TestSlowDrift is nobody's business.
func TestSlowDrift(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 100*time.Hour)
	for range 300 {
		w.at = w.at.Add(time.Minute)
		w.step(500 * time.Millisecond) // NTP slews at most 500 ppm; this is far more
		w.once()
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("%+v", f)
	}
}

// TestRebootIntoAnotherYear: after a reboot the two clocks cannot be compared; a
// provider's time decides before anything is released.
func TestRebootIntoAnotherYear(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour)
	w.compare(0)
	w.to(9*time.Hour + 30*time.Minute)
	w.at = guard.Instant{Wall: w.at.Wall.Add(years), Elapsed: time.Minute}
	w.restart()
	w.once()
	w.at = w.at.Add(11 * time.Minute)
	w.once()
	w.deliver()
	if j := w.judge("i-1"); j.Standing == release.Stands && !j.Due.After(w.at.Wall.Add(-years)) {
		t.Errorf("released by a clock that nobody confirms: %+v", j)
	}
	w.compare(0) // it really is another year
	w.at = w.at.Add(time.Minute)
	w.once()
	w.deliver()
	w.at = w.at.Add(time.Hour)
	w.once()
	w.deliver()
	if !stands(w, "i-1") {
		t.Errorf("confirmed, and still not due: %+v", w.judge("i-1"))
	}
}
