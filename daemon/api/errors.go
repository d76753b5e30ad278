package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"guard"
	"guard/daemon/wire"
)

// kinds is the one table from the kind of an error to the word and the HTTP
// status for it. The first that matches counts.
var kinds = []struct {
	err    error
	word   string
	status int
}{
	{guard.ErrDamaged, wire.KindDamaged, http.StatusInternalServerError},
	{guard.ErrAccount, wire.KindAccount, http.StatusConflict},
	{guard.ErrProtected, wire.KindProtected, http.StatusLocked},
	{guard.ErrPermission, wire.KindPermission, http.StatusForbidden},
	{guard.ErrThrottled, wire.KindThrottled, http.StatusTooManyRequests},
	{guard.ErrUncertain, wire.KindUncertain, http.StatusGatewayTimeout},
	{guard.ErrBadReply, wire.KindBadReply, http.StatusBadGateway},
	{guard.ErrUnavailable, wire.KindUnavailable, http.StatusServiceUnavailable},
	{guard.ErrUnsupported, wire.KindUnsupported, http.StatusNotImplemented},
	{guard.ErrLocked, wire.KindLocked, http.StatusConflict},
	{guard.ErrCurrency, wire.KindCurrency, http.StatusBadRequest},
	{guard.ErrInvalid, wire.KindInvalid, http.StatusBadRequest},
	{guard.ErrNotFound, wire.KindNotFound, http.StatusNotFound},
	{guard.ErrConflict, wire.KindConflict, http.StatusConflict},
	{guard.ErrRefused, wire.KindRefused, http.StatusForbidden},
}

// fault is an error that the API itself finds: a kind, a sentence, and what to do.
type fault struct {
	kind    error
	text    string
	hint    string
	details []string
}

// Error is the sentence.
func (f *fault) Error() string { return f.text }

// Unwrap is the kind.
func (f *fault) Unwrap() error { return f.kind }

func faultf(kind error, format string, args ...any) *fault {
	return &fault{kind: kind, text: fmt.Sprintf(format, args...)}
}

// hinted adds what the person can do.
func (f *fault) hinted(format string, args ...any) *fault {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

type wireError = wire.Error

// problem is an error on its way out.
type problem struct {
	wireError
	status int
}

// GetStatus is the HTTP status.
func (p *problem) GetStatus() int { return p.status }

// ContentType keeps errors plain JSON like everything else.
func (p *problem) ContentType(string) string { return "application/json" }

func newProblem(err error) *problem {
	p := &problem{wireError{Kind: wire.KindInternal, Message: err.Error()}, http.StatusInternalServerError}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			p.Kind, p.status = k.word, k.status
			p.Message = bare(err, k.err)
			break
		}
	}
	var f *fault
	if errors.As(err, &f) {
		p.Hint, p.Details = f.hint, f.details
	}
	return p
}

// bare is the sentence of an error without the word of its kind, which says
// nothing beside it, wherever the wrapping has put it.
func bare(err, kind error) string {
	text, word := err.Error(), kind.Error()+": "
	for e := err; e != nil; e = errors.Unwrap(e) {
		// Of a chain only its innermost link begins with the word.
		if inner := e.Error(); strings.HasPrefix(inner, word) && strings.HasSuffix(text, inner) {
			return strings.TrimSuffix(text, inner) + strings.TrimPrefix(inner, word)
		}
	}
	return strings.TrimPrefix(text, word)
}

// fail is the answer to an error of a handler. What is nobody's mistake outside
// goes to the log, too.
func (s *server) fail(verb string, err error) error {
	p := newProblem(err)
	if p.status == http.StatusInternalServerError {
		s.Log.Error("api request failed", "verb", verb, "error", err.Error())
	}
	return p
}

func writeProblem(w http.ResponseWriter, p *problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(p.wireError) // the caller is gone if this fails
}

// init gives huma's own complaints (a body that is no JSON, an unknown field)
// the same shape. huma has only this package-wide variable for it.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := &problem{wireError{Kind: wire.KindInternal, Message: msg}, status}
		switch {
		case status == http.StatusNotFound:
			p.Kind = wire.KindNotFound
		case status == http.StatusRequestTimeout:
			// Nothing is wrong with what was sent: it may be sent again, in smaller parts.
			p.Kind, p.Message = wire.KindUnavailable, fmt.Sprintf("the request came too slowly, and was not read: it may take %s", slowest)
		case status == http.StatusUnprocessableEntity:
			p.Kind, p.status = wire.KindInvalid, http.StatusBadRequest
		case status >= 400 && status < 500:
			p.Kind = wire.KindInvalid
		}
		for _, err := range errs {
			if err != nil {
				p.Details = append(p.Details, complaint(err))
			}
		}
		return p
	}
}

// complaint is one of huma's, with the value that it is about but never the whole body:
// that may be large, or hold what is nobody's business.
func complaint(err error) string {
	d, ok := errors.AsType[*huma.ErrorDetail](err)
	switch {
	case !ok:
		return err.Error()
	case d.Location == "body":
		return d.Message + " (body)"
	}
	return fmt.Sprintf("%s (%s: %s)", d.Message, d.Location, clip(fmt.Sprint(d.Value)))
}

// clip keeps an error readable when the value in it came from outside.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
