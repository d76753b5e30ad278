package providers

import (
	"context"
	"net/http"
	"sync"
	"time"
)

type intentKey struct{}

type intent int

const (
	intentByMethod intent = iota
	intentRead
	intentWrite
)

// Read marks the calls made with the context as reads, whatever their method:
// the transport may repeat them. Many APIs list with POST.
func Read(ctx context.Context) context.Context {
	return context.WithValue(ctx, intentKey{}, intentRead)
}

// Write marks the calls made with the context as writes: the transport sends
// them once, and a lost reply is guard.ErrUncertain. Where an API writes with GET,
// call it with POST if it lets you: net/http itself may send a GET again over a
// connection that broke.
func Write(ctx context.Context) context.Context {
	return context.WithValue(ctx, intentKey{}, intentWrite)
}

// isRead tells whether a request only reads. Where nobody said so, GET and HEAD
// do and everything else writes.
func isRead(r *http.Request) bool {
	switch i, _ := r.Context().Value(intentKey{}).(intent); i {
	case intentRead:
		return true
	case intentWrite:
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == ""
}

type serverTimeKey struct{}

// ServerTime collects the provider's own clock from the replies to the calls
// made with one context. It is safe for concurrent use.
type ServerTime struct {
	mu sync.Mutex
	at time.Time
}

// CollectServerTime returns a context whose calls tell st the Date of each
// reply. The zero ServerTime is ready for use.
func CollectServerTime(ctx context.Context, st *ServerTime) context.Context {
	return context.WithValue(ctx, serverTimeKey{}, st)
}

// Time is the latest Date seen, in UTC; zero where none was told.
func (s *ServerTime) Time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *ServerTime) see(h http.Header) {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.at) {
		s.at = at.UTC()
	}
}

func noteServerTime(ctx context.Context, h http.Header) {
	if st, ok := ctx.Value(serverTimeKey{}).(*ServerTime); ok && st != nil {
		st.see(h)
	}
}
