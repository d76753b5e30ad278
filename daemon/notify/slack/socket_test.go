package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
)

const (
	canary = "xapp-1-canary-app"
	bot    = "xoxb-canary-bot"
)

// secrets are what no log and no error may have in it.
var secrets = []string{canary, bot, "ticket-secret", "answer-secret", "verification-token"}

// rig is a socket that runs against the fake.
type rig struct {
	*testing.T
	fake   *notifytest.Socket
	server *httptest.Server
	socket *Socket
	stop   func()

	mu     sync.Mutex
	log    bytes.Buffer
	clicks []wire.Click
	answer func(context.Context, wire.Click) wire.ClickAnswer
}

// Write takes what is logged.
func (r *rig) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func newRig(t *testing.T, answer func(context.Context, wire.Click) wire.ClickAnswer) *rig {
	t.Helper()
	r := &rig{T: t, fake: notifytest.NewSocket(notifytest.NewSlack(bot, "guard"), canary), answer: answer, stop: func() {}}
	r.server = httptest.NewServer(r.fake)
	t.Cleanup(r.server.Close)
	r.fake.Host = r.server.URL
	var err error
	r.socket, err = NewSocket(SocketConfig{AppToken: guard.NewSecret(canary), Token: guard.NewSecret(bot), Endpoint: r.server.URL + "/api/",
		Log: slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	r.socket.first, r.socket.most = 5*time.Millisecond, 20*time.Millisecond
	r.socket.overlap, r.socket.patience = time.Hour, time.Hour // a slow machine is not what is tested
	t.Cleanup(func() {
		r.stop()
		if bad := r.fake.Wrong(); len(bad) > 0 {
			t.Errorf("Slack would not have taken: %q", bad)
		}
		for _, secret := range secrets {
			if strings.Contains(r.log.String(), secret) {
				t.Errorf("the log has %s in it:\n%s", secret, r.log.String())
			}
		}
	})
	return r
}

func (r *rig) handle(ctx context.Context, c wire.Click) wire.ClickAnswer {
	r.mu.Lock()
	r.clicks = append(r.clicks, c)
	r.mu.Unlock()
	if r.answer == nil {
		return wire.ClickAnswer{Done: true, Text: "done"}
	}
	return r.answer(ctx, c)
}

// run starts the socket and waits for its connection.
func (r *rig) run() {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.socket.Run(ctx, r.handle) }()
	var once sync.Once
	r.stop = func() { once.Do(func() { cancel(); <-done }) }
	r.until("a connection", func() bool { return r.socket.State().Connected })
}

// until waits for something that comes to be.
func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.Fatalf("there is no %s; state %+v\n%s", what, r.socket.State(), r.log.String())
		}
	}
}

// gate holds handlers up until it lets them go, also where the test has failed before: a
// stop waits for them.
func gate() (held <-chan struct{}, let func()) {
	c := make(chan struct{})
	return c, sync.OnceFunc(func() { close(c) })
}

func (r *rig) seen() []wire.Click {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]wire.Click(nil), r.clicks...)
}

func (r *rig) press(user, message, key string) []byte {
	v, _ := value{Message: message, Click: "extend", Key: key}.encode()
	return r.fake.Pressed(user, notifytest.Post{TS: "1.1", Channel: "C0001"}, notifytest.Button{Action: "guard:extend:2", Value: v})
}

func (r *rig) send(envelope []byte) {
	r.Helper()
	if !r.fake.Send(envelope, false) {
		r.Fatal("nothing is connected")
	}
}

