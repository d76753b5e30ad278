// Package client speaks to guardd's API: over its Unix socket, over HTTPS, or
// inside one process. It links the wire bodies and the standard library only.
//
// No call waits for a daemon that does not live: when no answer comes within
// half of Options.Timeout the daemon is asked on a second connection whether it
// works at all, and only then is a slow answer waited for.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"guard/daemon/wire"
)

const (
	// DefaultAddr is where guardd listens unless configured otherwise.
	DefaultAddr = "unix:/run/guard/guard.sock"
	// DefaultTimeout is how long a silent daemon is waited for.
	DefaultTimeout = 5 * time.Second
	// slowest bounds a call to a daemon that lives, where the caller's context
	// does not: a registration reads the cloud, and a cloud may be slow.
	slowest = 2 * time.Minute
	// mostBytes bounds an answer; a list of 10,000 resources is about 10 MB.
	mostBytes = 64 << 20
)

// Options configure a Client.
type Options struct {
	// Addr is unix:PATH, https://HOST:PORT, or http://HOST:PORT on loopback;
	// empty is DefaultAddr.
	Addr string
	// Timeout is how long a silent daemon is waited for; zero: DefaultTimeout.
	Timeout time.Duration
	// Token says who calls: guard_ID.SECRET. It travels over TLS and Unix sockets only.
	// Empty: the daemon goes by the user at the other end of its socket.
	Token string
	// CA are the certificates, as PEM, that the daemon's own is trusted by; nil: those
	// of this machine.
	CA []byte
	// Fingerprint is sha256:HEX of the public key that the daemon must show, whoever
	// has signed its certificate; empty: any key with a trusted certificate.
	Fingerprint string
	// Transport replaces the network; see InProcess.
	Transport http.RoundTripper
}

// Client is safe for concurrent use.
type Client struct {
	addr    string
	base    string
	timeout time.Duration
	http    *http.Client
	// sign puts the token into a request. It is a function, so that no way of printing
	// a client prints the token.
	sign func(*http.Request)
}

// UnreachableError says that no daemon answered; nothing was done, as far as is
// known.
type UnreachableError struct {
	Addr string
	Text string // the sentence: what happened and what to check
	Err  error
}

// Error is the sentence.
func (e *UnreachableError) Error() string { return e.Text }

// Unwrap gives the network's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// AddrError says that an address is not one.
type AddrError struct{ Text string }

// Error is the sentence.
func (e *AddrError) Error() string { return e.Text }

// New makes a client; it does not connect. The only error is *AddrError.
func New(o Options) (*Client, error) {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	c := &Client{addr: o.Addr, timeout: o.Timeout, sign: func(*http.Request) {}}
	tr := &http.Transport{
		Proxy: nil, // the daemon is never behind a proxy that the environment names
		// One connection a call: a client makes one or two calls and ends, and the
		// liveness probe must not queue behind the call it is about.
		DisableKeepAlives: true,
		// Waiting is bounded by watch, not here: a slow cloud is not a dead daemon.
	}
	if err := c.parse(o.Addr, tr); err != nil {
		return nil, err
	}
	if err := c.secure(o, tr); err != nil {
		return nil, err
	}
	var rt http.RoundTripper = tr
	if o.Transport != nil {
		rt = o.Transport
	}
	c.http = &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // guardd never redirects; whoever does is not guardd
	}}
	return c, nil
}

