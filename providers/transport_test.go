package providers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"guard"
)

// answer is a round tripper that gives its replies one after the other, the last
// one for ever.
type answer struct {
	calls   atomic.Int32
	replies []func(*http.Request) (*http.Response, error)
}

func (a *answer) RoundTrip(r *http.Request) (*http.Response, error) {
	n := int(a.calls.Add(1)) - 1
	return a.replies[min(n, len(a.replies)-1)](r)
}

func reply(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var (
	dialErr  = &net.OpError{Op: "dial", Err: errors.New("no route to 10.1.2.3")}
	resetErr = &net.OpError{Op: "read", Err: errors.New("connection reset")}
)

type timeoutErr struct{}

func (timeoutErr) Error() string { return "i/o timeout" }
func (timeoutErr) Timeout() bool { return true }

func over(replies ...func(*http.Request) (*http.Response, error)) (API, *answer) {
	a := &answer{replies: replies}
	return API{Transport: NewTransport(TransportConfig{Next: a}), Base: "http://cloud.invalid"}, a
}

type thing struct {
	OK bool `json:"ok"`
}

const good = `{"ok":true}`

func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	read := func(a API) error { return a.Get(t.Context(), &thing{}, nil, "x") }
	readByPost := func(a API) error {
		return a.Call(Read(t.Context()), http.MethodPost, nil, thing{}, &thing{}, "x")
	}
	write := func(a API) error { return a.Call(t.Context(), http.MethodDelete, nil, nil, &thing{}, "x") }
	writeByGet := func(a API) error {
		return a.Call(Write(t.Context()), http.MethodGet, nil, nil, &thing{}, "x")
	}
	tests := []struct {
		name  string
		first func(*http.Request) (*http.Response, error)
		call  func(API) error
		calls int32
		kind  error // nil: the second reply, a good one, is reached
		not   error
	}{
		{"read after 503", reply(503, ""), read, 2, nil, nil},
		{"read by POST after 503", reply(503, ""), readByPost, 2, nil, nil},
		{"read after a reset", fails(resetErr), read, 2, nil, nil},
		{"read after a failed dial", fails(dialErr), read, 2, nil, nil},
		{"read after a reply that broke off", brokenBody, read, 2, nil, nil},
		{"read after a time-out", fails(timeoutErr{}), read, 1, guard.ErrUnavailable, guard.ErrUncertain},
		{"read after 429", reply(429, ""), read, 1, guard.ErrThrottled, nil},
		{"read after 503 with a hint", reply(503, "", "Retry-After", "7"), read, 1, guard.ErrUnavailable, nil},
		{"read after 404", reply(404, "{}"), read, 1, guard.ErrNotFound, nil},
		{"write after 503", reply(503, ""), write, 1, guard.ErrUnavailable, guard.ErrUncertain},
		{"write after 504", reply(504, ""), write, 1, guard.ErrUncertain, nil},
		{"write after a reset", fails(resetErr), write, 1, guard.ErrUncertain, guard.ErrUnavailable},
		{"write by GET after a reset", fails(resetErr), writeByGet, 1, guard.ErrUncertain, nil},
		{"write after a time-out", fails(timeoutErr{}), write, 1, guard.ErrUncertain, nil},
		{"write after a failed dial", fails(dialErr), write, 1, guard.ErrUnavailable, guard.ErrUncertain},
		{"write whose reply broke off", brokenBody, write, 1, guard.ErrUncertain, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api, a := over(tt.first, reply(200, good))
			err := tt.call(api)
			if got := a.calls.Load(); got != tt.calls {
				t.Errorf("%d calls, want %d", got, tt.calls)
			}
			if tt.kind == nil && err != nil {
				t.Errorf("err = %v", err)
			}
			if tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("err = %v, want %v", err, tt.kind)
			}
			if tt.not != nil && errors.Is(err, tt.not) {
				t.Errorf("err = %v, must not be %v", err, tt.not)
			}
		})
	}
}

func brokenBody(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
		Body: io.NopCloser(io.MultiReader(strings.NewReader(`{"ok":`), broken{}))}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReadsAreRepeatedABoundedNumberOfTimes(t *testing.T) {
	api, a := over(reply(500, "{}"))
	err := api.Get(t.Context(), &thing{}, nil, "x")
	if !errors.Is(err, guard.ErrUnavailable) || a.calls.Load() != 3 {
		t.Fatalf("%d calls, err %v", a.calls.Load(), err)
	}
}

func TestRepeatedReadsSendTheirBodyAgain(t *testing.T) {
	var bodies []string
	keep := func(r *http.Request) (*http.Response, error) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		return reply(503, "")(r)
	}
	api, _ := over(keep)
	_ = api.Call(Read(t.Context()), http.MethodPost, nil, thing{true}, &thing{}, "x")
	for i, b := range bodies {
		if b != good {
			t.Errorf("try %d sent %q", i, b)
		}
	}
	if len(bodies) != 3 {
		t.Errorf("%d tries", len(bodies))
	}
}

