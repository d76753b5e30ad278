package activity_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	. "guard/policy/activity"
)

// what draws one sample's kind: at rest, at work, or telling nothing that can be
// believed; "other" works beside the GPUs.
var what = rapid.SampledFrom([]string{"quiet", "quiet", "quiet", "quiet", "work", "unknown", "missing", "silent", "other", "hole"})

// drawn is a sequence of samples of a box of 1 to 4 GPUs.
func drawn(t *rapid.T, box Box) []guard.Sample {
	var out []guard.Sample
	at, interval := t0, rapid.SampledFrom([]time.Duration{30 * time.Second, time.Minute, 5 * time.Minute}).Draw(t, "interval")
	for range rapid.IntRange(1, 120).Draw(t, "n") {
		at = at.Add(interval - time.Duration(rapid.IntRange(0, 9).Draw(t, "early"))*time.Second)
		x := quiet(box.GPUs, at, interval)
		switch what.Draw(t, "what") {
		case "work":
			x.GPUs[rapid.IntRange(0, box.GPUs-1).Draw(t, "gpu")].Util = guard.Known(rapid.Float64Range(2, 100).Draw(t, "util"))
		case "unknown":
			x.GPUs[0].Util = guard.Gauge{V: rapid.SampledFrom([]float64{-1, 101, 37_100, math.NaN(), math.Inf(1)}).Draw(t, "absurd"), OK: true}
		case "missing":
			x.GPUs = x.GPUs[1:]
		case "silent":
			x.CPUCores = guard.Gauge{}
		case "other":
			x.Rx = guard.Known(5e6)
		case "hole":
			at = at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "hole")) * time.Minute)
			x.At = at
		}
		out = append(out, x)
	}
	return out
}

func folded(box Box, xs []guard.Sample) State {
	var s State
	for _, x := range xs {
		s = s.Fold(Defaults(), box, x, x.At)
	}
	return s
}

func drawnBox(t *rapid.T) Box {
	return Box{GPUs: rapid.IntRange(1, 4).Draw(t, "gpus"), GPUModel: "H100", Created: t0.Add(-time.Hour), Running: true}
}

// works tells whether a sample as drawn shows work by its GPUs.
func works(x guard.Sample) bool {
	return slices.ContainsFunc(x.GPUs, func(g guard.GPUSample) bool { return g.Util.V >= 2 && g.Util.V <= 100 })
}

// TestGapNeverHastens: with a sample less, nothing is idle sooner or for longer, unless
// the sample showed work.
func TestGapNeverHastens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawnBox(t)
		xs := drawn(t, box)
		i := rapid.IntRange(0, len(xs)-1).Draw(t, "lost")
		last := xs[len(xs)-1]
		xs = append(xs, quiet(box.GPUs, last.At.Add(last.Interval), last.Interval))
		if works(xs[i]) || xs[i].Rx.V > 1e6 {
			t.Skip("work that is not seen cannot be known")
		}
		for j := range xs {
			xs[j].CPUCores = guard.Known(0.1) // what was told, and when, is another matter
		}
		less := slices.Delete(slices.Clone(xs), i, i+1)
		all, with := folded(box, xs), folded(box, less)
		if with.Idle.Seen > all.Idle.Seen || with.GPUsQuiet.Seen > all.GPUsQuiet.Seen {
			t.Fatalf("without sample %d idle is seen for %s, with it for %s (GPUs quiet %s, %s)", i, with.Idle.Seen, all.Idle.Seen, with.GPUsQuiet.Seen, all.GPUsQuiet.Seen)
		}
		if with.Idle.On() && all.Idle.On() && with.Idle.Since.Before(all.Idle.Since) {
			t.Fatalf("without sample %d idle begins at %s, with it at %s", i, with.Idle.Since, all.Idle.Since)
		}
	})
}

