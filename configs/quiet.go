package configs

import (
	"slices"
	"time"
)

// mostQuiet is how many stretches Ends looks ahead: a month of days that are all quiet.
const mostQuiet = 32

// Ends is when the quiet hours end that a moment lies in; zero where it lies in none.
// Hours and days that follow on each other are one stretch.
func (q Quiet) Ends(at time.Time) time.Time {
	if q.Zone == nil || q.From == q.Until {
		return time.Time{}
	}
	end := at
	for range mostQuiet {
		left := q.left(end.In(q.Zone))
		if left == 0 {
			break
		}
		next := end.Add(left)
		// Where the zone's clock is set before that, what it shows then decides.
		if _, set := end.In(q.Zone).ZoneBounds(); !set.IsZero() && set.Before(next) {
			next = set
		}
		end = next
	}
	if end.Equal(at) {
		return time.Time{}
	}
	return end.UTC()
}

// left is how long it is quiet yet by a clock that is not set meanwhile; 0: it is not.
func (q Quiet) left(at time.Time) time.Duration {
	const day = 24 * time.Hour
	hour, minute, second := at.Clock()
	now := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(at.Nanosecond())
	switch {
	case slices.Contains(q.Always, at.Weekday()):
		return day - now
	case q.From < q.Until && now >= q.From && now < q.Until, q.From > q.Until && now < q.Until:
		return q.Until - now
	case q.From > q.Until && now >= q.From:
		return day - now
	}
	return 0
}
