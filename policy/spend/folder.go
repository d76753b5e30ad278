package spend

import (
	"slices"
	"time"

	"guard"
)

// folder is one run of Fold. A resource ID may be reused: life has the segments
// of this thing, earlier those of things before it, which stay as they are.
type folder struct {
	in            Input
	earlier, life []guard.Segment
	odd           *guard.Rate
	oddState      guard.State
	oddSince      time.Time
	start         time.Time
	estimated     bool
	events        []Event
}

func newFolder(in Input) *folder {
	f := &folder{in: in, odd: in.Metered.Odd, oddState: in.Metered.OddState, oddSince: in.Metered.OddSince}
	f.start, f.estimated = Start(in.Observed)
	for _, s := range in.Metered.Segments {
		if s.From.Before(f.start) {
			if s.To.IsZero() || s.To.After(f.start) {
				s.To = f.start
			}
			f.earlier = append(f.earlier, s)
		} else {
			f.life = append(f.life, s)
		}
	}
	// The creation time may be told only after the thing was metered a while. Where it is
	// when that was first seen, a price that was told late may be what was estimated.
	if len(f.life) > 0 && !f.estimated {
		first := &f.life[0]
		if first.Estimated && first.State == guard.StateRunning && first.From.Equal(in.Observed.FirstSeen) && f.start.Before(first.From) {
			first.From, first.Estimated = f.start, false
		}
	}
	return f
}

// sorted returns the changes in the order of their times.
func sorted(cs []guard.Change) []guard.Change {
	out := slices.Clone(cs)
	slices.SortStableFunc(out, func(a, b guard.Change) int { return a.At.Compare(b.At) })
	return out
}

// apply makes a change hold from its time on, over whatever was known before.
func (f *folder) apply(c guard.Change) {
	at := c.At
	if at.Before(f.start) {
		at = f.start
	}
	f.cut(at)
	if c.Bills == guard.No || c.State == guard.StateGone {
		return
	}
	state, _ := guard.Resource{State: c.State, StopSaves: c.Saves}.Billing()
	f.put(state, c.Rate, at)
}

// cut ends everything at a moment.
func (f *folder) cut(at time.Time) {
	kept := f.life[:0:0]
	for _, s := range f.life {
		if !s.From.Before(at) {
			continue
		}
		if s.To.IsZero() || s.To.After(at) {
			s.To = at
		}
		kept = append(kept, s)
	}
	f.life = kept
}

// put opens a segment.
func (f *folder) put(state guard.State, reported guard.Rate, at time.Time) {
	s := guard.Segment{
		Resource:    f.in.Observed.Resource.ID,
		State:       state,
		From:        at,
		Granularity: f.in.Truths.Granularity,
		Minimum:     f.in.Truths.Minimum,
		Estimated:   f.estimated && at.Equal(f.start),
	}
	if n := len(f.life); n > 0 {
		s.Lease = f.life[n-1].Lease
	}
	s.Rate, s.Provisional, s.Was = f.judge(state, reported, at)
	f.life = append(f.life, s)
}

// claim counts to the lease what is its own.
func (f *folder) claim() {
	for i := 0; i < len(f.life) && f.in.Lease != ""; i++ {
		from := f.in.Since
		switch f.life[i].Lease {
		case f.in.Lease:
			continue
		case "":
		default:
			from = f.taken()
		}
		i = f.split(i, from)
		if !f.life[i].From.Before(from) {
			f.life[i].Lease = f.in.Lease
		}
	}
}

// taken is from when on what was another lease's counts to this one.
func (f *folder) taken() time.Time {
	if t := f.in.Taken; !t.IsZero() && !t.After(f.in.At) {
		return t
	}
	return f.in.At
}

// split cuts segment i in two at a moment inside it and returns the index of the
// later part; i itself where the moment is not inside.
func (f *folder) split(i int, at time.Time) int {
	s := f.life[i]
	if !at.After(s.From) || (!s.To.IsZero() && !at.Before(s.To)) {
		return i
	}
	late := s
	late.From = at
	f.life[i].To = at
	f.life = slices.Insert(f.life, i+1, late)
	return i + 1
}

// end closes the record at the proven end.
func (f *folder) end() {
	g := f.in.Observed.Gone
	if g == nil {
		return
	}
	at := g.At
	if at.Before(f.start) {
		at = f.start
	}
	f.cut(at)
	if n := len(f.life); n > 0 && f.life[n-1].To.Equal(at) {
		f.life[n-1].Estimated = f.life[n-1].Estimated || g.Estimated
	}
}

func (f *folder) result() guard.Metered {
	m := f.in.Metered
	m.Resource = f.in.Observed.Resource.ID
	m.Segments = append(slices.Clone(f.earlier), consolidate(f.life)...)
	m.Lumps = f.pay()
	m.Odd, m.OddState, m.OddSince = f.odd, f.oddState, f.oddSince
	if n := f.in.Observed.Batch; n != 0 {
		m.Batch = n
	}
	if n := len(f.life); f.in.Lease != "" {
		m.Lease = f.in.Lease
	} else if n > 0 {
		m.Lease = f.life[n-1].Lease
	}
	return m
}

// consolidate drops what is empty and joins neighbours that bill alike, so that
// the record grows with changes, not with polls.
func consolidate(segs []guard.Segment) []guard.Segment {
	var out []guard.Segment
	for _, s := range segs {
		if !s.To.IsZero() && !s.To.After(s.From) {
			continue
		}
		if n := len(out); n > 0 && joins(out[n-1], s) {
			out[n-1].To = s.To
			out[n-1].Estimated = out[n-1].Estimated || s.Estimated
			out[n-1].Provisional = max(out[n-1].Provisional, s.Provisional)
			continue
		}
		out = append(out, s)
	}
	return out
}

func joins(a, b guard.Segment) bool {
	return a.To.Equal(b.From) && a.State == b.State && a.Lease == b.Lease &&
		a.Granularity == b.Granularity && a.Minimum == b.Minimum &&
		a.Rate.Same(b.Rate) && stated(a.Rate) == stated(b.Rate) &&
		(a.Provisional > 0) == (b.Provisional > 0)
}
