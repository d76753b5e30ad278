package activity

import (
	"fmt"
	"math"
	"time"
)

func percent(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2g %%", v)
	}
	return fmt.Sprintf("%.0f %%", v)
}

// mib writes MiB, rounded.
func mib(v float64) string {
	if v = math.Abs(v); v >= 1024 {
		return fmt.Sprintf("%.1f GiB", v/1024)
	}
	return fmt.Sprintf("%.0f MiB", v)
}

// size writes bytes, and rate bytes a second, as networks count them.
func size(v float64) string {
	for _, u := range []struct {
		one  float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.one {
			return fmt.Sprintf("%.1f %s", v/u.one, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

func rate(v float64) string { return size(v) + "/s" }

func ago(d time.Duration) string { return fmt.Sprintf("%s ago", short(max(d, 0))) }

// short writes a duration in its two greatest units.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour && d%time.Hour >= time.Minute:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && (d >= 10*time.Minute || d%time.Minute < time.Second):
		return fmt.Sprintf("%dm", d/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
