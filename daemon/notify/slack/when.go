package slack

import (
	"time"

	"guard"
	"guard/policy/say"
)

// when is a time as people say it: "today 18:00 (in 25m)".
func (v view) when(l guard.Lang, t time.Time) string {
	return say.In(l, "%[1]s (%[2]s)", v.day(l, t), relative(l, t.Sub(v.at)))
}

// day is a time of a day that is near, or a date.
func (v view) day(l guard.Lang, t time.Time) string {
	t, now := v.local(t), v.local(v.at)
	clock := t.Format("15:04")
	switch date(t).Sub(date(now)) {
	case -24 * time.Hour:
		return say.In(l, "yesterday %s", clock)
	case 0:
		return say.In(l, "today %s", clock)
	case 24 * time.Hour:
		return say.In(l, "tomorrow %s", clock)
	}
	weekday, month := say.In(l, t.Format("Mon")), say.In(l, t.Format("Jan"))
	if t.Year() != now.Year() {
		return say.In(l, "%[1]s %[2]d %[3]s %[5]d %[4]s", weekday, t.Day(), month, clock, t.Year())
	}
	return say.In(l, "%[1]s %[2]d %[3]s %[4]s", weekday, t.Day(), month, clock)
}

// stamp is a time with its zone, without the date where that is today's.
func (v view) stamp(t time.Time) string {
	t = v.local(t)
	if date(t).Equal(date(v.local(v.at))) {
		return t.Format("15:04 -07:00")
	}
	return t.Format("2006-01-02 15:04 -07:00")
}

func (v view) local(t time.Time) time.Time {
	if v.zone == nil {
		return t.UTC()
	}
	return t.In(v.zone)
}

// date is midnight of a day, of which each has 24 hours.
func date(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// relative is how far away a time is, to the minute; of days, to the hour.
func relative(l guard.Lang, d time.Duration) string {
	d = d.Round(time.Minute)
	if d.Abs() >= 24*time.Hour {
		d = d.Truncate(time.Hour)
	}
	switch {
	case d > 0:
		return say.In(l, "in %s", say.Span(l, d))
	case d < 0:
		return say.In(l, "%s ago", say.Span(l, -d))
	}
	return say.In(l, "now")
}
