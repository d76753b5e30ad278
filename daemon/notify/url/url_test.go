package url

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/notify/notifytest"
)

func hmacOf(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func ctxAt(t *testing.T) context.Context {
	return guard.WithInstant(t.Context(), guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour})
}

// open makes the channel of a service, and its far end.
func open(t *testing.T, service string) (Channel, *far) {
	t.Helper()
	s := fakes[service]
	f := &far{t: t, take: s.take, yes: s.yes, no: s.no}
	c, err := New(Config{Name: service + "-ops", URL: guard.NewSecret(s.address), Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

// TestEveryServiceIsTried: a service without a fake would be posted to untested.
func TestEveryServiceIsTried(t *testing.T) {
	tried := append(slices.Collect(maps.Keys(fakes)), "lark", "alertmanager")
	if got, want := slices.Sorted(maps.Keys(services)), slices.Sorted(slices.Values(tried)); !slices.Equal(got, want) {
		t.Errorf("services %v, tried %v", got, want)
	}
}

func TestConformance(t *testing.T) {
	for service, s := range fakes {
		t.Run(service, func(t *testing.T) {
			notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
				c, f := open(t, service)
				return c, notifytest.Far{Seen: f.Seen, Inject: f.Inject, Secrets: []string{canary}, Mute: s.mute}
			})
		})
	}
}

// TestRefusals: services that answer 200 to everything say in the body what came of it.
func TestRefusals(t *testing.T) {
	for service, s := range fakes {
		for body, want := range s.refusals {
			t.Run(service+" "+body[:min(40, len(body))], func(t *testing.T) {
				c, f := open(t, service)
				f.Inject(notifytest.Fault{Status: 200, Body: body, Times: 1})
				_, err := c.Post(ctxAt(t), notifytest.Message(c.Name(), "one"), "")
				notifytest.Kind(t, err, want)
				notifytest.Clean(t, err, canary)
				if after, ok := guard.RetryAfter(err); errors.Is(want, guard.ErrThrottled) && (!ok || after < 30*time.Second) {
					t.Errorf("%v: waits %s", err, after)
				}
				if !strings.Contains(err.Error(), c.Name()) {
					t.Errorf("%v does not say which channel", err)
				}
			})
		}
	}
}

// TestStatuses: what a service says by its status alone.
func TestStatuses(t *testing.T) {
	for status, want := range map[int]error{301: guard.ErrNotFound, 400: guard.ErrInvalid, 401: guard.ErrPermission, 402: guard.ErrPermission, 404: guard.ErrNotFound,
		405: guard.ErrNotFound, 407: guard.ErrPermission, 408: guard.ErrUncertain, 410: guard.ErrNotFound, 413: guard.ErrInvalid, 429: guard.ErrThrottled, 500: guard.ErrUncertain, 504: guard.ErrUncertain} {
		c, f := open(t, "generic")
		f.Inject(notifytest.Fault{Status: status, Times: 1})
		_, err := c.Post(ctxAt(t), notifytest.Message(c.Name(), "one"), "")
		if notifytest.Kind(t, err, want); !strings.Contains(err.Error(), fmt.Sprint("HTTP ", status)) {
			t.Errorf("%v does not say %d", err, status)
		}
		if f.requests != 1 {
			t.Errorf("%d: %d requests for one post", status, f.requests)
		}
	}
}

// TestMuted: a service that mutes for long is left alone for as long, unless it says how
// long, and never for more than an hour.
func TestMuted(t *testing.T) {
	for _, tt := range []struct {
		fault notifytest.Fault
		want  time.Duration
	}{
		{notifytest.Fault{Status: 200, Body: `{"errcode":130101,"errmsg":"exceed"}`}, 10 * time.Minute},
		{notifytest.Fault{Status: 429, RetryAfter: 48 * time.Hour}, time.Hour},
		{notifytest.Fault{Status: 429, RetryAfter: 7 * time.Second}, 7 * time.Second},
	} {
		c, f := open(t, "dingtalk")
		f.Inject(tt.fault)
		_, err := c.Post(ctxAt(t), notifytest.Message(c.Name(), "one"), "")
		if after, _ := guard.RetryAfter(err); after != tt.want {
			t.Errorf("%+v: waits %s, want %s", tt.fault, after, tt.want)
		}
	}
}

// ALR-07: no text from outside mentions, pings, formats or links, whatever a service makes
// of bare text.
func TestNothingPings(t *testing.T) {
	m := notifytest.Message("x", "one")
	m.Title = "lab/@all @everyone ＠所有人 <at user_id=\"all\">x</at>"
	m.Lines = []string{"<@U1> <@&2> <#3>", "[pay](https://evil.example/x) http://evil.example", "</AT> @ana"}
	m.Mentions = []string{"@channel"}
	for service := range fakes {
		if services[service].room.raw {
			continue // read by programs
		}
		c, f := open(t, service)
		if _, err := c.Post(ctxAt(t), m, ""); err != nil {
			t.Errorf("%s: %v", service, err)
			continue
		}
		got := f.Seen()[0]
		for _, bad := range []string{"@all", "@everyone", "＠所有", "@U1", "@&", "@ana", "@channel", "<at", "</AT", "://"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s: people see %q in %q", service, bad, got)
			}
		}
		for _, want := range []string{"everyone", "evil.example/x", "ana"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is lost in %q", service, want, got)
			}
		}
	}
}

