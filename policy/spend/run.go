package spend

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"guard"
)

// forever stands for the end of an open segment.
const forever = math.MaxInt64

// piece is one segment inside its run, in integer nanoseconds since 1970.
type piece struct {
	seg      *guard.Segment
	from, to int64    // to is forever while open
	origin   int64    // where the run, and so its grid of units, begins
	first    int64    // length of the first unit
	unit     int64    // length of the others; 0: continuous
	perNano  *big.Rat // nil where the rate is unknown
}

// pieces groups segments into runs. Segments may come in any order and of many
// resources.
func pieces(segs []guard.Segment) []piece {
	sorted := segs
	if !slices.IsSortedFunc(segs, inRuns) {
		sorted = slices.Clone(segs)
		slices.SortStableFunc(sorted, inRuns)
	}
	ps := make([]piece, 0, len(sorted))
	for i := range sorted {
		s := &sorted[i]
		p := piece{seg: s, from: s.From.UnixNano(), to: forever}
		if n := len(ps); n > 0 && ps[n-1].seg.Rate == s.Rate {
			p.perNano = ps[n-1].perNano
		} else {
			p.perNano = s.Rate.Over(1)
		}
		if !s.To.IsZero() {
			p.to = s.To.UnixNano()
		}
		if p.to <= p.from {
			continue
		}
		p.origin, p.unit = p.from, int64(max(0, s.Granularity))
		p.first = int64(max(0, s.Minimum))
		if p.unit > 0 {
			p.first = max(p.unit, (p.first+p.unit-1)/p.unit*p.unit)
		}
		if n := len(ps); n > 0 && ps[n-1].continues(p) {
			p.origin, p.first, p.unit = ps[n-1].origin, ps[n-1].first, ps[n-1].unit
		}
		ps = append(ps, p)
	}
	return ps
}

// inRuns sorts segments by resource and time, and traffic and lumps after what runs, so
// that they break no run.
func inRuns(a, b guard.Segment) int {
	return cmp.Or(compareID(a.Resource, b.Resource), rank(a)-rank(b), a.From.Compare(b.From))
}

func rank(s guard.Segment) int {
	switch s.State {
	case StateTraffic:
		return 1
	case StateLump:
		return 2
	}
	return 0
}

// compareID tells resources apart as their keys do.
func compareID(a, b guard.ResourceID) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Account, b.Account))
}

// continues reports whether q goes on with p's run.
func (p piece) continues(q piece) bool {
	return compareID(p.seg.Resource, q.seg.Resource) == 0 && p.seg.State == q.seg.State &&
		p.to == q.from && p.seg.Granularity == q.seg.Granularity && p.seg.Minimum == q.seg.Minimum
}

// billed is how many nanoseconds the piece owes at t: the length of every unit
// that starts in it before t.
func (p piece) billed(t int64) int64 {
	end := min(t, p.to)
	if end <= p.from {
		return 0
	}
	return p.owed(end) - p.owed(p.from)
}

// owed is how much of the run is billed once it has lasted until t (exclusive).
func (p piece) owed(t int64) int64 {
	d := t - p.origin
	switch {
	case d <= 0:
		return 0
	case d <= p.first:
		return p.first
	case p.unit == 0:
		return d
	}
	return p.first + (d-p.first+p.unit-1)/p.unit*p.unit
}
