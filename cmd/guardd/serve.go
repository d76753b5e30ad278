package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/api"
	"guard/daemon/report"
	"guard/daemon/wire"
	"guard/store"
	"guard/store/bolt"
	"guard/store/samples"
)

// stopTimeout is how long a stop waits for calls in progress. What is cut short
// then is found again at the next start: every intent is durable.
const stopTimeout = 30 * time.Second

func serveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the daemon", Args: usage(cobra.NoArgs),
		Long: `Run the daemon until it is told to stop (SIGTERM, SIGINT). SIGHUP reads the
configuration again; one that has a mistake, or that drops an account which
leases still need, changes nothing and is told in the log.`,
		Example: "  guardd serve --config /etc/guard/guard.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), cmd.ErrOrStderr(), file)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "/etc/guard/guard.yaml", "the configuration `FILE`")
}

func serve(ctx context.Context, errOut io.Writer, file string) (err error) {
	log := newLog(errOut)
	slog.SetDefault(log)
	c, err := load(file)
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		log.Warn("configuration", "note", n.Error())
	}
	backend, err := bolt.Open(ctx, c.Ledger.Path, bolt.Options{Backups: c.Backup.Dir})
	if err != nil {
		return err
	}
	ledger, err := store.Open(ctx, backend, daemon.Now())
	if err != nil {
		return errors.Join(err, backend.Close())
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	if up, ok := ledger.Upgraded(); ok {
		log.Info("the ledger was upgraded; the copy from before is the way back to an older guard", "from", up.From, "to", up.To, "kept", up.Kept)
	}
	kept := samples.Open(c.Signals.File, daemon.Now().Wall)
	defer func() { err = errors.Join(err, kept.Close()) }()

	listeners, err := listen(ctx, c, log)
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	d, err := daemon.New(ctx, daemon.Options{
		Ledger: ledger, Samples: kept, Config: c, Load: func() (*configs.Config, error) { return load(file) },
		Factories: factories, Sources: sources, Channels: channels(log), Clicks: clicks(log), File: ledgerFile(backend), Storage: storage(backend, c.Backup),
		Beat:  func(to guard.Secret) func(context.Context) error { return report.Beat(to, nil) },
		Spool: c.Listen.Unix + ".spool", // where guard leaves what cannot be delivered
		Boot:  daemon.Boot(), Machine: daemon.ThisMachine(), Now: daemon.Now, Wait: daemon.Wait, Log: log, Version: version(),
	})
	if err != nil {
		return err
	}
	return runDaemon(ctx, d, listeners, log)
}

// listen opens the socket and, where it is configured, TCP: all of it or nothing.
func listen(ctx context.Context, c *configs.Config, log *slog.Logger) ([]net.Listener, error) {
	unix, err := daemon.ListenUnix(ctx, c.Listen.Unix, c.Listen.Group)
	if err != nil || c.Listen.TCP == "" {
		return []net.Listener{unix}, err
	}
	tcp, err := listenTCP(ctx, c, log)
	if err != nil {
		unix.Close()
		return nil, err
	}
	return []net.Listener{unix, tcp}, nil
}

func listenTCP(ctx context.Context, c *configs.Config, log *slog.Logger) (net.Listener, error) {
	now := func() time.Time { return daemon.Now().Wall }
	var cert *daemon.Certificate
	var err error
	if c.Listen.Cert != "" {
		cert, err = daemon.GivenCertificate(c.Listen.Cert, c.Listen.Key, now, log)
	} else {
		cert, err = daemon.OwnCertificate(c.Ledger.Path, c.Listen.TCP, now, log)
	}
	if err != nil {
		return nil, err
	}
	l, err := daemon.ListenTCP(ctx, c.Listen.TCP, cert)
	if err == nil {
		log.Info("guardd serves TLS", "listen", l.Addr().String(), "fingerprint", cert.Fingerprint(), "certificate", cert.File(), "ends", cert.Ends())
	}
	return l, err
}

// runDaemon serves the API and drives the loops until ctx ends.
func runDaemon(ctx context.Context, d *daemon.Daemon, listeners []net.Listener, log *slog.Logger) error {
	// People may still ask while the loops come to an end, so the API goes last.
	server := newServer(ctx, d.Handler())
	// Whoever is slow, or speaks no TLS, is not worth a line each.
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- server.Serve(l) }()
	}

	loopsCtx, stopLoops := context.WithCancel(ctx)
	defer stopLoops()
	loops := make(chan struct{})
	go func() { d.Run(loopsCtx); close(loops) }()

	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	log.Info("guardd runs", "listen", listeners[0].Addr().String(), "version", version())
	tellSystemd(log, sd.SdNotifyReady)
	watchdog, stopWatchdog := watchdogTicks()
	defer stopWatchdog()
	for {
		select {
		case <-hup:
			tellSystemd(log, sd.SdNotifyReloading)
			if err := d.Reload(ctx); err != nil {
				log.Error("reload refused", "error", err.Error())
			} else {
				log.Info("reloaded")
			}
			tellSystemd(log, sd.SdNotifyReady)
		case <-watchdog:
			// A daemon whose loops hang is worth less than one that is restarted.
			if d.Healthy() {
				tellSystemd(log, sd.SdNotifyWatchdog)
			}
		case err := <-served:
			return fmt.Errorf("serve the API: %w", err)
		case <-ctx.Done():
			tellSystemd(log, sd.SdNotifyStopping)
			log.Info("guardd stops")
			wait := time.NewTimer(stopTimeout)
			defer wait.Stop()
			select {
			case <-loops:
			case <-wait.C:
				log.Warn("a loop did not end in time; what it did is found at the next start")
			}
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := server.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil
		}
	}
}

func newServer(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           patient(h),
		ConnContext:       api.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// backupFor is how long the answer to a backup may take; the client waits as long.
const backupFor = 30 * time.Minute

// patient gives the answer to a backup the time to copy a large ledger.
func patient(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wire.Prefix+"/backup" {
			// A connection without deadlines is one of a test.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(backupFor))
		}
		h.ServeHTTP(w, r)
	})
}

func tellSystemd(log *slog.Logger, state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		log.Warn("systemd not told", "state", state, "error", err.Error())
	}
}

// watchdogTicks ticks at half the interval in which systemd wants a sign of life;
// never where it wants none.
func watchdogTicks() (<-chan time.Time, func()) {
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(every / 2)
	return t.C, t.Stop
}