// TestLanguages: the channel's own words are in the message's language.
func TestLanguages(t *testing.T) {
	c, f := open(t, "telegram")
	m := guard.Message{ID: "telegram-ops|1", Lang: guard.Chinese, CreatedAt: notifytest.Start, Lines: []string{"这台机器 30 分钟后到期", strings.Repeat("字", 5000)}, Mentions: []string{"安娜"}}
	if _, err := c.Post(ctxAt(t), m, ""); err != nil {
		t.Fatal(err)
	}
	if got := f.Seen()[0]; !strings.HasPrefix(got, "（无标题）\n这台机器") || !strings.Contains(got, "已截断") || strings.Contains(got, "cut") {
		t.Errorf("%.100q … %q", got, got[len(got)-100:])
	}
	m.ID, m.Lines = "telegram-ops|2", m.Lines[:1]
	if _, err := c.Post(ctxAt(t), m, ""); err != nil {
		t.Fatal(err)
	}
	if got := f.Seen()[1]; !strings.HasSuffix(got, "请 安娜 查看") {
		t.Errorf("%q", got)
	}
	if c.Lang() != guard.English || c.Fallback() {
		t.Error("a channel that says nothing of its language reads English, and is no fall-back")
	}
}

// TestThreads: in Telegram the messages of one instance answer the first one.
func TestThreads(t *testing.T) {
	s := fakes["telegram"]
	var roots []any
	f := &far{t: t, yes: s.yes, no: s.no, take: func(r *http.Request, in map[string]any, raw []byte) (string, string) {
		if roots = append(roots, dig(in, "reply_parameters", "message_id")); in["message_thread_id"] != 7.0 {
			t.Errorf("in the topic %v", in["message_thread_id"])
		}
		return s.take(r, in, raw)
	}}
	c, err := New(Config{Name: "tg", URL: guard.NewSecret(s.address + "&message_thread_id=7"), Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	thread := ""
	for i, under := range []string{"", "own", "-1002|77", "-1001|0x1", "own"} {
		if under == "own" {
			under = thread
		}
		posted, err := c.Post(ctxAt(t), notifytest.Message("tg", fmt.Sprint(i)), under)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			thread = posted.Thread
		} else if under == thread && posted.Thread != thread {
			t.Errorf("the thread became %q", posted.Thread)
		}
	}
	if fmt.Sprint(roots) != "[<nil> 1 <nil> <nil> 1]" {
		t.Errorf("answers to %v", roots)
	}
}

// TestCuts: whatever the text, the request is within the service's limits, and what is said
// to be whole is.
func TestCuts(t *testing.T) {
	for service := range fakes {
		t.Run(service, func(t *testing.T) {
			c, f := open(t, service)
			limits, bounded := c.(*limited)
			ctx := ctxAt(t)
			n := 0
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.OneOf(rapid.StringN(0, 300, -1), rapid.StringMatching(`[&<>@a模🔥"\\\x{202e}\n*_]{0,200}`),
					rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("<模\"🔥", n) }))
				n++
				m := notifytest.Message(c.Name(), fmt.Sprint(n))
				m.Title, m.Short = text.Draw(t, "title"), rapid.Bool().Draw(t, "short")
				m.Lines = rapid.SliceOfN(text, 0, 60).Draw(t, "lines")
				if _, err := c.Post(ctx, m, ""); err != nil {
					t.Fatal(err)
				}
				seen := f.Seen()
				got := seen[len(seen)-1]
				if !bounded || !limits.Fits(m) {
					return
				}
				for _, l := range append([]string{m.Title}, m.Lines...) {
					if l = limits.service.room.plain(l); !strings.Contains(got, l) {
						t.Fatalf("said to be whole, and lacks %q", l)
					}
				}
			})
		})
	}
}

