package activity

import (
	"fmt"
	"math"
	"time"

	"guard"
)

// tri is yes, no or not known; the zero value is not known.
type tri int8

const (
	unknown tri = iota
	no
	yes
)

// gpu is what is kept of one GPU between samples.
type gpu struct {
	// Mem is the memory in use (MiB) since it last moved.
	Mem guard.Gauge `json:"mem,omitzero"`
	// Energy is the counter (J) as read last, at EnergyAt.
	Energy   guard.Gauge `json:"e,omitzero"`
	EnergyAt time.Time   `json:"eat,omitzero"`
	// Floor is the least that it draws (W) while nothing runs on it and its memory
	// stands; see [State.learn]. Last is the one before the newest work.
	Floor guard.Gauge `json:"floor,omitzero"`
	Last  guard.Gauge `json:"last,omitzero"`
	// Most is the most that it has drawn (W).
	Most guard.Gauge `json:"most,omitzero"`
	// Rise is the least that it has drawn since RiseAt, all of it above the floor.
	Rise   guard.Gauge `json:"rise,omitzero"`
	RiseAt time.Time   `json:"riseat,omitzero"`
	// Since is when it began to be of no use, Beside how long another GPU of the box has
	// worked since then, and Own how long it has worked itself.
	Since  time.Time     `json:"since,omitzero"`
	Beside time.Duration `json:"beside,omitzero"`
	Own    time.Duration `json:"own,omitzero"`
}

// look is what one sample tells of one GPU.
type look struct {
	works tri
	// pinned: at full utilisation and next to no power.
	pinned tri
	// suspect: what it tells contradicts itself, so that it may well work.
	suspect bool
	// by is what shows that it works, and v how much of it.
	by     evidence
	v      float64
	util   guard.Gauge // the most that it did, percent
	mean   guard.Gauge // the mean of it
	mem    guard.Gauge // MiB
	total  guard.Gauge
	power  guard.Gauge // the most of what is told and what the energy counter implies
	limit  guard.Gauge
	moved  bool // its memory did
	frozen bool // its exporter only repeats itself
}

// evidence is what shows that a GPU works.
type evidence int8

const (
	byUtil evidence = iota + 1
	byBusy
	byProfile
	byMemory
	byPower // and by nothing else
)

func (l look) word() string {
	switch l.by {
	case byUtil:
		return fmt.Sprintf("gpu %s", percent(l.v))
	case byBusy:
		return fmt.Sprintf("gpu in %s of readings", percent(l.v))
	case byProfile:
		return fmt.Sprintf("gpu engine, tensor or memory active %s", percent(l.v))
	case byMemory:
		return fmt.Sprintf("gpu memory moved by %s", mib(l.v))
	case byPower:
		return fmt.Sprintf("gpu power %.0f W above its rest", l.v)
	}
	return ""
}

// high is the power (W) at which a GPU works, whatever its utilisation says: 40 % of its
// limit; of a small card, which rests at that much with its memory clocked up, 60 %.
func high(limit float64) float64 { return max(0.4*limit, min(120, 0.6*limit)) }

// slack is how far above its floor a GPU's power must be to count as work.
func slack(limit float64) float64 { return max(15, 0.05*limit) }

// moves is by how much memory must change to count as work.
func moves(total guard.Gauge) float64 { return max(256, 0.02*total.Or(0)) }

// light is how much memory is next to none.
func light(total guard.Gauge) float64 { return max(600, 0.01*total.Or(0)) }

