package cli

import (
	"fmt"
	"strconv"
	"strings"
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

// units are those of a duration that a person types, the largest first.
var units = []struct {
	name string
	d    time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// spanOf reads a duration for what runs here: 90s, 10h, 1d12h, the largest unit first.
// All others are guardd's to read.
func spanOf(flag, text string) (time.Duration, error) {
	var total time.Duration
	rest := text
	for _, u := range units {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if digits == 0 || !strings.HasPrefix(rest[digits:], u.name) {
			continue
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil || n > int64(longest/u.d) {
			return 0, usagef("--%s %s: that is more than ten years", flag, clean(text))
		}
		total += time.Duration(n) * u.d
		rest = rest[digits+len(u.name):]
	}
	switch {
	case rest != "":
		return 0, usagef("--%s %q is not a duration: write 90s, 10h, 2d or 1d12h, the largest unit first", flag, clean(text))
	case total <= 0:
		return 0, usagef("--%s %q is no time at all: it must be above zero", flag, clean(text))
	case total > longest:
		return 0, usagef("--%s %s: that is more than ten years", flag, clean(text))
	}
	return total, nil
}

// longest is the longest time that is not a typing error.
const longest = 10 * 365 * 24 * time.Hour
