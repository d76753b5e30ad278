package slack

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	api "github.com/slack-go/slack"

	"guard"
)

const (
	// maxReply bounds an answer; a page of history is the longest.
	maxReply = 8 << 20
	// retryAfter is the wait where Slack throttles without saying how long, longest
	// the one that is believed: beyond it guard asks again anyway.
	retryAfter = 30 * time.Second
	longest    = time.Hour
)

// rim is the HTTP client below slack-go: time-outs, no redirects, bounded
// answers, and a Retry-After that the library can read.
type rim struct{ client *http.Client }

func newRim(rt http.RoundTripper) *rim {
	if rt == nil {
		rt = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: timeout,
			IdleConnTimeout:       time.Minute,
			MaxIdleConns:          2,
			ForceAttemptHTTP2:     true,
		}
	}
	return &rim{&http.Client{
		Transport: rt,
		Timeout:   timeout,
		// The form has the token: it goes to the configured host and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errUnsaid is an answer that says neither yes nor no.
var errUnsaid = errors.New("neither ok nor an error")

// Do implements the library's client.
func (r *rim) Do(req *http.Request) (*http.Response, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	// The library takes an answer for a success that has no "ok" in it.
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if resp.StatusCode == http.StatusOK && (json.NewDecoder(bytes.NewReader(body)).Decode(&said) != nil || !said.OK && said.Error == "") {
		return nil, errUnsaid
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		wait := retryAfter
		if n, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64); err == nil && n > 0 {
			wait = time.Duration(min(n, int64(longest/time.Second))) * time.Second
		}
		resp.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	}
	return resp, nil
}

// kinds says what Slack's error codes mean for guard (docs.slack.dev/reference/
// methods/chat.postMessage). A code that is not here refuses the one message.
var kinds = map[string]error{
	"channel_not_found": guard.ErrNotFound,
	"is_archived":       guard.ErrNotFound,

	"not_in_channel":                           guard.ErrPermission,
	"invalid_auth":                             guard.ErrPermission,
	"not_authed":                               guard.ErrPermission,
	"account_inactive":                         guard.ErrPermission,
	"token_revoked":                            guard.ErrPermission,
	"token_expired":                            guard.ErrPermission,
	"missing_scope":                            guard.ErrPermission,
	"no_permission":                            guard.ErrPermission,
	"not_allowed_token_type":                   guard.ErrPermission,
	"access_denied":                            guard.ErrPermission,
	"org_login_required":                       guard.ErrPermission,
	"ekm_access_denied":                        guard.ErrPermission,
	"two_factor_setup_required":                guard.ErrPermission,
	"accesslimited":                            guard.ErrPermission,
	"restricted_action":                        guard.ErrPermission,
	"restricted_action_read_only_channel":      guard.ErrPermission,
	"restricted_action_non_threadable_channel": guard.ErrPermission,
	"restricted_action_thread_only_channel":    guard.ErrPermission,
	"messages_tab_disabled":                    guard.ErrPermission,
	"team_access_not_granted":                  guard.ErrPermission,
	"enterprise_is_restricted":                 guard.ErrPermission,

	"thread_not_found":                guard.ErrConflict,
	"message_not_found":               guard.ErrConflict,
	"restricted_action_thread_locked": guard.ErrConflict,
	"cannot_reply_to_message":         guard.ErrConflict,

	"ratelimited":            guard.ErrThrottled,
	"rate_limited":           guard.ErrThrottled,
	"message_limit_exceeded": guard.ErrThrottled,

	// Some of it may have been done before Slack failed, as it says itself.
	"fatal_error":         guard.ErrUncertain,
	"internal_error":      guard.ErrUncertain,
	"service_unavailable": guard.ErrUncertain,
	"request_timeout":     guard.ErrUncertain,
}

// todo is what a person can do about a code.
var todo = map[string]string{
	"channel_not_found": "check notify.slack.channel, and invite the bot where it is private",
	"not_in_channel":    "invite the bot to the channel",
	"is_archived":       "unarchive the channel or configure another one",
	"invalid_auth":      "check the bot's token",
	"not_authed":        "check the bot's token",
	"account_inactive":  "the bot's user is deactivated; install the app again",
	"token_revoked":     "install the app again and give guard the new token",
	"token_expired":     "give guard a new token",
	"missing_scope":     "add the scope to the app and install it again: chat:write to post, channels:history and channels:read to look posts up",
}

func code(err error) string {
	var e api.SlackErrorResponse
	if errors.As(err, &e) {
		return e.Err
	}
	return ""
}

// explain turns an error of the library into one of ours. Its text is never
// taken over: a URL, a form or an answer may be in it, and the form has the token.
func explain(verb, target string, err error) error {
	what := verb + " slack " + target
	if c := code(err); c != "" {
		c = word(c)
		kind, known := kinds[c]
		if !known {
			kind = guard.ErrInvalid
		}
		text := fmt.Errorf("%w: %s: slack says %s", kind, what, c)
		if t := todo[c]; t != "" {
			text = fmt.Errorf("%w; %s; guard keeps the message and tries again", text, t)
		}
		if kind == guard.ErrThrottled {
			return &guard.RetryError{Err: text, After: retryAfter}
		}
		return text
	}
	var limited *api.RateLimitedError
	if errors.As(err, &limited) {
		return &guard.RetryError{Err: fmt.Errorf("%w: %s: slack answers 429", guard.ErrThrottled, what), After: limited.RetryAfter}
	}
	var status api.StatusCodeError
	if errors.As(err, &status) {
		switch {
		case status.Code >= 500 || status.Code == http.StatusRequestTimeout:
			return fmt.Errorf("%w: %s: slack answers %d", guard.ErrUncertain, what, status.Code)
		case status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden || status.Code == http.StatusProxyAuthRequired:
			return fmt.Errorf("%w: %s: the server answers %d; check the token, and what stands between guard and Slack", guard.ErrPermission, what, status.Code)
		}
		return fmt.Errorf("%w: %s: the server answers %d; check notify.slack.endpoint, and what stands between guard and Slack", guard.ErrNotFound, what, status.Code)
	}
	if class, unsent := broken(err); class != "" {
		if unsent {
			return fmt.Errorf("%w: %s: %s; guard keeps the message and tries again", guard.ErrUnavailable, what, class)
		}
		return fmt.Errorf("%w: %s: %s; guard looks for the message before it posts it again", guard.ErrUncertain, what, class)
	}
	return fmt.Errorf("%w: %s: %w: the answer is not Slack's JSON, or only part of it; check notify.slack.endpoint, and any proxy or login page in between", guard.ErrUncertain, what, guard.ErrBadReply)
}

// explainEdit is explain where a post was to be replaced, which can be done again.
func explainEdit(target string, err error) error {
	switch code(err) {
	case "message_not_found":
		return fmt.Errorf("%w: edit in slack %s: the post is not there any more", guard.ErrNotFound, target)
	case "edit_window_closed", "cant_update_message":
		return fmt.Errorf("%w: edit in slack %s: slack says %s; the workspace lets no app change what it has posted, or not for long", guard.ErrUnsupported, target, code(err))
	}
	return explain("edit in", target, err)
}

// broken names the class of a failed exchange; unsent tells that the request
// never left. "" where there was an answer.
func broken(err error) (class string, unsent bool) {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var link *url.Error
	switch {
	case errors.As(err, &dns):
		return "its name cannot be resolved", true
	case errors.As(err, &op) && op.Op == "dial":
		return "no connection", true
	case errors.As(err, &cert):
		return "its certificate is not trusted", true
	case errors.Is(err, context.Canceled):
		return "given up in between", false
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &link) && link.Timeout():
		return "no answer in time", false
	case errors.As(err, &link), errors.As(err, &op):
		return "the connection broke", false
	}
	return "", false
}

// word keeps an error code from outside short and harmless.
func word(s string) string {
	for i, r := range s {
		if i == 60 || r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "an unreadable error"
		}
	}
	return s
}
