package providers

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"guard"
)

// Text makes text from outside safe to keep and to show: valid UTF-8, no control
// characters, at most most runes (an ellipsis marks the cut).
func Text(s string, most int) string {
	if len(s) > 4*most { // a rune has at most four bytes; do not walk megabytes
		s = strings.ToValidUTF8(s[:4*most], "") + "…"
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:most-1]) + "…"
}

// redactedError has the kinds of an error and a text without its secrets.
type redactedError struct {
	text  string
	kinds []error
}

func (e *redactedError) Error() string   { return e.text }
func (e *redactedError) Unwrap() []error { return e.kinds }

// kinds are what survives of an error's chain.
var kinds = []error{
	guard.ErrInvalid, guard.ErrNotFound, guard.ErrConflict, guard.ErrRefused, guard.ErrPermission,
	guard.ErrProtected, guard.ErrThrottled, guard.ErrUnavailable, guard.ErrUncertain, guard.ErrBadReply,
	guard.ErrAccount, guard.ErrUnsupported, guard.ErrCurrency, context.Canceled, context.DeadlineExceeded,
}

// Redact takes the secrets out of an error that came from elsewhere, an SDK
// say: URLs shrink to their host, the given secrets and what looks like one go,
// the length is bounded. Of the chain only guard's error kinds, the context's
// errors, a *CallError and a wait survive, for nobody can print what is not
// there. Nil stays nil.
func Redact(err error, secrets ...guard.Secret) error {
	if err == nil {
		return nil
	}
	out := &redactedError{text: Scrub(err.Error(), secrets...)}
	for _, k := range kinds {
		if errors.Is(err, k) {
			out.kinds = append(out.kinds, k)
		}
	}
	var call *CallError
	if errors.As(err, &call) {
		out.kinds = append(out.kinds, call)
	}
	if after, ok := guard.RetryAfter(err); ok {
		return &guard.RetryError{Err: out, After: after}
	}
	return out
}

const blot = "[redacted]"

var (
	urls = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)(?:[^\s/"'<>@]*@)?([^\s/"'<>?#@]*)[^\s"'<>]*`)
	// name=value and "name": "value" where the name says that it is secret.
	named = regexp.MustCompile(`(?i)((?:[a-z0-9_.-]*(?:authorization|token|secret|password|passwd|signature|credential|api[-_]?key|access[-_]?key|cookie|session)[a-z0-9_.-]*)["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)([^\s"',;&}]+)`)
	// Forms that are secret wherever they stand: bearer tokens, AWS key IDs, the
	// tokens of GitHub, Slack and OpenAI-like APIs, JWTs, and anything long and
	// opaque.
	forms = regexp.MustCompile(`(?i:\b(?:bearer|basic)\s+\S+)|\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|\b(?:gh[pousr]_|xox[a-z]-|xapp-|sk-|rpa_)[A-Za-z0-9_-]{8,}|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*|[A-Za-z0-9+/_=-]{48,}`)
)

// mostScrubbed is how many bytes of a text are looked through: the expressions
// need seconds for a megabyte, and 500 characters are shown.
const mostScrubbed = 16 << 10

// Scrub takes out of a text what Redact takes out of an error's.
func Scrub(text string, secrets ...guard.Secret) string {
	for _, s := range secrets {
		if v := s.Reveal(); v != "" {
			text = strings.ReplaceAll(text, v, blot)
		}
	}
	if len(text) > mostScrubbed {
		text = text[:mostScrubbed]
		text = text[:strings.LastIndexAny(text, " \t\n")+1] // no half of a secret stays
	}
	text = urls.ReplaceAllString(text, "$1$2")
	text = named.ReplaceAllString(text, "$1"+blot)
	text = forms.ReplaceAllString(text, blot)
	return Text(text, 500)
}