// TestWorkEndsIdle: one sample that shows work ends what was quiet, whatever was before.
func TestWorkEndsIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawnBox(t)
		xs := drawn(t, box)
		s := folded(box, xs)
		x := quiet(box.GPUs, xs[len(xs)-1].At.Add(time.Minute), time.Minute)
		c := rapid.SampledFrom([]change{
			one(0, util(2)), one(box.GPUs-1, util(100)), one(0, mem(9000)),
			one(0, func(g *guard.GPUSample) { g.UtilMax = guard.Known(3) }),
			one(0, func(g *guard.GPUSample) { g.Busy = guard.Known(0.01) }),
			one(0, func(g *guard.GPUSample) { g.Tensor = guard.Known(0.5) }),
			one(0, watts(500)),
			func(x *guard.Sample) { x.InputAge = guard.Known(3) },
			func(x *guard.Sample) { x.HeartbeatAge = guard.Known(3) },
		}).Draw(t, "work")
		if known := s.Fold(Defaults(), box, x, x.At); !known.Idle.On() {
			return // with no memory known before, none can have moved
		}
		if !s.GPUsQuiet.On() {
			return
		}
		c(&x)
		s = s.Fold(Defaults(), box, x, x.At)
		if s.Idle.On() {
			t.Fatalf("idle for %s after work", s.Idle.Seen)
		}
	})
}

// TestOnlyWhatIsSeen: no span is longer than what samples that tell stand for, none is
// covered more than wholly, and what tells nothing begins none.
func TestOnlyWhatIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawnBox(t)
		var s State
		var stood time.Duration
		for _, x := range drawn(t, box) {
			was := s
			s = s.Fold(Defaults(), box, x, x.At)
			stood += x.Interval + x.Interval/2
			for name, span := range map[string][2]Span{"idle": {was.Idle, s.Idle}, "quiet": {was.GPUsQuiet, s.GPUsQuiet}, "parked": {was.Parked, s.Parked}} {
				old, span := span[0], span[1]
				c := s.Covered(span)
				if span.Seen > stood || c < 0 || c > 1 || span.Seen > span.End.Sub(span.Since) && span.On() {
					t.Fatalf("%s: seen %s since %s to %s, covered %v, of at most %s", name, span.Seen, span.Since, span.End, c, stood)
				}
				tells := len(x.GPUs) == box.GPUs && !(x.GPUs[0].Util.V > 100) && x.GPUs[0].Util.V >= 0
				if !tells && span.On() && (!old.On() || span.Seen > old.Seen) {
					t.Fatalf("%s advanced from %s to %s by a sample that tells nothing", name, old.Seen, span.Seen)
				}
			}
			if s.Idle.On() && !s.GPUsQuiet.On() {
				t.Fatal("idle, and the GPUs are not quiet")
			}
			if (s.Sort != "") != s.Idle.On() {
				t.Fatalf("idle %v of sort %q", s.Idle.On(), s.Sort)
			}
		}
	})
}

// TestKept: a state that was written down and read again folds the same; duplicates and
// late samples change nothing.
func TestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawnBox(t)
		xs := drawn(t, box)
		var s, kept State
		for i, x := range xs {
			s = s.Fold(Defaults(), box, x, x.At)
			b, err := json.Marshal(kept.Fold(Defaults(), box, x, x.At))
			if err != nil {
				t.Fatal(err)
			}
			kept = State{}
			if err := json.Unmarshal(b, &kept); err != nil {
				t.Fatal(err)
			}
			again := kept.Fold(Defaults(), box, xs[rapid.IntRange(0, i).Draw(t, "again")], x.At)
			if !kept.Same(s) || !again.Same(s) || !reflect.DeepEqual(again, kept) {
				t.Fatal("not the same any more")
			}
			want, _ := json.Marshal(s)
			if string(want) != string(b) {
				t.Fatalf("kept:\n%s\nnot kept:\n%s", b, want)
			}
		}
	})
}

