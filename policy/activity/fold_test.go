package activity_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	. "guard/policy/activity"
)

var t0 = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// box is an 8×H100 that has run for a day.
var box = Box{GPUs: 8, GPUModel: "H100", Created: t0.Add(-24 * time.Hour), Running: true}

// feed folds samples that come one an interval from t0 on.
type feed struct {
	t        *testing.T
	s        State
	b        Busy
	box      Box
	at       time.Time
	interval time.Duration
	n        int
}

func newFeed(t *testing.T) *feed {
	return &feed{t: t, b: Defaults(), box: box, at: t0, interval: time.Minute}
}

// give folds samples for a time; each is a quiet, empty one that change alters.
func (f *feed) give(d time.Duration, change ...func(*guard.Sample)) *feed {
	f.t.Helper()
	for end := f.at.Add(d); f.at.Before(end); {
		f.at = f.at.Add(f.interval)
		x := quiet(f.box.GPUs, f.at, f.interval)
		for _, c := range change {
			c(&x)
		}
		before, was := f.s, ""
		if f.n++; f.n%61 < 2 {
			was = dump(f.t, before)
		}
		f.s = f.s.Fold(f.b, f.box, x, f.at)
		if was != "" && dump(f.t, before) != was {
			f.t.Fatalf("folding changed the state before it")
		}
	}
	return f
}

// pass lets time go by without a sample.
func (f *feed) pass(d time.Duration) *feed {
	f.at = f.at.Add(d)
	f.s = f.s.Look(f.b, f.box, f.at)
	return f
}

// quietFor checks for how long the box has been idle, as far as it was seen.
func (f *feed) quietFor(want time.Duration) *feed {
	f.t.Helper()
	if got := f.s.Idle.Seen; got != want {
		f.t.Errorf("at %s: idle was seen for %s, not %s (since %s, work %q of %s, doubts %q)", f.at.Sub(t0), got, want,
			f.s.Idle.Since.Sub(t0), f.s.Work, f.s.Worked.Sub(t0), f.s.Doubts)
	}
	return f
}

func (f *feed) is(name string, got, want any) *feed {
	f.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("at %s: %s (-want +got):\n%s", f.at.Sub(t0), name, d)
	}
	return f
}

func dump(t *testing.T, s State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("a state has no JSON: %v", err)
	}
	return string(b)
}

// quiet is what a box tells on which nothing is loaded and nothing runs.
func quiet(gpus int, at time.Time, interval time.Duration) guard.Sample {
	x := guard.Sample{At: at, Interval: interval, Basis: guard.Average, Source: "test", Boot: "b1",
		CPUCores: guard.Known(0.1), Cores: guard.Known(96), Rx: guard.Known(900), Tx: guard.Known(700), Disk: guard.Known(0),
		Processes: guard.Known(0), Sessions: guard.Known(0)}
	for range gpus {
		x.GPUs = append(x.GPUs, guard.GPUSample{Util: guard.Known(0), MemUsed: guard.Known(17), MemTotal: guard.Known(81_559),
			Power: guard.Known(72), PowerLimit: guard.Known(700)})
	}
	return x
}

type change = func(*guard.Sample)

// each changes every GPU, gpu those of the indexes given.
func each(c func(*guard.GPUSample)) change {
	return func(x *guard.Sample) {
		for i := range x.GPUs {
			c(&x.GPUs[i])
		}
	}
}

func one(i int, c func(*guard.GPUSample)) change { return func(x *guard.Sample) { c(&x.GPUs[i]) } }

func util(v float64) func(*guard.GPUSample) {
	return func(g *guard.GPUSample) { g.Util = guard.Gauge{V: v, OK: true} }
}

func noUtil(g *guard.GPUSample) { g.Util = guard.Gauge{} }

func watts(v float64) func(*guard.GPUSample) {
	return func(g *guard.GPUSample) { g.Power = guard.Known(v) }
}

func mem(v float64) func(*guard.GPUSample) {
	return func(g *guard.GPUSample) { g.MemUsed = guard.Known(v) }
}

