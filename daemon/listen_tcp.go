package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"guard"
)

// How many connections over TCP are open at one time, in all and from one address.
// Whoever comes when they are is turned away, so that a few slow clients keep
// nobody out for long.
const (
	mostConns     = 256
	mostConnsFrom = 32
)

// ListenTCP opens HOST:PORT for TLS 1.3 under a certificate.
func ListenTCP(ctx context.Context, addr string, c *Certificate) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: listen: another process listens on tcp:%s: stop it (ss -ltnp tells which it is), or choose another port", guard.ErrLocked, addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%w: listen: the user that guardd runs as may not listen on tcp:%s: ports below 1024 are for root; choose a higher one", guard.ErrPermission, addr)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%w: listen: this machine has no such address: tcp:%s; write one of its own (ip addr), or 0.0.0.0 for every one", guard.ErrInvalid, addr)
	case errors.As(err, &dns):
		return nil, fmt.Errorf("%w: listen: tcp:%s: the name %s cannot be resolved: write an address", guard.ErrInvalid, addr, dns.Name)
	case err != nil:
		return nil, fmt.Errorf("listen on tcp:%s: %w", addr, err)
	}
	return tls.NewListener(&crowd{Listener: l, most: mostConns, mostFrom: mostConnsFrom}, &tls.Config{
		MinVersion: tls.VersionTLS13, GetCertificate: c.get,
		// One request at a time on a connection, so that its time-outs bound each.
		NextProtos: []string{"http/1.1"},
	}), nil
}

// crowd is a listener that closes connections when there are too many.
type crowd struct {
	net.Listener
	most, mostFrom int

	mu   sync.Mutex
	all  int
	from map[string]int
}

// Accept waits for a connection that there is room for.
func (l *crowd) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil {
			host = c.RemoteAddr().String()
		}
		if l.enter(host) {
			return &guest{Conn: c, leave: sync.OnceFunc(func() { l.left(host) })}, nil
		}
		c.Close()
	}
}

func (l *crowd) enter(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.from[host] >= l.mostFrom {
		return false
	}
	if l.from == nil {
		l.from = map[string]int{}
	}
	l.all++
	l.from[host]++
	return true
}

func (l *crowd) left(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.from[host]--; l.from[host] == 0 {
		delete(l.from, host)
	}
}

// guest is a connection that is counted until it is closed.
type guest struct {
	net.Conn
	leave func()
}

// Close closes it and makes room.
func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}
