package activity_test

import (
	"testing"
	"time"

	"guard"
	. "guard/policy/activity"
)

// loaded is a box that rests with something loaded on it.
func loaded(x *guard.Sample) {
	each(mem(30_000))(x)
	each(watts(118))(x)
	x.Processes = guard.Known(1)
}

// TestUsual: how long a condition lasts each time is learned from two spells, each of which
// the next followed soon, and forgotten where it stays away.
func TestUsual(t *testing.T) {
	burst := each(util(80))
	f := newFeed(t).give(20*time.Minute, loaded).give(2*time.Minute, loaded, burst).give(20*time.Minute, loaded)
	f.is("after one burst", f.s.Idle.Usual(), time.Duration(0))
	f.give(time.Minute, loaded, burst).give(9*time.Minute, loaded).is("not quiet for long yet", f.s.Idle.Usual(), time.Duration(0))
	before := f.s
	f.give(time.Minute, loaded).is("after two", f.s.Idle.Usual(), 20*time.Minute).is("judged anew", f.s.Same(before), false)
	f.give(40*time.Minute, loaded).give(time.Minute, loaded, burst).give(20*time.Minute, loaded).is("the shorter of two", f.s.Idle.Usual(), 20*time.Minute)
	// A pause of some minutes is a part of the work around it.
	f.give(5*time.Minute, loaded, burst).give(9*time.Minute, loaded).give(4*time.Minute, loaded, burst).give(10*time.Minute, loaded)
	f.is("a burst of 18 minutes", f.s.Idle.Usual(), 20*time.Minute)
	f.give(10*time.Minute, loaded).give(3*time.Hour, loaded, burst).give(10*time.Minute, loaded).is("work that lasts", f.s.Idle.Usual(), time.Duration(0))
	f = newFeed(t)
	for range 3 {
		f.give(4*time.Hour, loaded).give(time.Minute, loaded, burst)
	}
	f.give(10*time.Minute, loaded).is("at most", f.s.Idle.Usual(), 2*time.Hour)
}

// TestUsualOfEach: all that people are told of may come and go.
func TestUsualOfEach(t *testing.T) {
	works := func(x *guard.Sample) { loaded(x); each(util(95))(x); each(watts(600))(x) }
	pinned := func(x *guard.Sample) { loaded(x); each(util(100))(x); each(watts(130))(x) }
	for name, c := range map[string]struct {
		is   change
		span func(State) Span
	}{
		"hung":    {pinned, func(s State) Span { return s.Hung }},
		"phantom": {func(x *guard.Sample) { pinned(x); x.Processes = guard.Known(0) }, func(s State) Span { return s.Phantom }},
		"parked":  {func(x *guard.Sample) { x.Rx = guard.Known(8e6) }, func(s State) Span { return s.Parked }},
	} {
		f := newFeed(t).give(20*time.Minute, works)
		for range 2 {
			f.give(40*time.Minute, c.is).give(50*time.Minute, works)
		}
		f.give(20*time.Minute, c.is).is(name, c.span(f.s).On(), true)
		if u := c.span(f.s).Usual(); u < 35*time.Minute || u > 45*time.Minute {
			t.Errorf("%s comes for 40 minutes, not %s", name, u)
		}
	}
	f := newFeed(t).give(20*time.Minute, works)
	for range 3 {
		f.is("usual", f.s.Lost.Usual(), time.Duration(0)).pass(40*time.Minute).give(10*time.Minute, works)
	}
	f.pass(20*time.Minute).is("lost", f.s.Lost.On(), true)
	if u := f.s.Lost.Usual(); u < 35*time.Minute || u > 45*time.Minute {
		t.Errorf("signals are away for 40 minutes, not %s", u)
	}
}