func rx(v float64) change    { return func(x *guard.Sample) { x.Rx = guard.Known(v) } }
func disk(v float64) change  { return func(x *guard.Sample) { x.Disk = guard.Known(v) } }
func cores(v float64) change { return func(x *guard.Sample) { x.CPUCores = guard.Known(v) } }
func procs(v float64) change { return func(x *guard.Sample) { x.Processes = guard.Known(v) } }
func instants(x *guard.Sample) {
	x.Basis = guard.Instantaneous
}

// training is a box in full work.
func training(x *guard.Sample) {
	each(func(g *guard.GPUSample) {
		g.Util, g.MemUsed, g.Power = guard.Known(97), guard.Known(61_000), guard.Known(555)
	})(x)
	x.Processes, x.CPUCores = guard.Known(8), guard.Known(9)
}

// TestDiedAtThree: the plain case is exact (IDLE-17).
func TestDiedAtThree(t *testing.T) {
	f := newFeed(t).give(3*time.Hour, training)
	f.is("idle", f.s.Idle.On(), false)
	f.give(20 * time.Minute)
	f.quietFor(20*time.Minute).is("since", f.s.Idle.Since, t0.Add(3*time.Hour)).is("worked", f.s.Worked, t0.Add(3*time.Hour)).is("work", f.s.Work, "gpu 97 %")
	f.is("sort", f.s.Sort, Empty) // the memory that went in the first minute belongs to the work
	when, is := f.s.Reached(f.s.Idle, 20*time.Minute, f.at)
	f.is("reached", is, true).is("when", when, t0.Add(3*time.Hour+20*time.Minute))
	if when, is := f.s.Reached(f.s.Idle, 40*time.Minute, f.at); is || !when.Equal(t0.Add(3*time.Hour+40*time.Minute)) {
		t.Errorf("40 minutes are said to be reached (%v) at %s", is, when.Sub(t0))
	}
}

// TestDownload: GPUs that wait for a download are parked, not idle; a download that
// stops is found from then on (IDLE-01).
func TestDownload(t *testing.T) {
	f := newFeed(t).give(2*time.Hour, rx(6.2e6), disk(6.2e6))
	f.is("idle", f.s.Idle.On(), false).is("parked", f.s.Parked.Lasts(f.at), 2*time.Hour-2*time.Minute)
	f.is("gpus quiet", f.s.GPUsQuiet.Seen, 2*time.Hour)
	f.is("why", f.s.Parked.Why, "6.2 MB/s in, 6.2 MB/s disk, 43.9 GB came in so far")
	f.give(time.Hour)
	f.quietFor(time.Hour).is("parked", f.s.Parked.On(), false).is("came", f.s.Came, 0.0)

	// One that stutters is one download.
	f = newFeed(t).give(10*time.Minute, rx(9e6))
	for range 10 {
		f.give(time.Minute).give(time.Minute, rx(9e6))
	}
	f.is("parked", f.s.Parked.Seen, 28*time.Minute).is("idle", f.s.Idle.On(), false)

	slow := newFeed(t).give(2*time.Hour, rx(199_000))
	slow.quietFor(2 * time.Hour)
	slow.is("parked", slow.s.Parked.On(), false)
	out := newFeed(t).give(time.Hour, func(x *guard.Sample) { x.Tx = guard.Known(250_000) })
	out.is("parked", out.s.Parked.Why, "250.0 kB/s out")
}

