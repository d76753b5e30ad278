package activity_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"guard"
	. "guard/policy/activity"
)

// spinning is a box whose processes wait for each other.
func spinning(x *guard.Sample) {
	training(x)
	each(func(g *guard.GPUSample) { g.Util, g.Power = guard.Known(99.9), guard.Known(150) })(x)
	x.CPUCores = guard.Known(8)
}

// TestHung: pinned at next to no power, and the disk decides.
func TestHung(t *testing.T) {
	f := newFeed(t).give(40*time.Minute, spinning)
	f.is("hung", f.s.Hung.Seen, 40*time.Minute).is("idle", f.s.Idle.On(), false)
	f.give(2*time.Minute, spinning, each(func(g *guard.GPUSample) { g.Power = guard.Gauge{} }))
	f.is("power not told", f.s.Hung.Seen, 40*time.Minute)
	f.give(time.Minute, spinning, disk(2e6)).is("a checkpoint", f.s.Hung.On(), false)
	for name, c := range map[string]change{
		"disk not told": func(x *guard.Sample) { x.Disk = guard.Gauge{} },
		"rx not told":   func(x *guard.Sample) { x.Rx = guard.Gauge{} },
		"tx not told":   func(x *guard.Sample) { x.Tx = guard.Gauge{} },
		"network":       rx(1e6),
		"full power":    each(watts(555)),
		"no power":      each(func(g *guard.GPUSample) { g.Power = guard.Gauge{} }),
		"half pinned": func(x *guard.Sample) {
			for i := range 5 {
				x.GPUs[i].Util = guard.Known(60)
			}
		},
		"97 %": each(util(97)),
	} {
		f := newFeed(t).give(time.Hour, spinning, c)
		f.is(name, f.s.Hung.On(), false)
	}
	half := newFeed(t).give(time.Hour, spinning, func(x *guard.Sample) {
		for i := range 4 {
			x.GPUs[i].Util = guard.Known(0)
			x.GPUs[i].Power = guard.Known(120)
		}
	})
	half.is("half of them", half.s.Hung.Seen, time.Hour)
	// Without a limit, what it rests at tells; without that, nothing does.
	bare := func(g *guard.GPUSample) { g.PowerLimit = guard.Gauge{} }
	f = newFeed(t)
	f.box.GPUModel = "X"
	f.give(time.Hour, spinning, each(bare)).is("no limit, no rest", f.s.Hung.On(), false)
	f = newFeed(t)
	f.box.GPUModel = "X"
	loaded := func(x *guard.Sample) { training(x); each(util(0))(x); each(watts(118))(x); each(bare)(x) }
	f.give(10*time.Minute, loaded).give(40*time.Minute, spinning, each(bare)).is("no limit, a rest", f.s.Hung.Seen, 40*time.Minute)
	f.give(time.Minute, spinning, each(bare), each(watts(159))).is("41 W above it", f.s.Hung.On(), false)
	// What a context draws on it is known of an H100; of others, how much it drew before
	// tells which variant it is.
	f = newFeed(t).give(time.Hour, spinning, each(bare))
	f.is("an H100", f.s.Hung.Seen, time.Hour)
	f.give(time.Minute, spinning, each(bare), each(watts(166))).is("an H100 at 166 W", f.s.Hung.On(), false)
	for drew, want := range map[float64]bool{390: true, 240: false, 3000: true} {
		f = newFeed(t)
		f.box.GPUModel = "A100"
		f.give(10*time.Minute, training, each(bare), each(watts(drew))).give(time.Hour, spinning, each(bare), each(watts(130)))
		f.is("an A100", f.s.Hung.On(), want)
	}
}

