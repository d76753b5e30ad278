package configs

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuietEnds(t *testing.T) {
	zone := func(name string) *time.Location {
		l, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	night := Quiet{From: 22 * time.Hour, Until: 8 * time.Hour, Zone: zone("Europe/Berlin")}
	noon := Quiet{From: 12 * time.Hour, Until: 13*time.Hour + 30*time.Minute, Zone: zone("Asia/Shanghai")}
	short := Quiet{From: 90 * time.Minute, Until: 150 * time.Minute, Zone: night.Zone}
	weekend := night
	weekend.Always = []time.Weekday{time.Saturday, time.Sunday}
	santiago := Quiet{From: 23 * time.Hour, Until: 30 * time.Minute, Zone: zone("America/Santiago"), Always: []time.Weekday{time.Saturday}}
	for _, tt := range []struct {
		name     string
		q        Quiet
		at, want string // RFC 3339; want "": not quiet
	}{
		{"the evening", night, "2026-03-06T22:00:00+01:00", "2026-03-07T08:00:00+01:00"},
		{"a second before", night, "2026-03-06T21:59:59+01:00", ""},
		{"the night", night, "2026-03-07T03:00:00+01:00", "2026-03-07T08:00:00+01:00"},
		{"the morning", night, "2026-03-07T08:00:00+01:00", ""},
		{"told in another zone", night, "2026-03-07T05:00:00Z", "2026-03-07T07:00:00Z"},
		{"noon", noon, "2026-03-06T12:10:00+08:00", "2026-03-06T13:30:00+08:00"},
		{"after noon", noon, "2026-03-06T13:30:00+08:00", ""},
		{"the night that is an hour short", night, "2026-03-28T22:00:00+01:00", "2026-03-29T08:00:00+02:00"},
		{"the night that is an hour long", night, "2026-10-24T22:00:00+02:00", "2026-10-25T08:00:00+01:00"},
		{"its end is skipped", short, "2026-03-29T01:45:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"its end comes twice, the first time", short, "2026-10-25T02:10:00+02:00", "2026-10-25T02:30:00+02:00"},
		{"its end comes twice, between", short, "2026-10-25T02:40:00+02:00", ""},
		{"its end comes twice, the second time", short, "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"},
		{"Friday evening before a quiet weekend", weekend, "2026-03-06T23:00:00+01:00", "2026-03-09T08:00:00+01:00"},
		{"Saturday noon", weekend, "2026-03-07T12:00:00+01:00", "2026-03-09T08:00:00+01:00"},
		{"Monday", weekend, "2026-03-09T08:00:00+01:00", ""},
		{"a day whose midnight is skipped", santiago, "2026-09-05T12:00:00-04:00", "2026-09-06T01:00:00-03:00"},
		{"nothing is quiet", Quiet{}, "2026-03-07T03:00:00+01:00", ""},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		got := tt.q.Ends(at)
		want, _ := time.Parse(time.RFC3339, tt.want)
		if !got.Equal(want) {
			t.Errorf("%s: %s is quiet until %s, want %q", tt.name, tt.at, got.Format(time.RFC3339), tt.want)
		}
	}
	always := night
	for d := time.Sunday; d <= time.Saturday; d++ {
		always.Always = append(always.Always, d)
	}
	at := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	if end := always.Ends(at); end.Sub(at) < 20*24*time.Hour {
		t.Errorf("days that are all quiet end at %s", end)
	}
}

// Whatever the hours, the zone and the moment: each moment until the end is quiet by the
// clock on the wall, and the end is not.
func TestQuietIsWhatTheWallShows(t *testing.T) {
	var zones []*time.Location
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Shanghai", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		l, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, l)
	}
	rapid.Check(t, func(t *rapid.T) {
		minute := rapid.IntRange(0, 24*60-1)
		from := minute.Draw(t, "from")
		until := minute.Filter(func(m int) bool { return m != from }).Draw(t, "until")
		q := Quiet{From: time.Duration(from) * time.Minute, Until: time.Duration(until) * time.Minute, Zone: rapid.SampledFrom(zones).Draw(t, "zone")}
		for range rapid.IntRange(0, 3).Draw(t, "days") {
			q.Always = append(q.Always, time.Weekday(rapid.IntRange(0, 6).Draw(t, "day")))
		}
		quiet := func(at time.Time) bool {
			w := at.In(q.Zone)
			clock, from, until := w.Format("15:04:05"), time.Time{}.Add(q.From).Format("15:04:05"), time.Time{}.Add(q.Until).Format("15:04:05")
			for _, d := range q.Always {
				if d == w.Weekday() {
					return true
				}
			}
			if from < until {
				return clock >= from && clock < until
			}
			return clock >= from || clock < until
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 366*24*60).Draw(t, "at")) * time.Minute)
		end := q.Ends(at)
		if end.IsZero() {
			if quiet(at) {
				t.Fatalf("%s is quiet by the clock on the wall", at.In(q.Zone))
			}
			return
		}
		for x := at; x.Before(end); x = x.Add(time.Minute) {
			if !quiet(x) {
				t.Fatalf("%s is not quiet, and lies before the end %s", x.In(q.Zone), end.In(q.Zone))
			}
		}
		if quiet(end) {
			t.Fatalf("the end %s is quiet", end.In(q.Zone))
		}
	})
}
