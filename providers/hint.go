package providers

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"guard"
)

// maxHint caps what a provider may ask for: beyond it guard looks again anyway.
const maxHint = time.Hour

// Hint is how long a refusal asks to wait: its Retry-After header in seconds or
// as a date, or what its body says ("retry in 60 seconds", {"retry_after": 30}).
// The answer is above zero and at most an hour; the caller adds jitter.
func Hint(resp *http.Response, body []byte) (time.Duration, bool) {
	if d, ok := headerHint(resp); ok {
		return capHint(d)
	}
	return capHint(bodyHint(body))
}

func waitOf(resp *http.Response) (time.Duration, bool) {
	body, err := peek(resp)
	if err != nil {
		return 0, false
	}
	return Hint(resp, body)
}

func capHint(d time.Duration) (time.Duration, bool) {
	return min(d, maxHint), d > 0
}

func headerHint(resp *http.Response) (time.Duration, bool) {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if d, ok := number(resp.Header.Get(name), time.Millisecond); ok {
			return d, true
		}
	}
	v := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if d, ok := number(v, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	// The server wrote both dates by one clock; ours may be wrong.
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		if resp.Request == nil {
			return 0, false
		}
		instant, ok := guard.InstantFrom(resp.Request.Context())
		if !ok {
			return 0, false
		}
		now = instant.Wall
	}
	return at.Sub(now), true
}

// number reads a decimal count of units; what overflows is as long as can be.
func number(s string, unit time.Duration) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 1) {
		return 0, false
	}
	ns := math.Ceil(f * float64(unit))
	if ns >= float64(maxHint) {
		return maxHint, true
	}
	return time.Duration(ns), true
}

// What bodies say was collected from public reports: Google's retryDelay "30s",
// Discord and Slack-like retry_after, "retry in 60 seconds" of GPU clouds.
var (
	fieldHint = regexp.MustCompile(`(?i)"?retry[-_ ]?(?:after|delay|in)(?:[-_]?(ms|millis|milliseconds|seconds|secs?|s))?"?\s*[:=]\s*"?([0-9]+(?:\.[0-9]+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?\b`)
	wordHint  = regexp.MustCompile(`(?i)\b(?:retry|again|wait|come back|available)\b[^0-9"{}<>]{0,24}?\b(?:in|after|for|at least)?\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b`)
)

func bodyHint(body []byte) time.Duration {
	body = body[:min(len(body), 4096)]
	if m := fieldHint.FindSubmatch(body); m != nil {
		unit := string(m[3])
		if unit == "" {
			unit = string(m[1])
		}
		d, _ := number(string(m[2]), unitOf(unit))
		return d
	}
	if m := wordHint.FindSubmatch(body); m != nil {
		d, _ := number(string(m[1]), unitOf(string(m[2])))
		return d
	}
	return 0
}

func unitOf(s string) time.Duration {
	switch s = strings.ToLower(s); {
	case strings.HasPrefix(s, "ms"), strings.HasPrefix(s, "milli"):
		return time.Millisecond
	case strings.HasPrefix(s, "m"):
		return time.Minute
	case strings.HasPrefix(s, "h"):
		return time.Hour
	}
	return time.Second
}
