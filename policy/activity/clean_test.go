package activity_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"guard"
	. "guard/policy/activity"
)

// TestPeople: a person who types and a job that says that it works hold the clock;
// being logged in does not.
func TestPeople(t *testing.T) {
	// Who is logged in and may or may not type is no work, and no ground for a stop.
	f := newFeed(t).give(time.Hour, func(x *guard.Sample) { x.Sessions = guard.Known(3) }).quietFor(time.Hour)
	f.is("logged in", f.s.Doubt(), "low confidence: somebody is logged in, and nobody tells when they last typed")
	f.give(time.Minute, func(x *guard.Sample) { x.Sessions, x.InputAge = guard.Known(3), guard.Known(3600) }).quietFor(61 * time.Minute)
	f.is("long ago", f.s.Doubt(), "").give(time.Minute).is("logged out", f.s.Doubt(), "")
	f = newFeed(t)
	typed := func(x *guard.Sample) { x.InputAge = guard.Known(x.At.Sub(t0).Seconds()) }
	f.give(59*time.Minute, typed).quietFor(30*time.Minute).is("work", f.s.Work, "input 29m ago")
	f = newFeed(t).give(time.Hour, func(x *guard.Sample) { x.HeartbeatAge = guard.Known(599) }).quietFor(0)
	f.is("parked", f.s.Parked.Why, "heartbeat 9m59s ago")
	newFeed(t).give(time.Hour, func(x *guard.Sample) { x.HeartbeatAge = guard.Known(600) }).quietFor(time.Hour)
	newFeed(t).give(time.Hour, func(x *guard.Sample) { x.HeartbeatAge = guard.Known(-1) }).quietFor(time.Hour)
}

// TestOtherSource: what another source does not tell has not fallen silent.
func TestOtherSource(t *testing.T) {
	f := newFeed(t).give(30*time.Minute).give(30*time.Minute, func(x *guard.Sample) {
		x.Source, x.CPUCores, x.Processes = "cloud", guard.Gauge{}, guard.Gauge{}
	}).quietFor(time.Hour)
	f.is("untold", f.s.Untold(), []string{"cpu", "processes"}).is("sort", f.s.Sort, Blind)
	f.give(time.Minute, func(x *guard.Sample) {
		x.Source, x.Boot = strings.Repeat("s\xff", 1<<20), strings.Repeat("b\n", 1<<20)
	})
	f.is("a long name", len(f.s.Source) <= 200 && len(f.s.Boot) <= 64, true)
}

// TestSorts: what is loaded decides, and what is not told is not empty.
func TestSorts(t *testing.T) {
	noProcs := func(x *guard.Sample) { x.Processes = guard.Gauge{} }
	for name, tt := range map[string]struct {
		change []change
		want   Quiet
	}{
		"nothing":                  {nil, Empty},
		"a context's worth":        {[]change{each(mem(800))}, Empty}, // 1 % of 80 GiB
		"more":                     {[]change{one(7, mem(900))}, Resident},
		"a process":                {[]change{procs(1)}, Resident},
		"listed, not counted":      {[]change{noProcs, func(x *guard.Sample) { x.GPUProcesses = []guard.GPUProcess{{PID: 7}} }}, Resident},
		"not told":                 {[]change{noProcs}, Blind},
		"not told, loaded":         {[]change{noProcs, each(mem(9000))}, Blind},
		"none of its own, unknown": {[]change{one(2, func(g *guard.GPUSample) { g.MemUsed = guard.Gauge{} })}, Blind},
		"absurd memory":            {[]change{one(2, mem(90_000))}, Blind},
		"absurd count":             {[]change{procs(-1)}, Blind},
	} {
		f := newFeed(t).give(10*time.Minute, tt.change...)
		f.is(name, f.s.Sort, tt.want).quietFor(10*time.Minute).is("sorted", f.s.Sorted, t0)
	}
	// A change of sort does not begin the quiet anew.
	f := newFeed(t).give(10*time.Minute).give(10*time.Minute, procs(1)).quietFor(20 * time.Minute)
	f.is("sort", f.s.Sort, Resident).is("sorted", f.s.Sorted, t0.Add(10*time.Minute)).is("since", f.s.Idle.Since, t0)
}

// TestGarbage: numbers that cannot be are not known, whatever they are.
func TestGarbage(t *testing.T) {
	for _, v := range []float64{37_100, 100.5, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		f := newFeed(t).give(time.Hour, one(3, util(v)))
		f.is("idle", f.s.Idle.On(), false).is("worked", f.s.Worked.IsZero(), true).is("doubts", len(f.s.Doubts), 2)
		if !strings.HasPrefix(f.s.Doubts[1], "util ") || !strings.HasSuffix(f.s.Doubts[1], " of gpu 3") {
			t.Errorf("the doubt does not name the metric: %q", f.s.Doubts)
		}
	}
	for _, c := range []change{
		one(0, watts(-5)), one(0, watts(6000)), one(0, mem(-1)), one(0, mem(2<<20)), one(0, mem(81_560)),
		func(x *guard.Sample) { x.GPUs[0].PowerLimit = guard.Known(-1) },
	} {
		f := newFeed(t).give(time.Hour, c)
		f.quietFor(time.Hour).is("doubts", len(f.s.Doubts), 1)
	}
	for _, c := range []change{rx(-1), rx(60e9), cores(-1), cores(120), disk(-4), func(x *guard.Sample) { x.Tx = guard.Known(math.MaxFloat64) }} {
		f := newFeed(t).give(10*time.Minute).give(5*time.Minute, c)
		f.is("doubts", len(f.s.Doubts) > 0, true).is("worked", f.s.Worked.IsZero(), true)
	}
	all := newFeed(t).give(time.Minute, each(util(37_100)), each(mem(-1)), each(watts(-1)))
	all.is("doubts are few", len(all.s.Doubts), 6).is("the rest", all.s.Doubts[5], "and 20 more")
}
