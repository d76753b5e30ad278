package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"guard"
)

// API speaks JSON to one base URL, through a Transport.
type API struct {
	Transport *Transport
	// Base is the URL that paths are put behind.
	Base string
	// Sign puts the credentials into a request's headers; nil for none.
	Sign func(*http.Request) error
	// Kind, where set, tells the error kind of a reply that is not a success by its body,
	// where that says more than the status does; nil leaves it to the status. So a 404
	// that is not the API's own becomes guard.ErrBadReply.
	Kind func(status int, body []byte) error
}

// Get reads: out is filled from the reply. The path is given in its segments,
// so that an ID with a slash or a dot in it stays one segment.
func (a API) Get(ctx context.Context, out any, query url.Values, path ...string) error {
	return a.Call(Read(ctx), http.MethodGet, query, nil, out, path...)
}

// Call makes any call. A nil in sends no body; a nil out ignores the reply's.
// Whether it may be repeated is the context's to say (Read, Write), else the
// method's. A status that is not a success is StatusError; a body that is not
// the JSON that out wants is guard.ErrBadReply.
func (a API) Call(ctx context.Context, method string, query url.Values, in, out any, path ...string) error {
	req, err := a.request(ctx, method, query, in, path)
	if err != nil {
		return err
	}
	resp, err := a.Transport.Do(req) //nolint:bodyclose // Do has read and closed it
	if err != nil {
		return err
	}
	body, err := readAll(resp.Body, resp.ContentLength)
	if err != nil {
		return failure(req, &exchangeError{what: "the reply broke off", sent: true})
	}
	// The transport decided on read or write by req, whose context StatusError
	// must see.
	resp.Request = req
	if err := a.refusal(resp, body); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if what := decode(body, out); what != "" {
		return badReply(req, resp.StatusCode, what)
	}
	return nil
}

// refusal is the error of a response that is not a success; nil for a success.
func (a API) refusal(resp *http.Response, body []byte) error {
	if kind := KindOf(resp.StatusCode); kind != nil && a.Kind != nil {
		return statusError(resp, body, cmp.Or(a.Kind(resp.StatusCode, body), kind))
	}
	return StatusError(resp, body)
}

func (a API) request(ctx context.Context, method string, query url.Values, in any, path []string) (*http.Request, error) {
	target := strings.TrimRight(a.Base, "/")
	for _, s := range path {
		if s == "" || s == "." || s == ".." {
			return nil, fmt.Errorf("%w: %q cannot be part of a URL; check the ID", guard.ErrInvalid, s)
		}
		target += "/" + url.PathEscape(s)
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("%w: the request has no JSON form", guard.ErrInvalid)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is not a URL; write it as https://HOST", guard.ErrInvalid)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "guard")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.Sign != nil {
		if err := a.Sign(req); err != nil {
			return nil, Redact(err)
		}
	}
	return req, nil
}

// decode fills out and says what is wrong with the body; "" if nothing is. It
// quotes nothing of it.
func decode(body []byte, out any) string {
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return "the reply is null"
	}
	err := json.Unmarshal(body, out)
	if err == nil {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	var raw json.RawMessage
	switch err := dec.Decode(&raw); {
	case errors.Is(err, io.EOF):
		return "the reply is empty"
	case err != nil:
		return "the reply is not whole JSON"
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "the reply is more than one JSON value"
	}
	return "the reply is JSON of another shape"
}