// A click is acknowledged before anything is done, carried out once however often Slack
// sends it, and answered to whoever clicked.
func TestSocketClick(t *testing.T) {
	release, let := gate()
	defer let()
	r := newRig(t, func(context.Context, wire.Click) wire.ClickAnswer {
		<-release
		return wire.ClickAnswer{Done: true, Text: "extended <!channel> @here", Lines: []string{"to `noon` & on"}, Aligned: true}
	})
	r.run()
	e := r.press("U1", "slack|m|1", "k1")
	r.send(e)
	r.until("acknowledgement", func() bool { return len(r.fake.Acks()) == 1 })
	if len(r.fake.Answers()) != 0 {
		t.Fatal("it was answered before it was done")
	}
	r.send(e)
	r.until("second acknowledgement", func() bool { return len(r.fake.Acks()) == 2 })
	let()
	r.until("answer", func() bool { return len(r.fake.Answers()) > 0 })
	r.stop() // all that was begun is over
	want := wire.Click{Channel: "slack", User: "U1", Message: "slack|m|1", Offer: "extend", Key: "k1", Nth: 2}
	if got := r.seen(); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	text := r.fake.Answers()[0].Text
	if strings.Contains(text, "<!channel>") || strings.Contains(text, "@here") || !strings.Contains(text, "to 'noon' &amp; on") {
		t.Errorf("%q", text)
	}
}

// Envelopes that are none, of another kind, out of order or hostile do nothing, and those
// after them go on.
func TestEnvelopes(t *testing.T) {
	r := newRig(t, nil)
	r.run()
	for _, bad := range []string{"", "null", "[]", `"x"`, "{", `{"type":"hello"}`, `{"type":"events_api","envelope_id":"e1","payload":{"event":{}}}`,
		`{"type":"new_kind","envelope_id":"e2"}`, `{"type":"interactive","envelope_id":"e3","payload":null}`, `{"type":"interactive","envelope_id":"e4","payload":{"type":"block_actions","user":{"id":"U1"},"actions":[null,{}]}}`,
		`{"type":"interactive","envelope_id":"e5","payload":{"type":"view_submission","user":{"id":"U1"},"view":{"callback_id":"guard","private_metadata":"{"}}}`,
		`{"type":"interactive","envelope_id":"e6","payload":{"type":"shortcut","user":{"id":"U1"}}}`, `{"type":"slash_commands","envelope_id":"e7","payload":{"user_id":""}}`,
		`{"type":"interactive","envelope_id":"e8","payload":{"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"other:extend","value":"x"}]}}`} {
		r.send([]byte(bad))
	}
	// A forged value names no message of guard's; it is handed on to be refused.
	r.send(r.fake.Pressed("U9", notifytest.Post{}, notifytest.Button{Action: "guard:release", Value: `{"message":"m","click":"destroy","key":"k"}`}))
	r.send(r.fake.Typed("U2", "ls"))
	r.until("two clicks", func() bool { return len(r.seen()) == 2 })
	for _, c := range r.seen() {
		if c.User == "U9" && (c.Message != "unreadable" || c.Offer != "unreadable") || c.User == "U2" && c.Command != "ls" {
			t.Errorf("%+v", c)
		}
	}
	r.until("all acknowledgements", func() bool { return len(r.fake.Acks()) == 10 })
}

// Slack breaks connections and has them renewed; no click between is lost, for the old one
// goes on beside the new one.
func TestReconnects(t *testing.T) {
	r := newRig(t, nil)
	r.run()
	for n, reason := range []string{"warning", "refresh_requested"} {
		if !r.fake.Disconnect(reason) {
			t.Fatal("nothing is connected")
		}
		r.until("new connection", func() bool { _, opened := r.fake.Open(); return opened == n+2 })
	}
	if now, _ := r.fake.Open(); now != 3 {
		t.Errorf("%d connections, and the old ones should go on for a while", now)
	}
	// The same click over all of them is one.
	if !r.fake.Send(r.press("U1", "m", "k"), true) {
		t.Fatal("nothing is connected")
	}
	r.until("acknowledgements", func() bool { return len(r.fake.Acks()) == 3 })
	r.until("click", func() bool { return len(r.seen()) > 0 })
	if others := r.socket.State().Others; others != 0 {
		t.Errorf("our own old connections count as %d ghosts", others)
	}
	r.fake.Drop()
	r.until("connection after a break", func() bool { now, opened := r.fake.Open(); return now == 1 && opened == 4 })
	r.until("greeting", func() bool { return r.socket.State().Connected && r.socket.State().Error == "" })
	r.send(r.press("U1", "m", "k2"))
	r.until("acknowledgement after a break", func() bool { return len(r.fake.Acks()) == 4 })
	r.stop() // a click is worked on after it is acknowledged
	if got := r.seen(); len(got) != 2 || got[0].Key != "k" || got[1].Key != "k2" {
		t.Errorf("%+v", got)
	}
}