// TestOneOfEight: one GPU that works is the box at work (IDLE-13), the others are told.
func TestOneOfEight(t *testing.T) {
	f := newFeed(t)
	six := func(x *guard.Sample) {
		for i := range 6 {
			x.GPUs[i].Util, x.GPUs[i].MemUsed = guard.Known(100), guard.Known(70_000)
		}
	}
	f.give(7*time.Hour, six).is("idle", f.s.Idle.On(), false)
	f.is("unused", f.s.Unused, []int{6, 7}).is("seen", f.s.Underused.Seen, 7*time.Hour).is("since", f.s.Underused.Since, t0)
	// The box rests: nobody could be unused meanwhile.
	f.give(3*time.Hour).is("seen", f.s.Underused.Seen, 7*time.Hour)
	// One does a little: 2 % of six hours are allowed.
	f.give(7*time.Minute, six, one(6, util(30))).is("unused", f.s.Unused, []int{6, 7})
	f.give(2*time.Minute, six, one(6, util(30))).is("unused", f.s.Unused, []int{7})
	f.is("for an hour", f.s.UnusedFor(time.Hour), []int{7})
	near := newFeed(t).give(30*time.Minute, six, one(7, mem(900))).give(7*time.Hour, six)
	near.is("nearly as long", near.s.Unused, []int{6, 7})
	// What is hours ago counts half.
	for late, want := range map[time.Duration]int{4: 1, 5: 0} {
		g := newFeed(t)
		g.give(6*time.Minute, six, one(6, util(30)), one(7, mem(900))).give(7*time.Hour, six, one(7, mem(900))).give(late*time.Minute, six, one(6, util(30)), one(7, mem(900)))
		g.is("used long ago", len(g.s.UnusedFor(time.Hour)), want)
	}
	// One is loaded and does nothing: that is imbalance, and no smaller box would do.
	f.give(time.Minute, six, one(7, mem(900))).is("unused", f.s.UnusedFor(5*time.Minute), []int(nil))

	// One power is told of all: where nothing is loaded nothing draws it.
	odd := newFeed(t).give(7*time.Hour, six, each(watts(540)))
	odd.is("at a power that only work draws", odd.s.Unused, []int{6, 7})
	lone := newFeed(t).give(3*time.Hour, one(0, util(12)))
	lone.is("idle", lone.s.Idle.On(), false).is("unused", lone.s.Unused, []int{1, 2, 3, 4, 5, 6, 7})
	// Memory that nobody tells is not known to be free.
	blind := newFeed(t).give(8*time.Hour, six, each(func(g *guard.GPUSample) { g.MemUsed = guard.Gauge{} }))
	blind.is("underused", blind.s.Underused.On(), false)
}

// TestPower: a GPU that draws more than it rests at works, for as long as nothing says
// that this is what it rests at now.
func TestPower(t *testing.T) {
	f := newFeed(t).give(30*time.Minute).give(time.Minute, one(5, watts(106))).quietFor(31 * time.Minute)
	f.give(time.Minute, one(5, watts(107))).quietFor(0).is("work", f.s.Work, "gpu power 35 W above its rest")
	f.give(15*time.Minute, one(5, watts(140))).quietFor(0)
	f.give(time.Hour, one(5, watts(140))).quietFor(time.Hour)
	// What it rests at now is the least of what it drew.
	f = newFeed(t).give(30*time.Minute).give(time.Minute, one(5, watts(110))).give(20*time.Minute, one(5, watts(160)))
	f.quietFor(0)
	// A context is no work: the memory that moves says that it rests elsewhere now.
	loaded := func(x *guard.Sample) { each(mem(30_000))(x); each(watts(120))(x); x.Processes = guard.Known(1) }
	f = newFeed(t).give(30*time.Minute).give(time.Hour, loaded)
	f.quietFor(59*time.Minute).is("sort", f.s.Sort, Resident)
	// So does work.
	newFeed(t).give(30*time.Minute).give(time.Hour, each(util(50))).give(time.Hour, each(watts(120))).quietFor(time.Hour)
	// A box that was never seen at rest is not at work by its power alone.
	newFeed(t).give(time.Hour, each(watts(200))).quietFor(time.Hour)
	// Bursts that come back are work each time: the floor does not rise between them.
	f = newFeed(t).give(30 * time.Minute)
	for range 12 {
		f.give(time.Minute, each(watts(180))).quietFor(0).give(9 * time.Minute).quietFor(9 * time.Minute)
	}
}

// TestMemoryMoves: what moves by less than 256 MiB and 2 % is no work, however often; a
// slow growth is, each time that it has come to that much.
func TestMemoryMoves(t *testing.T) {
	f := newFeed(t).give(30*time.Minute, each(mem(30_000))).give(30*time.Minute, each(mem(31_600))).quietFor(time.Hour)
	f.give(time.Minute, one(0, mem(31_632))).quietFor(0).is("work", f.s.Work, "gpu memory moved by 1.6 GiB")
	f.give(time.Minute, one(0, mem(20_000))).quietFor(time.Minute).give(time.Minute, one(0, mem(17))).quietFor(0) // right after work, and later
	f = newFeed(t)
	for i := range 60 {
		f.give(time.Minute, one(0, mem(30_000+100*float64(i))))
	}
	f.quietFor(8 * time.Minute)
	small := func(x *guard.Sample) { each(func(g *guard.GPUSample) { g.MemTotal = guard.Known(8000) })(x) }
	newFeed(t).give(30*time.Minute, small).give(30*time.Minute, small, one(0, mem(272))).quietFor(time.Hour)
	newFeed(t).give(30*time.Minute, small).give(30*time.Minute, small, one(0, mem(273))).quietFor(29 * time.Minute)
}

