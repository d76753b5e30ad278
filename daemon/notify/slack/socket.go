package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	api "github.com/slack-go/slack"

	"guard"
	"guard/daemon/wire"
)

// slack-go's own Socket Mode client is not used, but the parts below it: it decodes all
// that comes on goroutines where a panic ends the program, leaves what it cannot read
// unanswered, and closes a connection that Slack wants renewed before the next one is
// open, when clicks are lost, for Slack does not send them again.

const (
	// firstWait and mostWait bound how long a connection that fails is waited for.
	firstWait = time.Second
	mostWait  = 5 * time.Minute
	// settled is how long a connection lasts that was a good one.
	settled = 10 * time.Second
	// formPatience is how long a form that was sent may take before it is answered in two
	// steps; Slack waits for three seconds.
	formPatience = 2 * time.Second
	// clickPatience bounds the work behind one click, for a registration reads a cloud;
	// stopPatience is what of it is left when guard stops.
	clickPatience = time.Minute
	stopPatience  = 10 * time.Second
	// atOnce bounds the clicks that are worked on at the same time.
	atOnce = 32
	// remembered is how many envelopes are known again when Slack sends them twice.
	remembered = 2048
)

// SocketConfig is what Socket Mode needs.
type SocketConfig struct {
	// AppToken is an app-level token, xapp-…, with connections:write; Token is the bot's,
	// for forms.
	AppToken, Token guard.Secret
	// Endpoint is the API's base URL; "" is Slack itself.
	Endpoint string
	// Transport carries the requests; nil is a fresh one with time-outs.
	Transport http.RoundTripper
	// Lang is what the socket's own words are in.
	Lang guard.Lang
	Log  *slog.Logger
}

// Handler carries out what a person did in Slack. It may be called at the same time from
// several goroutines.
type Handler = func(ctx context.Context, c wire.Click) wire.ClickAnswer

// Socket takes what people do in Slack over connections that guard opens itself, so that
// it needs no public address.
type Socket struct {
	client *api.Client
	rim    *rim
	test   *url.URL // the configured endpoint; nil: Slack itself
	lang   guard.Lang
	log    *slog.Logger
	slots  chan struct{}

	first, most, silence, overlap, patience time.Duration // firstWait, mostWait, mostSilence, overlapping, formPatience

	mu    sync.Mutex
	seen  map[string]bool
	order []string // of seen, the oldest first
	open  int      // connections of ours
	state State
}

// State is how the socket does.
type State struct {
	// Connected: Slack has greeted the newest connection, at Since.
	Connected bool
	Since     time.Time
	// Others are connections of the same app that are not ours: Slack sends each click to
	// one of all.
	Others int
	// Error is why clicks do not arrive, or not all; "" where they do.
	Error string
}

// NewSocket checks the configuration and makes the socket. It calls nobody.
func NewSocket(c SocketConfig) (*Socket, error) {
	if !c.AppToken.IsSet() || !c.Token.IsSet() {
		return nil, fmt.Errorf("%w: slack: buttons want both tokens, notify.slack.token and notify.slack.app_token", guard.ErrInvalid)
	}
	s := &Socket{rim: newRim(c.Transport), lang: c.Lang, log: c.Log, slots: make(chan struct{}, atOnce),
		first: firstWait, most: mostWait, silence: mostSilence, overlap: overlapping, patience: formPatience, seen: map[string]bool{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	endpoint := api.APIURL
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("%w: slack: endpoint is not an http(s) URL without user and query", guard.ErrInvalid)
		}
		s.test, endpoint = u, strings.TrimSuffix(u.String(), "/")+"/"
	}
	s.client = api.New(c.Token.Reveal(), api.OptionAppLevelToken(c.AppToken.Reveal()), api.OptionHTTPClient(s.rim), api.OptionAPIURL(endpoint))
	return s, nil
}

// Name is what status and doctor call it.
func (s *Socket) Name() string { return "slack buttons" }

// Health is since when clicks arrive, zero where they do not, and why not all do.
func (s *Socket) Health() (since time.Time, trouble string) {
	st := s.State()
	if !st.Connected {
		st.Since = time.Time{}
	}
	return st.Since, st.Error
}

