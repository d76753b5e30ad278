package notifytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// RoundTrip answers in the process, without a connection.
func (s *Socket) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	sent, err := taken(req)
	if err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	if s.serve(rec, req, sent) {
		resp := rec.Result()
		resp.Request = req
		return resp, nil
	}
	return s.slack.RoundTrip(req)
}

// ServeHTTP answers over a connection.
func (s *Socket) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasSuffix(req.URL.Path, "/link") {
		s.connect(w, req)
		return
	}
	if sent, err := taken(req); err == nil && !s.serve(w, req, sent) {
		s.slack.ServeHTTP(w, req)
	}
}

// taken is the body of a request, which can be read again.
func taken(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// serve answers what belongs to Socket Mode; false where it is another's.
func (s *Socket) serve(w http.ResponseWriter, req *http.Request, sent []byte) bool {
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	switch method := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]; {
	case method == "apps.connections.open":
		s.mu.Lock()
		refusal := s.refusal
		s.mu.Unlock()
		if refusal == "" && token != s.appToken {
			refusal = "invalid_auth"
		}
		if refusal != "" {
			reply(w, refusal)
			return true
		}
		answer(w, map[string]any{"ok": true, "url": "ws://" + req.Host + "/link?ticket=ticket-secret&app_id=A0001"})
	case method == "views.open" || method == "views.update":
		if token != s.slack.token {
			reply(w, "invalid_auth")
			return true
		}
		s.view(w, method, sent)
	case method == "chat.postEphemeral":
		form, err := url.ParseQuery(string(sent))
		if err != nil || form.Get("token") != s.slack.token && token != s.slack.token {
			reply(w, "invalid_auth")
			return true
		}
		s.told(form.Get("text"), json.RawMessage(form.Get("blocks")))
		answer(w, map[string]any{"ok": true, "message_ts": "1700000000.000200"})
	case strings.Contains(req.URL.Path, "/actions/T0001/"):
		if token != "" || bytes.Contains(sent, []byte(s.appToken)) || bytes.Contains(sent, []byte(s.slack.token)) {
			s.complain("a token was sent with an answer to a click")
		}
		var said struct {
			Type    string          `json:"response_type"`
			Replace *bool           `json:"replace_original"`
			Text    string          `json:"text"`
			Blocks  json.RawMessage `json:"blocks"`
		}
		if err := json.Unmarshal(sent, &said); err != nil || said.Type != "ephemeral" || said.Replace == nil || *said.Replace {
			s.complain("an answer to a click is none, is for everybody, or replaces the message")
		}
		s.told(said.Text, said.Blocks)
		_, _ = io.WriteString(w, "ok")
	default:
		return false
	}
	return true
}

func (s *Socket) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// told notes what one person was told.
func (s *Socket) told(text string, blocks json.RawMessage) {
	c, bad := check(string(blocks), text)
	if bad != "" || text == "" || len(c.buttons)+len(c.pings) > 0 {
		s.complain("an answer that Slack would not take, or that pings: %s", bad)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, Answer{time.Now(), strings.Join(append([]string{text}, c.texts...), "\n")})
}

// input is a block of a form.
type input struct {
	Type  string  `json:"type"`
	ID    string  `json:"block_id"`
	Text  *object `json:"text"`
	Label *object `json:"label"`
	Hint  *object `json:"hint"`
	// Element is what is typed into.
	Element *struct {
		Type   string `json:"type"`
		Action string `json:"action_id"`
		Most   int    `json:"max_length"`
		First  string `json:"initial_value"`
	} `json:"element"`
}

func runes(o *object) int {
	if o == nil {
		return 0
	}
	return utf8.RuneCountInString(o.Text)
}

// modal is a form as guard sends it.
type modal struct {
	Type     string  `json:"type"`
	Title    *object `json:"title"`
	Submit   *object `json:"submit"`
	Close    *object `json:"close"`
	Metadata string  `json:"private_metadata"`
	Callback string  `json:"callback_id"`
	Blocks   []input `json:"blocks"`
}