func TestStatusKinds(t *testing.T) {
	want := map[int]error{
		301: guard.ErrBadReply, 400: guard.ErrInvalid, 401: guard.ErrPermission, 402: guard.ErrRefused, 403: guard.ErrPermission,
		404: guard.ErrNotFound, 407: guard.ErrUnavailable, 408: guard.ErrUnavailable, 409: guard.ErrConflict, 410: guard.ErrNotFound,
		422: guard.ErrInvalid, 423: guard.ErrProtected, 429: guard.ErrThrottled, 500: guard.ErrUnavailable, 502: guard.ErrUnavailable,
		503: guard.ErrUnavailable, 599: guard.ErrUnavailable, 777: guard.ErrBadReply,
	}
	for status, kind := range want {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			api, _ := over(reply(status, "{}"))
			err := api.Call(t.Context(), method, nil, nil, nil, "x")
			if !errors.Is(err, kind) {
				t.Errorf("%s %d: %v, want %v", method, status, err, kind)
			}
			if _, ok := guard.RetryAfter(err); ok {
				t.Errorf("%s %d: a wait out of nowhere", method, status)
			}
		}
	}
}

func TestACancelledContextMakesNoCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	api, a := over(reply(200, good))
	err := api.Call(ctx, http.MethodDelete, nil, nil, nil, "x")
	if a.calls.Load() != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, guard.ErrUncertain) {
		t.Fatalf("%d calls, err %v", a.calls.Load(), err)
	}
}

func TestAWriteCancelledUnderWayIsUncertain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	api, _ := over(func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	})
	err := api.Call(ctx, http.MethodDelete, nil, nil, nil, "x")
	if !errors.Is(err, guard.ErrUncertain) || !errors.Is(err, context.Canceled) {
		t.Fatalf("err %v", err)
	}
}

func TestATryIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		api, a := over(hang)
		start := time.Now()
		err := api.Get(t.Context(), &thing{}, nil, "x")
		if !errors.Is(err, guard.ErrUnavailable) || a.calls.Load() != 1 {
			t.Errorf("%d calls, err %v", a.calls.Load(), err)
		}
		if d := time.Since(start); d != 20*time.Second {
			t.Errorf("took %s", d)
		}
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answer{replies: []func(*http.Request) (*http.Response, error){reply(200, good)}}
		api := API{Transport: NewTransport(TransportConfig{Next: a, PerSecond: 2, MaxPace: 2 * time.Second}), Base: "http://cloud.invalid"}
		start := time.Now()
		done := make(chan error, 5)
		for range 5 {
			go func() { done <- api.Get(t.Context(), &thing{}, nil, "x") }()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("five calls at two a second took %s", d)
		}
		for range 8 {
			go func() { done <- api.Get(t.Context(), &thing{}, nil, "x") }()
		}
		var refused int
		for range 8 {
			if err := <-done; err != nil {
				refused++
				after, ok := guard.RetryAfter(err)
				if !errors.Is(err, guard.ErrThrottled) || !ok || after <= 2*time.Second {
					t.Errorf("err %v", err)
				}
			}
		}
		if refused != 4 {
			t.Errorf("%d of 8 calls were refused, want those beyond 2 s", refused)
		}
	})
}

func TestBadReplies(t *testing.T) {
	tests := map[string]func(*http.Request) (*http.Response, error){
		"a page":              reply(200, "<!DOCTYPE html><html>Log in</html>", "Content-Type", "text/html; charset=utf-8"),
		"a page unlabelled":   reply(200, "\n  <html>Log in</html>"),
		"a page with 404":     reply(404, "<html>Not Found</html>", "Content-Type", "text/html"),
		"plain text as HTML":  reply(200, "Welcome", "Content-Type", "text/html"),
		"cut JSON":            reply(200, `{"ok":tr`),
		"two values":          reply(200, `{"ok":true}{"ok":false}`),
		"null":                reply(200, ` null `),
		"nothing":             reply(200, ""),
		"another shape":       reply(200, `[1,2]`),
		"a redirect":          reply(302, "", "Location", "http://elsewhere.invalid/"),
		"a redirect upgraded": reply(302, "", "Location", "https://cloud.invalid/"),
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			api, a := over(r)
			err := api.Get(t.Context(), &thing{}, nil, "x")
			if !errors.Is(err, guard.ErrBadReply) || errors.Is(err, guard.ErrNotFound) {
				t.Errorf("err = %v", err)
			}
			if a.calls.Load() != 1 {
				t.Errorf("%d calls", a.calls.Load())
			}
		})
	}
	t.Run("JSON labelled HTML", func(t *testing.T) {
		api, _ := over(reply(200, good, "Content-Type", "text/html"))
		if err := api.Get(t.Context(), &thing{}, nil, "x"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a page after a write leaves it open", func(t *testing.T) {
		api, _ := over(reply(200, "<html>", "Content-Type", "text/html"))
		if err := api.Call(t.Context(), http.MethodDelete, nil, nil, nil, "x"); !errors.Is(err, guard.ErrUncertain) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestAReplyHasAnEnd(t *testing.T) {
	a := &answer{replies: []func(*http.Request) (*http.Response, error){reply(200, `"`+strings.Repeat("x", 2000)+`"`)}}
	api := API{Transport: NewTransport(TransportConfig{Next: a, MaxBody: 1000}), Base: "http://cloud.invalid"}
	var s string
	if err := api.Get(t.Context(), &s, nil, "x"); !errors.Is(err, guard.ErrBadReply) || s != "" {
		t.Errorf("err = %v", err)
	}
}

func TestRedirectsStayOnTheHost(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { elsewhere.Add(1); io.WriteString(w, good) }))
	defer other.Close()
	var deletes atomic.Int32
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case r.Method == http.MethodDelete:
			deletes.Add(1)
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case r.URL.Path == "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		default:
			io.WriteString(w, good)
		}
	}))
	defer home.Close()
	api := API{Transport: NewTransport(TransportConfig{}), Base: home.URL}
	if err := api.Get(t.Context(), &thing{}, nil, "here"); err != nil {
		t.Errorf("within the host: %v", err)
	}
	if err := api.Get(t.Context(), &thing{}, nil, "away"); !errors.Is(err, guard.ErrBadReply) || elsewhere.Load() != 0 || !strings.Contains(err.Error(), "credentials follow no redirect") {
		t.Errorf("to another host: %v, %d calls there", err, elsewhere.Load())
	}
	if err := api.Call(t.Context(), http.MethodDelete, nil, nil, nil, "gone"); !errors.Is(err, guard.ErrBadReply) || deletes.Load() != 1 {
		t.Errorf("a write: %v, sent %d times", err, deletes.Load())
	}
}

