package mototest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Call is one request of the EC2 or STS query protocol.
type Call struct {
	Action string
	Region string
	IDs    []string // the instances or volumes it names
	At     time.Time
}

// Proxy stands between guard and a server.
type Proxy struct {
	// URL is its endpoint.
	URL string

	server *httptest.Server
	to     string
	mu     sync.Mutex
	calls  []Call
	down   bool
	page   int
	lose   func(Call) bool
	hold   *Held
}

// Held are calls that wait in the proxy.
type Held struct {
	// Arrived has each call that came to be held.
	Arrived chan Call

	which func(Call) bool
	let   chan struct{}
}

// NewProxy starts a proxy in front of the server.
func NewProxy(t *testing.T, s *Server) *Proxy {
	t.Helper()
	p := &Proxy{to: s.URL}
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	t.Cleanup(p.server.Close)
	return p
}

// Cut breaks every connection from now on, and Mend lets them through again: the
// server is away and comes back with all it knew.
func (p *Proxy) Cut() { p.set(func() { p.down = true }) }

// Mend is the end of a Cut.
func (p *Proxy) Mend() { p.set(func() { p.down = false }) }

// Pages caps the entries of a page, as a server may: MaxResults is a maximum.
// Moto counts reservations where EC2 counts instances.
func (p *Proxy) Pages(most int) { p.set(func() { p.page = most }) }

// Lose drops the reply to the calls that f picks, after the server has done
// them; nil loses none.
func (p *Proxy) Lose(f func(Call) bool) { p.set(func() { p.lose = f }) }

// Hold keeps the calls that f picks in the proxy: the server learns of them when
// Go is called, if the caller still waits then.
func (p *Proxy) Hold(f func(Call) bool) *Held {
	h := &Held{Arrived: make(chan Call, 100), which: f, let: make(chan struct{})}
	p.set(func() { p.hold = h })
	return h
}

// Go lets the held calls through, and all later ones.
func (h *Held) Go() { close(h.let) }

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Calls are the calls of an action so far, lost and refused ones too; those that
// name the ID, where one is given.
func (p *Proxy) Calls(action, id string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Call
	for _, c := range p.calls {
		if c.Action == action && (id == "" || slices.Contains(c.IDs, id)) {
			out = append(out, c)
		}
	}
	return out
}

// Actions are the calls so far by action.
func (p *Proxy) Actions() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for _, c := range p.calls {
		out[c.Action]++
	}
	return out
}

var (
	scopeOf = regexp.MustCompile(`Credential=[^/]*/\d+/([^/]+)/`)
	idKeys  = regexp.MustCompile(`^(InstanceId|VolumeId|ResourceId)(\.\d+)?$`)
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		http.Error(w, "not a query", http.StatusBadRequest)
		return
	}
	c := Call{Action: form.Get("Action"), At: time.Now()}
	if m := scopeOf.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		c.Region = m[1]
	}
	for k, v := range form {
		if idKeys.MatchString(k) {
			c.IDs = append(c.IDs, v...)
		}
	}
	p.mu.Lock()
	p.calls = append(p.calls, c)
	down, page, lose, held := p.down, p.page, p.lose, p.hold
	p.mu.Unlock()
	if held != nil && held.which(c) {
		held.Arrived <- c
		select {
		case <-held.let:
		case <-r.Context().Done(): // the caller is gone: what it asked for was never asked
			return
		}
	}
	if down {
		hangUp(w)
		return
	}
	if asked, _ := strconv.Atoi(form.Get("MaxResults")); page > 0 && asked > page {
		form.Set("MaxResults", strconv.Itoa(page))
		body = []byte(form.Encode())
	}
	resp, err := p.forward(r, body)
	if err != nil || lose != nil && lose(c) {
		hangUp(w)
		return
	}
	for k, v := range resp.header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.status)
	_, _ = w.Write(resp.body) // the caller may have left
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (p *Proxy) forward(r *http.Request, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Content-Length")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	h := resp.Header.Clone()
	for _, k := range []string{"Connection", "Content-Length", "Transfer-Encoding"} {
		h.Del(k)
	}
	return answer{resp.StatusCode, h, all}, err
}

// hangUp closes the connection without a reply.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}