// look reads one GPU, and why it is not believed. Memory that moves in the sample right
// after work, as it does where a process ends, belongs to that work.
func (k *gpu) look(b Busy, box Box, g guard.GPUSample, r *reading, afterWork bool) (look, reason) {
	l := look{mem: g.MemUsed, total: g.MemTotal, power: g.Power, limit: g.PowerLimit, mean: g.Util, util: greater(g.Util, g.UtilMax)}
	still := k.metered(&l, g, r.At)
	k.Most = greater(k.Most, l.power)
	m, known := modelOf(box.GPUModel)
	if !l.limit.OK && known {
		l.limit = guard.Known(m.limit(k.Most.Or(0)))
	}
	doubt := reason(-1)
	strong := l.limit.OK && l.power.OK && l.power.V >= high(l.limit.V)
	rises := k.Floor.OK && l.power.OK && l.limit.OK && l.power.V >= k.Floor.V+slack(l.limit.V)
	// What only the energy counter has seen contradicts no instant: it was between two.
	between := r.Basis == guard.Instantaneous && l.limit.OK && g.Power.OK && g.Power.V < high(l.limit.V)
	profiled := g.Engine.OK || g.Tensor.OK || g.DRAM.OK
	profile := max(g.Engine.Or(0), g.Tensor.Or(0), g.DRAM.Or(0)) * 100
	if profiled && profile == 0 && (l.util.Or(0) > 50 || strong) {
		profiled, doubt = false, stuckEngine
	}
	l.moved = k.Mem.OK && l.mem.OK && math.Abs(l.mem.V-k.Mem.V) >= moves(l.total)

	switch {
	case still:
		return look{mem: l.mem, total: l.total, limit: l.limit, frozen: true}, frozen
	case l.util.OK && l.util.V >= b.GPU:
		l.works, l.by, l.v = yes, byUtil, l.util.V
	case g.Busy.OK && g.Busy.V > 0 && b.GPU <= 2:
		l.works, l.by, l.v = yes, byBusy, 100*g.Busy.V
	case profiled && profile >= b.GPU:
		l.works, l.by, l.v = yes, byProfile, profile
	case l.moved && !afterWork:
		l.works, l.by, l.v = yes, byMemory, l.mem.V-k.Mem.V
	case strong && !(rises && between):
		l.suspect, doubt = true, max(doubt, powerful)
	case rises:
		l.works, l.by, l.v = yes, byPower, l.power.V-k.Floor.V
	case l.util.OK, profiled && g.Engine.OK:
		l.works = no
	case g.MIG:
		doubt = max(doubt, migUntold)
	default:
		doubt = max(doubt, untold)
	}
	l.pinned = k.pinned(l, m.rest)
	return l, doubt
}

// metered takes the energy counter in: what it implies of the mean power since the last
// reading, bursts between two readings and all; and whether it stands still although
// power is drawn, so that the exporter only repeats itself.
func (k *gpu) metered(l *look, g guard.GPUSample, at time.Time) (still bool) {
	if !g.Energy.OK {
		return false
	}
	took := at.Sub(k.EnergyAt).Seconds()
	if k.Energy.OK && took >= 1 {
		w := (g.Energy.V - k.Energy.V) / took
		switch {
		case w == 0 && took >= 10 && g.Power.Or(0) > 1:
			return true
		case w > 0 && w <= maxWatts:
			l.power = greater(l.power, guard.Known(w))
		}
	}
	k.Energy, k.EnergyAt = g.Energy, at
	return false
}

// pinned: NCCL that waits for a peer spins at full utilisation, at about what a context
// alone draws and 40 W; model is what one of its model draws so, 0 where nobody knows.
func (k *gpu) pinned(l look, model float64) tri {
	if l.works != yes {
		return l.works // at rest or not known
	}
	if !l.mean.OK {
		return unknown
	}
	if l.mean.V < 98 {
		return no
	}
	rest := k.Floor
	if !rest.OK {
		rest = k.Last
	}
	if !rest.OK && model > 0 {
		rest = guard.Known(model)
	}
	if !l.power.OK || !l.limit.OK && !rest.OK {
		return unknown
	}
	spins := rest.OK && l.power.V <= rest.V+40 || l.limit.OK && l.power.V <= 0.35*l.limit.V
	if spins {
		return yes
	}
	return no
}

// greater is the greater of two numbers, as far as they are known.
func greater(a, b guard.Gauge) guard.Gauge {
	if !a.OK || b.OK && b.V > a.V {
		return b
	}
	return a
}
