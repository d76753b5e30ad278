package configs

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// On a day that skips the time it comes an hour off, on one that repeats it once.
func TestNextDaily(t *testing.T) {
	for _, c := range []struct{ text, zone, after, want string }{
		{"0 9 * * *", "Asia/Shanghai", "2026-03-08T09:00:00+08:00", "2026-03-09T09:00:00+08:00"},
		{"0 9 * * *", "Asia/Shanghai", "2026-03-09T08:59:59+08:00", "2026-03-09T09:00:00+08:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00"}, // 02:30 is skipped
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+01:00"}, // and repeated
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"},
		{"30 2 * * *", "America/New_York", "2026-03-07T02:30:00-05:00", "2026-03-08T03:30:00-04:00"},
		{"30 1 * * *", "America/New_York", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		{"0 9 * * MON-FRI", "America/New_York", "2026-11-06T09:00:00-05:00", "2026-11-09T09:00:00-05:00"},
		{"24h", "America/New_York", "2026-11-01T00:00:00-04:00", "2026-11-01T23:00:00-05:00"},
	} {
		s, err := parseSchedule(c.text, zoneOf(t, c.zone), leastDigest, mostDigest)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		want, _ := time.Parse(time.RFC3339, c.want)
		if got := s.NextDaily(after); !got.Equal(want) {
			t.Errorf("%q in %s after %s: %s, want %s", c.text, c.zone, c.after, got, want)
		}
	}
	if !(Schedule{}).NextDaily(anyDay).IsZero() {
		t.Error("the zero schedule comes")
	}
}

// A time of day comes on every calendar day once, in any zone and year.
func TestNextDailyIsDaily(t *testing.T) {
	zones := []*time.Location{time.UTC, zoneOf(t, "Europe/Berlin"), zoneOf(t, "America/New_York"), zoneOf(t, "Asia/Shanghai"), zoneOf(t, "Australia/Lord_Howe"), zoneOf(t, "America/Santiago")}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		text := rapid.SampledFrom([]string{"0 9 * * *", "30 2 * * *", "15 0 * * *", "45 1 * * *", "59 23 * * *"}).Draw(t, "spec")
		s, err := parseSchedule(text, zone, leastDigest, mostDigest)
		if err != nil {
			t.Fatal(err)
		}
		at := s.NextDaily(anyDay.AddDate(rapid.IntRange(0, 8).Draw(t, "year"), 0, 0))
		for range 370 {
			next := s.NextDaily(at)
			y, m, d := at.In(zone).Date()
			if got, want := next.In(zone).Format(time.DateOnly), time.Date(y, m, d+1, 12, 0, 0, 0, zone).Format(time.DateOnly); got != want {
				t.Fatalf("%q in %s: after %s comes %s", text, zone, at.In(zone), next.In(zone))
			}
			at = next
		}
	})
}
