package cli_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"guard/daemon"
)

// TestAccessScripts is TestScripts with the daemon at TLS, too: HTTPS is where, CERT its
// certificate and PIN the fingerprint.
func TestAccessScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "access"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			d, err := newDaemon()
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "guard") // socket paths are short
			if err != nil {
				return err
			}
			socket, err := d.serve(filepath.Join(dir, "s"))
			if err != nil {
				return err
			}
			cert, err := daemon.OwnCertificate(filepath.Join(dir, "ledger.db"), "", time.Now, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			l, err := daemon.ListenTCP(t.Context(), "127.0.0.1:0", cert)
			if err != nil {
				return err
			}
			strangers := &http.Server{Handler: d.settled(d.api), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
			go strangers.Serve(l)
			e.Defer(func() { strangers.Close(); d.stop(); os.RemoveAll(dir) })
			e.Setenv("GUARD_ADDR", socket)
			e.Setenv("HTTPS", "https://"+l.Addr().String())
			e.Setenv("CERT", cert.File())
			e.Setenv("PIN", cert.Fingerprint())
			return nil
		},
	})
}
