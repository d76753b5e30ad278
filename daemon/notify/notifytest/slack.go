package notifytest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"guard"
)

// Slack is a fake of the part of Slack's web API that guard speaks: posting, the
// history, threads, the list of channels, who the bot is. It is strict about what Slack is strict
// about (form, token, sizes of blocks) and is used either as an
// [http.RoundTripper], on the time that the requests carry, or as an
// [http.Handler]. The zero value is not usable; see [NewSlack].
type Slack struct {
	token string

	mu       sync.Mutex
	now      time.Time // the latest time that a request carried
	channels []*room
	posts    []Post
	faults   []*Fault
	lookups  int
	blind    string // what look-ups answer; "" is the truth
}

type room struct {
	id, name string
	out      bool       // the bot is not in it
	messages []*message // oldest first
}

type message struct {
	ts, thread, text string
	broadcast        bool
	metadata         json.RawMessage
	deleted          bool
}

// Post is one request to post, stored or not.
type Post struct {
	At      time.Time
	Channel string // its ID; as asked for where there is none
	TS      string // "" where it was not stored
	Thread  string // the thread asked for, whether it exists or not
	// Text is the fallback, Blocks the text of all blocks, one a line; both as
	// sent, escapes included.
	Text, Blocks string
	ID           string // from the metadata
	Broadcast    bool
	Stored       bool
	Status       int    // of the answer; 0 where none came
	Error        string // of an ok:false answer
}

// Fault makes requests to post fail: the first that matches answers.
type Fault struct {
	From, Until time.Time // in force from, and before; zero is open
	Times       int       // how often; 0 is always
	// Stored: the message is kept all the same.
	Stored bool
	// What comes back. The first that is set counts; Status alone has no body.
	TimesOut   bool          // nothing in time
	Refused    bool          // no connection; only as a RoundTripper
	Error      string        // ok:false with this error
	Status     int           // an HTTP status
	RetryAfter time.Duration // its Retry-After
	Body       string        // its body

	used int
}

// NewSlack makes a workspace whose bot has the token, with channels of these
// names; their IDs are C0001, C0002, …
func NewSlack(token string, channels ...string) *Slack {
	s := &Slack{token: token, now: time.Unix(1_700_000_000, 0).UTC()}
	for i, name := range channels {
		s.channels = append(s.channels, &room{id: fmt.Sprintf("C%04d", i+1), name: name})
	}
	return s
}

// Inject adds a fault.
func (s *Slack) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Mend removes all faults.
func (s *Slack) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.blind = nil, ""
}

// FailLookups makes every look-up answer ok:false with this error; "" ends it.
func (s *Slack) FailLookups(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blind = code
}

// Lookups is how many times the history, a thread or the channels were read.
func (s *Slack) Lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups
}

// Posts are all requests to post, oldest first.
func (s *Slack) Posts() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// Stored are the posts that people see.
func (s *Slack) Stored() []Post {
	return slices.DeleteFunc(s.Posts(), func(p Post) bool { return !p.Stored })
}

// Delete removes a message, as a person would. Replies to it stay.
func (s *Slack) Delete(ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.channels {
		for _, m := range r.messages {
			m.deleted = m.deleted || m.ts == ts
		}
	}
}

// Uninvite takes the bot out of a channel, by its ID or #name.
func (s *Slack) Uninvite(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(channel).out = true
}

// Chat adds n messages of people to a channel.
func (s *Slack) Chat(channel string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		r := s.find(channel)
		r.messages = append(r.messages, &message{ts: s.stamp(), text: "lunch?"})
	}
}

