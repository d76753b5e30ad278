package cli_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"guard/daemon"
	"guard/daemon/client"
	"guard/daemon/wire"
)

// scriptOverTLS gives a script a daemon at its socket and at TLS.
func scriptOverTLS(t *testing.T, e *testscript.Env) (*testDaemon, error) {
	d, err := newDaemon()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "guard") // socket paths are short
	if err != nil {
		return nil, err
	}
	socket, err := d.serve(filepath.Join(dir, "s"))
	if err != nil {
		return nil, err
	}
	where, cert, stop, err := d.serveTLS(t.Context(), dir)
	if err != nil {
		return nil, err
	}
	e.Defer(func() { stop(); d.stop(); os.RemoveAll(dir) })
	e.Setenv("GUARD_ADDR", socket)
	e.Setenv("HTTPS", where)
	e.Setenv("CERT", cert.File())
	e.Setenv("PIN", cert.Fingerprint())
	return d, nil
}

// TestAccessScripts is TestScripts with the daemon at TLS, too: HTTPS is where, CERT its
// certificate and PIN the fingerprint.
func TestAccessScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "access"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			_, err := scriptOverTLS(t, e)
			return err
		},
	})
}

// serveTLS serves the API as strangers meet it, under a certificate in a folder.
func (d *testDaemon) serveTLS(ctx context.Context, dir string) (string, *daemon.Certificate, func(), error) {
	cert, err := daemon.OwnCertificate(filepath.Join(dir, "ledger.db"), "", time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", nil, nil, err
	}
	l, err := daemon.ListenTCP(ctx, "127.0.0.1:0", cert)
	if err != nil {
		return "", nil, nil, err
	}
	strangers := &http.Server{Handler: d.settled(d.api), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go strangers.Serve(l)
	return "https://" + l.Addr().String(), cert, func() { strangers.Close() }, nil
}

// BenchmarkAccess is a `guard ls` without its printing: over the socket, and over TLS
// with a token, each call with a connection of its own as a command has; the ratio is
// of the two.
func BenchmarkAccess(b *testing.B) {
	d, err := newDaemon()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	socket, err := d.serve(filepath.Join(dir, "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer d.stop()
	where, cert, stop, err := d.serveTLS(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	local, err := client.New(client.Options{Addr: socket})
	if err != nil {
		b.Fatal(err)
	}
	made, err := local.CreateToken(b.Context(), wire.TokenRequest{Name: "ana", Role: "viewer"})
	if err != nil {
		b.Fatal(err)
	}
	far, err := client.New(client.Options{Addr: where, Token: made.Secret, Fingerprint: cert.Fingerprint()})
	if err != nil {
		b.Fatal(err)
	}
	list := func(c *client.Client) time.Duration {
		start := time.Now()
		l, err := c.List(b.Context(), client.Filter{})
		if err != nil || len(l.Items) == 0 {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	var near, away time.Duration
	for b.Loop() {
		d.mu.Lock()
		d.at = d.at.Add(time.Second) // or it would be too many requests
		d.mu.Unlock()
		near += list(local)
		away += list(far)
	}
	b.ReportMetric(float64(b.N)/near.Seconds(), "socket/s")
	b.ReportMetric(float64(b.N)/away.Seconds(), "tls/s")
	b.ReportMetric(away.Seconds()/near.Seconds(), "ratio")
}