// State is how it does now.
func (s *Socket) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Run takes clicks until ctx ends, and returns when all of them are answered. What fails
// is tried again, a refused token, too: it may be mended in Slack.
func (s *Socket) Run(ctx context.Context, handle Handler) {
	var links sync.WaitGroup
	defer links.Wait()
	wait := s.first
	for ctx.Err() == nil {
		began := time.Now()
		err := s.session(ctx, &links, handle)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= settled {
			if wait = s.first; err == nil {
				continue // Slack renews its connections now and then
			}
		}
		pause := wait/2 + rand.N(wait/2)
		var retry *guard.RetryError
		if errors.As(err, &retry) {
			pause = max(pause, retry.After)
		}
		s.failed(err, pause)
		wait = min(wait*2, s.most)
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// session opens a connection and returns when another one should take its place: with an
// error where it broke. It may go on for a while beside its successor.
func (s *Socket) session(ctx context.Context, links *sync.WaitGroup, handle Handler) error {
	l, err := s.connect(ctx)
	if err != nil {
		return err
	}
	links.Go(func() {
		defer s.closed(l)
		l.serve(ctx, s, links, handle)
	})
	select {
	case <-l.over:
		return l.why
	case <-ctx.Done():
		return nil
	}
}

// failed notes why clicks do not arrive.
func (s *Socket) failed(err error, pause time.Duration) {
	text := "the connection ended too soon"
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	known := s.state.Error == text
	s.state.Connected, s.state.Error = false, text
	s.mu.Unlock()
	if !known {
		s.log.Warn("slack's buttons do not work now; the command line does", "error", text, "again_in", pause.Round(time.Millisecond).String())
	}
}

// greeted notes that a connection works, and whose others are.
func (s *Socket) greeted(all int) {
	s.mu.Lock()
	others, was := max(0, all-s.open), s.state
	s.state = State{Connected: true, Since: time.Now(), Others: others}
	if others > 0 {
		s.state.Error = fmt.Sprintf("Slack has %d connections of this app that are not this guard's, and sends them clicks, too: end what else uses the app token (an older guardd, a test), or give guard an app of its own", others)
	}
	s.mu.Unlock()
	switch {
	case others > 0 && others != was.Others:
		s.log.Warn("others take some of slack's clicks", "connections", others)
	case !was.Connected:
		s.log.Info("slack's buttons work")
	}
}

func (s *Socket) closed(*link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.open == 0 {
		s.state.Connected = false
	}
}

// fresh reports whether an envelope is a new one.
func (s *Socket) fresh(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id] {
		return false
	}
	if len(s.order) >= remembered {
		delete(s.seen, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	s.seen[id] = true
	s.order = append(s.order, id)
	return true
}

// Check asks Slack whether the app token opens a connection, without using it.
func (s *Socket) Check(ctx context.Context) (string, error) {
	if _, err := s.address(ctx); err != nil {
		return "", err
	}
	switch st := s.State(); {
	case st.Error != "":
		return "", fmt.Errorf("%w: %s", guard.ErrUnavailable, st.Error)
	case st.Connected:
		return "clicks arrive, since " + st.Since.UTC().Format(time.RFC3339), nil
	}
	return "the app token is good", nil
}

// address asks where to connect to. The answer is a secret: whoever has it gets clicks.
func (s *Socket) address(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, address, err := s.client.StartSocketModeContext(ctx)
	if err != nil {
		return "", explainSocket(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "wss" && (u.Scheme != "ws" || !net.ParseIP(u.Hostname()).IsLoopback()) {
		return "", fmt.Errorf("%w: open Slack's Socket Mode: the answer names no wss:// address", guard.ErrBadReply)
	}
	return address, nil
}

// appTodo is what a person can do about a code of Slack's.
var appTodo = map[error]string{
	guard.ErrPermission: "check notify.slack.app_token: it is an app-level token, xapp-…, with the scope connections:write, of an app whose Socket Mode is on",
}

// explainSocket turns an error of opening a connection into one of ours, without a word
// of the library's: an address or a token may be in it.
func explainSocket(err error) error {
	c := code(err)
	if c == "" {
		return explain("open", "Socket Mode", err)
	}
	kind, known := kinds[word(c)]
	if !known {
		kind = guard.ErrPermission // the app is not set up for it
	}
	text := fmt.Errorf("%w: open Slack's Socket Mode: slack says %s", kind, word(c))
	if t := appTodo[kind]; t != "" {
		text = fmt.Errorf("%w; %s", text, t)
	}
	if kind == guard.ErrThrottled {
		return &guard.RetryError{Err: text, After: retryAfter}
	}
	return text
}

// Take carries out one envelope before it returns, as if it had come over a connection,
// for stories on a time of their own.
func (s *Socket) Take(ctx context.Context, data []byte, handle Handler) error {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("%w: an envelope of Slack's: %w", guard.ErrBadReply, err)
	}
	if g, ok := read(e); ok && s.fresh(e.ID) {
		s.deal(ctx, g, func(any) {}, handle, 0)
	}
	return nil
}