// RoundTrip answers in the process, without a connection.
func (s *Slack) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	switch s.serve(rec, req) {
	case gone:
		return nil, lateError{}
	case refused:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// ServeHTTP answers over a connection; where an answer would not come in time, the
// connection breaks instead.
func (s *Slack) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	rec := httptest.NewRecorder()
	if s.serve(rec, req) != answered {
		panic(http.ErrAbortHandler)
	}
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// lateError is a time-out as net/http would tell it.
type lateError struct{}

func (lateError) Error() string { return "net/http: timeout awaiting response headers" }
func (lateError) Timeout() bool { return true }

type outcome int

const (
	answered outcome = iota
	gone
	refused
)

func (s *Slack) serve(w http.ResponseWriter, req *http.Request) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := guard.InstantFrom(req.Context()); ok && at.Wall.After(s.now) {
		s.now = at.Wall
	}
	if err := req.ParseForm(); err != nil || req.Method != http.MethodPost {
		return reply(w, "invalid_form_data")
	}
	token := req.PostForm.Get("token")
	if token == "" {
		token = strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	}
	method := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	if token != s.token {
		return reply(w, "invalid_auth")
	}
	if method == "chat.postMessage" {
		return s.post(w, req.PostForm)
	}
	s.lookups++
	if s.blind != "" {
		return reply(w, s.blind)
	}
	switch method {
	case "conversations.history":
		return s.history(w, req.PostForm)
	case "conversations.replies":
		return s.replies(w, req.PostForm)
	case "conversations.list":
		return s.list(w)
	case "auth.test":
		return answer(w, map[string]any{"ok": true, "user": "guard", "team": "lab", "user_id": "U0001", "bot_id": "B0001"})
	case "conversations.info":
		r := s.find(req.PostForm.Get("channel"))
		if r == nil {
			return reply(w, "channel_not_found")
		}
		return answer(w, map[string]any{"ok": true, "channel": map[string]any{"id": r.id, "name": r.name, "is_member": !r.out}})
	}
	return reply(w, "unknown_method")
}

func answer(w http.ResponseWriter, v any) outcome {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
	return answered
}

func reply(w http.ResponseWriter, code string) outcome {
	return answer(w, map[string]any{"ok": false, "error": code})
}

func (s *Slack) stamp() string {
	s.now = s.now.Add(time.Microsecond)
	return fmt.Sprintf("%d.%06d", s.now.Unix(), s.now.Nanosecond()/1000)
}

// find takes an ID or #name; the history takes IDs only.
func (s *Slack) find(channel string) *room {
	for _, r := range s.channels {
		if r.id == channel || "#"+r.name == channel {
			return r
		}
	}
	return nil
}

func (s *Slack) fault() *Fault {
	for _, f := range s.faults {
		if f.Times > 0 && f.used == f.Times || s.now.Before(f.From) || !f.Until.IsZero() && !s.now.Before(f.Until) {
			continue
		}
		f.used++
		return f
	}
	return nil
}

func (s *Slack) post(w http.ResponseWriter, form url.Values) outcome {
	p := Post{At: s.now, Channel: form.Get("channel"), Thread: form.Get("thread_ts"), Text: form.Get("text"), Broadcast: form.Get("reply_broadcast") == "true"}
	var meta struct {
		Payload struct{ ID string } `json:"event_payload"`
	}
	_ = json.Unmarshal([]byte(form.Get("metadata")), &meta)
	p.ID = meta.Payload.ID
	var bad string
	p.Blocks, bad = blockText(form.Get("blocks"), p.Text)
	defer func() { s.posts = append(s.posts, p) }()

	r := s.find(p.Channel)
	f := s.fault()
	switch {
	case bad != "":
	case r == nil:
		bad = "channel_not_found"
	}
	var m *message
	if bad == "" && (f == nil || f.Stored) {
		m = &message{ts: s.stamp(), text: p.Text, broadcast: p.Broadcast, metadata: json.RawMessage(form.Get("metadata"))}
		for _, root := range r.messages {
			if root.ts == p.Thread && !root.deleted {
				m.thread = p.Thread
			}
		}
		r.messages = append(r.messages, m)
		p.Channel, p.TS, p.Stored = r.id, m.ts, true
	}
	switch {
	case f == nil && bad != "":
		p.Status, p.Error = http.StatusOK, bad
		return reply(w, bad)
	case f == nil:
		p.Status = http.StatusOK
		return answer(w, map[string]any{"ok": true, "channel": r.id, "ts": m.ts, "message": m.json(true)})
	case f.TimesOut:
		return gone
	case f.Refused:
		return refused
	case f.Error != "":
		p.Status, p.Error = http.StatusOK, f.Error
		return reply(w, f.Error)
	}
	p.Status = f.Status
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
	return answered
}

