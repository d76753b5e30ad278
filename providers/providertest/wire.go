package providertest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// wire counts requests and makes some go wrong.
type wire struct {
	next     http.RoundTripper
	classify func(*http.Request, []byte) Op

	mu    sync.Mutex
	seen  []request
	fault func(q request, n int, r *http.Request) (*http.Response, error, bool)
}

// request is one that came by; the text is its method, URL and body, so that what is
// sent again looks the same.
type request struct {
	Op
	text string
	host string
}

// RoundTrip implements http.RoundTripper.
func (x *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	q := request{x.classify(r, body), textOf(r, body), r.URL.Host}
	x.mu.Lock()
	n := 1
	for _, o := range x.seen {
		if o.Op == q.Op {
			n++
		}
	}
	x.seen = append(x.seen, q)
	fault := x.fault
	x.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if fault != nil {
		if resp, err, hit := fault(q, n, r); hit {
			return resp, err
		}
	}
	return x.next.RoundTrip(r)
}

// on lets calls of one sort be answered by f; the n-th of each scope is told.
func (x *wire) on(call string, f func(n int, r *http.Request) (*http.Response, error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen = nil
	x.fault = func(q request, n int, r *http.Request) (*http.Response, error, bool) {
		if q.Call != call && call != "" {
			return nil, nil, false
		}
		resp, err := f(n, r)
		return resp, err, resp != nil || err != nil
	}
}

func textOf(r *http.Request, body []byte) string {
	return fmt.Sprintf("%s %s %s", r.Method, r.URL, body)
}

// only lets the one request be answered by f, however often it is sent, and says whether
// it came.
func (x *wire) only(text string, f func(r *http.Request) (*http.Response, error)) (came func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hit := false
	x.seen = nil
	x.fault = func(q request, _ int, r *http.Request) (*http.Response, error, bool) {
		if q.text != text {
			return nil, nil, false
		}
		x.mu.Lock()
		hit = true
		x.mu.Unlock()
		resp, err := f(r)
		return resp, err, true
	}
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return hit
	}
}

// texts are the different requests of one sort, in the order of their first coming.
func (x *wire) texts(call string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, q := range x.seen {
		if q.Call == call && !slices.Contains(out, q.text) {
			out = append(out, q.text)
		}
	}
	return out
}

// asked is the sort of the requests that a call was made of: its own where there was
// one, else that of the last; "" where there was none.
func (x *wire) asked(call string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := ""
	for _, q := range x.seen {
		if last = q.Call; last == call {
			return call
		}
	}
	return last
}

// calls is how many requests of one sort there were; "" is any.
func (x *wire) calls(call string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, o := range x.seen {
		if call == "" || o.Call == call {
			n++
		}
	}
	return n
}

// reply is a canned answer.
func reply(r *http.Request, status int, body string, header ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// timeOut is what net/http gives where no reply came in time.
type timeOut struct{}

func (timeOut) Error() string   { return "i/o timeout" }
func (timeOut) Timeout() bool   { return true }
func (timeOut) Temporary() bool { return true }

// quick is less than an adapter sleeps that does so between tries, although it must not.
const quick = 100 * time.Millisecond

// hosts are those that were asked.
func (x *wire) hosts() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, q := range x.seen {
		out = append(out, q.host)
	}
	return out
}
