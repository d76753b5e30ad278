package providers

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"guard"
)

// exchange is one try: its turn under the rate limit, its time-out, and the
// whole body read, so that a reply that breaks off is a failed call.
type exchange struct {
	next    http.RoundTripper
	limiter *rate.Limiter
	maxPace time.Duration
	timeout time.Duration
	maxBody int64
}

// maxGrow is the most memory that a reply gets on its word.
const maxGrow = 1 << 20

// exchangeError is why a try gave no response. It has no text from outside.
type exchangeError struct {
	what    string
	kind    error         // a guard error kind; nil: by what happened
	cause   error         // context.Canceled or DeadlineExceeded, where that is why
	sent    bool          // something may have reached the other side
	passing bool          // worth trying again at once
	after   time.Duration // how long to wait
}

func (e *exchangeError) Error() string { return e.what }

func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := x.pace(req.Context()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), x.timeout)
	defer cancel()

	// A custom round tripper knows nothing of traces: then only the error tells
	// whether there was a connection.
	var dialling, connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { dialling.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	resp, err := x.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		e := diagnose(req.Context(), err)
		if dialling.Load() {
			e.sent = connected.Load()
		}
		return nil, e
	}
	defer resp.Body.Close()
	noteServerTime(ctx, resp.Header)
	if _, err := resp.Location(); err != nil {
		resp.Header.Del("Location") // http.Client would quote it in an error
	}
	body, err := readAll(io.LimitReader(resp.Body, x.maxBody+1), min(resp.ContentLength, x.maxBody))
	if err != nil {
		e := diagnose(req.Context(), err)
		e.sent = true
		return nil, e
	}
	if int64(len(body)) > x.maxBody {
		return nil, &exchangeError{what: "the reply is too large to be one", kind: guard.ErrBadReply, sent: true}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// readAll reads to the end, of about so many bytes; a negative number is not known.
func readAll(r io.Reader, about int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(about, 0), maxGrow)) + bytes.MinRead)
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// pace waits for the call's turn, a bounded time.
func (x *exchange) pace(ctx context.Context) error {
	if x.limiter == nil {
		return nil
	}
	turn := x.limiter.Reserve()
	wait := turn.Delay()
	if wait > x.maxPace {
		turn.Cancel()
		return &exchangeError{what: "too many calls are waiting under guard's own rate limit", kind: guard.ErrThrottled, after: wait}
	}
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return &exchangeError{what: "cancelled before the call", cause: ctx.Err()}
	}
}

// diagnose sorts an error of the network into one of our own sentences. It
// assumes that something was sent unless the error proves that there was no
// connection.
func diagnose(ctx context.Context, err error) *exchangeError {
	e := &exchangeError{sent: true, passing: true}
	var (
		dns      *net.DNSError
		op       *net.OpError
		cert     *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		timeout  interface{ Timeout() bool }
	)
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		e.sent = false
	}
	switch {
	case ctx.Err() != nil:
		e.what, e.cause, e.passing = "cancelled during the call", ctx.Err(), false
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.what = "no reply in time"
		}
	case errors.As(err, &dns):
		e.what, e.sent = "the host's name does not resolve", false
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &hostname):
		e.what, e.sent, e.passing = "the host's TLS certificate is not trusted", false, false
	case errors.As(err, &record):
		e.what, e.sent, e.passing = "the host does not speak TLS", false, false
	case errors.Is(err, syscall.ECONNREFUSED):
		e.what, e.sent = "connection refused", false
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.what, e.passing = "no reply in time", false
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		e.what = "the network is unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.what = "the connection broke"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.what = "the reply broke off"
	case !e.sent:
		e.what = "no connection"
	default:
		e.what = "the call failed on the network"
	}
	return e
}