// TestReboot: whatever held ends with the boot that it was of, and nothing is judged for
// a while.
func TestReboot(t *testing.T) {
	boot2 := func(x *guard.Sample) { x.Boot = "b2" }
	f := newFeed(t).give(50*time.Minute).give(10*time.Minute, boot2).quietFor(10 * time.Minute)
	f.is("boot at", f.s.BootAt, t0.Add(50*time.Minute)).is("ready", f.s.Ready(f.at, f.b, f.box), false)
	f.give(10*time.Minute, boot2).is("ready", f.s.Ready(f.at, f.b, f.box), true)
	f.give(time.Minute, func(x *guard.Sample) { x.Boot = "" }).quietFor(21 * time.Minute) // a source that does not tell

	// Of intervals that overlap the boot is after the newest sample.
	f = newFeed(t)
	f.interval = 10 * time.Second
	minutes := func(x *guard.Sample) { x.Interval = time.Minute }
	f.give(time.Minute, minutes).give(10*time.Second, minutes, boot2).is("boot at", f.s.BootAt, t0.Add(time.Minute))

	// Each of the spans ends.
	f = newFeed(t).give(7*time.Hour, spinning, each(mem(0)), one(0, mem(9000)), func(x *guard.Sample) { x.GPUs[7].Util = guard.Known(0) })
	f.is("hung", f.s.Hung.On(), true).is("unused", f.s.Unused, []int{7}).give(time.Minute, spinning, procs(0)).is("phantom", f.s.Phantom.On(), true)
	f.give(time.Minute, boot2).is("hung", f.s.Hung.On(), false).is("phantom", f.s.Phantom.On(), false).is("unused", f.s.Underused.On(), false)

	// Created lately, or of an unknown age: the same.
	f = newFeed(t)
	f.box.Created = t0
	f.give(19*time.Minute).is("ready", f.s.Ready(f.at, f.b, f.box), false)
	f.give(time.Minute).is("ready", f.s.Ready(f.at, f.b, f.box), true).quietFor(20 * time.Minute)
	f = newFeed(t)
	f.box.Created = time.Time{}
	f.give(19*time.Minute).is("ready", f.s.Ready(f.at, f.b, f.box), false)
	f.give(time.Minute).is("ready", f.s.Ready(f.at, f.b, f.box), true)
	f.is("nothing heard", State{}.Ready(f.at, f.b, f.box), false)
}

// TestStopped: a box that does not run has no activity; one that runs again has booted.
func TestStopped(t *testing.T) {
	f := newFeed(t).give(50 * time.Minute)
	f.box.Running = false
	f.give(time.Minute).is("idle", f.s.Idle.On(), false).is("state", dump(t, f.s), dump(t, State{Boot: "b1", BootAt: f.at}))
	f.give(time.Minute, func(x *guard.Sample) { x.Boot = "b2" }).is("state", dump(t, f.s), dump(t, State{Boot: "b1", BootAt: f.at}))
	f.pass(time.Hour).is("state", dump(t, f.s), dump(t, State{Boot: "b1", BootAt: f.at})).is("ready", f.s.Ready(f.at, f.b, f.box), false)
	f.box.Running = true
	// What an agent kept from before does not count.
	old := quiet(8, f.at.Add(-time.Minute), time.Minute)
	f.is("of before", f.s.Fold(f.b, f.box, old, f.at).Idle.On(), false)
	f.interval = 5 * time.Minute
	f.at = f.at.Add(-2 * time.Minute) // the first interval began before
	f.give(20*time.Minute).is("ready", f.s.Ready(f.at, f.b, f.box), false).quietFor(18 * time.Minute)

	f = newFeed(t)
	f.box.Created = t0.Add(50 * time.Minute)
	f.interval = time.Hour
	f.give(time.Hour).quietFor(10 * time.Minute)
}

// TestNoGPUs: a machine without one has nothing that could be idle.
func TestNoGPUs(t *testing.T) {
	f := newFeed(t)
	f.box.GPUs = 0
	f.give(time.Hour).is("idle", f.s.Idle.On(), false).is("why", f.s.Lost.Why, "no GPU is told of")
}

// TestSpacing: readings that come a little late are no holes, and one that is missing is.
func TestSpacing(t *testing.T) {
	f := newFeed(t)
	f.interval = 85 * time.Second
	minutes := func(x *guard.Sample) { x.Interval = time.Minute }
	f.give(85*time.Minute, minutes).quietFor(85*time.Minute - 25*time.Second)
	f = newFeed(t)
	f.interval = 2 * time.Minute
	f.give(time.Hour, minutes).quietFor(30 * time.Minute)
	if c := f.s.Covered(f.s.Idle); c > 0.51 || c < 0.5 {
		t.Errorf("half of it is seen, and covered is %v", c)
	}
	// Samples that overlap are not counted twice.
	f = newFeed(t)
	f.interval = 10 * time.Second
	f.give(time.Hour, minutes).quietFor(time.Hour + 50*time.Second)
	f.is("covered", f.s.Covered(f.s.Idle), 1.0).is("of nothing", f.s.Covered(Span{}), 0.0)
	// Nor does quiet begin before work has ended.
	f.give(10*time.Second, minutes, one(1, util(5))).give(20*time.Second, minutes).quietFor(20 * time.Second)
	// Of long intervals three may be missing.
	f = newFeed(t)
	f.interval = 10 * time.Minute
	f.give(time.Hour).pass(20 * time.Minute).give(10 * time.Minute).quietFor(70 * time.Minute)
	f.pass(40 * time.Minute).give(10 * time.Minute).quietFor(10 * time.Minute)
}

