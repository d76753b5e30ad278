package agent

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

func TestSummary(t *testing.T) {
	known := guard.Known
	var w window
	if w.summary(20*time.Second) != nil {
		t.Error("GPUs out of nothing")
	}
	for i := range 60 {
		util := 0.0
		if i%20 == 0 {
			util = 90 // three seconds of sixty
		}
		g := guard.GPUSample{Util: known(util), MemUsed: known(1000), MemTotal: known(81559), Power: known(70), PowerLimit: known(700)}
		if i == 7 {
			g.MemUsed = known(30000) // loaded for a second only
		}
		second := guard.GPUSample{MIG: true, MemUsed: known(5)}
		if i >= 50 {
			second.Power = known(400) // told in ten seconds of sixty
		}
		w.add([]guard.GPUSample{g, second}, time.Second)
	}
	got := w.summary(20 * time.Second)
	if len(got) != 2 {
		t.Fatalf("%d GPUs", len(got))
	}
	want := guard.GPUSample{Util: known(4.5), UtilMax: known(90), Busy: known(0.05), MemUsed: known(30000), MemTotal: known(81559), Power: known(70), PowerLimit: known(700)}
	if got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	if g := got[1]; g.Util.OK || g.UtilMax.OK || g.Busy.OK || g.Power.OK || !g.MIG || g.MemUsed != known(5) {
		t.Errorf("%+v", g)
	}
	// A GPU that falls off the bus takes nothing from the others, and its silence is no zero.
	w = window{}
	for i := range 60 {
		gpus := []guard.GPUSample{{Util: known(50)}, {Util: known(50)}}
		if i > 5 {
			gpus[1] = guard.GPUSample{}
		}
		w.add(gpus, time.Second)
	}
	if got := w.summary(20 * time.Second); got[0].Util != known(50) || got[1].Util.OK {
		t.Errorf("%+v", got)
	}
}

// TestSummaryOfFew: readings that are further apart stand for more.
func TestSummaryOfFew(t *testing.T) {
	var w window
	for i := range 6 {
		w.add([]guard.GPUSample{{Util: guard.Known(float64(10 * i))}}, 10*time.Second)
	}
	if got := w.summary(20 * time.Second); got[0].Util != guard.Known(25) || got[0].UtilMax != guard.Known(50) {
		t.Errorf("%+v", got)
	}
}

// TestSummaryBounds: a summary lies within its readings, and unknown readings change
// nothing of it.
func TestSummaryBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		utils := rapid.SliceOfN(rapid.Float64Range(0, 100), 1, 80).Draw(t, "utils")
		var w, holed window
		lo, hi, busy := math.MaxFloat64, 0.0, 0
		for _, u := range utils {
			lo, hi = min(lo, u), max(hi, u)
			if u >= busyFrom {
				busy++
			}
			w.add([]guard.GPUSample{{Util: guard.Known(u)}}, time.Second)
			holed.add([]guard.GPUSample{{Util: guard.Known(u)}}, time.Second)
			holed.add([]guard.GPUSample{{}}, time.Second)
		}
		g := w.summary(time.Second)[0]
		if g != holed.summary(time.Second)[0] {
			t.Fatalf("%+v with holes is %+v", g, holed.summary(time.Second)[0])
		}
		const dust = 1e-9
		if g.Util.V < lo-dust || g.Util.V > hi+dust || g.UtilMax.V != hi || g.Busy.V != float64(busy)/float64(len(utils)) {
			t.Fatalf("%+v of %v", g, utils)
		}
		if w.summary(time.Duration(len(utils)+1) * time.Second)[0].Util.OK {
			t.Fatal("too few readings, and yet known")
		}
	})
}
