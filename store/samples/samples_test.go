package samples

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var day = time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)

func known(v float64) guard.Gauge { return guard.Gauge{V: v, OK: true} }

// anyGauge is also what no honest source tells.
var anyGauge = rapid.OneOf(
	rapid.Just(guard.Gauge{}),
	rapid.Map(rapid.Float64Range(0, 100), known),
	rapid.Map(rapid.IntRange(0, 100), func(n int) guard.Gauge { return known(float64(n)) }),
	rapid.Map(rapid.Float64Range(0, 1e12), known),
	rapid.Map(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 37100, 1e300, math.MaxFloat64, 0}), known),
)

func anySample(t *rapid.T, at time.Time) guard.Sample {
	x := guard.Sample{At: at, Interval: time.Duration(rapid.IntRange(0, 3600).Draw(t, "interval")) * time.Second,
		Basis:  rapid.SampledFrom([]guard.Basis{guard.Instantaneous, guard.Average, guard.Summary}).Draw(t, "basis"),
		Source: rapid.SampledFrom([]string{"agent", "prometheus", ""}).Draw(t, "source"),
		Boot:   rapid.SampledFrom([]string{"", "b1", "b2"}).Draw(t, "boot")}
	for _, p := range plain {
		*p.of(&x) = anyGauge.Draw(t, "plain")
	}
	for range rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "gpus") {
		g := guard.GPUSample{MIG: rapid.Bool().Draw(t, "mig")}
		for _, p := range each {
			*p.of(&g) = anyGauge.Draw(t, "gpu")
		}
		x.GPUs = append(x.GPUs, g)
	}
	return x
}

// within is what the package promises of a number.
func within(s scale, told, kept guard.Gauge) error {
	if !told.OK || !(told.V >= 0) || s.steps(told.V) > largest {
		if kept.OK {
			return fmt.Errorf("%v, which is no number to keep, came back as %v", told, kept.V)
		}
		return nil
	}
	step := 1 / s.per
	off := told.V - kept.V
	if !kept.OK || off < -2e-6*max(step, told.V*1e-6) || off >= max(step, told.V/float64(int(1)<<(s.bits-1))) {
		return fmt.Errorf("%v came back as %v, %v off: steps of %v and %d bits", told.V, kept, off, step, s.bits)
	}
	return nil
}

// What comes back is what was told, but for the loss that the package states; and what
// came back once comes back the same.
func TestLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Memory()
		at, told := day, []guard.Sample{}
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "later")) * time.Second)
			told = append(told, anySample(t, at))
		}
		s.Append(at, Entry{Key: "lab/instance/i-1", Samples: told})
		kept := s.Since("lab/instance/i-1", time.Time{})
		if len(kept) != len(told) {
			t.Fatalf("%d of %d came back", len(kept), len(told))
		}
		for i, x := range told {
			y := kept[i]
			if !y.At.Equal(x.At) || y.Basis != x.Basis || y.Source != x.Source || y.Boot != x.Boot || len(y.GPUs) != len(x.GPUs) {
				t.Fatalf("%+v came back as %+v", x, y)
			}
			if err := within(seconds, known(x.Interval.Seconds()), known(y.Interval.Seconds())); err != nil {
				t.Fatal("interval: ", err)
			}
			for c, p := range plain {
				if err := within(p.scale, *p.of(&x), *p.of(&y)); err != nil {
					t.Fatalf("number %d: %v", c, err)
				}
			}
			for g := range x.GPUs {
				for c, p := range each {
					if err := within(p.scale, *p.of(&x.GPUs[g]), *p.of(&y.GPUs[g])); err != nil {
						t.Fatalf("GPU %d, number %d: %v", g, c, err)
					}
				}
				if x.GPUs[g].MIG != y.GPUs[g].MIG {
					t.Fatal("a GPU that is cut is not, or the other way")
				}
			}
			if again := Kept(y); !reflect.DeepEqual(again, y) {
				t.Fatalf("what came back, %+v, is not kept as it is: %+v", y, again)
			}
		}
	})
}

// What counts as work at a whole percentage does so when it comes back.
func TestWholePercents(t *testing.T) {
	for v := 0.0; v < 16; v += 0.01 {
		if got := percent.gauge(percent.index(known(v))).V; math.Floor(v+1e-6) != got {
			t.Fatalf("%v %% came back as %v", v, got)
		}
	}
}

func minutes(from time.Time, n int) []guard.Sample {
	out := make([]guard.Sample, n)
	for i := range out {
		out[i] = guard.Sample{At: from.Add(time.Duration(i+1) * time.Minute), Interval: time.Minute, Basis: guard.Summary, Source: "agent",
			GPUs: []guard.GPUSample{{Util: known(float64(i % 10)), MemUsed: known(6400)}}, Processes: known(1)}
	}
	return out
}

func times(xs []guard.Sample) (out []time.Time) {
	for _, x := range xs {
		out = append(out, x.At)
	}
	return out
}

// Samples that came before are there once, whatever comes with them, and Since and Retain
// cut by the time.
func TestAppendTwice(t *testing.T) {
	s, xs := Memory(), minutes(day, 600)
	s.Append(day, Entry{Key: "a/instance/1", Samples: xs[:300], State: []byte("1")})
	s.Append(day, Entry{Key: "a/instance/1", Samples: xs[250:]}, Entry{Key: "a/instance/2", Samples: xs[:1], State: []byte("2")})
	s.Append(day, Entry{Key: "a/instance/1", Samples: xs[:10]})
	if got := times(s.Since("a/instance/1", day)); !slices.Equal(got, times(xs)) {
		t.Fatalf("%d samples, want %d", len(got), len(xs))
	}
	if got := s.Since("a/instance/1", xs[298].At); len(got) != 301 || !got[0].At.Equal(xs[299].At) {
		t.Errorf("%d samples since the 299th", len(got))
	}
	if got := s.States(); string(got["a/instance/1"]) != "1" || string(got["a/instance/2"]) != "2" {
		t.Errorf("states %q", got)
	}
	s.Retain(xs[500].At)
	if got := s.Since("a/instance/1", day); len(got) == 0 || len(got) == 600 || !got[len(got)-1].At.Equal(xs[599].At) {
		t.Errorf("%d samples are retained", len(got))
	}
	s.Forget(day, "a/instance/1", "nobody")
	if got := s.Since("a/instance/1", day); got != nil || len(s.States()) != 1 {
		t.Errorf("%d samples of what was forgotten", len(got))
	}
}

// A block is packed before it is long, and before it lasts long.
func TestBlocksEnd(t *testing.T) {
	s := Memory()
	s.Append(day, Entry{Key: "k", Samples: minutes(day, most+1)})
	s.Append(day, Entry{Key: "k", Samples: minutes(day.Add(24*time.Hour), 1)})
	if sr := s.series["k"]; len(sr.chunks) != 2 || sr.chunks[0].n != most || sr.chunks[1].n != 1 || sr.tail.n() != 1 {
		t.Errorf("chunks %+v and %d rows", sr.chunks, sr.tail.n())
	}
}