// TestCompile: cores that are busy from the first minute on are work, not the box's own
// baseline (IDLE-02); a few per cent of eight are rest.
func TestCompile(t *testing.T) {
	f := newFeed(t).give(40*time.Minute, cores(7.6))
	f.is("idle", f.s.Idle.On(), false).is("work", f.s.Work, "cpu 7.6 cores").is("parked", f.s.Parked.Why, "cpu 7.6 cores")
	f.give(30*time.Minute, cores(0.24)).quietFor(30 * time.Minute)
	f.is("since", f.s.Idle.Since, t0.Add(40*time.Minute))

	// One core of 96 is one per cent, and work; a box that always has half a core of
	// its own is at rest with it, and works with 0.4 more.
	newFeed(t).give(time.Hour, cores(1)).quietFor(0)
	newFeed(t).give(time.Hour, cores(0.5)).quietFor(time.Hour)
	newFeed(t).give(time.Hour, cores(0.3)).give(time.Hour, cores(0.75)).quietFor(0)
	newFeed(t).give(time.Hour, cores(0.3)).give(time.Hour, cores(0.65)).quietFor(2 * time.Hour)
	// The baseline falls in minutes, and nothing is learned of it while a GPU works.
	newFeed(t).give(time.Hour, cores(0.5)).give(time.Hour).give(time.Hour, cores(0.6)).quietFor(0)
	f = newFeed(t).give(10 * time.Minute)
	f.interval = time.Hour
	f.give(48*time.Hour, training)
	f.interval = time.Minute
	f.give(time.Hour, cores(0.55)).quietFor(0)
	// Days of work do not make it the baseline.
	f = newFeed(t).give(72*time.Hour, cores(1.2))
	f.is("idle", f.s.Idle.On(), false)
}

// TestCron: what is busy for a minute now and then is no work, and three minutes of ten are.
func TestCron(t *testing.T) {
	for _, busy := range []change{cores(4), rx(3e6), disk(9e6)} {
		f := newFeed(t)
		for range 6 {
			f.give(time.Minute, busy).give(9 * time.Minute)
		}
		f.quietFor(time.Hour)
		f = newFeed(t)
		for range 6 {
			f.give(2*time.Minute, busy).give(8 * time.Minute)
		}
		f.quietFor(time.Hour)
		for range 6 {
			f.give(3*time.Minute, busy).give(7 * time.Minute)
		}
		f.quietFor(7 * time.Minute)
	}
	// A quarter of the samples is not enough (but for the first five, which are all there
	// are), three in ten are.
	for share, want := range map[time.Duration]time.Duration{5: 57*time.Minute + 30*time.Second, 6: 7 * time.Minute} {
		f := newFeed(t)
		f.interval = 30 * time.Second
		for range 6 {
			f.give(share*f.interval, rx(200_000)).give((20 - share) * f.interval)
		}
		f.quietFor(want)
	}
	// At five minutes a sample one of the two there are is enough.
	f := newFeed(t)
	f.interval = 5 * time.Minute
	f.give(time.Hour).give(5*time.Minute, rx(3e6)).quietFor(0)
}

// TestFaultyProbe: an answer that tells nothing counts for nothing (IDLE-04).
func TestFaultyProbe(t *testing.T) {
	f := newFeed(t).give(50*time.Minute).give(5*time.Minute, each(noUtil))
	f.quietFor(50*time.Minute).is("fresh", f.s.Fresh(f.at), false).is("lost", f.s.Lost.Since, t0.Add(50*time.Minute))
	f.is("why", f.s.Lost.Why, "util of gpu 0-7 is not told")
	f.give(9 * time.Minute).quietFor(59 * time.Minute)
	if _, is := f.s.Reached(f.s.Idle, time.Hour, f.at); is {
		t.Error("an hour of quiet is reached by 59 minutes that were seen")
	}
	f.give(time.Minute).quietFor(time.Hour).is("lost", f.s.Lost.On(), false)
	if when, is := f.s.Reached(f.s.Idle, time.Hour, f.at); !is || !when.Equal(t0.Add(65*time.Minute)) {
		t.Errorf("an hour of good answers is reached (%v) at %s", is, when.Sub(t0))
	}
	if got := f.s.Covered(f.s.Idle); math.Abs(got-60.0/65) > 1e-9 {
		t.Errorf("covered is %v, not 60 of 65 minutes", got)
	}

	// Longer than a hole: the window begins anew. Nothing at all is the same.
	for _, way := range []func(){
		func() { f.give(17*time.Minute, each(noUtil)) },
		func() { f.pass(17 * time.Minute) },
	} {
		f = newFeed(t).give(59 * time.Minute)
		way()
		f.give(59 * time.Minute).quietFor(59 * time.Minute).give(2 * time.Minute).quietFor(61 * time.Minute)
		f.is("since", f.s.Idle.Since, t0.Add(76*time.Minute)).is("sorted", f.s.Sorted, t0.Add(76*time.Minute))
	}
	// One that was never believed is not idle, whatever else it tells.
	f = newFeed(t).give(3*time.Hour, each(noUtil))
	f.is("idle", f.s.Idle.On(), false).is("quiet", f.s.GPUsQuiet.On(), false).is("lost", f.s.Lost.Since, t0)
}

