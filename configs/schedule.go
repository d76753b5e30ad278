package configs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is when something recurs: each so much time, or at the times of a
// cron spec. The zero Schedule never comes.
type Schedule struct {
	text  string
	every time.Duration
	cron  cron.Schedule
	zone  *time.Location
}

// Every returns the schedule of a fixed interval.
func Every(d time.Duration) Schedule { return Schedule{text: formatDuration(d), every: d} }

// Next returns the first time strictly after a given one, in UTC; zero where
// there is none. Where clocks are put forward a cron spec skips the times that
// do not exist that day, so nothing that must happen may hang on one alone.
func (s Schedule) Next(after time.Time) time.Time {
	switch {
	case s.every > 0:
		return after.Add(s.every).UTC()
	case s.cron == nil:
		return time.Time{}
	}
	next := s.cron.Next(after.In(s.zone))
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}

// NextDaily returns the next time after a given one, in UTC, as Next does, but by the clock on
// the wall: on a day of which clocks skip the time it comes an hour off, and where they
// repeat it, once.
func (s Schedule) NextDaily(after time.Time) time.Time {
	if s.cron == nil {
		return s.Next(after)
	}
	wall := onWall(after.In(s.zone), time.UTC)
	for {
		if wall = s.cron.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		next := onWall(wall, s.zone)
		if shows := onWall(next, time.UTC); shows.Before(wall) {
			next = next.Add(wall.Sub(shows)) // skipped: rather late than on the day before
		}
		if next.After(after) { // which of two repeated times Date means is not defined
			return next.UTC()
		}
	}
}

// onWall is when a clock of another zone shows what t shows.
func onWall(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, zone)
}

// Interval is the fixed interval; false for a cron spec.
func (s Schedule) Interval() (time.Duration, bool) { return s.every, s.every > 0 }

// IsZero reports whether nothing is scheduled.
func (s Schedule) IsZero() bool { return s.every == 0 && s.cron == nil }

// String is the schedule as it was written.
func (s Schedule) String() string { return s.text }

// parseSchedule reads a duration between least and most, or a cron spec of five
// fields whose runs never lie further apart than most, give or take the hour by
// which a zone shifts.
func parseSchedule(text string, zone *time.Location, least, most time.Duration) (Schedule, error) {
	if !strings.ContainsAny(strings.TrimSpace(text), " \t") && !strings.HasPrefix(text, "@") {
		d, err := parseDuration(text)
		if err != nil {
			return Schedule{}, fmt.Errorf("%w, or as a cron spec such as */5 * * * *", err)
		}
		if d < least || d > most {
			return Schedule{}, fmt.Errorf("%s is outside %s to %s", formatDuration(d), formatDuration(least), formatDuration(most))
		}
		return Schedule{text: text, every: d}, nil
	}
	s, err := parseCron(text, zone)
	if err != nil {
		return Schedule{}, err
	}
	if from, gap := s.longestGap(most + time.Hour); gap > 0 {
		return Schedule{}, fmt.Errorf("cron spec leaves %s without a run (from %s), more than the %s that may pass unseen",
			formatDuration(gap.Truncate(time.Minute)), from.In(zone).Format("Mon 2 Jan 15:04"), formatDuration(most))
	}
	return s, nil
}

// parseCron refuses what the cron package takes and means differently: a zone
// inside the spec (which crashes it where no fields follow) and @every, which
// rounds to whole seconds and starts anew with each process.
func parseCron(text string, zone *time.Location) (Schedule, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return Schedule{}, errors.New("a zone does not go into a cron spec: set time_zone")
	case strings.HasPrefix(text, "@every"):
		return Schedule{}, errors.New("@every is written as a plain duration, such as 90s")
	}
	c, err := cron.ParseStandard(text)
	if err != nil {
		return Schedule{}, errors.New("not a cron spec: write minute, hour, day of month, month, day of week (0 to 6, or SUN to SAT), such as */5 * * * *")
	}
	s := Schedule{text: text, cron: c, zone: zone}
	if s.Next(anyDay).IsZero() {
		return Schedule{}, errors.New("cron spec names a time that never comes")
	}
	return s, nil
}

// anyDay is where checks of a cron spec begin: it has a leap day and every
// change of clocks of the years after it. What is right must not depend on when
// a file is loaded.
var anyDay = time.Date(2023, time.December, 31, 0, 0, 0, 0, time.UTC)

// longestGap looks through 400 days and returns the first stretch longer than
// most, and where it begins; zero where there is none.
func (s Schedule) longestGap(most time.Duration) (time.Time, time.Duration) {
	at, end := s.Next(anyDay), anyDay.AddDate(0, 0, 400)
	for at.Before(end) {
		next := s.Next(at)
		if next.IsZero() {
			next = end.Add(most)
		}
		if next.Sub(at) > most {
			return at, next.Sub(at)
		}
		// Both ends of a leap are runs and lie close enough, so what is
		// between them does not matter. Without leaps a spec of every minute
		// would cost half a million steps.
		for leap := most - 1; leap > most/32; leap /= 2 {
			if far := s.Next(at.Add(leap)); !far.IsZero() && far.Sub(at) <= most {
				next = far
				break
			}
		}
		at = next
	}
	return time.Time{}, 0
}
