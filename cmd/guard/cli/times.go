package cli

import (
	"fmt"
	"strconv"
	"time"
)

// span is a duration as people say it, in its two largest units: 1d 4h, 3h 20m,
// 45s. Less than a second is 0s.
func span(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	const day = 24 * time.Hour
	two := func(a time.Duration, an string, b time.Duration, bn string) string {
		s := fmt.Sprintf("%d%s", d/a, an)
		if rest := d % a / b; rest > 0 {
			s += fmt.Sprintf(" %d%s", rest, bn)
		}
		return s
	}
	switch {
	case d >= day:
		return two(day, "d", time.Hour, "h")
	case d >= time.Hour:
		return two(time.Hour, "h", time.Minute, "m")
	case d >= time.Minute:
		return two(time.Minute, "m", time.Second, "s")
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// ahead is a moment as seen from now: in 3h 20m, 5m ago.
func ahead(now, t time.Time) string {
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + span(d)
	case d <= -time.Second:
		return span(d) + " ago"
	}
	return "now"
}

// clock is a moment in the zone that the daemon sent it in.
func clock(t time.Time) string {
	zone := t.Format("-07:00")
	if zone == "+00:00" {
		zone = "UTC"
	}
	return t.Format("2006-01-02 15:04:05 ") + zone
}

// moment is both: 2026-03-07 04:01:00 +08:00, in 10h.
func moment(now, t time.Time) string { return clock(t) + ", " + ahead(now, t) }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
