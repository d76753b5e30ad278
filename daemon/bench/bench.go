package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/keep"
	"guard/daemon/notify"
	"guard/providers"
	"guard/store"
	"guard/store/bolt"
)

// Options are what is measured and with what.
type Options struct {
	Fleet Fleet
	// Due is how long deadlines fall due, ten a second; a quarter of the leases at
	// most.
	Due time.Duration
	// Minutes is how many polls of a quiet fleet are made to learn what a day costs.
	Minutes int
	// Cloud is the command that runs [Serve] for the fleet on a socket.
	Cloud func(ctx context.Context, socket string) *exec.Cmd
	// Guard runs a command line of guard in this process and returns its status.
	Guard func(ctx context.Context, transport http.RoundTripper, out io.Writer, args ...string) int
	// Profile starts a CPU profile of a stretch ("full", "quiet", "starts",
	// "minute", "arming", "deadlines") and returns what ends it; nil: none.
	Profile func(name string) (stop func(), err error)
	// Heap writes a profile of what the process holds after the quiet rounds and a
	// collection; nil: none.
	Heap func() error
	// Progress is told what is being measured; nil: nobody.
	Progress func(what string)
}

// Run measures. The error says what made that impossible; a goal that is missed is
// none.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	dir, err := os.MkdirTemp("", "guard-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{Options: o, path: filepath.Join(dir, "ledger.db"), at: guard.Instant{Wall: begin, Elapsed: time.Hour}, due: map[string]time.Time{}}
	b.result.Machine = Machine{Cores: runtime.GOMAXPROCS(0), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Load: [2]float64{load()}}
	b.result.Parameters = Parameters{Instances: o.Fleet.Instances, Volumes: o.Fleet.Volumes, Snapshots: o.Fleet.Snapshots, Accounts: o.Fleet.Accounts,
		Scopes: scopes, PageSize: PageSize, Poll: poll.String(), Sweep: sweep.String(), Seed: o.Fleet.Seed}
	b.say("building the fake cloud")
	socket, remove, err := socketIn(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if b.cloud, err = startCloud(o.Cloud(ctx, socket), socket); err != nil {
		return nil, err
	}
	defer func() {
		if ended := b.cloud.close(); ctx.Err() == nil { // else it was told to end, too
			err = errors.Join(err, ended)
		}
	}()
	defer func() { err = errors.Join(err, b.shut()) }()
	for _, step := range []struct {
		say string
		do  func(context.Context) error
	}{
		{"reading all pages, bare", b.bare},
		{"the first cycle", b.full},
		{"quiet cycles", b.quiet},
		{"starts", func(ctx context.Context) error {
			_, err := b.profiled(ctx, "starts", func() (Cost, error) { return Cost{}, b.starts(ctx) })
			return err
		}},
		{"quiet minutes", b.minutes},
		{"what people type", b.people},
		{"arming every lease", b.arm},
		{"deadlines", b.deadlines},
		{"bare writes", func(ctx context.Context) error { return b.writes(ctx, dir) }},
	} {
		b.say(step.say)
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.say, err)
		}
	}
	b.result.Machine.Load[1] = load()
	b.result.judge()
	b.result.Notes = append(b.result.Notes, "guard has no command that reports a month yet: month_report is not measured")
	return &b.result, nil
}

const (
	poll  = time.Minute
	sweep = 30 * time.Minute
	// mostSteps is how often loops may run at one moment.
	mostSteps = 100_000
)

// bench is one measurement under way.
type bench struct {
	Options
	path   string
	cloud  *cloud
	counts counts
	ledger *store.Ledger
	daemon *daemon.Daemon
	result Result
	due    map[string]time.Time // when the leases that will fall due end, by the resource's key

	mu    sync.Mutex
	at    guard.Instant
	paced time.Time // since when time passes at real speed; zero: it stands still
}

func (b *bench) say(what string) {
	if b.Progress != nil {
		b.Progress(what)
	}
}

