package api

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"guard"
)

// farthest is how far ahead a limit may lie; beyond it a typing error is likelier.
const farthest = 10 * 365 * 24 * time.Hour

// duration reads what a person typed: 90s, 10h, 2d, 1w2d. It is above zero.
//
// Only a ttl can be meant as a moment; what is below zero of the others is just
// that.
func duration(field, s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "-") && field != "ttl" {
		return 0, faultf(guard.ErrInvalid, "%s: %q is below zero: write how long, such as 90m, 10h or 2d", field, clip(s))
	}
	if strings.HasPrefix(t, "-") {
		return 0, faultf(guard.ErrInvalid, "%s: %q lies in the past: say how long it is from now, such as 90m, 10h or 2d", field, clip(s))
	}
	d, err := model.ParseDuration(t)
	switch {
	case err != nil:
		return 0, faultf(guard.ErrInvalid, "%s: %q is not a duration: write 90s, 10h, 2d or 1w2d, the largest unit first", field, clip(s))
	case d <= 0:
		return 0, faultf(guard.ErrInvalid, "%s: %q is no time at all: it must be above zero", field, clip(s))
	case time.Duration(d) > farthest:
		return 0, faultf(guard.ErrInvalid, "%s: %q is more than ten years", field, clip(s))
	}
	return time.Duration(d), nil
}

// naive are the forms without a zone that people type.
var naive = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}

// moment reads an until: a time to come. One without a zone is read in loc, and the note
// says so; one that the clocks there skip or show twice is refused.
func moment(s string, now time.Time, loc *time.Location) (t time.Time, note string, err error) {
	text := strings.TrimSpace(s)
	t, err = time.Parse(time.RFC3339, text)
	if err != nil {
		if t, note, err = local(text, loc); err != nil {
			return time.Time{}, "", err
		}
	}
	switch {
	case !t.After(now):
		return time.Time{}, "", faultf(guard.ErrInvalid, "until: %s is in the past: it is %s now", t.In(loc).Format(time.RFC3339), now.In(loc).Format(time.RFC3339))
	case t.Sub(now) > farthest:
		return time.Time{}, "", faultf(guard.ErrInvalid, "until: %s is more than ten years ahead", t.Format(time.RFC3339))
	}
	return t.UTC(), note, nil
}

func local(text string, loc *time.Location) (time.Time, string, error) {
	for _, layout := range naive {
		t, err := time.ParseInLocation(layout, text, loc)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return t, "", faultf(guard.ErrInvalid, "until: there is no %s in %s: the clocks go forward over it; choose another time", text, loc)
		}
		for _, shift := range []time.Duration{-time.Hour, time.Hour} {
			if t.Add(shift).Format(layout) == text {
				return t, "", faultf(guard.ErrInvalid, "until: %s happens twice in %s, when the clocks go back: add the offset, such as %s", text, loc, t.Format(time.RFC3339))
			}
		}
		return t, fmt.Sprintf("%s without a zone was read as time in %s: %s", text, loc, t.Format(time.RFC3339)), nil
	}
	return time.Time{}, "", faultf(guard.ErrInvalid, "until: %q is not a time: write 2026-03-09T18:00:00+08:00, or \"2026-03-09 18:00\" for the zone %s", clip(text), loc)
}

// line bounds a text that people type and others read.
func line(field, s string, most int) (string, error) {
	s = strings.TrimSpace(s)
	switch {
	case !utf8.ValidString(s):
		return "", faultf(guard.ErrInvalid, "%s: it is not valid UTF-8", field)
	case utf8.RuneCountInString(s) > most:
		return "", faultf(guard.ErrInvalid, "%s: it has %d characters, at most %d are possible", field, utf8.RuneCountInString(s), most)
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", faultf(guard.ErrInvalid, "%s: it must be one line of plain text", field)
	}
	return s, nil
}

// resource reads ACCOUNT/ID and finds the account.
func (s *server) resource(text string) (account, id string, err error) {
	account, id, ok := guard.ParseID(strings.TrimSpace(text))
	if !ok {
		return "", "", faultf(guard.ErrInvalid, "%q is not ACCOUNT/ID, such as research/i-0abc", clip(text))
	}
	if len(id) > 256 || strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return "", "", faultf(guard.ErrInvalid, "the ID in %q cannot be one: IDs have no spaces and at most 256 bytes", clip(text))
	}
	return account, id, nil
}

// noAccount is the answer for an account that is not configured.
func (s *server) noAccount(name string) error {
	names := s.AccountNames()
	known := "none is configured"
	if len(names) > 0 {
		known = "known: " + strings.Join(names, ", ")
	}
	return faultf(guard.ErrNotFound, "there is no account %q (%s)", clip(name), known).
		hinted("Accounts are in guardd's configuration under accounts:; guard status lists them.")
}