// A connection that breaks while a click is worked on: the click is finished, answered,
// and not done again when Slack sends it anew.
func TestBreaksInMidClick(t *testing.T) {
	begun := make(chan struct{})
	release, let := gate()
	defer let()
	r := newRig(t, func(context.Context, wire.Click) wire.ClickAnswer {
		close(begun) // a second time panics
		<-release
		return wire.ClickAnswer{Done: true, Text: "done"}
	})
	r.run()
	e := r.press("U1", "m", "k")
	r.send(e)
	<-begun
	r.fake.Drop()
	r.until("new connection", func() bool { now, _ := r.fake.Open(); return now == 1 })
	r.send(e)
	r.until("acknowledgement of what was sent anew", func() bool {
		return slices.ContainsFunc(r.fake.Acks(), func(a notifytest.Ack) bool { return a.Link == 1 })
	})
	let()
	r.until("answer", func() bool { return len(r.fake.Answers()) > 0 })
	r.stop()
	if n := len(r.seen()); n != 1 {
		t.Errorf("%d clicks", n)
	}
}

// A stop waits for what was begun.
func TestStopFinishes(t *testing.T) {
	begun := make(chan struct{})
	release, let := gate()
	defer let()
	r := newRig(t, func(ctx context.Context, _ wire.Click) wire.ClickAnswer {
		close(begun)
		<-release
		if ctx.Err() != nil {
			return wire.ClickAnswer{Text: "cut off"}
		}
		return wire.ClickAnswer{Done: true, Text: "done"}
	})
	r.run()
	r.send(r.press("U1", "m", "k"))
	<-begun
	stopped := make(chan struct{})
	go func() { r.stop(); close(stopped) }()
	r.until("end of the connection", func() bool { now, _ := r.fake.Open(); return now == 0 })
	let()
	<-stopped
	if a := r.fake.Answers(); len(a) != 1 || !strings.HasPrefix(a[0].Text, "done") {
		t.Errorf("%+v", a)
	}
}