// A real connection tells what was sent: refused is nothing, a hang-up after the
// request is not known.
func TestSentOrNot(t *testing.T) {
	api := API{Transport: NewTransport(TransportConfig{}), Base: "http://127.0.0.1:1"} // where nobody may listen but the system
	err := api.Call(t.Context(), http.MethodDelete, nil, nil, nil, "x")
	if !errors.Is(err, guard.ErrUnavailable) || errors.Is(err, guard.ErrUncertain) {
		t.Errorf("refused: %v", err)
	}
	var met atomic.Int32
	hangup := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		met.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer hangup.Close()
	api.Base = hangup.URL
	if err := api.Call(t.Context(), http.MethodDelete, nil, nil, nil, "x"); !errors.Is(err, guard.ErrUncertain) || met.Load() != 1 {
		t.Errorf("hung up: %v after %d calls", err, met.Load())
	}
}

func TestPathSegments(t *testing.T) {
	var got string
	api, a := over(func(r *http.Request) (*http.Response, error) {
		got = r.URL.EscapedPath()
		return reply(200, good)(r)
	})
	if err := api.Get(t.Context(), &thing{}, nil, "v1", "a/../b?c#d"); err != nil || got != "/v1/a%2F..%2Fb%3Fc%23d" {
		t.Errorf("path %q, err %v", got, err)
	}
	calls := a.calls.Load()
	for _, s := range []string{"", ".", ".."} {
		if err := api.Get(t.Context(), &thing{}, nil, "v1", s); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if a.calls.Load() != calls {
		t.Error("a bad path made a call")
	}
}

func TestServerTime(t *testing.T) {
	api, _ := over(reply(200, good, "Date", "Fri, 06 Mar 2026 10:00:05 GMT"), reply(200, good, "Date", "Fri, 06 Mar 2026 10:00:01 GMT"), reply(200, good, "Date", "nonsense"))
	var st ServerTime
	ctx := CollectServerTime(t.Context(), &st)
	if !st.Time().IsZero() {
		t.Error("a time before any reply")
	}
	for range 3 {
		if err := api.Get(ctx, &thing{}, nil, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if want := time.Date(2026, 3, 6, 10, 0, 5, 0, time.UTC); !st.Time().Equal(want) {
		t.Errorf("server time %s", st.Time())
	}
}

func TestClientForSDKs(t *testing.T) {
	a := &answer{replies: []func(*http.Request) (*http.Response, error){reply(503, "<Error/>"), reply(400, "<Error><Code>Gone</Code></Error>")}}
	c := NewTransport(TransportConfig{Next: a}).Client()
	req, _ := http.NewRequestWithContext(Read(t.Context()), http.MethodPost, "http://cloud.invalid/", strings.NewReader("Action=DescribeInstances"))
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 400 || string(body) != "<Error><Code>Gone</Code></Error>" || a.calls.Load() != 2 {
		t.Errorf("status %d, body %q, %d calls", resp.StatusCode, body, a.calls.Load())
	}

	a = &answer{replies: []func(*http.Request) (*http.Response, error){fails(timeoutErr{})}}
	_, err = NewTransport(TransportConfig{Next: a}).Client().Post("http://cloud.invalid/?sig=1", "", strings.NewReader("Action=TerminateInstances"))
	var u *url.Error
	if !errors.As(err, &u) || !errors.Is(err, guard.ErrUncertain) || a.calls.Load() != 1 {
		t.Errorf("err %v after %d calls", err, a.calls.Load())
	}
	if err := Redact(err); strings.Contains(err.Error(), "sig") || !errors.Is(err, guard.ErrUncertain) {
		t.Errorf("redacted: %v", err)
	}
}