// TestSignalFallsSilent: a signal that was told and is told no more makes the quiet
// unknown, so that nobody takes a box that compiles, or serves, for one that rests. After
// a day, or in another boot, it counts as one that nobody tells.
func TestSignalFallsSilent(t *testing.T) {
	for name, c := range map[string]change{
		"cpu":       func(x *guard.Sample) { x.CPUCores = guard.Gauge{} },
		"net":       func(x *guard.Sample) { x.Rx, x.Tx = guard.Gauge{}, guard.Gauge{} },
		"disk":      func(x *guard.Sample) { x.Disk = guard.Gauge{} },
		"processes": func(x *guard.Sample) { x.Processes = guard.Gauge{} },
		"memory":    one(3, func(g *guard.GPUSample) { g.MemUsed = guard.Gauge{} }),
	} {
		f := newFeed(t).give(30*time.Minute).give(10*time.Minute, c).quietFor(30 * time.Minute)
		f.is(name, f.s.Doubts, []string{name + " is not told any more"}).is("gpus", f.s.GPUsQuiet.Seen, 40*time.Minute)
		f.is("lost", f.s.Lost.Why, name+" is not told any more").is("untold", f.s.Untold(), []string(nil))
		f.give(23*time.Hour, c).is("fresh", f.s.Fresh(f.at), false).is("untold", f.s.Untold(), []string(nil))
		back, booted := *f, *f
		back.give(10*time.Minute).quietFor(10*time.Minute).is("lost", back.s.Lost.On(), false)
		booted.give(10*time.Minute, c, func(x *guard.Sample) { x.Boot = "b2" }).quietFor(10 * time.Minute)
		f.give(80*time.Minute, c).quietFor(30 * time.Minute) // the last half hour, anew
		for _, s := range []State{f.s, booted.s} {
			f.is("untold", s.Untold(), []string{name})
			if name == "processes" || name == "memory" {
				f.is("sort", s.Sort, Blind)
			}
		}
	}
}

// TestStuckProfiling: a profiling metric that reads 0 beside full power or utilisation
// is not believed, and named (IDLE-05).
func TestStuckProfiling(t *testing.T) {
	engine := func(g *guard.GPUSample) {
		g.Engine, g.Tensor, g.DRAM = guard.Known(0), guard.Known(0), guard.Known(0)
	}
	const name = "profiling metrics (engine, tensor, dram active) of gpu 0-7 are stuck at 0 while it works: inconsistent"
	f := newFeed(t).give(3*time.Hour, training, each(engine))
	f.is("idle", f.s.Idle.On(), false).is("doubts", f.s.Doubts, []string{name}).is("worked", f.s.Worked, f.at)
	// Where nothing but that metric is told, power says that it lies.
	f = newFeed(t).give(3*time.Hour, each(engine), each(noUtil), each(watts(600)))
	f.is("idle", f.s.Idle.On(), false).is("quiet", f.s.GPUsQuiet.On(), false).is("named", slices.Contains(f.s.Doubts, name), true)
	f.is("lost", f.s.Lost.On(), true)
	// Tensor cores that rest are not a GPU that does.
	newFeed(t).give(time.Hour, each(noUtil), each(func(g *guard.GPUSample) { g.Tensor, g.DRAM = guard.Known(0), guard.Known(0) })).quietFor(0)
	// At rest it is believed, and takes the place of a utilisation that is not told.
	newFeed(t).give(time.Hour, each(engine), each(noUtil)).quietFor(time.Hour)
	newFeed(t).give(time.Hour, each(noUtil), one(3, func(g *guard.GPUSample) { g.Engine = guard.Known(0.2) })).quietFor(0)
	for _, c := range []func(*guard.GPUSample){
		func(g *guard.GPUSample) { g.Tensor = guard.Known(0.02) },
		func(g *guard.GPUSample) { g.DRAM = guard.Known(0.02) },
	} {
		newFeed(t).give(time.Hour, one(5, c)).quietFor(0)
	}
}