// TestScale: twice as long intervals make everything twice as long, where nothing that
// is measured in minutes is about.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawnBox(t)
		n := rapid.IntRange(1, 60).Draw(t, "n")
		work := rapid.SliceOfN(rapid.IntRange(0, 5), n, n).Draw(t, "work")
		run := func(interval time.Duration) State {
			var s State
			for i, w := range work {
				x := quiet(box.GPUs, t0.Add(time.Duration(i+1)*interval), interval)
				if w == 0 {
					x.GPUs[0].Util = guard.Known(50)
				}
				s = s.Fold(Defaults(), box, x, x.At)
			}
			return s
		}
		a, b := run(time.Minute), run(2*time.Minute)
		if 2*a.Idle.Seen != b.Idle.Seen || 2*a.Idle.Since.Sub(t0) != b.Idle.Since.Sub(t0) && a.Idle.On() {
			t.Fatalf("%s since %s, and %s since %s", a.Idle.Seen, a.Idle.Since.Sub(t0), b.Idle.Seen, b.Idle.Since.Sub(t0))
		}
	})
}

// FuzzFold: whatever a sample says, the fold neither panics nor grows, and what it keeps
// can be written down.
func FuzzFold(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 255, 254, 253, 252, 251, 250, 249, 248, 247, 246})
	odd := []float64{0, 1, -1, 100, 101, 37_100, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1 << 62, 600, 1e15}
	for i := range odd {
		b := make([]byte, 400)
		for j := range b {
			b[j] = byte(i + j*7)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		gauge := func() guard.Gauge {
			switch b := next(); {
			case b < 80:
				return guard.Gauge{}
			case b < 200 || len(data) < 8:
				return guard.Gauge{V: odd[b%len(odd)], OK: true}
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(data))
			data = data[8:]
			return guard.Gauge{V: v, OK: true}
		}
		var s State
		at := t0
		box := Box{GPUs: next() - 3, GPUModel: "H100", Running: true}
		for i := 0; len(data) > 0 && i < 200; i++ {
			at = at.Add(time.Duration(next()-20) * time.Duration(next()+1) * time.Second * 10)
			source := string(data[:min(len(data), 3)])
			x := guard.Sample{At: at, Interval: time.Duration(next()) * time.Duration(next()-2) * time.Second, Basis: guard.Basis([]string{"instant", "average", "summary", "x"}[next()%4]),
				Source: source, Boot: []string{"", "a", "b"}[next()%3],
				CPUCores: gauge(), Cores: gauge(), Rx: gauge(), Tx: gauge(), Disk: gauge(), Processes: gauge(), Sessions: gauge(), InputAge: gauge(), HeartbeatAge: gauge()}
			for range next() % 10 {
				x.GPUs = append(x.GPUs, guard.GPUSample{Util: gauge(), UtilMax: gauge(), Busy: gauge(), MemUsed: gauge(), MemTotal: gauge(), Power: gauge(),
					PowerLimit: gauge(), Energy: gauge(), Engine: gauge(), Tensor: gauge(), DRAM: gauge(), MIG: next() > 128})
			}
			for range next() % 3 {
				x.GPUProcesses = append(x.GPUProcesses, guard.GPUProcess{Alive: []guard.Tri{guard.Yes, guard.No, guard.Unknown}[next()%3]})
			}
			box.Running = next() > 5
			s = s.Fold(Defaults(), box, x, t0.Add(time.Hour))
			s = s.Look(Defaults(), box, at)
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatalf("no JSON: %v of %+v", err, x)
			}
			if max := 4096 + 300*64; len(b) > max {
				t.Fatalf("%d bytes", len(b))
			}
			var back State
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			if again, _ := json.Marshal(back); string(again) != string(b) {
				t.Fatalf("not the same:\n%s\n%s", b, again)
			}
			for _, span := range []Span{s.Idle, s.GPUsQuiet, s.Parked, s.Hung, s.Phantom, s.Underused} {
				if c := s.Covered(span); !(c >= 0 && c <= 1) || span.Seen < 0 {
					t.Fatalf("%+v is covered %v", span, c)
				}
			}
			s.Lines(at, nil, guard.Chinese)
		}
	})
}
