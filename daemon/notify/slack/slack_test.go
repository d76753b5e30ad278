package slack

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

const token = "xoxb-canary-0123456789"

func fresh(t *testing.T) (*Channel, *notifytest.Slack) {
	t.Helper()
	far := notifytest.NewSlack(token, "general", "gpu-cost")
	c, err := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Transport: far})
	if err != nil {
		t.Fatal(err)
	}
	return c, far
}

func ctxAt(t *testing.T, d time.Duration) context.Context {
	return guard.WithInstant(t.Context(), guard.Instant{Wall: notifytest.Start.Add(d), Elapsed: time.Hour + d})
}

func TestConformance(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
		c, far := fresh(t)
		return c, notifytest.Far{Inject: far.Inject, Secrets: []string{token}, Seen: func() (seen []string) {
			for _, p := range far.Shown() {
				text := p.Blocks
				if text == "" {
					text = p.Text
				}
				seen = append(seen, html.UnescapeString(text))
			}
			return seen
		}}
	})
}

// ALR-07: no text from outside mentions, pings, formats or links.
func TestNothingPings(t *testing.T) {
	c, far := fresh(t)
	m := notifytest.Message("slack", "one")
	m.Title = "lab/<!channel> *free* <http://evil|click>"
	m.Lines = []string{"of <@U0123>", "a&b<c>", "@channel @HERE"}
	if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
		t.Fatal(err)
	}
	p := far.Stored()[0]
	for _, text := range []string{p.Text, p.Blocks} {
		if strings.ContainsAny(text, "<>") || regexp.MustCompile(`&(?:[^agl]|$)`).MatchString(text) {
			t.Errorf("unescaped: %q", text)
		}
		for _, want := range []string{"&lt;!channel&gt;", "&lt;http://evil|click&gt;", "&lt;@U0123&gt;", "a&amp;b&lt;c&gt;"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
		if strings.Contains(text, "@channel") || strings.Contains(text, "@HERE") {
			t.Errorf("a bare ping in %q", text)
		}
	}
}

