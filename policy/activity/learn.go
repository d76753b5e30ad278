package activity

import (
	"slices"
	"time"

	"guard"
)

const (
	// baseMost is the most cores that are believed to be busy with nothing.
	baseMost = 0.5
	// settle is how long a GPU must draw more than its floor, doing nothing that anything
	// else tells, before that is its new floor.
	settle = 15 * time.Minute
	// lately is how long what goes on is looked at.
	lately = 10 * time.Minute
)

// rest learns how many cores are busy when the box does nothing: a low quantile of what
// they are while no GPU works, which falls in minutes, rises in days, and never goes
// past baseMost, so that a box which works from its first minute is not taken for one
// that rests.
func (s *State) rest(r *reading) {
	if r.works != no || !r.CPUCores.OK {
		return
	}
	x := min(r.CPUCores.V, baseMost)
	base := s.Base.Or(x)
	if x < base {
		base += 0.3 * (x - base)
	} else {
		base += min(1, r.Interval.Hours()/24) * (x - base)
	}
	s.Base = guard.Known(base)
}

// minute is one of the newest ten (in Unix time): in how many of its samples each rate
// was busy, and how many there were.
type minute struct {
	At   int64
	Busy [rates]int64
	All  int64
}

// goesOn takes in what is busy now, and says what goes on: the rates that are busy in
// at least three and 30 % of the samples of the last ten minutes (of those there are,
// where three do not fit), a person and a job at once.
func (s *State) goesOn(now [kinds]bool, at time.Time, interval time.Duration) [kinds]bool {
	m := at.Unix() / 60
	s.Minutes = slices.DeleteFunc(s.Minutes, func(x minute) bool { return x.At <= m-int64(lately/time.Minute) })
	if n := len(s.Minutes); n == 0 || s.Minutes[n-1].At != m {
		s.Minutes = append(s.Minutes, minute{At: m})
	}
	last := &s.Minutes[len(s.Minutes)-1]
	last.All++
	least := int64(1)
	if 3*interval <= lately {
		least = 3
	}
	for k := range rates {
		if now[k] {
			last.Busy[k]++
		}
		busy, all := int64(0), int64(0)
		for _, x := range s.Minutes {
			busy, all = busy+x.Busy[k], all+x.All
		}
		now[k] = busy >= least && 10*busy >= 3*all
	}
	return now
}

// learn takes in what the GPUs rest at. The floor of a GPU's power is the least that it
// draws in samples where nothing tells of work. It differs with and without a context
// on the GPU (70 and 120 W on an H100), so work and a move of its memory begin it anew.
// Power above the floor counts as work for [settle]: by then nothing else has told of
// any, and the least of what was drawn is the new floor. So power alone keeps no box
// busy for ever, and a box whose floor was never seen is not busy by its power.
func (s *State) learn(b Busy, r *reading) {
	for i := range s.GPUs {
		k, l := &s.GPUs[i], look{}
		if i < len(r.gpus) {
			l = r.gpus[i]
		}
		if l.mem.OK && (l.moved || !k.Mem.OK) {
			k.Mem = l.mem
		}
		k.floor(b, l, r.At)
		k.use(r, l)
	}
	s.pause(r)
}

// pause learns how long the GPUs were quiet before a piece of work that only one sample
// shows: the next one may fall between two.
func (s *State) pause(r *reading) {
	switch {
	case r.works == no && s.Run == 1 && s.Before > 0:
		s.Pause = max(s.Pause-s.Pause/10, min(s.Before, longest))
		s.Run, s.Before = 0, 0
	case r.works == no:
		s.Run, s.Before = 0, 0
	case r.works == yes && s.Run == 0:
		s.Run, s.Before = 1, s.GPUsQuiet.Lasts(r.start)
	case r.works == yes:
		s.Run = 2 // or more
	}
}

func (k *gpu) floor(b Busy, l look, at time.Time) {
	idles := l.util.OK && l.util.V < b.GPU && (l.works == no || l.by == byPower)
	switch {
	case l.moved || l.util.OK && l.util.V >= b.GPU:
		if k.Floor.OK {
			k.Last = k.Floor
		}
		k.Floor, k.Rise, k.RiseAt = guard.Gauge{}, guard.Gauge{}, time.Time{}
	case !idles || !l.power.OK:
	case !k.Floor.OK || l.power.V <= k.Floor.V:
		k.Floor, k.Rise, k.RiseAt = l.power, guard.Gauge{}, time.Time{}
	case l.works == no:
		k.Rise, k.RiseAt = guard.Gauge{}, time.Time{}
	case !k.Rise.OK:
		k.Rise, k.RiseAt = l.power, at
	default:
		k.Rise = guard.Known(min(k.Rise.V, l.power.V))
		if at.Sub(k.RiseAt) >= settle {
			k.Floor, k.Rise, k.RiseAt = k.Rise, guard.Gauge{}, time.Time{}
		}
	}
}

// use counts how long a GPU was of no use while another one of the box worked. One that
// works for more than 2 % of six such hours (what is longer ago counts half), or holds
// 1 % of its memory, is of use and begins anew.
func (k *gpu) use(r *reading, l look) {
	const share, hours = 0.02, 6 * time.Hour
	const untoldMiB = 24 << 10 // of a small card, where nobody tells
	if l.mem.OK && l.mem.V >= 0.01*l.total.Or(untoldMiB) {
		k.Since, k.Beside, k.Own = time.Time{}, 0, 0
		return
	}
	// Nothing works where nothing is loaded, so a power that only work draws, with a
	// utilisation of 0, is no doubt here.
	if r.works != yes || l.works == unknown && !l.suspect || !l.mem.OK {
		return
	}
	if k.Since.IsZero() {
		k.Since = r.start
	}
	before := k.Beside
	k.Beside += r.Interval
	if l.works == yes {
		k.Own += r.Interval
	}
	if float64(k.Own) > share*float64(hours) {
		k.Since, k.Beside, k.Own = time.Time{}, 0, 0
	} else if k.Beside/hours > before/hours {
		k.Own /= 2
	}
}