// TestShort: what a service found too long is told in a thousand characters, whatever it
// takes otherwise.
func TestShort(t *testing.T) {
	for service := range fakes {
		c, f := open(t, service)
		m := notifytest.Message(c.Name(), "one")
		m.Lines, m.Short = []string{strings.Repeat("x", 5000)}, true
		if _, err := c.Post(ctxAt(t), m, ""); err != nil {
			t.Fatal(err)
		}
		if got := f.Seen()[0]; len(got) > short+20 || !strings.Contains(got, m.Title) || !strings.Contains(got, "(cut)") {
			t.Errorf("%s: %d bytes: %.100q", service, len(got), got)
		}
	}
}

// TestIncidents: what is urgent opens an incident at PagerDuty, its end resolves it, the
// rest calls nobody; and none of it is repeated by being posted again.
func TestIncidents(t *testing.T) {
	c, f := open(t, "pagerduty")
	m := notifytest.Message(c.Name(), "one")
	m.Finding, m.Urgent = "release_blocked|lab/i-1|1", true
	m.ID = c.Name() + "|" + m.Finding + "|blocked 1"
	over := m
	over.ID, over.Urgent = c.Name()+"|"+m.Finding+"|over", false
	for _, x := range []guard.Message{m, over} {
		if _, err := c.Post(ctxAt(t), x, ""); err != nil {
			t.Fatal(err)
		}
		if _, found, err := c.Find(ctxAt(t), x, ""); found || err != nil {
			t.Errorf("find %s: %t %v; it may be posted again", x.ID, found, err)
		}
	}
	if _, err := c.Post(ctxAt(t), notifytest.Message(c.Name(), "two"), ""); err != nil {
		t.Fatal(err)
	}
	if got := f.Seen(); len(got) != 3 || !strings.HasPrefix(got[0], "PAGE ") || got[1] != "resolve "+m.Finding || strings.HasPrefix(got[2], "PAGE ") {
		t.Errorf("%q", got)
	}
	_, _, err := c.Find(ctxAt(t), notifytest.Message(c.Name(), "two"), "")
	notifytest.Kind(t, err, guard.ErrUnsupported)
	if _, ok := c.(*limited); ok {
		t.Error("a pager gets digests")
	}
}