// formOf has a channel post a message, and tells what the form of the last request has.
func formOf(t *testing.T) (c *Channel, m guard.Message, posted guard.Posted, form func(key string) []string) {
	t.Helper()
	var last map[string][]string
	far := notifytest.NewSlack(token, "gpu-cost")
	c, err := New(Config{Token: guard.NewSecret(token), Channel: "gpu-cost", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		last = r.PostForm
		return far.RoundTrip(r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	m = notifytest.Message("slack", "one")
	if posted, err = c.Post(ctxAt(t, 0), m, ""); err != nil {
		t.Fatal(err)
	}
	return c, m, posted, func(key string) []string { return last[key] }
}

// What Slack is told about the text: plain, no links, no names.
func TestForm(t *testing.T) {
	c, m, posted, form := formOf(t)
	for key, want := range map[string]string{"parse": "none", "mrkdwn": "false", "link_names": "false", "unfurl_links": "false",
		"unfurl_media": "false", "metadata": `{"event_type":"guard_message","event_payload":{"id":"slack|one"}}`, "channel": "#gpu-cost"} {
		if got := form(key); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if b := form("blocks")[0]; strings.Contains(b, "mrkdwn") || !strings.Contains(b, `"emoji":false`) {
		t.Errorf("blocks are not plain text: %s", b)
	}
	m.ID, m.Urgent = "slack|two", true
	if _, err := c.Post(ctxAt(t, 0), m, posted.Thread); err != nil {
		t.Fatal(err)
	}
	if form("thread_ts")[0] == "" || form("reply_broadcast")[0] != "true" || form("channel")[0] != "C0001" {
		t.Errorf("an urgent reply: thread_ts %q, reply_broadcast %q, channel %q", form("thread_ts"), form("reply_broadcast"), form("channel"))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestErrorCodes(t *testing.T) {
	for code, want := range map[string]error{
		"channel_not_found": guard.ErrNotFound, "is_archived": guard.ErrNotFound, "invalid_auth": guard.ErrPermission,
		"not_in_channel": guard.ErrPermission, "token_revoked": guard.ErrPermission, "missing_scope": guard.ErrPermission,
		"msg_too_long": guard.ErrInvalid, "invalid_blocks": guard.ErrInvalid, "something_new": guard.ErrInvalid,
		"ratelimited": guard.ErrThrottled, "fatal_error": guard.ErrUncertain, "internal_error": guard.ErrUncertain,
		"cannot_reply_to_message": guard.ErrConflict, "<!channel> " + token: guard.ErrInvalid,
	} {
		t.Run(code, func(t *testing.T) {
			c, far := fresh(t)
			far.Inject(notifytest.Fault{Error: code})
			_, err := c.Post(ctxAt(t, 0), notifytest.Message("slack", "one"), "")
			notifytest.Kind(t, err, want)
			notifytest.Clean(t, err, token, "<!channel>")
		})
	}
	far := notifytest.NewSlack("another", "gpu-cost")
	c, _ := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Transport: far})
	_, err := c.Post(ctxAt(t, 0), notifytest.Message("slack", "one"), "")
	notifytest.Kind(t, err, guard.ErrPermission)
}

// ALR-08, over real connections: the token is in the form of every request, and in
// no error, whatever breaks.
func TestNoSecretInErrors(t *testing.T) {
	var logged strings.Builder
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))

	far := notifytest.NewSlack(token, "gpu-cost")
	live := httptest.NewServer(far)
	defer live.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token was sent elsewhere") }))
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/?token="+token, http.StatusTemporaryRedirect))
	defer redirect.Close()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		fmt.Fprintf(w, `{"ok":false,"error":%q,"errors":[{"x":%q}]}`, r.PostForm.Get("token"), r.PostForm.Get("token"))
	}))
	defer echo.Close()

	for _, tt := range []struct {
		name, endpoint string
		fault          notifytest.Fault
		rt             http.RoundTripper
		want           error
	}{
		{name: "works", endpoint: live.URL + "/api"},
		{name: "breaks", endpoint: live.URL, fault: notifytest.Fault{Stored: true, TimesOut: true, Times: 1}, want: guard.ErrUncertain},
		{name: "refused", endpoint: "http://127.0.0.1:1", want: guard.ErrUnavailable},
		{name: "redirect", endpoint: redirect.URL, want: guard.ErrNotFound},
		{name: "echo", endpoint: echo.URL, want: guard.ErrUncertain},
		{name: "no such name", endpoint: "http://slack.invalid", want: guard.ErrUnavailable, rt: roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host + token, IsNotFound: true}}
		})},
		{name: "unknown trouble", endpoint: "http://slack.invalid", want: guard.ErrUncertain, rt: roundTrip(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("proxy: " + token)
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			far.Mend()
			if tt.fault.Times > 0 {
				far.Inject(tt.fault)
			}
			c, err := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Endpoint: tt.endpoint, Transport: tt.rt})
			if err != nil {
				t.Fatal(err)
			}
			m := notifytest.Message("slack", tt.name)
			_, err = c.Post(ctxAt(t, 0), m, "")
			if tt.want == nil && err != nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			notifytest.Clean(t, err, token)
			_, _, err = c.Find(ctxAt(t, 0), m, "")
			notifytest.Clean(t, err, token)
			if text := fmt.Sprintf("%v %+v", c, c) + logged.String(); strings.Contains(text, token) {
				t.Errorf("printed or logged: %s", text)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []Config{
		{Channel: "#a"},
		{Token: guard.NewSecret(token)},
		{Token: guard.NewSecret(token), Channel: "#"},
		{Token: guard.NewSecret(token), Channel: "#a b"},
		{Token: guard.NewSecret(token), Channel: "#a|b"},
		{Token: guard.NewSecret(token), Channel: "#a", Endpoint: "slack.com"},
		{Token: guard.NewSecret(token), Channel: "#a", Endpoint: "https://u:" + token + "@slack.com/api?x=" + token},
	} {
		_, err := New(c)
		notifytest.Kind(t, err, guard.ErrInvalid)
		notifytest.Clean(t, err, token)
	}
}

