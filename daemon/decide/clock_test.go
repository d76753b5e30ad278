package decide_test

import (
	"testing"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/release"
)

// set puts the time that guard goes by right, as its timekeeper does.
func (w *world) set(d time.Duration) {
	w.at.Wall = w.at.Wall.Add(d)
	w.belief.Moved, w.belief.MovedAt = d, w.at.Wall
}

const years = 10 * 365 * 24 * time.Hour

// TestClockIsOff: it is told for as long as it is so, and moves nothing.
func TestClockIsOff(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.to(30 * time.Minute)
	w.belief.Off, w.belief.Since = years, w.at.Wall
	w.to(time.Hour)
	if f, ok := w.finding(guard.RuleClockJump, ""); !ok || !f.Urgent || !f.Since.Equal(zero.Add(30*time.Minute)) {
		t.Errorf("finding: %v %+v", ok, f)
	}
	w.belief.Off, w.belief.Since = 0, time.Time{}
	w.to(2*time.Hour - time.Second)
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("still open: %+v", f)
	}
	if stands(w, "i-1") {
		t.Error("due before its time")
	}
	w.to(2 * time.Hour)
	if !stands(w, "i-1") {
		t.Error("not due at its own time")
	}
}

// TestPutForward: what the right time makes due gets fresh notice where it was more
// than an hour away (law 8), and none where it was not.
func TestPutForward(t *testing.T) {
	for by, fresh := range map[time.Duration]bool{50 * time.Minute: false, 4 * time.Hour: true} {
		w := newWorld(t, guard.Enforce)
		w.instance("i-1")
		w.lease("i-1", 10*time.Hour)
		w.skip(9*time.Hour + 50*time.Minute - by)
		w.set(by + 10*time.Minute)
		w.once()
		w.deliver()
		if f, ok := w.finding(guard.RuleClockJump, ""); !ok || f.Urgent {
			t.Errorf("finding: %v %+v", ok, f)
		}
		from := w.at
		for w.at.Sub(from) < 11*time.Minute {
			w.at = w.at.Add(time.Minute)
			w.once()
			w.deliver()
			if got := stands(w, "i-1"); got != (!fresh || w.at.Sub(from) >= 10*time.Minute) {
				t.Errorf("put forward by %v, %v ago: it stands: %v", by, w.at.Sub(from), got)
			}
		}
		if got := !w.account().FreshFrom.IsZero(); got != fresh {
			t.Errorf("put forward by %v: everything gets fresh notice: %v", by, got)
		}
	}
}

// TestPutBack: fresh notice that was given by a time ahead is given again.
func TestPutBack(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 2*time.Hour)
	w.skip(time.Hour)
	w.set(years)
	w.once()
	w.set(-years)
	w.at = w.at.Add(time.Second)
	w.once()
	if from := w.account().FreshFrom; !from.Equal(w.at.Wall) {
		t.Errorf("fresh notice from %s", from)
	}
	w.deliver()
	w.to(2*time.Hour - time.Second)
	if stands(w, "i-1") {
		t.Error("due before its time")
	}
	w.to(2 * time.Hour)
	if !stands(w, "i-1") {
		t.Error("not due at its own time")
	}
}

// TestInDoubt: after a reboot nothing is released that may not be due, but what a
// person orders is.
func TestInDoubt(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for name, ttl := range map[string]time.Duration{"i-1": 10 * time.Hour, "i-2": 90 * time.Hour} {
		w.instance(name)
		w.lease(name, ttl)
	}
	w.skip(9*time.Hour + 29*time.Minute)
	w.at = guard.Instant{Wall: w.at.Wall.Add(20 * time.Hour), Elapsed: time.Minute}
	w.belief = presence.Begin(presence.Belief{At: guard.Instant{Wall: zero.Add(9*time.Hour + 30*time.Minute)}}, "another", w.at)
	w.restart()
	w.once()
	w.order("i-2")
	for range 16 {
		w.at = w.at.Add(time.Minute)
		w.once()
		w.deliver()
	}
	if j := w.judge("i-1"); j.Standing != release.Barred || j.Block != guard.BlockClock {
		t.Errorf("released by a clock that nobody confirms: %+v", j)
	}
	if !stands(w, "i-2") {
		t.Errorf("what a person ordered: %+v", w.judge("i-2"))
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); !ok || !f.Urgent {
		t.Errorf("finding: %v %+v", ok, f)
	}
	w.belief.Doubt = false
	w.at = w.at.Add(time.Second)
	w.once()
	w.deliver()
	if !stands(w, "i-1") {
		t.Errorf("confirmed, and still not due: %+v", w.judge("i-1"))
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("still open: %+v", f)
	}
}

// TestSlowDrift is nobody's business.
func TestSlowDrift(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 100*time.Hour)
	for range 300 {
		w.at = w.at.Add(time.Minute)
		w.at.Wall = w.at.Wall.Add(500 * time.Millisecond) // NTP slews at most 500 ppm; this is far more
		w.once()
	}
	if f, ok := w.finding(guard.RuleClockJump, ""); ok {
		t.Errorf("%+v", f)
	}
	if !w.account().FreshFrom.IsZero() {
		t.Error("fresh notice for nothing")
	}
}