// A refused token is told, and tried again until it is mended.
func TestRefusedToken(t *testing.T) {
	r := newRig(t, nil)
	r.fake.Refuse("invalid_auth")
	go func() {
		for !strings.Contains(r.socket.State().Error, "invalid_auth") {
			time.Sleep(time.Millisecond)
		}
		if _, err := r.socket.Check(r.Context()); err == nil || !strings.Contains(err.Error(), "notify.slack.app_token") || !strings.Contains(err.Error(), "connections:write") {
			t.Errorf("check: %v", err)
		}
		r.fake.Refuse("")
	}()
	r.run()
	if since, trouble := r.socket.Health(); since.IsZero() || trouble != "" {
		t.Errorf("%v, %q", since, trouble)
	}
	if text, err := r.socket.Check(t.Context()); err != nil || !strings.Contains(text, "clicks arrive") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestGhosts(t *testing.T) {
	r := newRig(t, nil)
	r.fake.Ghosts(2)
	r.run()
	if st := r.socket.State(); st.Others != 2 || !strings.Contains(st.Error, "2 connections of this app that are not this guard's") {
		t.Errorf("%+v", st)
	}
	r.fake.Ghosts(0)
	r.fake.Drop()
	r.until("connection alone", func() bool { st := r.socket.State(); return st.Connected && st.Error == "" })
}

// A connection that has gone silent is given up.
func TestSilence(t *testing.T) {
	r := newRig(t, nil)
	r.socket.silence = 50 * time.Millisecond
	r.run()
	r.until("second connection", func() bool { _, opened := r.fake.Open(); return opened > 1 })
}

func form() *wire.Form {
	return &wire.Form{Message: "m", Offer: "register", Key: "k", State: "s", Title: strings.Repeat("Register this machine ", 3), Send: "Register", About: "lab/i-1",
		Fields: []wire.Field{{Name: "purpose", Label: "What for", Most: 200}, {Name: "ttl", Label: "How long", Hint: "10h", Optional: true}}}
}

// A form is shown, stays open with what is wrong, and at last tells what came of it.
func TestSocketForm(t *testing.T) {
	r := newRig(t, func(_ context.Context, c wire.Click) wire.ClickAnswer {
		switch {
		case c.Form == nil:
			return wire.ClickAnswer{Text: "x", Ask: form()}
		case c.Form["ttl"] != "10h":
			return wire.ClickAnswer{Text: "x", Wrong: map[string]string{"ttl": "no duration: " + strings.Repeat("长", 600)}}
		}
		return wire.ClickAnswer{Done: true, Text: "registered", Lines: []string{strings.Repeat("一", 3000), strings.Repeat("二", 3000), strings.Repeat("三", 3000)}}
	})
	r.run()
	r.send(r.press("U1", "m", "k"))
	r.until("form", func() bool { return len(r.fake.Views()) == 1 })
	v := r.fake.Views()[0]
	if fmt.Sprint(v.Fields) != "[purpose ttl]" || !strings.Contains(v.Text, "lab/i-1") {
		t.Errorf("%+v", v)
	}
	acked := func(n int) map[string]any {
		r.until("acknowledgement", func() bool { return len(r.fake.Acks()) == n })
		var p map[string]any
		if err := json.Unmarshal(r.fake.Acks()[n-1].Payload, &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	r.send(r.fake.Submitted("U1", v, map[string]string{"purpose": "lora", "ttl": "soon"}))
	p := acked(2)
	if p["response_action"] != "errors" || !strings.HasPrefix(p["errors"].(map[string]any)["ttl"].(string), "no duration") {
		t.Errorf("%v", p)
	}
	r.send(r.fake.Submitted("U1", v, map[string]string{"purpose": "lora", "ttl": "10h"}))
	if p = acked(3); p["response_action"] != "update" || !strings.Contains(fmt.Sprint(p["view"]), "registered") {
		t.Errorf("%v", p)
	}
	last := r.seen()[2]
	want := wire.Click{Channel: "slack", User: "U1", Message: "m", Offer: "register", Key: "k", State: "s", Form: map[string]string{"purpose": "lora", "ttl": "10h"}}
	if fmt.Sprint(last) != fmt.Sprint(want) {
		t.Errorf("%+v", last)
	}
}

// A form that takes long is answered within Slack's three seconds, and again when it is done.
func TestSlowForm(t *testing.T) {
	if slack := 3 * time.Second; formPatience > slack*2/3 {
		t.Errorf("an answer begun after %s is not there after %s", formPatience, slack)
	}
	release, let := gate()
	defer let()
	r := newRig(t, func(_ context.Context, c wire.Click) wire.ClickAnswer {
		if c.Form == nil {
			return wire.ClickAnswer{Text: "x", Ask: form()}
		}
		<-release
		return wire.ClickAnswer{Text: "not registered", Wrong: map[string]string{"ttl": "too long"}}
	})
	r.socket.patience = 10 * time.Millisecond
	r.run()
	r.send(r.press("U1", "m", "k"))
	r.until("form", func() bool { return len(r.fake.Views()) == 1 })
	r.send(r.fake.Submitted("U1", r.fake.Views()[0], nil))
	r.until("acknowledgement before it is done", func() bool { return len(r.fake.Acks()) == 2 })
	let()
	r.until("result", func() bool { return len(r.fake.Views()) == 2 })
	if text := r.fake.Views()[1].Text; !strings.Contains(text, "not registered") || !strings.Contains(text, "ttl: too long") {
		t.Errorf("%q", text)
	}
}

// Where a form can no longer be shown, whoever clicked is told.
func TestExpiredTrigger(t *testing.T) {
	r := newRig(t, func(context.Context, wire.Click) wire.ClickAnswer { return wire.ClickAnswer{Ask: form()} })
	r.fake.Expire()
	r.run()
	r.send(r.press("U1", "m", "k"))
	r.until("answer", func() bool { return len(r.fake.Answers()) == 1 })
	if text := r.fake.Answers()[0].Text; !strings.Contains(text, "could not show its form in time") {
		t.Errorf("%q", text)
	}
}

// An answer goes to Slack's own address, or to the endpoint's host, and nowhere else: there
// the person is told by the API instead.
func TestForeignResponseURL(t *testing.T) {
	var mu sync.Mutex
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, q.URL.String())
	}))
	defer other.Close()
	r := newRig(t, nil)
	r.run()
	host := strings.TrimPrefix(r.server.URL, "http://")
	for n, address := range []string{other.URL, "http://hooks.slack.com", "https://hooks.slack.com.evil.example", "https://hooks.slack.com@" + strings.TrimPrefix(other.URL, "http://"), "file://", "https://" + host} {
		r.fake.Host = address
		r.send(r.press("U1", "m", fmt.Sprint("k", n)))
		r.until("answer", func() bool { return len(r.fake.Answers()) == n+1 })
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reached) > 0 {
		t.Errorf("it went to %q", reached)
	}
	// Redirects are not followed either.
	r.fake.Host = r.server.URL + "/elsewhere"
}