// bad is what Slack would not take of a form; "" where it would.
func (m modal) bad() string {
	ids := map[string]bool{}
	inputs := 0
	for _, b := range m.Blocks {
		switch b.Type {
		case "input":
			inputs++
			if b.ID == "" || ids[b.ID] || b.Element == nil || b.Element.Type != "plain_text_input" || b.Element.Most < 1 || b.Element.Most > 3000 ||
				utf8.RuneCountInString(b.Element.First) > b.Element.Most || runes(b.Label) == 0 || runes(b.Label) > 2000 || runes(b.Hint) > 2000 {
				return "an input is wrong: " + b.ID
			}
			ids[b.ID] = true
		case "section":
			if n := runes(b.Text); n == 0 || n > 3000 {
				return "a section is empty or too long"
			}
		default:
			return "an unknown block: " + b.Type
		}
	}
	switch {
	case m.Type != "modal" || runes(m.Title) == 0 || runes(m.Title) > 24 || runes(m.Submit) > 24 || runes(m.Close) > 24:
		return "a title or a button is missing or too long"
	case inputs > 0 && m.Submit == nil, len(m.Blocks) == 0, len(m.Blocks) > 100:
		return "a form that cannot be sent, or has no block"
	case utf8.RuneCountInString(m.Metadata) > 3000:
		return "private_metadata is too long"
	}
	return ""
}

// view shows or changes a form.
func (s *Socket) view(w http.ResponseWriter, method string, sent []byte) {
	var in struct {
		Trigger string `json:"trigger_id"`
		ID      string `json:"view_id"`
		View    modal  `json:"view"`
	}
	if err := json.Unmarshal(sent, &in); err != nil {
		reply(w, "invalid_arguments")
		return
	}
	if bad := in.View.bad(); bad != "" {
		s.complain("%s: %s", method, bad)
		reply(w, "invalid_arguments")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := func(v View) bool { return v.Trigger == in.Trigger }
	switch {
	case method == "views.open" && (s.expired || !strings.HasPrefix(in.Trigger, "trigger-")):
		reply(w, "expired_trigger_id")
		return
	case method == "views.open" && slices.ContainsFunc(s.views, used):
		reply(w, "exchanged_trigger_id")
		return
	case method == "views.update" && !slices.ContainsFunc(s.views, func(v View) bool { return v.ID == in.ID }):
		reply(w, "not_found")
		return
	}
	v := View{ID: in.ID, Trigger: in.Trigger, Metadata: in.View.Metadata, Callback: in.View.Callback, Title: in.View.Title.Text}
	if v.ID == "" {
		v.ID = fmt.Sprintf("V%04d", len(s.views)+1)
	}
	for _, b := range in.View.Blocks {
		if b.Type == "input" {
			v.Fields = append(v.Fields, b.ID)
			v.Text += b.Label.Text + "\n"
		} else {
			v.Text += b.Text.Text + "\n"
		}
	}
	s.views = append(s.views, v)
	answer(w, map[string]any{"ok": true, "view": map[string]any{"id": v.ID}})
}

// connect is one connection, from its greeting on.
func (s *Socket) connect(w http.ResponseWriter, req *http.Request) {
	if req.URL.Query().Get("ticket") != "ticket-secret" {
		http.Error(w, "no ticket", http.StatusForbidden)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	s.mu.Lock()
	link := s.opened
	s.opened++
	s.links = append(s.links, conn)
	hello := fmt.Appendf(nil, `{"type":"hello","num_connections":%d,"connection_info":{"app_id":"A0001"},"debug_info":{"host":"applink-1","approximate_connection_time":18060}}`, len(s.links)+s.ghosts)
	err = conn.WriteMessage(websocket.TextMessage, hello)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.links = slices.DeleteFunc(s.links, func(l *websocket.Conn) bool { return l == conn })
	}()
	for err == nil {
		var data []byte
		if _, data, err = conn.ReadMessage(); err == nil {
			s.acked(link, data)
		}
	}
}

func (s *Socket) acked(link int, data []byte) {
	var a struct {
		Envelope string          `json:"envelope_id"`
		Payload  json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(data, &a); err != nil || a.Envelope == "" || len(data) >= 20<<10 {
		s.complain("an acknowledgement is none, or Slack would drop it: %d bytes", len(data))
		return
	}
	var p struct {
		Action string `json:"response_action"`
		View   *modal `json:"view"`
	}
	if len(a.Payload) > 0 {
		if err := json.Unmarshal(a.Payload, &p); err != nil {
			s.complain("an acknowledgement's payload is none")
		} else if p.View != nil && p.View.bad() != "" {
			s.complain("a form in an acknowledgement: %s", p.View.bad())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = append(s.acks, Ack{time.Now(), a.Envelope, a.Payload, link})
}
