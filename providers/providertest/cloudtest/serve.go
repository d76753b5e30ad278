package cloudtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// In is the way to a handler in this process.
func In(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// Reply writes JSON.
func Reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has gone
}

// Read decodes a request's body; false where it is not the JSON that into wants.
func Read(r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	return err == nil && json.Unmarshal(body, into) == nil
}

// Page is the part of a list from an index on, and where the next page begins; 0 after
// the last. A size of 0 is all.
func Page[T any](all []T, from, size int) (page []T, next int) {
	if from < 0 || from >= len(all) {
		return []T{}, 0
	}
	to := len(all)
	if size > 0 {
		to = min(to, from+size)
	}
	if to < len(all) {
		next = to
	}
	return all[from:to], next
}

// Faults answers in place of a handler, now and then.
type Faults struct {
	Next http.Handler

	mu     sync.Mutex
	faults []fault
}

type fault struct {
	match  func(*http.Request) bool
	answer http.HandlerFunc
	times  int
}

// Add lets the next so many requests that match be answered so; 0 is every one. Where
// several match, the one added first counts.
func (f *Faults) Add(times int, match func(*http.Request) bool, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if times == 0 {
		times = -1
	}
	f.faults = append(f.faults, fault{match, answer, times})
}

// ServeHTTP implements http.Handler.
func (f *Faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.take(r)(w, r)
}

func (f *Faults) take(r *http.Request) http.HandlerFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.faults {
		if x := &f.faults[i]; x.times != 0 && x.match(r) {
			x.times--
			return x.answer
		}
	}
	return f.Next.ServeHTTP
}