// TestInconsistentPower: no utilisation at a power that only work draws is not known,
// and what was quiet before is no longer.
func TestInconsistentPower(t *testing.T) {
	f := newFeed(t).give(50*time.Minute).give(10*time.Minute, one(2, watts(290)))
	f.quietFor(0).is("quiet", f.s.GPUsQuiet.On(), false).is("worked", f.s.Worked.IsZero(), true)
	f.is("doubts", f.s.Doubts, []string{"util of gpu 2 is next to 0 at a power that only work draws: inconsistent"})
	f.is("lost", f.s.Lost.Since, t0.Add(50*time.Minute))
	// A small card rests at 40 % of its limit.
	f = newFeed(t)
	f.give(time.Hour, each(func(g *guard.GPUSample) { g.Power, g.PowerLimit = guard.Known(32), guard.Known(72) }))
	f.quietFor(time.Hour)
	// The model tells the limit where the sample does not.
	f = newFeed(t).give(time.Hour, each(func(g *guard.GPUSample) { g.Power, g.PowerLimit = guard.Known(200), guard.Gauge{} }))
	f.quietFor(0)
	// A power that no variant of it draws does not raise the limit past theirs.
	f = newFeed(t).give(time.Minute, training, each(func(g *guard.GPUSample) { g.Power, g.PowerLimit = guard.Known(2500), guard.Gauge{} }))
	f.give(10*time.Minute, each(func(g *guard.GPUSample) { g.Power, g.PowerLimit = guard.Known(300), guard.Gauge{} })).quietFor(0)
	f = newFeed(t)
	f.box.GPUModel = "something"
	f.give(time.Hour, each(func(g *guard.GPUSample) { g.Power, g.PowerLimit = guard.Known(200), guard.Gauge{} })).quietFor(time.Hour)
}

// TestMIG: what is not told is not 0 (IDLE-07).
func TestMIG(t *testing.T) {
	mig := func(g *guard.GPUSample) { g.Util, g.MIG = guard.Gauge{}, true }
	f := newFeed(t).give(3*time.Hour, each(mig))
	f.is("idle", f.s.Idle.On(), false).is("why", f.s.Lost.Why, "util of gpu 0-7 is not told (MIG)")
	naive := newFeed(t).give(3*time.Hour, each(func(g *guard.GPUSample) { g.MIG = true }))
	naive.is("0 is no answer", naive.s.Idle.On(), false)
	// One of eight that is cut, and rests of the others: still not known.
	f = newFeed(t).give(3*time.Hour, one(6, mig))
	f.is("idle", f.s.Idle.On(), false).is("why", f.s.Lost.Why, "util of gpu 6 is not told (MIG)")
	// Memory that moves shows work all the same.
	f.give(time.Minute, one(6, mig), one(6, mem(4000))).is("work", f.s.Work, "gpu memory moved by 3.9 GiB")
}

