package signals

import (
	"errors"
	"testing"
	"time"
)

// What a source tells of the time in which it failed is no rest that was seen; what it
// tells only because guard was away is.
func TestToldAfterAFailure(t *testing.T) {
	w := newWorld(t)
	c := &cloud{name: "cloud"}
	l := w.own(c)
	w.fine(w.poll(10, l)...)
	c.err = errors.New("no answer")
	w.poll(40, l)
	c.err = nil
	w.fine(w.poll(1, l)...)
	if s, _ := w.book.Activity(box1); s.Idle.Lasts(w.now) > 5*time.Minute {
		t.Errorf("idle for %s", s.Idle.Lasts(w.now))
	}
	w.now = w.now.Add(40 * time.Minute)
	w.fine(w.poll(1, l)...)
	if s, _ := w.book.Activity(box1); s.Idle.Lasts(w.now) < 43*time.Minute || s.Covered(s.Idle) < 0.9 {
		t.Errorf("idle for %s, of which %.2f was seen", s.Idle.Lasts(w.now), s.Covered(s.Idle))
	}
}
