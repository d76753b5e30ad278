// Package url tells people through services that take a message at an address: chat
// services, e-mail, pagers, Alertmanager, and any program that takes JSON. The scheme of
// the address picks the service; the rest of it is the address that the service itself
// gives, without its https.
//
// Everything in a message is text from outside. It is posted as plain text, or escaped
// for the service's markup, so that no name can mention people, format or hide a link.
package url

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

const (
	// timeout bounds one exchange with a service.
	timeout = 15 * time.Second
	// maxReply bounds an answer; the longest is a short JSON object.
	maxReply = 256 << 10
)

// Channel is one address that takes messages. It does what package notify asks of a
// channel; where the service bounds how often and how much may be posted it has Pace and
// Fits, too.
type Channel interface {
	Name() string
	Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error)
	Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error)
	// Lang is what its readers read.
	Lang() guard.Lang
	// Fallback: it is told only what the channels before it could not be told.
	Fallback() bool
	// Place names the service and its host. It holds no secret.
	Place() string
}

// Config is what a channel needs.
type Config struct {
	Name     string
	URL      guard.Secret
	Lang     guard.Lang
	Fallback bool
	// Transport carries the requests; nil is a pooled one with time-outs.
	Transport http.RoundTripper
	// Dial makes the connections of e-mail, TLS holds what they trust; nil is the
	// network, and the machine's roots.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config
}

// about is what all channels know of themselves.
type about struct {
	name, service, host string
	lang                guard.Lang
	fallback            bool
}

// Name is what messages are queued for.
func (a about) Name() string { return a.name }

// Lang is what its readers read.
func (a about) Lang() guard.Lang { return a.lang }

// Fallback reports whether it is told only what others could not be told.
func (a about) Fallback() bool { return a.fallback }

// Place is the service and its host.
func (a about) Place() string { return a.service + " at " + a.host }

// Find cannot look: none of the services shows what was posted. ErrUnsupported.
func (a about) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, fmt.Errorf("%w: %s shows nothing of what was posted to %s", guard.ErrUnsupported, a.service, a.name)
}

// New makes the channel of an address. It calls nobody. An error is ErrInvalid, says how
// the address is to be written, and repeats nothing of it.
func New(c Config) (Channel, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL.Reveal()))
	if err != nil { // it quotes the address
		return nil, fmt.Errorf("%w: this is no address; %s", guard.ErrInvalid, scheme())
	}
	name, over, _ := strings.Cut(u.Scheme, "+")
	own := about{name: c.Name, service: name, host: u.Hostname(), lang: cmp.Or(c.Lang, guard.English), fallback: c.Fallback}
	if name == "smtp" || name == "smtps" {
		return c.mail(own, u)
	}
	s, ok := services[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %s", guard.ErrInvalid, scheme())
	case u.Hostname() == "" || u.Fragment != "" || !slices.Contains([]string{"", "https", "http"}, over):
		return nil, fmt.Errorf("%w: %s: write %s", guard.ErrInvalid, name, s.form)
	}
	u.Scheme = cmp.Or(over, "https")
	if u.Scheme == "http" && !here(u.Hostname()) && (!s.open || u.User != nil) {
		return nil, fmt.Errorf("%w: %s: plain HTTP is for this machine only, for the address holds a token", guard.ErrInvalid, name)
	}
	build, err := s.make(&address{URL: *u, query: u.Query()})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: write %s", guard.ErrInvalid, name, err, s.form)
	}
	ch := &channel{about: own, service: s, build: build, transport: providers.NewTransport(providers.TransportConfig{
		Next: c.Transport, Tries: 1, Timeout: timeout, MaxBody: maxReply})}
	if s.pace > 0 {
		return &limited{ch}, nil
	}
	return ch, nil
}

// here reports whether a host is this machine.
func here(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// scheme says what a scheme must be.
func scheme() string {
	names := append(slices.Sorted(maps.Keys(services)), "smtp", "smtps")
	return "its scheme must name the service, so that https://open.feishu.cn/… is written feishu://open.feishu.cn/…: one of " + strings.Join(names, ", ")
}
