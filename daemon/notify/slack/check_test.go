package slack

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/daemon/notify/notifytest"
)

// TestCheck: what is wrong with Slack is known without a post.
func TestCheck(t *testing.T) {
	const token = "xoxb-canary-0123456789"
	for name, c := range map[string]struct {
		token, channel string
		change         func(*notifytest.Slack)
		kind           error
		says           string
	}{
		"well, by name":   {token, "#gpu", nil, nil, "#gpu as @guard in lab"},
		"well, by ID":     {token, "C0001", nil, nil, "C0001 as @guard in lab"},
		"no such token":   {"xoxb-no", "#gpu", nil, guard.ErrPermission, "check the bot's token"},
		"no such channel": {token, "#cpu", nil, guard.ErrNotFound, "sees no channel of that name"},
		"not invited":     {token, "#gpu", func(s *notifytest.Slack) { s.Uninvite("#gpu") }, guard.ErrPermission, "/invite @guard"},
		"may not read":    {token, "#gpu", func(s *notifytest.Slack) { s.FailLookups("missing_scope") }, guard.ErrPermission, "channels:read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := notifytest.NewSlack(token, "gpu")
			if c.change != nil {
				c.change(s)
			}
			ch, err := New(Config{Token: guard.NewSecret(c.token), Channel: c.channel, Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			text, err := ch.Check(t.Context())
			if c.kind == nil && (err != nil || text != c.says) || c.kind != nil && (!errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%q, %v; want %q, %v", text, err, c.says, c.kind)
			}
			if len(s.Posts()) > 0 {
				t.Error("it has posted")
			}
			if err != nil && strings.Contains(err.Error(), c.token) {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

// TestCheckReplies: answers that make no sense are errors, and a scope that the
// token lacks is told by its name.
func TestCheckReplies(t *testing.T) {
	for name, c := range map[string]struct {
		scopes, body, says string
	}{
		"a page":           {"", "<html>log in</html>", "not Slack's JSON"},
		"null":             {"", "null", "not Slack's JSON"},
		"no post":          {"channels:read,channels:history", `{"ok":true,"user":"guard"}`, "no scope chat:write"},
		"another's answer": {"chat:write", `{"ok":true,"user":"g\u001b[31m","channel":{"id":"C9"}}`, "about another channel"},
	} {
		t.Run(name, func(t *testing.T) {
			ch, err := New(Config{Token: guard.NewSecret("xoxb-x"), Channel: "C0001", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"X-Oauth-Scopes": {c.scopes}}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			if text, err := ch.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
