package providers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/time/rate"
)

// TransportConfig sets up a Transport. The zero value is ready for use.
type TransportConfig struct {
	// Next makes the calls; nil is a pooled HTTP transport of its own. Tests and
	// the fake cloud put theirs here.
	Next http.RoundTripper
	// Tries is how often a read is tried at once, in all; default 3.
	Tries int
	// Timeout bounds each try, connecting and reading the body included; default
	// 20 s. A caller with less time puts a deadline on its context.
	Timeout time.Duration
	// PerSecond limits the calls of all goroutines together, with bursts of up to
	// Burst (default 1); 0 is no limit.
	PerSecond float64
	Burst     int
	// MaxPace is the longest that a call waits for its turn under PerSecond;
	// default 10 s. Beyond it the call fails with a *guard.RetryError.
	MaxPace time.Duration
	// MaxBody is the size of a reply that is no longer believed; default 64 MiB.
	MaxBody int64
}

// Transport is how every adapter reaches its cloud. One Transport serves one
// account, all goroutines of it together.
//
//   - A read that meets a broken connection or a 5xx is tried again at once, a
//     bounded number of times. It never waits between tries: a reply that asks
//     for a wait is handed up.
//   - A write is sent once. Where its reply is lost the error is
//     guard.ErrUncertain; where nothing was sent it is guard.ErrUnavailable.
//   - A cancelled context makes no call. Redirects are followed for reads within
//     one host only.
//   - A page of HTML where an API should answer is guard.ErrBadReply, and so
//     never mistaken for "not found" or for an empty list.
//   - Errors carry the method, the host and a sentence of ours; nothing of the
//     URL's path and query, of headers or of bodies.
type Transport struct {
	client *retryablehttp.Client
}

// NewTransport makes a transport.
func NewTransport(cfg TransportConfig) *Transport {
	ex := &exchange{next: cfg.Next, timeout: cfg.Timeout, maxBody: cfg.MaxBody, maxPace: cfg.MaxPace}
	if ex.next == nil {
		ex.next = pooled()
	}
	if ex.timeout <= 0 {
		ex.timeout = 20 * time.Second
	}
	if ex.maxBody <= 0 {
		ex.maxBody = 64 << 20
	}
	if ex.maxPace <= 0 {
		ex.maxPace = 10 * time.Second
	}
	if cfg.PerSecond > 0 {
		ex.limiter = rate.NewLimiter(rate.Limit(cfg.PerSecond), max(cfg.Burst, 1))
	}
	tries := cfg.Tries
	if tries <= 0 {
		tries = 3
	}
	return &Transport{client: &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: ex, CheckRedirect: followRedirect},
		RetryMax:     tries - 1,
		CheckRetry:   checkRetry,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return 0 },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		// Logger stays nil: it would print URLs with their secrets.
	}}
}

func pooled() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // somebody replaced it, and means it
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 8
	t.MaxResponseHeaderBytes = 1 << 20
	return t
}

// Do makes one call. It answers with a response for every status, so that SDKs
// can decode their own errors; its body is read already and need not be closed.
// Errors are redacted and wrap a guard error kind. Do has the shape that SDKs
// ask for as their HTTP client, and leaks less there than Client.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, failure(req, &exchangeError{what: "cancelled before the call", cause: err})
	}
	// CheckRetry sees no request where a call failed: it learns from the context.
	if isRead(req) {
		ctx = Read(ctx)
	} else {
		ctx = Write(ctx)
	}
	req = req.WithContext(ctx)
	if req.Body == http.NoBody {
		req.Body = nil
	}
	again, err := retryablehttp.FromRequest(req)
	if err != nil {
		return nil, failure(req, &exchangeError{what: "the request's body cannot be read"})
	}
	resp, err := t.client.Do(again)
	if err != nil {
		return nil, failure(req, err)
	}
	if err := notAnAPI(req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// Client is the transport as an *http.Client, for SDKs that take nothing else.
// Such a client puts the whole URL into its errors: pass them through Redact.
func (t *Transport) Client() *http.Client {
	return &http.Client{
		Transport:     roundTrip(t.Do),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// followRedirect keeps credentials and data on the host they were meant for.
func followRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 5 || !isRead(first) || req.Method != first.Method ||
		req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// checkRetry repeats reads only, and only what may pass by itself at once: not
// a time-out, whose time is spent, and not a reply that asks for a wait.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil || ctx.Value(intentKey{}) != intentRead {
		return false, nil
	}
	if err != nil {
		var e *exchangeError
		return errors.As(err, &e) && e.passing, nil
	}
	if resp.StatusCode < 500 {
		return false, nil
	}
	_, wait := waitOf(resp)
	return !wait, nil
}