// TestNothingHangs: what no process does is phantom, and not hung.
func TestNothingHangs(t *testing.T) {
	f := newFeed(t).give(30*time.Minute, loaded, each(util(100)), each(watts(130)), func(x *guard.Sample) { x.Processes = guard.Known(0) })
	f.is("phantom", f.s.Phantom.On(), true).is("hung", f.s.Hung.On(), false)
}

// TestRecall: what a source tells only after it has not answered is work where it shows
// work, and no rest.
func TestRecall(t *testing.T) {
	recall := func(f *feed, d time.Duration, change ...change) {
		for end := f.at.Add(d); f.at.Before(end); {
			f.at = f.at.Add(time.Minute)
			x := quiet(f.box.GPUs, f.at, time.Minute)
			for _, c := range change {
				c(&x)
			}
			f.s = f.s.Recall(f.b, f.box, x, f.at)
		}
	}
	f := newFeed(t).give(20 * time.Minute)
	recall(f, 10*time.Minute)
	f.quietFor(20*time.Minute).give(10*time.Minute).quietFor(30*time.Minute).is("since", f.s.Idle.Since, t0)
	recall(f, 40*time.Minute)
	f.give(5*time.Minute).is("since", f.s.Idle.Since, f.at.Add(-5*time.Minute))
	recall(f, time.Minute, each(util(60)))
	f.quietFor(0).is("worked", f.s.Worked, f.at)
}

// TestInstantsOfWhatIsLoaded: it may work between two readings, so that there must be
// many; where nothing is loaded there is nothing to miss (IDLE-16).
func TestInstantsOfWhatIsLoaded(t *testing.T) {
	f := newFeed(t).give(107*time.Minute, loaded, instants)
	f.is("doubt", f.s.Doubt(), "low confidence: one instant each 1m misses bursts, until 108 of them were quiet (1h48m)")
	f.give(time.Minute, loaded, instants).is("many readings", f.s.Doubt(), "")
	empty := newFeed(t).give(30*time.Minute, instants)
	empty.is("nothing loaded", empty.s.Doubt(), "")
	f = newFeed(t).give(30*time.Minute, instants, func(x *guard.Sample) { x.Processes = guard.Gauge{} })
	f.is("nobody knows what is loaded", f.s.Confident(), false)
	mean := newFeed(t).give(30*time.Minute, loaded)
	mean.is("means", mean.s.Doubt(), "")
}

// TestBetweenTwoInstants: a power that only the energy counter has seen contradicts no
// instant of rest, and is work; one that the same reading tells is a contradiction.
func TestBetweenTwoInstants(t *testing.T) {
	joules := 0.0
	energy := func(w float64) change {
		return func(x *guard.Sample) {
			joules += w * x.Interval.Seconds()
			each(func(g *guard.GPUSample) { g.Energy = guard.Known(joules) })(x)
		}
	}
	f := newFeed(t).give(30*time.Minute, loaded, instants, energy(118)).give(time.Minute, loaded, instants, energy(400))
	f.is("between", f.s.Work, "gpu power 282 W above its rest").quietFor(0)
	for name, c := range map[string]change{
		"an instant that tells it": func(x *guard.Sample) { instants(x); each(watts(400))(x) },
		"a mean":                   func(*guard.Sample) {},
		"no power told":            func(x *guard.Sample) { instants(x); each(func(g *guard.GPUSample) { g.Power = guard.Gauge{} })(x) },
	} {
		f := newFeed(t).give(30*time.Minute, loaded, instants, energy(118)).give(time.Minute, loaded, energy(400), c)
		f.quietFor(0).is(name, f.s.Worked.IsZero(), true)
	}
}

// TestOneMeanOfABurst: a burst of ten seconds is 13 % of a minute's mean, and work, even
// where the minutes around it are at 0.
func TestOneMeanOfABurst(t *testing.T) {
	f := newFeed(t).give(20*time.Minute, loaded).give(time.Minute, loaded, one(0, util(13.3))).quietFor(0)
	f.give(19*time.Minute, loaded).quietFor(19 * time.Minute)
}
