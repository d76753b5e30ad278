package configs

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		text, zone string
		after      string
		want       string // "" for a refusal, and then why
		why        string
	}{
		{text: "90s", after: "2026-03-01T00:00:00Z", want: "2026-03-01T00:01:30Z"},
		{text: "1h30m", after: "2026-03-01T00:00:00Z", want: "2026-03-01T01:30:00Z"},
		{text: "*/5 * * * *", after: "2026-03-01T00:01:00Z", want: "2026-03-01T00:05:00Z"},
		{text: "*/5 * * * *", after: "2026-03-01T00:05:00Z", want: "2026-03-01T00:10:00Z"},
		{text: "  30  6 *   * *  ", zone: "Asia/Shanghai", after: "2026-03-01T00:00:00Z", want: "2026-03-01T22:30:00Z"},
		{text: "@hourly", zone: "Asia/Kolkata", after: "2026-03-01T00:00:00Z", want: "2026-03-01T00:30:00Z"},
		{text: "0 0 * * *", zone: "America/New_York", after: "2026-10-31T04:00:00Z", want: "2026-11-01T04:00:00Z"},

		{text: "60", why: "no unit"},
		{text: "500ms", why: "outside 1s to 1d"},
		{text: "2d", why: "outside 1s to 1d"},
		{text: "-5m", why: "negative"},
		{text: "0s", why: "nothing"},
		{text: "30m1h", why: "not a duration"},
		{text: "99999999999999999999h", why: "not a duration"},
		{text: "@every 90s", why: "plain duration"},
		{text: "@reboot", why: "not a cron spec"},
		{text: "TZ=UTC", why: "not a duration"},
		{text: "TZ=UTC */5 * * * *", why: "set time_zone"},
		{text: "CRON_TZ=Asia/Tokyo 0 * * * *", why: "set time_zone"},
		{text: "0 0 31 2 *", why: "never comes"},
		{text: "0 0 * * 7", why: "0 to 6"},
		{text: "61 * * * *", why: "not a cron spec"},
		{text: "* * * *", why: "not a cron spec"},
		{text: "* * * * * *", why: "not a cron spec"},
		{text: "0 9-17 * * MON-FRI", why: "leaves 2d16h without a run"},
		{text: "0 0 1 * *", why: "without a run"},
		{text: "0 0 29 2 *", why: "without a run"},
		// Put forward at 02:00, the clocks of New York leave this one out once a year.
		{text: "30 2 * * *", zone: "America/New_York", why: "leaves 1d23h without a run (from Sat"},
	} {
		zone := zoneOf(t, c.zone)
		s, err := parseSchedule(c.text, zone, leastPoll, mostPoll)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%q: error %v, want one that says %q", c.text, err, c.why)
			}
			continue
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := s.Next(after).Format(time.RFC3339); got != c.want {
			t.Errorf("%q in %s after %s: next is %s, want %s", c.text, zone, c.after, got, c.want)
		}
	}
	if !(Schedule{}).Next(anyDay).IsZero() || !(Schedule{}).IsZero() || Every(time.Minute).IsZero() {
		t.Error("the zero schedule comes, or another does not")
	}
}

// TestScheduleGap: what is accepted never leaves more than the bound without a
// run, wherever in the year one looks.
func TestScheduleGap(t *testing.T) {
	zones := []*time.Location{time.UTC, zoneOf(t, "America/New_York"), zoneOf(t, "Australia/Lord_Howe")}
	rapid.Check(t, func(t *rapid.T) {
		field := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		text := strings.Join([]string{
			field("minute", "*", "0", "*/7", "30"), field("hour", "*", "2", "*/6", "9-17", "0,12"),
			field("day", "*", "1", "*/2", "1-15"), "*", field("weekday", "*", "MON-FRI", "SUN"),
		}, " ")
		s, err := parseSchedule(text, rapid.SampledFrom(zones).Draw(t, "zone"), leastPoll, mostPoll)
		if err != nil {
			return
		}
		at := anyDay.Add(time.Duration(rapid.IntRange(0, 399*24*60).Draw(t, "minute of the year")) * time.Minute)
		if next := s.Next(at); next.Sub(at) > mostPoll+time.Hour || !next.After(at) {
			t.Fatalf("%q: after %s comes %s", text, at, next)
		}
	})
}