// now is the fleet's time.
func (b *bench) now() guard.Instant {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paced.IsZero() {
		return b.at
	}
	return b.at.Add(time.Since(b.paced))
}

// pass lets d of the fleet's time pass at once, and does what is due then.
func (b *bench) pass(ctx context.Context, d time.Duration) error {
	b.mu.Lock()
	b.at = b.at.Add(d)
	b.mu.Unlock()
	return b.settle(ctx)
}

func (b *bench) settle(ctx context.Context) error {
	for range mostSteps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !b.daemon.Scheduler().RunDue(ctx, b.now()) {
			return b.healthy()
		}
	}
	return fmt.Errorf("%w: the daemon does not come to rest", guard.ErrUnavailable)
}

// healthy fails where a loop has failed: what was measured would not be its work.
func (b *bench) healthy() error {
	for _, l := range b.daemon.Scheduler().Status() {
		if l.Error != "" {
			return fmt.Errorf("%w: loop %s: %s", guard.ErrUnavailable, l.Name, l.Error)
		}
	}
	return nil
}

func (b *bench) config() (*configs.Config, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "mode: enforce\ntime_zone: UTC\nbackup: {off: true}\naccounts:\n")
	for i := range b.Fleet.Accounts {
		fmt.Fprintf(&text, "  - {name: %s, provider: fake, poll: %s, sweep: %s}\n", accountName(i), poll, sweep)
	}
	return configs.Load([]byte(text.String()), "bench.yaml", &configs.Decoders{Providers: map[string]configs.SectionDecoder{"fake": configs.SectionOf(struct{}{})}},
		func(string) (string, bool) { return "", false })
}

// opened is how long the parts of a start took.
type opened struct{ file, ledger, daemon, cpu time.Duration }

func (o opened) total() time.Duration { return o.file + o.ledger + o.daemon }

// open starts the daemon on the ledger's file; found runs before the daemon does.
func (b *bench) open(ctx context.Context, found func() error) (o opened, err error) {
	c, err := b.config()
	if err != nil {
		return o, err
	}
	start := time.Now()
	file, err := bolt.Open(ctx, b.path, bolt.Options{})
	if err != nil {
		return o, err
	}
	o.file = time.Since(start)
	start = time.Now()
	if b.ledger, err = store.Open(ctx, gauge{file, &b.counts}, b.now()); err != nil {
		return o, errors.Join(err, file.Close())
	}
	o.ledger = time.Since(start)
	if found != nil {
		if err := found(); err != nil {
			return o, err
		}
	}
	start = time.Now()
	b.daemon, err = daemon.New(ctx, daemon.Options{
		Ledger: b.ledger, Config: c, File: keep.File{Backup: file.BackupTo},
		Factories: map[string]daemon.Factory{"fake": func(_ context.Context, a configs.Account) (providers.Provider, error) {
			return b.cloud.provider(a.Name)
		}},
		Channels: func(*configs.Config) ([]notify.Channel, error) { return []notify.Channel{reader{}}, nil },
		Boot:     "bench", Now: b.now, Wait: daemon.Wait, Log: slog.New(slog.DiscardHandler), Version: "bench",
	})
	if err != nil {
		return o, err
	}
	o.daemon = time.Since(start)
	return o, nil
}

// shut ends the daemon, whose loops stand still, and closes its ledger.
func (b *bench) shut() error {
	if b.ledger == nil {
		return nil
	}
	l := b.ledger
	b.ledger, b.daemon = nil, nil
	return l.Close()
}

// reader is a channel whose people have read everything at once.
type reader struct{}

// Name implements notify.Channel.
func (reader) Name() string { return "team" }

// Post implements notify.Channel.
func (reader) Post(context.Context, guard.Message, string) (guard.Posted, error) {
	return guard.Posted{Receipt: "read"}, nil
}

// Find implements notify.Channel.
func (reader) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, nil
}