// Two clicks at once are both worked on; a handler that panics is answered for, and ends
// nothing.
func TestAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	r := newRig(t, func(_ context.Context, c wire.Click) wire.ClickAnswer {
		if c.Key == "boom" {
			panic("boom " + c.Key)
		}
		both.Done()
		both.Wait()
		return wire.ClickAnswer{Done: true, Text: "done"}
	})
	r.run()
	r.send(r.press("U1", "m", "k1"))
	r.send(r.press("U2", "m", "k2"))
	r.until("two answers", func() bool { return len(r.fake.Answers()) == 2 })
	r.send(r.press("U3", "m", "boom"))
	r.until("answer for a panic", func() bool { return len(r.fake.Answers()) == 3 })
	if text := r.fake.Answers()[2].Text; !strings.Contains(text, "guard failed at this") || strings.Contains(text, "boom") {
		t.Errorf("%q", text)
	}
}

func TestNewSocketRefuses(t *testing.T) {
	good := SocketConfig{AppToken: guard.NewSecret(canary), Token: guard.NewSecret(bot)}
	for name, change := range map[string]func(*SocketConfig){
		"no app token":                func(c *SocketConfig) { c.AppToken = guard.Secret{} },
		"no bot token":                func(c *SocketConfig) { c.Token = guard.Secret{} },
		"an endpoint with a password": func(c *SocketConfig) { c.Endpoint = "https://a:b@slack.example/api" },
		"no endpoint":                 func(c *SocketConfig) { c.Endpoint = "slack.example" },
	} {
		c := good
		change(&c)
		if _, err := NewSocket(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// An address of a connection that is not encrypted is taken on loopback only.
func TestAddress(t *testing.T) {
	for address, ok := range map[string]bool{"ws://evil.example/link?ticket=ticket-secret": false, "wss://wss.slack.com/link": true, "http://x/": false, "": false, "wss://a@b/": false, "ws://127.0.0.1:1/x": true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"ok":true,"url":%q}`, address)
		}))
		s, err := NewSocket(SocketConfig{AppToken: guard.NewSecret(canary), Token: guard.NewSecret(bot), Endpoint: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.address(t.Context()); (err == nil) != ok || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
		server.Close()
	}
}
