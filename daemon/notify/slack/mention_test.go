package slack

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// mentioned posts a message for these people at a time and tells whom it pings.
func mentioned(t *testing.T, c *Channel, far *notifytest.Slack, after time.Duration, names ...string) (pings []string, text string) {
	t.Helper()
	m := notifytest.Message("slack", fmt.Sprint(len(far.Posts())))
	m.Mentions = names
	if _, err := c.Post(ctxAt(t, after), m, ""); err != nil {
		t.Fatal(err)
	}
	posts := far.Stored()
	return posts[len(posts)-1].Pings, posts[len(posts)-1].Blocks
}

// TestMentions: names become the IDs of the configuration or of an e-mail address, each
// once; whoever is not known stays text.
func TestMentions(t *testing.T) {
	for name, tt := range map[string]struct {
		names, pings []string
		says         string
		lookups      int
	}{
		"nobody":             {nil, nil, "", 0},
		"configured":         {[]string{"ana"}, []string{"U0ANA"}, "", 0},
		"twice one person":   {[]string{"ana", "U0ANA", "ana"}, []string{"U0ANA"}, "", 0},
		"not configured":     {[]string{"ben", "U0EVIL"}, nil, "For ben, U0EVIL", 0},
		"both":               {[]string{"ben", "李雷"}, []string{"W0LI"}, "For ben", 0},
		"by e-mail":          {[]string{"eva@lab.example"}, []string{"U0EVA"}, "", 1},
		"nobody's e-mail":    {[]string{"x@lab.example"}, nil, "For x@lab.example", 1},
		"one look-up a post": {[]string{"x@lab.example", "eva@lab.example"}, nil, "For x@lab.example, eva@lab.example", 1},
		"no e-mail":          {[]string{"Eva <eva@lab.example>", "eva@lab.example\n", "a@b, c@d", "@", "ana@"}, nil, "For Eva", 0},
		"not another's case": {[]string{"ANA"}, nil, "For ANA", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, far := staffed(t, guard.English)
			pings, text := mentioned(t, c, far, 0, tt.names...)
			if !slices.Equal(pings, tt.pings) || !strings.Contains(text, tt.says) || tt.says == "" && strings.Contains(text, "For ") {
				t.Errorf("pings %q and says %q", pings, text)
			}
			if n := far.EmailLookups(); n != tt.lookups {
				t.Errorf("%d addresses were looked up, want %d", n, tt.lookups)
			}
		})
	}
	t.Run("the owner is told in the card", func(t *testing.T) {
		c, far := staffed(t, guard.English)
		m := stateOf(notifytest.Message("slack", "one"), "ben")
		m.Mentions = []string{"ben"}
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		if text := far.Stored()[0].Blocks; strings.Contains(text, "For ben") {
			t.Errorf("told twice: %q", text)
		}
	})
	t.Run("a short message", func(t *testing.T) {
		c, far := staffed(t, guard.English)
		m := notifytest.Message("slack", "one")
		m.Mentions, m.Short = []string{"ana"}, true
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		if p := far.Stored()[0]; !slices.Equal(p.Pings, []string{"U0ANA"}) {
			t.Errorf("pings %q: %q", p.Pings, p.Text)
		}
	})
}

// TestLookupsAreRemembered: who an address is of for a day, that it is nobody's for an
// hour; where the token may not look, nobody is looked up for an hour; where there was no
// answer, for a minute. The message goes out each time.
func TestLookupsAreRemembered(t *testing.T) {
	const eva, other = "eva@lab.example", "other@lab.example"
	for name, tt := range map[string]struct {
		email, blind string
		quiet, again time.Duration
	}{
		"found":          {eva, "", foundFor - time.Second, foundFor},
		"nobody's":       {other, "", lostFor - time.Second, lostFor},
		"not allowed":    {eva, "missing_scope", lostFor - time.Second, lostFor},
		"no such method": {eva, "unknown_method", lostFor - time.Second, lostFor},
		"slack is ill":   {eva, "internal_error", brokenFor - time.Second, brokenFor},
		"throttled":      {eva, "ratelimited", brokenFor - time.Second, brokenFor},
	} {
		t.Run(name, func(t *testing.T) {
			c, far := staffed(t, guard.English)
			far.FailLookups(tt.blind)
			looked := func(after time.Duration, email string) int {
				was := far.Lookups()
				mentioned(t, c, far, after, email)
				return far.Lookups() - was
			}
			if n := looked(0, tt.email); n != 1 {
				t.Fatalf("looked up %d times", n)
			}
			if n := looked(tt.quiet, tt.email); n != 0 {
				t.Errorf("looked up again after %s", tt.quiet)
			}
			if n := looked(tt.quiet, "third@lab.example"); tt.blind != "" && n != 0 {
				t.Errorf("another address was looked up %s after a refusal", tt.quiet)
			}
			if n := looked(tt.again, tt.email); n != 1 {
				t.Errorf("not looked up again after %s", tt.again)
			}
		})
	}
	t.Run("a flood", func(t *testing.T) {
		c, far := staffed(t, guard.English)
		for i := range maxKnown + 10 {
			c.lookUp(ctxAt(t, 0), fmt.Sprintf("a%d@lab.example", i), guard.Instant{Elapsed: time.Hour})
		}
		if n := len(c.people.emails); n > maxKnown || far.EmailLookups() != maxKnown+10 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

// TestLookupReplies: an answer that names no member mentions nobody, and a wait that Slack
// asks for is kept.
func TestLookupReplies(t *testing.T) {
	const eva = "eva@lab.example"
	for name, tt := range map[string]struct {
		status     int
		after      string
		body       string
		pings      []string
		least, end time.Duration // when she is looked up again
	}{
		"a member":         {200, "", `{"ok":true,"user":{"id":"U0EVA"}}`, []string{"U0EVA"}, foundFor - 1, foundFor},
		"who has left":     {200, "", `{"ok":true,"user":{"id":"U0EVA","deleted":true}}`, nil, lostFor - 1, lostFor},
		"markup for an ID": {200, "", `{"ok":true,"user":{"id":"U1> <!channel"}}`, nil, lostFor - 1, lostFor},
		"no user":          {200, "", `{"ok":true}`, nil, lostFor - 1, lostFor},
		"a page":           {200, "", `<html>`, nil, brokenFor - 1, brokenFor},
		"throttled":        {429, "600", `{"ok":false,"error":"ratelimited"}`, nil, 10*time.Minute - 1, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			far := notifytest.NewSlack(token, "gpu-cost")
			lookups := 0
			c, err := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(r.URL.Path, "users.lookupByEmail") {
					return far.RoundTrip(r)
				}
				lookups++
				return &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.after}}, Body: io.NopCloser(strings.NewReader(tt.body)), Request: r}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			if pings, text := mentioned(t, c, far, 0, eva); !slices.Equal(pings, tt.pings) || tt.pings == nil && !strings.Contains(text, "For "+eva) {
				t.Errorf("pings %q and says %q", pings, text)
			}
			if mentioned(t, c, far, tt.least, eva); lookups != 1 {
				t.Errorf("looked up again after %s", tt.least)
			}
			if mentioned(t, c, far, tt.end, eva); lookups != 2 {
				t.Errorf("not looked up again after %s", tt.end)
			}
		})
	}
}
