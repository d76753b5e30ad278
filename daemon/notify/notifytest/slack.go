package notifytest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"guard"
)

// Slack is a fake of the part of Slack's web API that guard speaks: posting and editing,
// the history, threads, the list of channels, who the bot is and whose an e-mail address
// is. It is strict about what Slack is strict about (form, token, the rules of blocks) and
// is used either as an [http.RoundTripper], on the time that the requests carry, or as an
// [http.Handler]. The zero value is not usable; see [NewSlack].
type Slack struct {
	token string

	mu       sync.Mutex
	now      time.Time // the latest time that a request carried
	channels []*room
	members  map[string]string // IDs by e-mail address
	posts    []Post
	edits    []Post
	faults   []*Fault
	lookups  int
	emails   int    // how many addresses were looked up
	blind    string // what look-ups answer; "" is the truth
}

type room struct {
	id, name string
	out      bool       // the bot is not in it
	messages []*message // oldest first
}

type message struct {
	ts, thread string
	metadata   json.RawMessage
	people     bool // a person wrote it
	deleted    bool
	shown      Post // as it is now
}

// Post is one request to post or to edit, stored or not.
type Post struct {
	At      time.Time
	Channel string // its ID; as asked for where there is none
	TS      string // "" where it was not stored
	Thread  string // the thread asked for, whether it exists or not
	// Text is the fallback, Blocks the text of all blocks, one a line; both as
	// sent, escapes included.
	Text, Blocks string
	// Form is the blocks themselves, JSON; "" where there are none.
	Form string
	// Buttons are those of all blocks.
	Buttons []Button
	// Pings are whom it mentions by markup: "U0123", "!channel".
	Pings     []string
	ID        string // from the metadata
	Broadcast bool
	Stored    bool
	Status    int    // of the answer; 0 where none came
	Error     string // of an ok:false answer
}

// Fault makes requests to post fail: the first that matches answers.
type Fault struct {
	From, Until time.Time // in force from, and before; zero is open
	Times       int       // how often; 0 is always
	// Edits: it is requests to edit that fail, and no others.
	Edits bool
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

// AddMember gives the workspace a member who can be looked up by an e-mail address.
func (s *Slack) AddMember(id, email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		s.members = map[string]string{}
	}
	s.members[email] = id
}

// EmailLookups is how many times an e-mail address was looked up.
func (s *Slack) EmailLookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emails
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

// Edits are all requests to edit a message, oldest first. TS is the message's.
func (s *Slack) Edits() []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.edits)
}

// Shown are the posts that people see, as they are now.
func (s *Slack) Shown() (out []Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.channels {
		for _, m := range r.messages {
			if !m.people && !m.deleted {
				out = append(out, m.shown)
			}
		}
	}
	return out
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
		r.messages = append(r.messages, &message{ts: s.stamp(), people: true, shown: Post{Text: "lunch?"}})
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
	switch method {
	case "chat.postMessage":
		return s.post(w, req.PostForm)
	case "chat.update":
		return s.edit(w, req.PostForm)
	}
	s.lookups++
	if s.blind != "" {
		return reply(w, s.blind)
	}
	if look, ok := looks[method]; ok {
		return look(s, w, req.PostForm)
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

func (s *Slack) fault(edits bool) *Fault {
	for _, f := range s.faults {
		if f.Edits != edits || f.Times > 0 && f.used == f.Times || s.now.Before(f.From) || !f.Until.IsZero() && !s.now.Before(f.Until) {
			continue
		}
		f.used++
		return f
	}
	return nil
}
