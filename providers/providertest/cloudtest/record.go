package cloudtest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Canned answers every request with status 200 and one body.
type Canned string

// RoundTrip implements http.RoundTripper.
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c))), ContentLength: int64(len(c)), Request: r}, nil
}

// Recorded answers each request as it was answered the first time, which leaves a benchmark
// without what a fake takes. It is for one caller at a time.
type Recorded struct {
	Calls int

	next   http.RoundTripper
	bodies map[string]Canned // by method, URL and body of the request
}

// Record records what next answers.
func Record(next http.RoundTripper) *Recorded {
	return &Recorded{next: next, bodies: map[string]Canned{}}
}

// RoundTrip implements http.RoundTripper.
func (x *Recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	x.Calls++
	key := r.Method + " " + r.URL.String()
	if r.Body != nil {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		key += " " + string(sent)
	}
	body, ok := x.bodies[key]
	if !ok {
		resp, err := x.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		body = Canned(b)
		x.bodies[key] = body
	}
	return body.RoundTrip(r)
}
