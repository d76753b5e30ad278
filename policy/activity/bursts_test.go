package activity_test

import (
	"testing"
	"time"

	"guard"
)

// loaded is a box that rests with something loaded on it.
func loaded(x *guard.Sample) {
	each(mem(30_000))(x)
	each(watts(118))(x)
	x.Processes = guard.Known(1)
}

// TestLull: the quiet between two bursts is learned from two of them, and forgotten with
// work that lasts. A burst is shorter than the quiet before it.
func TestLull(t *testing.T) {
	burst := each(util(80))
	f := newFeed(t).give(20*time.Minute, loaded).give(2*time.Minute, loaded, burst).give(20*time.Minute, loaded)
	f.is("after one burst", f.s.Lull(), time.Duration(0))
	f.give(time.Minute, loaded, burst).give(9*time.Minute, loaded).is("not quiet for long yet", f.s.Lull(), time.Duration(0))
	before := f.s
	f.give(time.Minute, loaded).is("after two", f.s.Lull(), 20*time.Minute).is("judged anew", f.s.Same(before), false)
	f.give(40*time.Minute, loaded).give(time.Minute, loaded, burst).give(20*time.Minute, loaded).is("the shorter of two", f.s.Lull(), 20*time.Minute)
	// A pause of some minutes is a part of the work around it.
	f.give(5*time.Minute, loaded, burst).give(9*time.Minute, loaded).give(4*time.Minute, loaded, burst).give(10*time.Minute, loaded)
	f.is("a burst of 18 minutes", f.s.Lull(), 20*time.Minute)
	f.give(10*time.Minute, loaded).give(20*time.Minute, loaded, burst).give(10*time.Minute, loaded).is("work that lasts", f.s.Lull(), time.Duration(0))
	f = newFeed(t)
	for range 3 {
		f.give(4*time.Hour, loaded).give(time.Minute, loaded, burst)
	}
	f.give(10*time.Minute, loaded).is("at most", f.s.Lull(), 2*time.Hour)
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
