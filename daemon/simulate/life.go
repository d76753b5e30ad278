package simulate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify"
	notifylog "guard/daemon/notify/log"
	"guard/daemon/notify/slack"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

// The fake Slack of every story.
const (
	slackToken    = "xoxb-simulated"
	slackAppToken = "xapp-simulated"
	slackChannel  = "guard"
)

// life is one run of the daemon, from a start to a stop or a crash. Whatever it
// tries after its end reaches nobody.
type life struct {
	story  *runner
	killed atomic.Bool
	commit sync.Mutex // held while a write of the ledger becomes durable
	daemon *daemon.Daemon
	ledger *store.Ledger
	// buttons takes what people do in Slack.
	buttons *slack.Socket
	ctx     context.Context //nolint:containedctx // it is the life's own: cut off at its end
	cancel  context.CancelFunc
}

func (l *life) dead() bool { return l.killed.Load() }

func (l *life) kill() { l.killed.Store(true) }

// boot starts a daemon over what the ledger holds. With an error nothing runs.
func (r *runner) boot(ctx context.Context) error {
	l := &life{story: r}
	l.ctx, l.cancel = context.WithCancel(ctx)
	err := l.start(r)
	r.drain()
	if l.dead() { // a crash point met while starting
		l.cancel()
		r.crashed()
		return nil
	}
	if err != nil {
		l.kill()
		l.cancel()
		r.book.add(r.now, Event{Event: evDaemonStopped, Reason: "refused", Text: err.Error()})
		return err
	}
	r.life = l
	if n := len(r.down); n > 0 && r.down[n-1].To > r.now {
		r.down[n-1].To = r.now
	}
	r.book.add(r.now, Event{Event: evDaemonStarted})
	return nil
}

func (l *life) start(r *runner) error {
	var err error
	if l.ledger, err = store.Open(l.ctx, &tape{r.backend, l}, r.instant()); err != nil {
		return err
	}
	c, err := r.configured()
	if err != nil {
		return err
	}
	if l.buttons, err = slack.NewSocket(slack.SocketConfig{AppToken: guard.NewSecret(slackAppToken), Token: guard.NewSecret(slackToken), Transport: slackGate{l}, Log: r.log}); err != nil {
		return err
	}
	l.daemon, err = daemon.New(l.ctx, daemon.Options{
		Ledger: l.ledger, Samples: r.samples, Config: c, Load: r.configured,
		Factories: map[string]daemon.Factory{"fake": l.provider}, Channels: l.channels, Beat: l.beat,
		Boot: "simulated", Parallel: 1, Now: r.instant, Log: r.log, Version: "simulated",
	})
	return err
}

// provider is the fake cloud's ordinary adapter, behind the life's gate.
func (l *life) provider(_ context.Context, a configs.Account) (providers.Provider, error) {
	c, ok := l.story.clouds[a.Name]
	if !ok {
		return nil, fmt.Errorf("%w: the story has no cloud for account %s", guard.ErrInvalid, a.Name)
	}
	p, err := fake.New(fake.Config{Account: a.Name, Scopes: c.scopes, Truths: c.Truths(), Next: gate{l, a.Name, c.RoundTripper()}})
	if err != nil {
		return nil, err
	}
	return c.Offers(p), nil
}

// channels are the log and Slack, whatever the configuration says, and the other services
// that it names.
func (l *life) channels(c *configs.Config) ([]notify.Channel, error) {
	s, err := slack.New(slack.Config{Token: guard.NewSecret(slackToken), Channel: "#" + slackChannel, Transport: slackGate{l},
		Buttons: true, Lang: c.Notify.Slack.Lang, Zone: c.TimeZone, Users: named(c.Notify.Slack)})
	if err != nil {
		return nil, err
	}
	out := []notify.Channel{
		&recorder{notifylog.New(l.story.log), l},
		&paced{recorder{s, l}, s, s},
	}
	out = append(out, l.services(c)...)
	if st := l.story.o.Stage; st != nil {
		out = append(out, &recorder{st.Channel, l})
	}
	return out, nil
}

// gate is the way from one life of the daemon to a cloud.
type gate struct {
	life    *life
	account string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.life.dead() {
		return nil, errDead
	}
	resp, err := g.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK {
		if id, ends := ending(req); ends {
			g.life.commit.Lock()
			if !g.life.dead() {
				g.life.story.crashAt(g.life, string(guard.ReleaseIssued), g.account+"/"+id)
			}
			g.life.commit.Unlock()
		}
	}
	if !g.life.dead() {
		return resp, err
	}
	if err == nil {
		resp.Body.Close()
	}
	return nil, errDead
}

// ending is whether a request ends or stops a resource, and which.
func ending(req *http.Request) (id string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(req.URL.EscapedPath(), "/v1/"), "/")
	switch {
	case req.Method == http.MethodDelete && (len(parts) == 2 || len(parts) == 4 && parts[2] == "group"):
	case req.Method == http.MethodPost && len(parts) == 3 && parts[2] == "stop":
	default:
		return "", false
	}
	id, err := url.PathUnescape(parts[1])
	return id, err == nil
}

// slackGate is the way to Slack. Slack's clock is right, whatever guard's says.
type slackGate struct{ life *life }

// RoundTrip implements http.RoundTripper.
func (g slackGate) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.life.dead() {
		return nil, errDead
	}
	r := g.life.story
	req = req.WithContext(guard.WithInstant(req.Context(), guard.Instant{Wall: r.story.start.Add(r.now).UTC(), Elapsed: r.instant().Elapsed}))
	resp, err := r.socket.RoundTrip(req)
	if g.life.dead() && err == nil {
		resp.Body.Close()
		return nil, errDead
	}
	return resp, err
}

// recorder notes what a channel was given to post.
type recorder struct {
	notify.Channel
	life *life
}

// Lang is that of the channel.
func (c *recorder) Lang() guard.Lang {
	if x, ok := c.Channel.(interface{ Lang() guard.Lang }); ok {
		return x.Lang()
	}
	return ""
}

// Fallback implements notify.Reserve.
func (c *recorder) Fallback() bool { return notify.IsFallback(c.Channel) }

// paced is a recorder of a channel that bounds its posts, and edits them.
type paced struct {
	recorder
	notify.Limited
	notify.Editor
}

// Post implements notify.Channel.
func (c *recorder) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	if c.life.dead() {
		return guard.Posted{}, errDead
	}
	r := c.life.story
	slack := c.Name() == "slack"
	before := 0
	if slack {
		before = len(r.slack.Posts())
	}
	posted, err := c.Channel.Post(ctx, m, thread)
	stored, text := err == nil, ""
	requests := 1
	if slack {
		stored = false
		all := r.slack.Posts()[before:]
		requests = len(all)
		for _, p := range all {
			stored = stored || p.Stored
			text += p.Text + "\n" + p.Blocks + "\n"
		}
	}
	r.posted(storyName(c.Channel), m, text, requests, stored, err == nil)
	return posted, err
}