// ALR-08, over real connections: the token is in the address, and in no error, whatever
// breaks, and nothing follows a redirect.
func TestNoSecretInErrors(t *testing.T) {
	var logged strings.Builder
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the message was sent elsewhere") }))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/"+canary, http.StatusTemporaryRedirect)
		},
		"bad redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://%zz/"+canary)
			w.WriteHeader(302)
		},
		"echo":   func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.String(), 400) },
		"breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"errcode":0,"errmsg":"` + strings.Repeat(canary, maxReply/8)))
		},
	} {
		live := httptest.NewServer(answer)
		host := strings.TrimPrefix(live.URL, "http://")
		for service, address := range map[string]string{
			"wecom": "wecom+http://" + host + "/send?key=" + canary, "telegram": "telegram+http://" + host + "/bot1:" + canary + "?chat_id=1",
			"generic": "generic+http://u:" + canary + "@" + host + "/" + canary, "closed": "ntfy+http://" + canary + "@127.0.0.1:1/" + canary,
		} {
			c, err := New(Config{Name: service, URL: guard.NewSecret(address)})
			if err != nil {
				t.Fatal(service, err)
			}
			_, err = c.Post(ctxAt(t), notifytest.Message(service, "one"), "")
			if err == nil && name != "endless" {
				t.Errorf("%s, %s: no error", name, service)
			}
			notifytest.Clean(t, err, canary)
			if text := fmt.Sprintf("%v %+v %#v", c, c, c) + logged.String() + c.Place(); strings.Contains(text, canary) {
				t.Errorf("%s, %s: printed or logged: %s", name, service, text)
			}
		}
		live.Close()
	}
}

// TestRealConnection: one post over HTTP, as in the real world.
func TestRealConnection(t *testing.T) {
	var got webhook
	live := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _ = json.NewDecoder(r.Body).Decode(&got) }))
	defer live.Close()
	c, err := New(Config{Name: "url:1", URL: guard.NewSecret("generic+" + live.URL + "/in")})
	if err != nil {
		t.Fatal(err)
	}
	m := notifytest.Message("url:1", "研究")
	m.Card = &guard.Card{Name: "box", State: guard.StateRunning, AsOf: notifytest.Start}
	posted, err := c.Post(ctxAt(t), m, "")
	if err != nil || posted.Receipt == "" {
		t.Fatal(posted, err)
	}
	if got.ID != m.ID || got.Title != m.Title || !slices.Equal(got.Lines, m.Lines) || got.Card == nil || got.Card.Name != "box" || len(got.About) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, address := range []string{
		"", "https://open.feishu.cn/x/" + canary, "feishu:" + canary, "feishu://", "feishu://open.feishu.cn/" + canary, "feishu+ftp://h/hook/" + canary,
		"feishu+http://open.feishu.cn/open-apis/bot/v2/hook/" + canary, "dingtalk://oapi.dingtalk.com/robot/send?token=" + canary, "wecom://h/send",
		"telegram://api.telegram.org/bot" + canary, "telegram://api.telegram.org/bot" + canary + "?chat_id=1&x=" + canary, "telegram://api.telegram.org/bot" + canary + "?chat_id=1&message_thread_id=" + canary, "discord://discord.com/" + canary,
		"teams://h/", "ntfy://ntfy.sh/", "ntfy://ntfy.sh/t?x=" + canary, "ntfy+http://" + canary + "@10.0.0.1/t", "pagerduty://events.pagerduty.com", "pagerduty://" + canary + "@h/p",
		"alertmanager://h?x=" + canary, "generic://", "generic://h/#" + canary, "generic://h:" + canary + "/", "://" + canary, "smtp://h/?to=a@b.c", "smtp://h/?from=a@b.c", "smtp://h/?from=" + canary + "&to=a@b.c",
		"smtp://u@h/?from=a@b.c&to=a@b.c", "smtp://u:" + canary + "@mail.example.com/?from=a@b.c&to=a@b.c&tls=off", "smtp://h/" + canary + "?from=a@b.c&to=a@b.c", "smtp://h/?from=a@b.c&to=a@b.c&subject=" + canary, "smtps://h/?from=a@b.c&to=a@b.c&tls=off",
	} {
		_, err := New(Config{Name: "x", URL: guard.NewSecret(address)})
		notifytest.Kind(t, err, guard.ErrInvalid)
		notifytest.Clean(t, err, canary)
		if err == nil {
			t.Error("opened: ", address)
		} else if !strings.Contains(err.Error(), "://") && !strings.Contains(err.Error(), "plain HTTP") {
			t.Errorf("%v does not say what is right", err)
		}
	}
	for _, address := range []string{
		"generic+http://10.0.0.1/in", "alertmanager+http://alertmanager:9093/prefix", "ntfy+http://ntfy.lan/t", "lark://open.larksuite.com/open-apis/bot/v2/hook/x",
		" generic://h ", "smtp://relay.lan:25/?from=a@b.c&to=d@e.f&tls=off", "smtps://u:p@h/?from=guard <a@b.c>&to=d@e.f,g@h.i",
	} {
		if _, err := New(Config{Name: "x", URL: guard.NewSecret(address)}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