// blockText checks the blocks as Slack does and gives their text.
func blockText(blocks, text string) (all, code string) {
	var bs []struct {
		Type string
		Text struct{ Type, Text string }
	}
	if blocks == "" {
		if text == "" {
			return "", "no_text"
		}
		return "", ""
	}
	if err := json.Unmarshal([]byte(blocks), &bs); err != nil || len(bs) > 50 {
		return "", "invalid_blocks"
	}
	sum := utf8.RuneCountInString(text)
	var lines []string
	for _, b := range bs {
		n := utf8.RuneCountInString(b.Text.Text)
		sum += n
		if most := map[string]int{"header": 150, "section": 3000}[b.Type]; n == 0 || n > most {
			return "", "invalid_blocks"
		}
		lines = append(lines, b.Text.Text)
	}
	if sum > 13_200 {
		return "", "msg_too_long"
	}
	return strings.Join(lines, "\n"), ""
}

func (m *message) json(metadata bool) map[string]any {
	out := map[string]any{"type": "message", "ts": m.ts, "text": m.text}
	if m.thread != "" {
		out["thread_ts"] = m.thread
	}
	if metadata && len(m.metadata) > 0 {
		out["metadata"] = m.metadata
	}
	return out
}

func (s *Slack) history(w http.ResponseWriter, form url.Values) outcome {
	r := s.find(form.Get("channel"))
	if r == nil || strings.HasPrefix(form.Get("channel"), "#") {
		return reply(w, "channel_not_found")
	}
	var seen []*message
	for _, m := range slices.Backward(r.messages) {
		if !m.deleted && (m.thread == "" || m.broadcast) {
			seen = append(seen, m)
		}
	}
	return s.page(w, form, seen)
}

func (s *Slack) replies(w http.ResponseWriter, form url.Values) outcome {
	r := s.find(form.Get("channel"))
	if r == nil || strings.HasPrefix(form.Get("channel"), "#") {
		return reply(w, "channel_not_found")
	}
	var seen []*message
	for _, m := range r.messages {
		if !m.deleted && (m.ts == form.Get("ts") || m.thread == form.Get("ts")) {
			seen = append(seen, m)
		}
	}
	if len(seen) == 0 {
		return reply(w, "thread_not_found")
	}
	return s.page(w, form, seen)
}

func (s *Slack) page(w http.ResponseWriter, form url.Values, ms []*message) outcome {
	oldest := form.Get("oldest")
	ms = slices.DeleteFunc(ms, func(m *message) bool { return oldest != "" && m.ts <= oldest })
	from, _ := strconv.Atoi(form.Get("cursor"))
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil || limit < 1 {
		limit = 100
	}
	to := min(from+limit, len(ms))
	page := []map[string]any{}
	for _, m := range ms[min(from, to):to] {
		page = append(page, m.json(form.Get("include_all_metadata") == "1"))
	}
	out := map[string]any{"ok": true, "messages": page, "has_more": to < len(ms)}
	if to < len(ms) {
		out["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(to)}
	}
	return answer(w, out)
}

func (s *Slack) list(w http.ResponseWriter) outcome {
	cs := []map[string]any{}
	for _, r := range s.channels {
		cs = append(cs, map[string]any{"id": r.id, "name": r.name, "is_channel": true})
	}
	return answer(w, map[string]any{"ok": true, "channels": cs})
}
