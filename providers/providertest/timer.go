package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// armer is a provider with timers on a healthy world, and the present time there.
func (s *suite) armer() (providers.TTLArmer, *wire, World, time.Time) {
	s.Helper()
	w := s.world(1)
	p, x := s.open(w)
	a, ok := p.(providers.TTLArmer)
	if !ok {
		s.skip("timers")
	}
	inv := s.list(p)
	now := inv.ServerTime
	if now.IsZero() {
		now = time.Now()
	}
	return a, x, w, now.UTC().Truncate(time.Second)
}

// timer sees that what was set is read back, moved and taken away, each on the instance
// that was named and on no other. A provider may keep whole minutes.
func (s *suite) timer() {
	a, x, w, now := s.armer()
	first, other := s.id(w, 0), s.id(w, 1)
	reads := func(when string, id guard.ResourceID, want time.Time) {
		s.Helper()
		got, err := a.Armed(s.ctx(), id)
		if err != nil || got.IsZero() != want.IsZero() || got.Sub(want).Abs() > time.Minute || !got.IsZero() && got.Location() != time.UTC {
			s.Errorf("%s: %v is read back, %v; want %v", when, got, err, want)
		}
	}
	reads("before", first, time.Time{})
	for _, d := range []time.Duration{3 * time.Hour, 30 * time.Hour, 2 * time.Hour, 2 * time.Hour} {
		at := now.Add(d)
		if err := a.Arm(s.ctx(), first, at); err != nil {
			s.Fatalf("set to %v: %v", at, err)
		}
		reads("set", first, at)
		reads("the other one", other, time.Time{})
	}
	for range 2 {
		if err := a.Arm(s.ctx(), first, time.Time{}); err != nil {
			s.Fatalf("taken away: %v", err)
		}
		reads("taken away", first, time.Time{})
	}
	if x.calls(Arm) == 0 || x.calls(Armed) == 0 {
		s.Fatal("the harness classifies no request as one about a timer")
	}
	nobody := first
	nobody.ID = s.h.ID(9999)
	if err := a.Arm(s.ctx(), nobody, now.Add(time.Hour)); err == nil {
		s.Error("a timer was set on nothing")
	}
	if at, err := a.Armed(s.ctx(), nobody); err == nil {
		s.Errorf("nothing has the timer %v", at)
	}
}

// timerFails sees that an answer which does not tell is an error, on a read never "there is
// none", and on a write sent once and never "it is set".
func (s *suite) timerFails() {
	a, x, w, now := s.armer()
	id := s.id(w, 0)
	answers := maps.Clone(broken)
	for status := range statuses {
		answers[fmt.Sprint(status)] = func(r *http.Request) (*http.Response, error) { return reply(r, status, `{"error":"`+canary+`"}`) }
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		answer := func(_ int, r *http.Request) (*http.Response, error) { return answers[name](r) }
		x.on(Armed, answer)
		at, err := a.Armed(s.ctx(), id)
		if err == nil {
			s.Errorf("%s: read back as %v", name, at)
		}
		s.tells(name, fmt.Sprintf("%v %+v %#v", err, err, err))
		x.on(Arm, answer)
		if err = a.Arm(s.ctx(), id, now.Add(time.Hour)); err == nil {
			s.Errorf("%s: taken for set", name)
		}
		if n := x.calls(Arm); n != 1 {
			s.Errorf("%s: sent %d times", name, n)
		}
		s.tells(name, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
	x.on("", func(int, *http.Request) (*http.Response, error) { return nil, nil })
	gone, cancel := context.WithCancel(s.ctx())
	cancel()
	if err := a.Arm(gone, id, now.Add(time.Hour)); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: %v", err)
	}
	if _, err := a.Armed(gone, id); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: %v", err)
	}
	if n := x.calls(""); n != 0 {
		s.Errorf("cancelled, and %d calls", n)
	}
}
