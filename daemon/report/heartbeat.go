package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"guard"
	"guard/store"
)

const (
	// beatTimeout bounds one beat, and beating is how often the loop looks whether one is
	// due: what was read since is noted then.
	beatTimeout = 15 * time.Second
	beating     = 15 * time.Second
	// unread is how much longer than two polls ago an account may have been read, and
	// stuck how long an urgent message may wait.
	unread = time.Minute
	stuck  = 10 * time.Minute
	// follows is how many redirects of the watcher's own host are followed.
	follows = 3
)

// Heartbeat is the daemon's loop "heartbeat". A watcher outside hears from it only while
// guard does its work: after a beat the next one goes out once every account was read
// completely since, all was judged after that, and nothing stands still. So it is not
// hearing from guard that tells.
type Heartbeat struct {
	Config
	every time.Duration
	beat  func(ctx context.Context) error

	cycle    *cycle
	full     bool
	next     guard.Instant // not before
	failures int
	failed   error  // of the last beat; nil where it arrived
	silent   string // why no beat goes out, as last logged
}

// NewHeartbeat makes the loop: beats go out every so often at most.
func NewHeartbeat(c Config, every time.Duration, beat func(ctx context.Context) error) *Heartbeat {
	return &Heartbeat{Config: c.ready(), every: every, beat: beat}
}

// Name is "heartbeat".
func (l *Heartbeat) Name() string { return "heartbeat" }

// Once sends a beat where one is due and all is well. That it cannot be sent is an error;
// that it must not be is none, for what is wrong is told by whoever finds it.
func (l *Heartbeat) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	if l.cycle == nil || at.Wall.Before(l.cycle.since) {
		l.cycle, l.full = newCycle(at.Wall.Add(-time.Nanosecond)), false
	}
	silent, runs := "", l.Loops()
	err := l.Ledger.View(ctx, func(v *store.View) (err error) {
		full, err := l.cycle.step(v, l.Accounts, runs, at.Wall)
		l.full = l.full || full
		if err == nil && l.full {
			silent, err = l.stale(v, runs, at.Wall)
		}
		return err
	})
	if err != nil {
		return at.Add(beating), fmt.Errorf("heartbeat: read the ledger: %w", err)
	}
	l.note(silent)
	if !l.full || silent != "" || at.Before(l.next) {
		return at.Add(beating), l.failed
	}
	if err := l.beat(ctx); err != nil {
		l.failed = fmt.Errorf("heartbeat: %w", err)
		l.next = at.Add(min(time.Minute<<min(l.failures, 5), max(l.every, time.Minute)))
		l.failures++
		return at.Add(beating), l.failed
	}
	l.failed, l.failures, l.next = nil, 0, at.Add(l.every)
	l.cycle, l.full = newCycle(at.Wall), false
	return at.Add(beating), nil
}

// note logs once why guard is silent.
func (l *Heartbeat) note(silent string) {
	if silent != "" && silent != l.silent {
		l.Log.Warn("no heartbeat is sent", "because", silent)
	}
	l.silent = silent
}

// stale is what stands still; "" where nothing does.
func (l *Heartbeat) stale(v *store.View, runs []Run, now time.Time) (string, error) {
	for _, r := range runs {
		if r.Stale {
			return "the loop " + r.Loop + " stands still", nil
		}
		if r.Failed && (r.Loop == "decide" || r.Loop == "meter") {
			return "the loop " + r.Loop + " fails", nil
		}
	}
	for _, a := range l.Accounts {
		at, err := wholly(v, a.Name)
		if err != nil {
			return "", err
		}
		if now.Sub(at) > 2*a.Poll+unread {
			return "account " + a.Name + " was not read completely of late", nil
		}
	}
	to := map[string]bool{}
	for _, a := range l.Audience {
		to[a.Channel] = true
	}
	for m, err := range v.Outbox.All("") {
		if err != nil {
			return "", err
		}
		if m.Urgent && !m.Edit && to[m.Channel] && now.Sub(m.CreatedAt) > stuck {
			return "an urgent message to " + m.Channel + " is not delivered", nil
		}
	}
	return "", nil
}

// Beat returns what asks an address for a heartbeat, as services such as healthchecks.io
// want it: a GET that is answered with success. Its errors tell nothing of the address but
// the host, for its path is a secret. Transport is nil for one of its own.
func Beat(to guard.Secret, transport http.RoundTripper) func(ctx context.Context) error {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.IdleConnTimeout = 1, time.Minute
		t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = beatTimeout/2, beatTimeout
		transport = t
	}
	client := &http.Client{Timeout: beatTimeout, Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if first := via[0].URL; len(via) > follows || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
			return http.ErrUseLastResponse // its path would go to somebody else
		}
		return nil
	}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.Reveal(), nil)
		if err != nil {
			return fmt.Errorf("%w: the address of the heartbeat is none: set notify.heartbeat.url anew", guard.ErrInvalid)
		}
		req.Header.Set("User-Agent", "guard")
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("%w: no heartbeat reached %s: %v", guard.ErrUnavailable, req.URL.Host, secretless(err, req.URL))
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			return fmt.Errorf("%w: %s answers the heartbeat with %d: look at notify.heartbeat.url", guard.ErrBadReply, req.URL.Host, resp.StatusCode)
		}
		return nil
	}
}

// secretless is an error of the client without the address in it.
func secretless(err error, to *url.URL) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	text := err.Error()
	for _, part := range []string{to.RequestURI(), to.EscapedPath(), to.Path, to.RawQuery} {
		if len(part) > 1 {
			text = strings.ReplaceAll(text, part, "…")
		}
	}
	return text
}
