package egress

import (
	"slices"
	"time"

	"guard"
)

// Usual is what a resource sends of late, beside what it usually sends; in bytes.
type Usual struct {
	// Hour and Day are what it sent in the last hour and the last 24, Quarter in the last
	// quarter of an hour.
	Hour, Day, Quarter uint64
	// NewHour and NewDay are what of it no spike was told of.
	NewHour, NewDay uint64
	// Median and P99 are of the hours of the last seven days before, SameHour the most in
	// one of the hours at about the same time of day, MaxDay the most in 24 hours in a
	// row. What a spike was told of is no part of them.
	Median, P99, SameHour, MaxDay uint64
	// Peak is the most in an hour, of the last day, that a spike was told of.
	Peak uint64
	// Enough: there is a day or more of that.
	Enough bool
	// Flagged: the newest of it belongs to a spike that was told.
	Flagged bool
}

// MonthEnd is what a resource will have sent in the calendar month (UTC) of its newest
// sample, if it goes on as in the hour before that.
func MonthEnd(rec guard.Egress) uint64 {
	n := len(rec.Months)
	if n == 0 {
		return 0
	}
	rate, _ := Pace(rec)
	from, to := month(rec.At)
	var sent uint64
	if last := rec.Months[n-1]; last.From.Equal(from) {
		sent = last.Sent
	}
	return sum(sent, uint64(rate*to.Sub(rec.At).Seconds()))
}

// Pace is how many bytes a second a resource has sent in the last hour of its record, and
// what five minutes of the last day seldom exceed.
func Pace(rec guard.Egress) (mean, p99 float64) {
	return pace(rec, func(b guard.Bytes) uint64 { return b.Sent })
}

// PaceIn is the same of what it has received.
func PaceIn(rec guard.Egress) (mean, p99 float64) {
	return pace(rec, func(b guard.Bytes) uint64 { return b.In })
}

func pace(rec guard.Egress, of func(guard.Bytes) uint64) (mean, p99 float64) {
	hour, began := uint64(0), later(rec.First, rec.At.Add(-time.Hour))
	sent := make([]uint64, 0, len(rec.Buckets))
	for _, b := range rec.Buckets {
		sent = append(sent, of(b))
		if !b.From.Add(bucket).Before(began) {
			hour = sum(hour, of(b))
			began = earlier(began, b.From)
		}
	}
	if len(sent) == 0 {
		return 0, 0
	}
	slices.Sort(sent)
	took := max(rec.At.Sub(later(began, rec.First)), time.Minute)
	return float64(hour) / took.Seconds(), float64(sent[(len(sent)*99-1)/100]) / bucket.Seconds()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Look tells what is usual at a moment. Whatever the record lacks of the last hour or
// day counts nothing.
func Look(rec guard.Egress, at time.Time) Usual {
	var u Usual
	for i, b := range rec.Buckets {
		if b.From.Before(at.Add(-day)) {
			continue
		}
		if !b.From.Before(at.Add(-time.Hour / 4)) {
			u.Quarter = sum(u.Quarter, b.Sent)
		}
		hour := !b.From.Before(at.Add(-time.Hour))
		if u.Day = sum(u.Day, b.Sent); hour {
			u.Hour = sum(u.Hour, b.Sent)
		}
		if b.Flagged {
			u.Peak = max(u.Peak, hourTo(rec.Buckets[:i+1]))
			continue
		}
		if u.NewDay = sum(u.NewDay, b.Sent); hour {
			u.NewHour = sum(u.NewHour, b.Sent)
		}
	}
	if n := len(rec.Buckets); n > 0 {
		u.Flagged = rec.Buckets[n-1].Flagged
	}
	var before []guard.Bytes
	for _, h := range rec.Hours {
		if !h.Flagged && !h.From.Add(time.Hour).After(at.Add(-time.Hour)) && h.From.After(at.Add(-week)) {
			before = append(before, h)
		}
	}
	u.usual(before, at)
	return u
}

// hourTo is what was sent in the hour that the last of some buckets ends.
func hourTo(bs []guard.Bytes) uint64 {
	var n uint64
	last := bs[len(bs)-1].From
	for i := len(bs) - 1; i >= 0 && last.Sub(bs[i].From) < time.Hour; i-- {
		n = sum(n, bs[i].Sent)
	}
	return n
}

// usual fills in what the hours before tell.
func (u *Usual) usual(hours []guard.Bytes, at time.Time) {
	if u.Enough = len(hours) >= 24; len(hours) == 0 {
		return
	}
	sent := make([]uint64, len(hours))
	for i, h := range hours {
		sent[i] = h.Sent
		if near(h.From, at) {
			u.SameHour = max(u.SameHour, h.Sent)
		}
		if !h.From.Add(time.Hour).After(at.Add(-day)) {
			u.MaxDay = max(u.MaxDay, dayFrom(hours[i:], at))
		}
	}
	slices.Sort(sent)
	u.Median, u.P99 = sent[len(sent)/2], sent[(len(sent)*99-1)/100]
}

// near reports an hour that is at the same time of day as a moment, or one off.
func near(hour, at time.Time) bool {
	off := (hour.UTC().Hour() - at.UTC().Hour() + 24) % 24
	return off <= 1 || off == 23
}

// dayFrom is what was sent in the 24 hours from the first of some on, as far as they lie
// before the last day.
func dayFrom(hours []guard.Bytes, at time.Time) uint64 {
	var n uint64
	for _, h := range hours {
		if !h.From.Before(hours[0].From.Add(day)) || h.From.Add(time.Hour).After(at.Add(-day)) {
			break
		}
		n = sum(n, h.Sent)
	}
	return n
}
