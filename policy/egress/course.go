package egress

import (
	"math/bits"
	"slices"
	"time"

	"guard"
)

const (
	bucket = 5 * time.Minute
	day    = 24 * time.Hour
	week   = 8 * day
	months = 13
)

// book counts bytes that were sent and received evenly from a time until another.
func (f *fold) book(from, to time.Time, sent, in uint64) {
	from, to = from.UTC(), to.UTC()
	f.rec.Sent, f.rec.Received = sum(f.rec.Sent, sent), sum(f.rec.Received, in)
	s := stretch{from: from, to: to, sent: sent, in: in}
	f.rec.Buckets = s.over(f.rec.Buckets, to.Add(-day), byLength(bucket))
	f.rec.Hours = s.over(f.rec.Hours, to.Add(-week), byLength(time.Hour))
	f.rec.Months = s.over(f.rec.Months, to.AddDate(0, -months, 0), month)
}

// keep drops what is too old, and flags what a spike was told of.
func (f *fold) keep(spike time.Time) {
	old := func(since time.Time) func(guard.Bytes) bool {
		return func(b guard.Bytes) bool { return b.From.Before(since) }
	}
	f.rec.Buckets = slices.DeleteFunc(f.rec.Buckets, old(f.rec.At.Add(-day)))
	f.rec.Hours = slices.DeleteFunc(f.rec.Hours, old(f.rec.At.Add(-week)))
	f.rec.Months = slices.DeleteFunc(f.rec.Months, old(f.rec.At.AddDate(0, -months, 0)))
	if f.rec.Spike = spike.UTC(); spike.IsZero() {
		return
	}
	for i := range f.rec.Buckets {
		b := &f.rec.Buckets[i]
		b.Flagged = b.Flagged || b.From.Add(bucket).After(spike)
	}
	for i := range f.rec.Hours {
		b := &f.rec.Hours[i]
		b.Flagged = b.Flagged || b.From.Add(time.Hour).After(spike)
	}
}

// cell is the stretch of a course that a moment lies in.
type cell func(t time.Time) (from, to time.Time)

func byLength(d time.Duration) cell {
	return func(t time.Time) (from, to time.Time) {
		from = t.Truncate(d)
		return from, from.Add(d)
	}
}

// month is the calendar month of a moment, UTC.
func month(t time.Time) (from, to time.Time) {
	from = guard.CalendarMonth(t)
	return from, from.AddDate(0, 1, 0)
}

// stretch is bytes that were sent evenly over some time.
type stretch struct {
	from, to time.Time
	sent, in uint64
}

// over adds the stretch to a course, cell by cell from a time on. Each cell gets its
// part by time, and together they get everything, but for what lies before.
func (s stretch) over(c guard.Course, since time.Time, of cell) guard.Course {
	begin, _ := of(later(s.from, since))
	for at := later(s.from, begin); ; {
		from, to := of(at)
		end := to
		if end.After(s.to) {
			end = s.to
		}
		if end.After(at) {
			c = add(c, from, s.until(s.sent, end)-s.until(s.sent, at), s.until(s.in, end)-s.until(s.in, at))
		}
		if at = to; !at.Before(s.to) {
			return c
		}
	}
}

// until is how much of a total was sent by a time in the stretch.
func (s stretch) until(total uint64, t time.Time) uint64 {
	whole, part := uint64(s.to.Sub(s.from)), uint64(t.Sub(s.from))
	if part >= whole {
		return total
	}
	hi, lo := bits.Mul64(total, part)
	n, _ := bits.Div64(hi, lo, whole)
	return n
}

// add adds to the cell that begins at a time: mostly the last one.
func add(c guard.Course, from time.Time, sent, in uint64) guard.Course {
	i, ok := len(c)-1, len(c) > 0 && c[len(c)-1].From.Equal(from)
	if !ok {
		i, ok = slices.BinarySearchFunc(c, from, func(b guard.Bytes, t time.Time) int { return b.From.Compare(t) })
	}
	if !ok {
		c = slices.Insert(c, i, guard.Bytes{From: from})
	}
	c[i].Sent, c[i].In = sum(c[i].Sent, sent), sum(c[i].In, in)
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
