package url

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"guard"
	"guard/providers"
)

// service is what differs between services that take JSON over HTTP.
type service struct {
	// form is how its address is written.
	form string
	// open: it may be reached over plain HTTP in a network of one's own; its address
	// need not hold a token.
	open bool
	// pace is the least time between two posts; 0: each message is posted alone, for it
	// means something to a program, not to a reader.
	pace time.Duration
	room room
	// rest is how long it is left alone when it throttles without saying how long.
	rest time.Duration
	// make reads the address, and tells how a request to it is built.
	make func(a *address) (build, error)
	// read tells what a body says; false: it is no answer of the service.
	read func(body []byte) (reply, bool)
	// once reports whether posting the message again changes nothing; nil: never.
	once func(m guard.Message) bool
	// todo is what a person can do about a refusal, by its kind.
	todo map[error]string
}

// post is one message on its way.
type post struct {
	at time.Time
	guard.Message
	filled // its text
	// under is the thread that it belongs to; "": none.
	under string
}

// build makes the request of a post.
type build func(p post) request

// request is what is posted.
type request struct {
	to     string
	header map[string]string
	user   *url.Userinfo
	body   any
	// thread is what the service's ID of the message becomes a thread by; "" where it
	// has no threads.
	thread func(receipt string) string
}

// reply is what an answer says.
type reply struct {
	// receipt is the service's own ID of the message; "" where it tells none.
	receipt string
	// kind is what its refusal means; nil: it took the message, or the status tells.
	kind error
	code string // of the refusal
}

// channel posts JSON to a service.
type channel struct {
	about
	service   *service
	build     build // it alone knows the address
	transport *providers.Transport
}

// limited is a channel whose service bounds its posts.
type limited struct{ *channel }

// Pace is how far posts must be apart.
func (c *limited) Pace() time.Duration { return c.service.pace }

// Fits reports whether m is posted uncut.
func (c *limited) Fits(m guard.Message) bool { return c.service.room.fill(m).whole }

// Find reports that the message is not there where posting it again changes nothing;
// elsewhere it is ErrUnsupported.
func (c *channel) Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error) {
	if c.service.once != nil && c.service.once(m) {
		return guard.Posted{}, false, nil
	}
	return c.about.Find(ctx, m, thread)
}

// Check tells what only a post can tell.
func (c *channel) Check(context.Context) (string, error) {
	return fmt.Sprintf("%s; guardd notify test %s tells whether it takes a message", c.Place(), c.name), nil
}

// Post posts the message, once.
func (c *channel) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	out := c.build(post{wallOf(ctx, m), m, c.service.room.fill(m), thread})
	req, err := out.http(ctx)
	if err != nil {
		return guard.Posted{}, fmt.Errorf("%w: post to %s: %w", guard.ErrInvalid, c.name, err)
	}
	resp, err := c.transport.Do(req) //nolint:bodyclose // Do has read and closed it
	if err != nil {
		return guard.Posted{}, fmt.Errorf("post to %s: %w", c.name, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return guard.Posted{}, fmt.Errorf("%w: post to %s: the answer broke off", guard.ErrUncertain, c.name)
	}
	said, ok := c.service.read(body)
	if taken := resp.StatusCode >= 200 && resp.StatusCode < 300; taken && !ok {
		return guard.Posted{}, fmt.Errorf("%w: post to %s: %w: this is no answer of %s; check the address, and any proxy in between",
			guard.ErrUncertain, c.name, guard.ErrBadReply, c.about.service)
	} else if !taken || said.kind != nil {
		return guard.Posted{}, c.refusal(resp, body, said)
	}
	posted := guard.Posted{Receipt: said.receipt}
	if posted.Receipt == "" {
		posted.Receipt = m.ID
	}
	if out.thread != nil {
		posted.Thread = out.thread(posted.Receipt)
	}
	return posted, nil
}

// wallOf is the time of the post.
func wallOf(ctx context.Context, m guard.Message) time.Time {
	if at, ok := guard.InstantFrom(ctx); ok {
		return at.Wall
	}
	return m.CreatedAt
}

// http is the request. An error repeats nothing of it.
func (r request) http(ctx context.Context) (*http.Request, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the services count bytes
	if err := enc.Encode(r.body); err != nil {
		return nil, errors.New("the message has no JSON form")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.to, &b)
	if err != nil {
		return nil, errors.New("the address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "guard")
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	if r.user != nil {
		password, _ := r.user.Password()
		req.SetBasicAuth(r.user.Username(), password)
	}
	return req, nil
}

// refusal is the error of an answer that is not a yes. Of the answer's text only a code is
// taken over.
func (c *channel) refusal(resp *http.Response, body []byte, said reply) error {
	kind := said.kind
	if kind == nil {
		kind = kindOf(resp.StatusCode)
	}
	answer := fmt.Sprintf("HTTP %d", resp.StatusCode)
	if said.code != "" {
		answer = word(said.code)
	}
	err := fmt.Errorf("%w: post to %s: %s answers %s", kind, c.name, c.about.service, answer)
	if todo := c.todo(kind); todo != "" {
		err = fmt.Errorf("%w; %s", err, todo)
	}
	if !errors.Is(kind, guard.ErrThrottled) {
		return err
	}
	after, ok := providers.Hint(resp, body)
	if !ok {
		after = max(c.service.rest, resting)
	}
	return &guard.RetryError{Err: err, After: after}
}

// resting is how long a service is left alone that throttles without saying how long.
const resting = 30 * time.Second

func (c *channel) todo(kind error) string {
	if t := c.service.todo[kind]; t != "" {
		return t
	}
	return map[error]string{
		guard.ErrPermission: "check the address and what it may do",
		guard.ErrNotFound:   "the service knows no such address; give guard a new one under notify.urls",
	}[kind]
}

// kindOf is what a status means that is not a success. Unlike a read's, the failure of a
// post may come after it was stored.
func kindOf(status int) error {
	switch {
	case status >= 300 && status < 400, status == http.StatusNotFound, status == http.StatusGone, status == http.StatusMethodNotAllowed:
		return guard.ErrNotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired, status == http.StatusPaymentRequired:
		return guard.ErrPermission
	case status == http.StatusTooManyRequests:
		return guard.ErrThrottled
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return guard.ErrInvalid
	}
	return guard.ErrUncertain
}

// word keeps a code from outside short and harmless.
func word(s string) string {
	for i, r := range s {
		if i == 40 || r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "an error"
		}
	}
	return s
}

// decode reads a JSON object and nothing else. A field of another type than wanted is no
// answer either.
func decode(body []byte, into any) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && body[0] == '{' && json.Unmarshal(body, into) == nil
}