func (c *Client) parse(addr string, tr *http.Transport) error {
	dial := &net.Dialer{Timeout: c.timeout}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok || strings.HasPrefix(addr, "/") {
		if !ok {
			path = addr
		}
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return &AddrError{fmt.Sprintf("the address %q names no socket: write unix:/run/guard/guard.sock", addr)}
		}
		c.base = "http://guard"
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial.DialContext(ctx, "unix", path)
		}
		return nil
	}
	u, err := url.Parse(addr)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.User != nil || u.RawQuery != "" {
		return &AddrError{fmt.Sprintf("%q is not an address of guardd: write unix:PATH or https://HOST:PORT", addr)}
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	case u.Scheme == "http":
		return &AddrError{fmt.Sprintf("%q is not encrypted: http is for this machine only, write https://%s", addr, u.Host)}
	default:
		return &AddrError{fmt.Sprintf("%q is not an address of guardd: write unix:PATH or https://HOST:PORT", addr)}
	}
	c.base = u.Scheme + "://" + u.Host
	tr.DialContext = dial.DialContext
	tr.TLSHandshakeTimeout = c.timeout
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// call sends one request and decodes the answer. Errors are *UnreachableError,
// *wire.Error or the context's.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (T, error) {
	var out T
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return out, fmt.Errorf("encode the request: %w", err)
		}
	}
	target := c.base + wire.Prefix + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r := c.watch(ctx, method, target, body)
	if r.err != nil {
		return out, r.err
	}
	err := r.decode(c.addr, &out)
	return out, err
}

type reply struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// watch sends the request and, while no answer comes, makes sure that there is
// somebody to wait for.
func (c *Client) watch(ctx context.Context, method, target string, body []byte) reply {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, slowest)
		defer cancel()
	}
	answered := make(chan reply, 1)
	go func() { answered <- c.send(ctx, method, target, body) }()
	half := c.timeout / 2
	timer := time.NewTimer(half)
	defer timer.Stop()
	for {
		select {
		case r := <-answered:
			return r
		case <-timer.C:
		}
		if !c.alive(ctx, half) {
			select {
			case r := <-answered: // it came while we asked
				return r
			default:
			}
			return reply{err: &UnreachableError{Addr: c.addr, Text: fmt.Sprintf(
				"guardd at %s accepts connections but has not answered for %s: it hangs, or is stopped. "+
					"Whether it still carries the request out is not known. Look at it (systemctl status guardd, journalctl -u guardd), restart it, then try again",
				c.addr, c.timeout)}}
		}
		timer.Reset(c.timeout)
	}
}

// alive asks for the health of the daemon on a connection of its own.
func (c *Client) alive(ctx context.Context, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return c.send(ctx, http.MethodGet, c.base+wire.Prefix+"/healthz", nil).err == nil
}

func (c *Client) send(ctx context.Context, method, target string, body []byte) reply {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return reply{err: fmt.Errorf("make the request: %w", err)}
	}
	req.Header.Set("Accept", "application/json")
	c.sign(req)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{err: c.unreachable(err)}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	switch {
	case err != nil:
		return reply{err: c.unreachable(err)}
	case len(data) > mostBytes:
		return reply{err: fmt.Errorf("the answer of %s is larger than %d MiB: narrow it down with --account or --kind", c.addr, mostBytes>>20)}
	}
	return reply{status: resp.StatusCode, header: resp.Header, body: data}
}

func (r reply) decode(addr string, out any) error {
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	if kind != "application/json" {
		return notGuard(addr, r)
	}
	if r.status < 200 || r.status > 299 {
		e := &wire.Error{}
		if err := json.Unmarshal(r.body, e); err != nil || e.Kind == "" {
			return notGuard(addr, r)
		}
		return e
	}
	err := json.Unmarshal(r.body, out)
	if err == nil && bytes.Equal(bytes.TrimSpace(r.body), []byte("null")) {
		err = errors.New("it is null")
	}
	if err != nil {
		return &wire.Error{Kind: wire.KindBadReply, Message: fmt.Sprintf("guardd at %s answered what this guard cannot read: %v", addr, err),
			Hint: "The two are of different versions: install the guard that came with guardd (guard version)."}
	}
	return nil
}

func notGuard(addr string, r reply) error {
	return &wire.Error{Kind: wire.KindBadReply,
		Message: fmt.Sprintf("what answers at %s is not guardd's API (HTTP %d, %s)", addr, r.status, orNone(r.header.Get("Content-Type"))),
		Hint:    "Check --addr and GUARD_ADDR; a proxy or another service may stand in between."}
}

func orNone(s string) string {
	if s == "" {
		return "no content type"
	}
	return s
}

// timedOut reports whether err is one of waiting.
func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
