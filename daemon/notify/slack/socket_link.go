package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"guard"
	"guard/daemon/wire"
)

const (
	// mostSilence is how long a connection that lives may be silent: Slack pings it every
	// few seconds.
	mostSilence = 45 * time.Second
	// mostEnvelope bounds what Slack sends at once, in bytes.
	mostEnvelope = 1 << 20
	// mostAck is what Slack takes back at once: it drops longer ones without a word, and
	// does not put the frames of one together (slack-go's findings), so one frame holds it.
	mostAck     = 20 << 10
	frame       = 32 << 10
	writeFor    = 3 * time.Second
	handshake   = 10 * time.Second
	overlapping = 10 * time.Second // how long a connection goes on beside its successor
)

// link is one connection.
type link struct {
	conn    *websocket.Conn
	silence time.Duration
	writing sync.Mutex
	// over is closed once another connection should take its place, and why is set before:
	// nil where Slack asked for it.
	over chan struct{}
	once sync.Once
	why  error
}

// connect opens a connection.
func (s *Socket) connect(ctx context.Context) (*link, error) {
	address, err := s.address(ctx)
	if err != nil {
		return nil, err
	}
	dialer := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshake, WriteBufferSize: frame}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		what := "no WebSocket"
		if resp != nil {
			what = fmt.Sprintf("the answer is %d", resp.StatusCode)
			resp.Body.Close()
		} else if class, _ := broken(err); class != "" {
			what = class
		}
		return nil, fmt.Errorf("%w: connect to Slack's Socket Mode: %s", guard.ErrUnavailable, what)
	}
	l := &link{conn: conn, silence: s.silence, over: make(chan struct{})}
	conn.SetReadLimit(mostEnvelope)
	l.heard()
	conn.SetPingHandler(func(data string) error {
		l.heard()
		err := conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeFor))
		if timedOut := (net.Error)(nil); errors.As(err, &timedOut) && timedOut.Timeout() {
			return nil // the next one may go
		}
		return err
	})
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	return l, nil
}

// heard lets the connection be silent anew.
func (l *link) heard() { _ = l.conn.SetReadDeadline(time.Now().Add(l.silence)) } // fails on a closed one, which a read tells

func (l *link) close() { _ = l.conn.Close() } // it fails on one that is closed

// leave lets another connection take the place of this one.
func (l *link) leave(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.over)
	})
}

// envelope is what Slack sends.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
	Reason  string          `json:"reason"`          // of a disconnect
	All     int             `json:"num_connections"` // in a hello: of the app, this one included
}

// serve takes what comes until the connection ends. Clicks are worked on in links.
func (l *link) serve(ctx context.Context, s *Socket, links *sync.WaitGroup, handle Handler) {
	defer l.close()
	defer l.leave(fmt.Errorf("%w: Slack's Socket Mode: the connection broke", guard.ErrUnavailable))
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	leaving := false
	for {
		_, data, err := l.conn.ReadMessage()
		if err != nil {
			return
		}
		if !leaving {
			l.heard()
		}
		var e envelope
		if err := json.Unmarshal(data, &e); err != nil {
			s.log.Debug("slack sent what is no envelope", "bytes", len(data))
			continue
		}
		switch e.Type {
		case "hello":
			s.greeted(e.All)
		case "disconnect":
			// "warning" and "refresh_requested" are Slack's housekeeping.
			var why error
			if e.Reason == "link_disabled" {
				why = fmt.Errorf("%w: Slack's Socket Mode is turned off for this app; %s", guard.ErrPermission, appTodo[guard.ErrPermission])
			}
			leaving = true
			l.leave(why)
			_ = l.conn.SetReadDeadline(time.Now().Add(s.overlap))
		default:
			s.take(ctx, links, l.ack, e, handle)
		}
	}
}

// ack tells Slack that an envelope has come, with what it wants back.
func (l *link) ack(id string, payload any) error {
	b, err := json.Marshal(struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{id, payload})
	if err != nil {
		return err
	}
	if len(b) >= mostAck {
		return fmt.Errorf("%w: an answer of %d bytes", guard.ErrInvalid, len(b))
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeFor)) // fails on a closed one, which the write tells
	return l.conn.WriteMessage(websocket.TextMessage, b)
}

// acker is how an envelope is acknowledged.
type acker func(id string, payload any) error

// take acknowledges an envelope, and works on what it brings where it is new.
func (s *Socket) take(ctx context.Context, links *sync.WaitGroup, ack acker, e envelope, handle Handler) {
	defer s.survive()
	if e.ID == "" {
		s.log.Debug("slack sent what guard does not know", "type", word(e.Type))
		return
	}
	g, ok := read(e)
	if !ok || !s.fresh(e.ID) {
		s.acked(ack, e.ID, nil)
		return
	}
	if !g.form {
		s.acked(ack, e.ID, nil)
	}
	select {
	case s.slots <- struct{}{}:
	default:
		s.log.Warn("too many clicks at once: one was dropped", "user", g.click.User)
		if g.form {
			s.acked(ack, e.ID, s.shown(s.busy()))
		}
		return
	}
	links.Go(func() {
		defer func() { <-s.slots }()
		defer s.survive()
		// What was begun is finished, as far as a stop has time: whoever clicked is told
		// what came of it.
		ours, cancel := context.WithTimeout(context.WithoutCancel(ctx), clickPatience)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(stopPatience, cancel) })
		defer stop()
		s.deal(ours, g, func(payload any) { s.acked(ack, e.ID, payload) }, handle, s.patience)
	})
}

// acked acknowledges; where that fails Slack sends the envelope again, over a connection
// that works.
func (s *Socket) acked(ack acker, id string, payload any) {
	if err := ack(id, payload); err != nil {
		s.log.Debug("an envelope of slack's was not acknowledged", "error", "the connection broke")
	}
}

// survive keeps guard alive where the rim itself panics.
func (s *Socket) survive() {
	if p := recover(); p != nil {
		s.log.Error("answering a click panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// safely is a handler that answers where another one panics.
func (s *Socket) safely(handle Handler) Handler {
	return func(ctx context.Context, c wire.Click) (out wire.ClickAnswer) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("a click's handler panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				out = s.broken()
			}
		}()
		return handle(ctx, c)
	}
}