// A look-up that does not see everything never says "not there".
func TestFindInBusyChannels(t *testing.T) {
	m := notifytest.Message("slack", "one")
	t.Run("on a later page", func(t *testing.T) {
		c, far := fresh(t)
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		far.Chat("#gpu-cost", 5*pageSize)
		if _, found, err := c.Find(ctxAt(t, 0), m, ""); err != nil || !found {
			t.Errorf("got %t, %v", found, err)
		}
	})
	t.Run("too far back", func(t *testing.T) {
		c, far := fresh(t)
		far.Chat("#gpu-cost", 1)
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		far.Chat("#gpu-cost", pages*pageSize)
		_, found, err := c.Find(ctxAt(t, 0), m, "")
		if found {
			t.Error("found")
		}
		notifytest.Kind(t, err, guard.ErrUnsupported)
	})
	t.Run("not allowed", func(t *testing.T) {
		c, far := fresh(t)
		far.FailLookups("missing_scope")
		_, _, err := c.Find(ctxAt(t, 0), m, "")
		notifytest.Kind(t, err, guard.ErrPermission)
	})
	t.Run("no such channel", func(t *testing.T) {
		far := notifytest.NewSlack(token, "general")
		c, _ := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Transport: far})
		_, _, err := c.Find(ctxAt(t, 0), m, "")
		notifytest.Kind(t, err, guard.ErrNotFound)
	})
	for name, body := range map[string]string{"empty": `{}`, "null": `null`, "no way on": `{"ok":true,"messages":[{"ts":"1"}],"has_more":true}`, "html": `<html>`} {
		for _, method := range []string{"conversations.history", "conversations.replies"} {
			t.Run(name+" from "+method, func(t *testing.T) {
				c, err := New(Config{Token: guard.NewSecret(token), Channel: "C0002", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					rec := httptest.NewRecorder()
					if strings.HasSuffix(r.URL.Path, method) {
						_, _ = rec.WriteString(body)
					} else {
						_, _ = rec.WriteString(`{"ok":true,"messages":[{"ts":"1"}]}`)
					}
					return rec.Result(), nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				_, found, err := c.Find(ctxAt(t, 0), m, "C0002|C0002|1700000000.000001")
				if found {
					t.Error("found")
				}
				notifytest.Kind(t, err, guard.ErrBadReply)
			})
		}
	}
}

// A thread whose root a person deleted, or that is of the channel configured
// before, is not used; the reply begins a new one.
func TestThreadsEnd(t *testing.T) {
	c, far := fresh(t)
	root, err := c.Post(ctxAt(t, 0), notifytest.Message("slack", "one"), "")
	if err != nil {
		t.Fatal(err)
	}
	far.Delete(far.Stored()[0].TS)
	if _, found, err := c.Find(ctxAt(t, 0), notifytest.Message("slack", "two"), root.Thread); err != nil || found {
		t.Errorf("find in a deleted thread: %t, %v", found, err)
	}
	second, err := c.Post(ctxAt(t, 0), notifytest.Message("slack", "two"), root.Thread)
	if err != nil || second.Thread != second.Receipt {
		t.Errorf("got %+v, %v, want a new thread", second, err)
	}
	moved, err := New(Config{Token: guard.NewSecret(token), Channel: "#general", Transport: far})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := moved.Post(ctxAt(t, 0), notifytest.Message("slack", "three"), second.Thread); err != nil {
		t.Fatal(err)
	}
	if p := far.Stored()[2]; p.Channel != "C0001" || p.Thread != "" {
		t.Errorf("posted to %s, thread %q", p.Channel, p.Thread)
	}
}
