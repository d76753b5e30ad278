package samples

import (
	"math"
	"math/bits"

	"guard"
)

// scale is how exactly a number is kept: rounded down to a step, and from 2^bits steps on
// to its bits leading bits. Numbers that lie close get numbers that lie close, which is
// what makes the differences of a row small.
type scale struct {
	per  float64 // steps per one
	bits int
}

// largest is the most steps that are kept; a number beyond it is as good as none.
const largest = 1 << 40

// steps is how many whole ones a number has: 0.29 × 100 is a little less than 29.
func (s scale) steps(v float64) float64 { return math.Floor(v*s.per*(1+1e-15) + 1e-6) }

// index is a number as it is kept: 0 is not known. What is negative, no number or beyond
// the scale is not known either.
func (s scale) index(g guard.Gauge) uint16 {
	if !g.OK || !(g.V >= 0) { //nolint:staticcheck // NaN is not at least 0
		return 0
	}
	steps := s.steps(g.V)
	if steps > largest {
		return 0
	}
	n := uint64(steps)
	if e := bits.Len64(n) - s.bits; e > 0 {
		n = uint64(e)<<(s.bits-1) + n>>e
	}
	return uint16(n + 1)
}

// gauge is the number that an index stands for: the least of those that get it.
func (s scale) gauge(i uint16) guard.Gauge {
	if i == 0 {
		return guard.Gauge{}
	}
	n := uint64(i - 1)
	if e := int(n>>(s.bits-1)) - 1; e > 0 {
		n = (n - uint64(e)<<(s.bits-1)) << e
	}
	return guard.Known(float64(n) / s.per)
}

// The scales. With many steps 4 bits are less than 1/8 off, 5 bits less than 1/16, 8 bits
// less than 1/128.
var (
	percent = scale{1, 5}       // 1 %
	share   = scale{100, 5}     // 0.01
	mebi    = scale{1. / 64, 8} // 64 MiB
	watt    = scale{1. / 5, 5}  // 5 W
	core    = scale{10, 5}      // 0.1
	rate    = scale{1e-3, 4}    // 1 kB/s
	count   = scale{1, 10}      // exact up to 1024
	seconds = scale{1, 10}      // exact up to 17 minutes
	age     = scale{1. / 10, 4} // 10 s
)

// What a sample has besides its time and its words, and each of its GPUs. The order is in
// files: only ever add at the end, and raise the version.
var (
	plain = []struct {
		scale
		of func(*guard.Sample) *guard.Gauge
	}{
		{core, func(x *guard.Sample) *guard.Gauge { return &x.CPUCores }},
		{core, func(x *guard.Sample) *guard.Gauge { return &x.Cores }},
		{rate, func(x *guard.Sample) *guard.Gauge { return &x.Rx }},
		{rate, func(x *guard.Sample) *guard.Gauge { return &x.Tx }},
		{rate, func(x *guard.Sample) *guard.Gauge { return &x.Disk }},
		{count, func(x *guard.Sample) *guard.Gauge { return &x.Processes }},
		{count, func(x *guard.Sample) *guard.Gauge { return &x.Sessions }},
		{age, func(x *guard.Sample) *guard.Gauge { return &x.InputAge }},
		{age, func(x *guard.Sample) *guard.Gauge { return &x.HeartbeatAge }},
	}
	each = []struct {
		scale
		of func(*guard.GPUSample) *guard.Gauge
	}{
		{percent, func(g *guard.GPUSample) *guard.Gauge { return &g.Util }},
		{percent, func(g *guard.GPUSample) *guard.Gauge { return &g.UtilMax }},
		{share, func(g *guard.GPUSample) *guard.Gauge { return &g.Busy }},
		{mebi, func(g *guard.GPUSample) *guard.Gauge { return &g.MemUsed }},
		{mebi, func(g *guard.GPUSample) *guard.Gauge { return &g.MemTotal }},
		{watt, func(g *guard.GPUSample) *guard.Gauge { return &g.Power }},
		{watt, func(g *guard.GPUSample) *guard.Gauge { return &g.PowerLimit }},
		{share, func(g *guard.GPUSample) *guard.Gauge { return &g.Engine }},
		{share, func(g *guard.GPUSample) *guard.Gauge { return &g.Tensor }},
		{share, func(g *guard.GPUSample) *guard.Gauge { return &g.DRAM }},
	}
)