// TestHeldByTheDead: memory alone is no veto (IDLE-10 a), and utilisation without a
// process is no proof of work (IDLE-10 b).
func TestHeldByTheDead(t *testing.T) {
	dead := func(x *guard.Sample) {
		x.GPUs[0].MemUsed, x.Processes = guard.Known(5371), guard.Known(1)
		x.GPUProcesses = []guard.GPUProcess{{PID: 4242, Alive: guard.No}}
	}
	f := newFeed(t).give(time.Hour, dead).quietFor(time.Hour)
	f.is("sort", f.s.Sort, Resident).is("held", f.s.Held, true).is("phantom", f.s.Phantom.On(), false)
	f.is("why", f.s.Idle.Why, "memory held, and no process alive that holds it")
	f.give(time.Minute, dead, func(x *guard.Sample) { x.GPUProcesses[0].Alive = guard.Unknown }).is("held", f.s.Held, false)

	f = newFeed(t).give(30*time.Minute, dead, one(0, util(100)))
	f.is("phantom", f.s.Phantom.Seen, 30*time.Minute).is("idle", f.s.Idle.On(), false)
	f.give(time.Minute, dead, one(0, util(100)), func(x *guard.Sample) { x.GPUProcesses[0].Alive = guard.Yes })
	f.is("phantom", f.s.Phantom.On(), false)
	f = newFeed(t).give(time.Hour, one(0, util(100)), func(x *guard.Sample) { x.Processes = guard.Gauge{} })
	f.is("phantom", f.s.Phantom.On(), false)
}

// TestMissingGPU: one that is not told of is not quiet.
func TestMissingGPU(t *testing.T) {
	f := newFeed(t).give(30*time.Minute).give(10*time.Minute, func(x *guard.Sample) { x.GPUs = x.GPUs[:7] })
	f.quietFor(30*time.Minute).is("why", f.s.Doubts, []string{"gpu 7 is not told of"}).is("lost", f.s.Lost.On(), true)
	f.give(time.Minute, func(x *guard.Sample) { x.GPUs = x.GPUs[:7] }, one(1, util(2))).quietFor(0)
}

// TestOrder: points that come twice, late or from the future change nothing (IDLE-14).
func TestOrder(t *testing.T) {
	f := newFeed(t).give(30 * time.Minute)
	was := dump(t, f.s)
	for name, tt := range map[string]struct {
		x    guard.Sample
		kind error
	}{
		"twice":      {quiet(8, f.at, time.Minute), guard.ErrConflict},
		"late":       {quiet(8, f.at.Add(-5*time.Minute), time.Minute), guard.ErrConflict},
		"future":     {quiet(8, f.at.Add(time.Minute+time.Second), time.Minute), guard.ErrInvalid},
		"no time":    {quiet(8, time.Time{}, time.Minute), guard.ErrInvalid},
		"no length":  {quiet(8, f.at.Add(time.Second), 0), guard.ErrInvalid},
		"a day":      {quiet(8, f.at.Add(time.Second), 24*time.Hour), guard.ErrInvalid},
		"65 of them": {quiet(65, f.at.Add(time.Second), time.Minute), guard.ErrInvalid},
	} {
		if err := f.s.Admit(tt.x, f.at); !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if got := dump(t, f.s.Fold(f.b, f.box, tt.x, f.at)); got != was {
			t.Errorf("%s changed the state:\n%s\n%s", name, was, got)
		}
	}
	if err := f.s.Admit(quiet(8, f.at.Add(time.Minute), time.Minute), f.at); err != nil {
		t.Errorf("a minute ahead is the clock of another machine: %v", err)
	}
	// Old timestamps again and again: the exporter is frozen, and the samples are lost.
	f.pass(3*time.Minute).is("lost", f.s.Lost.On(), false)
	f.pass(time.Second).is("lost", f.s.Lost.Since, t0.Add(30*time.Minute)).is("why", f.s.Lost.Why, "no sample came since")
}

