package notifytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Socket is a fake of Slack's Socket Mode and of what belongs to it: the address and the
// connection, forms, and the addresses that answers go to. It
// is as strict as Slack is about sizes and tokens, stands before a [Slack], and is used as
// one. The zero value is not usable; see [NewSocket].
type Socket struct {
	slack    *Slack
	appToken string
	// Host is what response addresses begin with.
	Host string

	mu      sync.Mutex
	refusal string // what opening a connection is answered; "": with an address
	ghosts  int
	expired bool
	links   []*websocket.Conn
	opened  int
	n       int // of envelopes, triggers, forms
	acks    []Ack
	views   []View
	answers []Answer
	wrong   []string
}

// Ack is one acknowledgement of guard's.
type Ack struct {
	At       time.Time // in real time
	Envelope string
	Payload  json.RawMessage
	Link     int // over which connection, from 0
}

// View is a form that was shown.
type View struct {
	ID       string
	Trigger  string
	Metadata string
	Callback string
	Title    string
	Text     string   // of all its blocks, a line each
	Fields   []string // the block IDs of its inputs
}

// Answer is what one person was told, and nobody else.
type Answer struct {
	At   time.Time // in real time
	Text string    // of the text and of all blocks, a line each
}

// NewSocket puts a Socket before a workspace, for an app with that app-level token.
func NewSocket(slack *Slack, appToken string) *Socket {
	return &Socket{slack: slack, appToken: appToken, Host: "https://hooks.slack.com"}
}

// Refuse makes opening a connection fail with this error; "" mends it.
func (s *Socket) Refuse(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = code
}

// Ghosts makes Slack count that many other connections of the app.
func (s *Socket) Ghosts(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ghosts = n
}

// Expire makes every trigger too old to show a form.
func (s *Socket) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

// Drop breaks all connections.
func (s *Socket) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		l.UnderlyingConn().Close()
	}
	s.links = nil
}

// Send sends an envelope over the newest connection, or over all where there are several
// and everywhere is set; false where there is none.
func (s *Socket) Send(envelope []byte, everywhere bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := s.links
	if !everywhere && len(links) > 0 {
		links = links[len(links)-1:]
	}
	for _, l := range links {
		if l.WriteMessage(websocket.TextMessage, envelope) != nil {
			return false
		}
	}
	return len(links) > 0
}

// Disconnect asks for new connections, for Slack's reason.
func (s *Socket) Disconnect(reason string) bool {
	return s.Send(fmt.Appendf(nil, `{"type":"disconnect","reason":%q,"debug_info":{"host":"applink-1"}}`, reason), true)
}

// Open is how many connections there are, and Opened how many there were.
func (s *Socket) Open() (now, opened int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.links), s.opened
}

// Acks are all acknowledgements, oldest first.
func (s *Socket) Acks() []Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks)
}

// Answers are what people were told, oldest first.
func (s *Socket) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Views are the forms that were shown or changed, oldest first.
func (s *Socket) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.views)
}

// Wrong is what Slack would not have taken, or should never have been sent.
func (s *Socket) Wrong() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrong)
}

func (s *Socket) envelope(kind string, payload map[string]any) []byte {
	s.mu.Lock()
	s.n++
	n := s.n
	host := s.Host
	s.mu.Unlock()
	payload["token"], payload["trigger_id"] = "verification-token-never-to-be-logged", fmt.Sprintf("trigger-%d", n)
	if kind != "view_submission" {
		payload["response_url"] = fmt.Sprintf("%s/actions/T0001/%d/answer-secret", host, n)
	}
	wrapped := "interactive"
	if kind == "slash_commands" {
		wrapped = kind
	} else {
		payload["type"], payload["team"] = kind, map[string]any{"id": "T0001", "domain": "lab"}
	}
	b, err := json.Marshal(map[string]any{"envelope_id": fmt.Sprintf("envelope-%d", n), "type": wrapped, "payload": payload,
		"accepts_response_payload": kind != "block_actions", "retry_attempt": 0})
	if err != nil {
		panic(err)
	}
	return b
}

// Pressed is the envelope of a click on a button of a post.
func (s *Socket) Pressed(user string, in Post, b Button) []byte {
	return s.envelope("block_actions", map[string]any{
		"user":      map[string]any{"id": user, "username": "whoever", "name": "whoever", "team_id": "T0001"},
		"channel":   map[string]any{"id": in.Channel, "name": "guard"},
		"container": map[string]any{"type": "message", "message_ts": in.TS, "channel_id": in.Channel, "is_ephemeral": false},
		"message":   map[string]any{"type": "message", "ts": in.TS, "text": "not what guard goes by"},
		"state":     map[string]any{"values": map[string]any{}},
		"actions": []any{map[string]any{"type": "button", "action_id": b.Action, "block_id": "b1", "value": b.Value,
			"text": map[string]any{"type": "plain_text", "text": "whatever it says"}, "action_ts": "1700000000.000100"}},
	})
}

// Typed is the envelope of a slash command.
func (s *Socket) Typed(user, text string) []byte {
	return s.envelope("slash_commands", map[string]any{"command": "/guard", "text": text, "user_id": user, "user_name": "whoever",
		"channel_id": "C0001", "channel_name": "guard", "team_id": "T0001", "api_app_id": "A0001"})
}

// Submitted is the envelope of a form that was sent.
func (s *Socket) Submitted(user string, v View, typed map[string]string) []byte {
	values := map[string]any{}
	for _, f := range v.Fields {
		input := map[string]any{"type": "plain_text_input", "value": nil} // as Slack sends what was left empty
		if typed[f] != "" {
			input["value"] = typed[f]
		}
		values[f] = map[string]any{"typed": input}
	}
	return s.envelope("view_submission", map[string]any{
		"user": map[string]any{"id": user, "name": "whoever", "team_id": "T0001"},
		"view": map[string]any{"id": v.ID, "type": "modal", "callback_id": v.Callback, "private_metadata": v.Metadata, "hash": "1.a",
			"state": map[string]any{"values": values}},
	})
}
