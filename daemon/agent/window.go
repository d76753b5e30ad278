package agent

import (
	"time"

	"guard"
)

// busyFrom is the utilisation in percent from which a reading counts as busy.
const busyFrom = 2

// window gathers the readings of the GPUs of one interval.
type window struct{ gpus []gpuWindow }

// gpuWindow gathers what is known of one GPU.
type gpuWindow struct {
	util, memory, total, power, limit, energy meter
	busy                                      int // readings at busyFrom or more
	mig                                       bool
}

// meter sums up the known readings of one number.
type meter struct {
	n              int
	stands         time.Duration // how long the readings stand for together
	sum, max, last float64
}

func (m *meter) add(g guard.Gauge, stands time.Duration) {
	if !g.OK {
		return
	}
	m.stands += stands
	if m.n++; m.n == 1 || g.V > m.max {
		m.max = g.V
	}
	m.sum, m.last = m.sum+g.V, g.V
}

// add takes one reading in, and how long it stands for.
func (w *window) add(gpus []guard.GPUSample, stands time.Duration) {
	for len(w.gpus) < len(gpus) {
		w.gpus = append(w.gpus, gpuWindow{})
	}
	for i, g := range gpus {
		x := &w.gpus[i]
		x.util.add(g.Util, stands)
		if g.Util.OK && g.Util.V >= busyFrom {
			x.busy++
		}
		x.memory.add(g.MemUsed, stands)
		x.total.add(g.MemTotal, stands)
		x.power.add(g.Power, stands)
		x.limit.add(g.PowerLimit, stands)
		x.energy.add(g.Energy, stands)
		x.mig = x.mig || g.MIG
	}
}

// summary is what the readings add up to. A number whose readings stand for less than
// least is not known: some seconds do not tell of a minute. Of memory it is the highest
// reading, for something that was loaded is no empty box.
func (w *window) summary(least time.Duration) []guard.GPUSample {
	known := func(m meter, v float64) guard.Gauge {
		if m.n == 0 || m.stands < least {
			return guard.Gauge{}
		}
		return guard.Known(v)
	}
	mean := func(m meter) guard.Gauge { return known(m, m.sum/float64(max(m.n, 1))) }
	var out []guard.GPUSample
	for _, g := range w.gpus {
		out = append(out, guard.GPUSample{
			Util: mean(g.util), UtilMax: known(g.util, g.util.max), Busy: known(g.util, float64(g.busy)/float64(max(g.util.n, 1))),
			MemUsed: known(g.memory, g.memory.max), MemTotal: known(g.total, g.total.last),
			Power: mean(g.power), PowerLimit: known(g.limit, g.limit.last), Energy: known(g.energy, g.energy.last), MIG: g.mig,
		})
	}
	return out
}