// TestSame: what only grows older is no difference, and whatever a rule may judge is.
func TestSame(t *testing.T) {
	f := newFeed(t).give(30 * time.Minute)
	was := f.s
	same := func(name string, want bool) { t.Helper(); f.is(name, f.s.Same(was), want) }
	f.give(time.Minute)
	same("a minute later", true)
	f.pass(2 * time.Minute)
	same("no sample for two minutes", true)
	f.pass(2 * time.Minute)
	same("lost", false)
	f.give(time.Minute)
	same("a hole", false)
	for name, c := range map[string]change{
		"sort": procs(1), "work": each(util(9)), "boot": func(x *guard.Sample) { x.Boot = "b9" },
		"source": func(x *guard.Sample) { x.Source = "other" }, "hung": spinning, "phantom": one(0, util(5)),
		"unused":   one(0, mem(5000)),
		"pinned":   func(x *guard.Sample) { spinning(x); x.GPUs[0].Util = guard.Known(3) },
		"instants": func(x *guard.Sample) { x.Basis, x.Interval = guard.Instantaneous, 10*time.Minute },
	} {
		f = newFeed(t).give(30 * time.Minute)
		was = f.s
		f.give(time.Minute, c)
		same(name, false)
	}
	f = newFeed(t).give(30*time.Minute, rx(2e6))
	was = f.s
	f.give(2*time.Minute, rx(3e6))
	same("parked by another rate", true)
	f.give(20 * time.Minute)
	same("parked no longer", false)
}

// TestLines: people read the window's numbers.
func TestLines(t *testing.T) {
	f := newFeed(t).is("none", State{}.Lines(t0, nil, guard.English), []string{"no sample yet"})
	f.give(30*time.Minute, training).give(70*time.Minute, each(mem(16)), cores(0.31)).give(2*time.Minute, func(x *guard.Sample) { x.GPUs = x.GPUs[:7] })
	zone := time.FixedZone("CST", 8*3600)
	f.is("lines", f.s.Lines(f.at.Add(20*time.Second), zone, guard.English), []string{
		"newest sample 20s ago (test, average each 1m), 97 % of the quiet window seen",
		"last work 2026-03-02 08:30 CST: gpu 97 %",
		"last 1h15m: gpu at most 0 %, mean 0 %, power at most 72 W, memory 128 MiB, cpu at most 0.31 cores, net at most 1.0 kB/s, disk at most 0 B/s",
		"gpu ██████▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁",
		"not believed: gpu 7 is not told of",
	})
	f.give(3*time.Minute).pass(22*time.Minute).give(5*time.Minute, each(util(2)))
	if got := f.s.Lines(f.at, nil, guard.English); !strings.Contains(strings.Join(got, "\n"), "▁▁▁▁▁....▂") {
		t.Errorf("what nobody told is not drawn so: %q", got)
	}
	f.give(10*time.Hour, each(util(55)))
	if got := f.s.Lines(f.at, nil, guard.English)[2]; !strings.HasPrefix(got, "last 2h: gpu at most 55 %, mean 55 %") {
		t.Errorf("two hours are kept, and it says %q", got)
	}
}

// TestSize: a state is small, however long it has been told what.
func TestSize(t *testing.T) {
	f := newFeed(t)
	for i := range 30 {
		f.give(time.Hour, training, func(x *guard.Sample) {
			each(func(g *guard.GPUSample) { g.Energy = guard.Known(1e6 + 555*x.At.Sub(t0).Seconds()) })(x)
			x.GPUs[i%8].Util = guard.Known(-1)
		}, rx(123_456_789.123), disk(9.87654321e8)).give(10 * time.Minute)
	}
	if n := len(dump(t, f.s)); n > 4096 {
		t.Errorf("a state of 8 GPUs takes %d bytes", n)
	}
}

func BenchmarkFold(b *testing.B) {
	for name, c := range map[string]change{"quiet": func(*guard.Sample) {}, "training": training} {
		b.Run(name, func(b *testing.B) {
			var s State
			busy, at, x := Defaults(), t0, quiet(8, t0, time.Minute)
			c(&x)
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(time.Minute)
				x.At = at
				s = s.Fold(busy, box, x, at)
			}
			j, err := json.Marshal(s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(j)), "bytes/state")
		})
	}
}