// TestFrozen: values that repeat with a fresh time and an energy counter that stands
// still are not seen.
func TestFrozen(t *testing.T) {
	joules := 1e6
	energy := func(w float64) change {
		return func(x *guard.Sample) {
			joules += w * x.Interval.Seconds()
			each(func(g *guard.GPUSample) { g.Energy = guard.Known(joules) })(x)
		}
	}
	f := newFeed(t).give(30*time.Minute, energy(72)).quietFor(30*time.Minute).give(20*time.Minute, energy(0)).quietFor(30 * time.Minute)
	f.is("why", f.s.Lost.Why, "energy counter of gpu 0-7 stands still while it draws power: the exporter is frozen")
	f = newFeed(t).give(30*time.Minute, training, energy(555)).give(20*time.Minute, training, energy(0))
	f.is("worked", f.s.Worked, t0.Add(30*time.Minute)).is("lost", f.s.Lost.On(), true)
	for i := range 4 { // another exporter, which lives
		f.give(time.Minute, training, energy(0), cores(9.1+float64(i)/10))
	}
	f.is("work", f.s.Work, "cpu 9.4 cores")
	// A counter that begins anew, or tells what no GPU draws, is only a counter.
	f = newFeed(t).give(30*time.Minute, energy(72))
	joules = 5
	f.give(30*time.Minute, energy(72)).quietFor(time.Hour)
	joules = 1e12
	f.give(30*time.Minute, energy(72)).quietFor(90 * time.Minute)
	// Bursts between two instants show in it.
	f.give(time.Minute, instants, energy(200)).quietFor(0).is("work", f.s.Work, "gpu power 128 W above its rest")
}

// TestBursts: what an agent's maximum shows is work; single instants that may miss it
// are of low confidence (IDLE-16).
func TestBursts(t *testing.T) {
	summary := func(x *guard.Sample) {
		x.Basis = guard.Summary
		each(func(g *guard.GPUSample) { g.UtilMax, g.Busy = guard.Known(1), guard.Known(0) })(x)
	}
	f := newFeed(t)
	for range 18 {
		f.give(time.Minute, summary, one(4, func(g *guard.GPUSample) {
			g.Util, g.UtilMax, g.Busy = guard.Known(1.3), guard.Known(80), guard.Known(0.16)
		}))
		f.is("work", f.s.Work, "gpu 80 %")
		f.give(19*time.Minute, summary).quietFor(19*time.Minute).is("confident", f.s.Confident(), true)
	}
	newFeed(t).give(time.Hour, func(x *guard.Sample) { x.GPUs[1].Busy = guard.Known(0.01) }).quietFor(0)

	f = newFeed(t).give(40*time.Minute, instants)
	f.is("confident", f.s.Confident(), true) // no burst was ever seen
	f.give(time.Minute, instants, one(4, util(80))).give(70*time.Minute, instants).quietFor(70 * time.Minute)
	f.is("doubt", f.s.Doubt(), "low confidence: work came after pauses of 40m, and single instants may miss it")
	f.give(10*time.Minute, instants).is("confident", f.s.Confident(), true)
	f.interval = 5 * time.Minute
	f.give(5*time.Hour, instants).is("doubt", f.s.Doubt(), "low confidence: one instant each 5m misses what is between")
	// An energy counter sums up what is between the readings.
	sums := newFeed(t)
	sums.interval = 5 * time.Minute
	sums.give(time.Hour, instants, func(x *guard.Sample) {
		each(func(g *guard.GPUSample) { g.Energy = guard.Known(72 * x.At.Sub(t0).Seconds()) })(x)
	})
	sums.is("confident", sums.s.Confident(), true).quietFor(time.Hour)
	bare := newFeed(t).give(time.Hour, func(x *guard.Sample) {
		x.CPUCores, x.Rx, x.Tx, x.Disk = guard.Gauge{}, guard.Gauge{}, guard.Gauge{}, guard.Gauge{}
	})
	bare.is("nothing but GPUs", bare.s.Confident(), false).quietFor(time.Hour)
	// Work that two readings in a row show is not missed.
	f = newFeed(t).give(40*time.Minute, instants).give(2*time.Minute, instants, one(4, util(80))).give(5*time.Minute, instants)
	f.is("confident", f.s.Confident(), true)
}
