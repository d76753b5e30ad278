package providers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"guard"
)

// CallError is a call that failed, in words of ours. It unwraps to its kinds
// (and to the context's error, where that ended the call), never to an error
// that could hold a URL.
type CallError struct {
	Method string
	Host   string
	Status int // 0 where there was no reply
	What   string

	kinds []error
}

// Error is "GET api.example.com: status 403: permission denied: …".
func (e *CallError) Error() string {
	var b strings.Builder
	if e.Host != "" {
		fmt.Fprintf(&b, "%s %s: ", e.Method, e.Host)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d: ", e.Status)
	}
	if len(e.kinds) > 0 {
		fmt.Fprintf(&b, "%v: ", e.kinds[0])
	}
	b.WriteString(e.What)
	return b.String()
}

// Unwrap gives the kinds.
func (e *CallError) Unwrap() []error { return e.kinds }

// KindOf is the error kind of an HTTP status; nil for success. Adapters whose
// API says more in its body look there first.
func KindOf(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return guard.ErrPermission
	case status == http.StatusPaymentRequired, status == http.StatusUnavailableForLegalReasons:
		return guard.ErrRefused
	case status == http.StatusNotFound, status == http.StatusGone:
		return guard.ErrNotFound
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusProxyAuthRequired:
		return guard.ErrUnavailable
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return guard.ErrConflict
	case status == http.StatusLocked:
		return guard.ErrProtected
	case status == http.StatusTooManyRequests:
		return guard.ErrThrottled
	case status >= 400 && status < 500:
		return guard.ErrInvalid
	case status >= 500 && status < 600:
		return guard.ErrUnavailable
	}
	return guard.ErrBadReply
}

// says is what a person can make of a kind.
var says = map[error]string{
	guard.ErrPermission:  "these credentials may not do that; check the key and its permissions",
	guard.ErrRefused:     "the provider refuses; look at the account's balance and standing",
	guard.ErrNotFound:    "the provider knows no such thing",
	guard.ErrUnavailable: "the provider failed; guard tries again",
	guard.ErrConflict:    "another operation or state stands in the way; guard tries again",
	guard.ErrProtected:   "the provider's own protection is on; lift it there if this should go",
	guard.ErrThrottled:   "too many calls; guard slows down",
	guard.ErrInvalid:     "the provider does not accept the request",
	guard.ErrBadReply:    "this is not an answer of the API; check the endpoint",
}

// StatusError is the error of a response whose status is not a success, with
// the wait that its headers or body ask for as a *guard.RetryError; nil for a
// success. Nothing of the body is in it. A write that a gateway lost (408, 502,
// 504) is guard.ErrUncertain as well.
func StatusError(resp *http.Response, body []byte) error {
	kind := KindOf(resp.StatusCode)
	if kind == nil {
		return nil
	}
	return statusError(resp, body, kind)
}

// statusError is the error of a response, of a kind that the status or the body tells.
func statusError(resp *http.Response, body []byte, kind error) error {
	e := &CallError{Status: resp.StatusCode, What: says[kind], kinds: []error{kind}}
	read := true
	if resp.Request != nil {
		e.Method, e.Host = resp.Request.Method, hostOf(resp.Request)
		read = isRead(resp.Request)
	}
	if kind == guard.ErrBadReply && resp.StatusCode/100 == 3 {
		e.What = "the endpoint points elsewhere, and credentials follow no redirect; write into the configuration where the API is"
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		if !read {
			e.kinds = append(e.kinds, guard.ErrUncertain)
			e.What = "a gateway lost the reply; guard looks before it tries again"
		}
	}
	if kind == guard.ErrBadReply && !read { // a redirect may come before or after the deed
		e.kinds = append(e.kinds, guard.ErrUncertain)
	}
	if after, ok := Hint(resp, body); ok {
		return &guard.RetryError{Err: e, After: after}
	}
	return e
}

// failure turns the error of a call without a response into a CallError.
func failure(req *http.Request, err error) error {
	var x *exchangeError
	if !errors.As(err, &x) {
		// http.Client itself refused: a bad URL or header. Its text quotes them.
		x = &exchangeError{what: "the request cannot be made", kind: guard.ErrInvalid}
		if cause := req.Context().Err(); cause != nil {
			x = &exchangeError{what: "cancelled during the call", cause: cause, sent: true}
		}
	}
	kind := x.kind
	if kind == nil {
		kind = guard.ErrUnavailable
	}
	what := x.what
	if x.sent && !isRead(req) {
		kind = guard.ErrUncertain
		what += "; whether it was done is not known"
	}
	e := &CallError{Method: req.Method, Host: hostOf(req), What: what, kinds: []error{kind}}
	if x.kind != nil && kind != x.kind {
		e.kinds = append(e.kinds, x.kind)
	}
	if x.cause != nil {
		e.kinds = append(e.kinds, x.cause)
	}
	if x.after > 0 {
		return &guard.RetryError{Err: e, After: x.after}
	}
	return e
}

// badReply is a reply that came and cannot be what the API promises. After a
// write it leaves open what happened.
func badReply(req *http.Request, status int, what string) error {
	e := &CallError{Method: req.Method, Host: hostOf(req), Status: status, What: what, kinds: []error{guard.ErrBadReply}}
	if !isRead(req) {
		e.kinds = append(e.kinds, guard.ErrUncertain)
	}
	return e
}

// notAnAPI refuses a page for people where an API should speak: proxies, login
// portals and parked domains answer with status 200 or 404 too, and neither
// says anything of the cloud.
func notAnAPI(req *http.Request, resp *http.Response) error {
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	lost := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone
	if !ok && !lost {
		return nil
	}
	body, err := peek(resp)
	if err != nil || !isHTML(resp.Header, body) {
		return nil
	}
	return badReply(req, resp.StatusCode, "a web page answered instead of the API; check the endpoint and any proxy or login page in between")
}

func isHTML(h http.Header, body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	head := bytes.ToLower(body[:min(len(body), 64)])
	for _, start := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	// Some APIs label JSON or XML as HTML; what the body is decides.
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") && len(body) > 0 &&
		!bytes.HasPrefix(head, []byte("{")) && !bytes.HasPrefix(head, []byte("[")) && !bytes.HasPrefix(head, []byte("<?xml"))
}

// peek reads a body that is in memory already and puts it back.
func peek(resp *http.Response) ([]byte, error) {
	body, err := readAll(resp.Body, resp.ContentLength)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func hostOf(req *http.Request) string {
	if req.URL == nil {
		return "?"
	}
	return Text(req.URL.Hostname(), 100)
}
