package activity

import (
	"fmt"
	"strings"

	"guard"
)

// What no machine does; a number beyond is not known.
const (
	maxWatts  = 5_000                     // of one GPU
	maxMiB    = 1 << 20                   // of one GPU
	maxCores  = 4_096                     // of one machine
	maxNet    = 400e9 / 8                 // bytes a second
	maxDisk   = 200e9                     // bytes a second
	maxAge    = 10 * 365 * 24 * 60 * 60.0 // seconds
	maxJoules = 1e15
	maxCount  = 1e6
	maxDoubts = 6 // that are kept of one sample
)

// clean gives the sample with everything that cannot be true taken out, and says what
// that was. This is the only place that disbelieves a number for what it is; numbers
// that contradict each other are for [doubt].
func clean(x guard.Sample) (guard.Sample, []string) {
	var w words
	x.CPUCores = w.within(x.CPUCores, 0, min(maxCores, x.Cores.Or(maxCores)*1.1), "cpu cores")
	x.Cores = w.within(x.Cores, 0, maxCores, "cores")
	x.Rx = w.within(x.Rx, 0, maxNet, "rx")
	x.Tx = w.within(x.Tx, 0, maxNet, "tx")
	x.Disk = w.within(x.Disk, 0, maxDisk, "disk")
	x.Processes = w.within(x.Processes, 0, maxCount, "processes")
	x.Sessions = w.within(x.Sessions, 0, maxCount, "sessions")
	x.InputAge = w.within(x.InputAge, 0, maxAge, "input age")
	x.HeartbeatAge = w.within(x.HeartbeatAge, 0, maxAge, "heartbeat age")
	gpus := make([]guard.GPUSample, len(x.GPUs))
	for i, g := range x.GPUs {
		w.of = i + 1
		g.Util = w.within(g.Util, 0, 100, "util")
		g.UtilMax = w.within(g.UtilMax, 0, 100, "util max")
		g.Busy = w.within(g.Busy, 0, 1, "busy share")
		g.MemTotal = w.within(g.MemTotal, 1, maxMiB, "memory total")
		g.MemUsed = w.within(g.MemUsed, 0, g.MemTotal.Or(maxMiB), "memory used")
		g.Power = w.within(g.Power, 0, maxWatts, "power")
		g.PowerLimit = w.within(g.PowerLimit, 1, maxWatts, "power limit")
		g.Energy = w.within(g.Energy, 0, maxJoules, "energy")
		g.Engine = w.within(g.Engine, 0, 1, "engine active")
		g.Tensor = w.within(g.Tensor, 0, 1, "tensor active")
		g.DRAM = w.within(g.DRAM, 0, 1, "dram active")
		if g.MIG && g.Util.V == 0 {
			// Of a GPU that is cut up nobody knows the utilisation; 0 is a way to write that.
			g.Util, g.UtilMax, g.Busy = guard.Gauge{}, guard.Gauge{}, guard.Gauge{}
		}
		gpus[i] = g
	}
	x.GPUs = gpus
	return x, w.said
}

// words collects what is not believed.
type words struct {
	said []string
	of   int // which GPU, from 1 on; 0: the machine
}

func (w *words) within(g guard.Gauge, low, high float64, name string) guard.Gauge {
	if !g.OK {
		return guard.Gauge{}
	}
	if !(g.V >= low && g.V <= high) { // not a number is neither
		said := fmt.Sprintf("%s %.6g", name, g.V)
		if w.of > 0 {
			said = fmt.Sprintf("%s of gpu %d", said, w.of-1)
		}
		w.said = append(w.said, said)
		return guard.Gauge{}
	}
	return g
}

// doubts are at most a few words: a machine of 64 GPUs that tells nonsense says so once
// a metric.
func doubts(said []string, g [reasons][]int) []string {
	var out []string
	for why, gpus := range g {
		if len(gpus) > 0 {
			out = append(out, reason(why).text(gpus))
		}
	}
	out = append(out, said...)
	if len(out) > maxDoubts {
		out = append(out[:maxDoubts-1:maxDoubts-1], fmt.Sprintf("and %d more", len(out)-maxDoubts+1))
	}
	return out
}

// reason is why what a GPU tells is not believed.
type reason int

const (
	missing reason = iota
	untold
	migUntold
	frozen
	powerful
	stuckEngine
	reasons
)

func (r reason) text(gpus []int) string {
	which := indexes(gpus)
	switch r {
	case missing:
		return fmt.Sprintf("gpu %s is not told of", which)
	case untold:
		return fmt.Sprintf("util of gpu %s is not told", which)
	case migUntold:
		return fmt.Sprintf("util of gpu %s is not told (MIG)", which)
	case frozen:
		return fmt.Sprintf("energy counter of gpu %s stands still while it draws power: the exporter is frozen", which)
	case powerful:
		return fmt.Sprintf("util of gpu %s is next to 0 at a power that only work draws: inconsistent", which)
	}
	return fmt.Sprintf("profiling metrics (engine, tensor, dram active) of gpu %s are stuck at 0 while it works: inconsistent", which)
}

// indexes writes 0, 1, 2, 5 as "0-2, 5".
func indexes(gpus []int) string {
	var b strings.Builder
	for i := 0; i < len(gpus); {
		j := i
		for j+1 < len(gpus) && gpus[j+1] == gpus[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", gpus[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", gpus[j])
		}
		i = j + 1
	}
	return b.String()
}
