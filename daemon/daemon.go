package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/api"
	"guard/daemon/keep"
	"guard/daemon/notify"
	"guard/daemon/people"
	"guard/daemon/report"
	"guard/daemon/signals"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/say"
	"guard/providers"
	"guard/store"
	"guard/store/samples"
)

// Factory makes the adapter of one configured account. It calls no cloud.
type Factory func(ctx context.Context, a configs.Account) (providers.Provider, error)

// Options is what a daemon is made of.
type Options struct {
	Ledger *store.Ledger
	Config *configs.Config
	// Load reads the configuration again, for a reload; nil where it cannot change.
	Load func() (*configs.Config, error)
	// Factories are the providers, by name.
	Factories map[string]Factory
	// Channels makes the channels of a configuration. It posts nothing.
	Channels func(*configs.Config) ([]notify.Channel, error)
	// Clicks makes what takes people's clicks in a configuration's channel; nil, or nil
	// of it: nobody does.
	Clicks func(*configs.Config) (Clicks, error)
	// File is what can be done with the ledger's file; empty where there is none.
	File keep.File
	// Storage tells of the ledger's file and its backups; nil where there is no file.
	Storage func(ctx context.Context) wire.Storage
	// Samples are what was told of how hard instances work, in a file of their own; nil:
	// kept in memory. Sources makes what tells of it beside the accounts themselves; nil:
	// nothing does.
	Samples *samples.Store
	Sources func(*configs.Config) ([]signals.Source, error)
	// Parallel is how many release calls an account has out at once; zero is a
	// sensible number.
	Parallel int
	// Spool is the folder of registrations that were kept while nobody answered; "":
	// there is none.
	Spool string
	// Beat returns what sends a heartbeat to an address (report.Beat); nil: none is sent.
	Beat func(to guard.Secret) func(ctx context.Context) error
	// Boot tells this boot of the machine from others (see Boot).
	Boot string
	// Machine tells this machine from others (see ThisMachine); zero: nothing does.
	Machine Machine
	// Now tells the time; Wait lets it pass (see Scheduler.Run).
	Now     func() guard.Instant
	Wait    func(ctx context.Context, d time.Duration, wake <-chan struct{})
	Log     *slog.Logger
	Version string
}

// Daemon is one running guard: Options wired together.
type Daemon struct {
	o     Options
	time  *timekeeper
	sched *Scheduler
	api   http.Handler
	gen   atomic.Pointer[generation]
	// reloading keeps two reloads apart.
	reloading sync.Mutex
	// keep and signals go on over reloads.
	keep    *keep.Loop
	signals *signals.Book
	spool   *api.Spool // nil where nothing is kept while the daemon is away
	people  *people.People
	adopted chan struct{} // told of each new generation
	term    string        // of this start
	started time.Time
}

// New checks that the configured accounts fit together and with the ledger, and
// wires the loops. It reads each account's identity; an account that cannot be
// reached is watched all the same, two with one identity are refused.
func New(ctx context.Context, o Options) (*Daemon, error) {
	d := &Daemon{o: o, adopted: make(chan struct{}, 1)}
	var err error
	if d.time, err = keepTime(ctx, o.Ledger, o.Boot, o.Now(), d.accountNames); err != nil {
		return nil, err
	}
	d.sched = NewScheduler(o.Log, d.time.Believe)
	d.keep = keep.New(keep.Config{Ledger: o.Ledger, File: o.File, Settings: d.kept, Kick: d.sched.Kick, Log: o.Log})
	d.signals = d.book()
	if o.Spool != "" {
		d.spool = api.NewSpool(d.asked(), o.Spool)
	}
	at := d.now()
	d.started = at.Wall
	if err := errors.Join(d.wake(ctx, at), report.Return(ctx, o.Ledger, o.Boot, at)); err != nil {
		return nil, err
	}
	g, err := d.build(guard.WithInstant(ctx, at), o.Config, true)
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, g, at); err != nil {
		return nil, err
	}
	if err := errors.Join(d.adopt(ctx, g, at), d.tellPause(ctx, at)); err != nil {
		return nil, err
	}
	d.api, d.people = api.New(d.asked()), d.newPeople()
	return d, nil
}

// asked is what the API works with.
func (d *Daemon) asked() api.Options {
	o := d.o
	return api.Options{
		Ledger:       o.Ledger,
		Account:      func(name string) (*providers.Account, bool) { return d.gen.Load().account(name) },
		AccountNames: d.accountNames,
		Now:          d.now,
		Doubt:        func() bool { return d.time.Belief().Doubt },
		Kick:         d.sched.Kick,
		Rules:        func() policy.Rules { return d.gen.Load().config.Rules },
		Location:     func() *time.Location { return d.gen.Load().config.TimeZone },
		Channels:     func() []string { return d.gen.Load().channelNames() },
		Why: func(ctx context.Context, at guard.Instant, id guard.ResourceID) ([]guard.Fact, []string, error) {
			g := d.gen.Load()
			facts, lines, err := g.decide.Why(ctx, at, id)
			if p := g.standing.pause; p.On() && err == nil {
				lang := guard.LangFrom(ctx)
				lines = append(lines, say.In(lang, "guard acts nowhere since %s, because %s, until somebody says guard resume.", policy.Stamp(p.Since, g.config.TimeZone), say.Kept(lang, p.Why)))
			}
			return facts, lines, err
		},
		Signals: d.signalsAsked(),
		Modes: api.Modes{Switch: d.Switch, Resume: d.Resume, Reload: d.ReloadBy,
			Pause: func() guard.Pause { return d.gen.Load().standing.pause }},
		Delivery: func(v *store.View) ([]wire.Channel, error) {
			g := d.gen.Load()
			return Delivery(v, d.now().Wall, g.config.Notify.Quiet.Ends, g.channelNames()...)
		},
		Report:  d.report,
		Examine: d.examine,
		Storage: o.Storage,
		Health:  d.health,
		Backup:  o.File.Backup,
		Version: o.Version,
		Log:     o.Log,
	}
}

// accountNames are those of the configuration in force, or to come.
func (d *Daemon) accountNames() []string {
	if g := d.gen.Load(); g != nil {
		return g.names()
	}
	names := make([]string, len(d.o.Config.Accounts))
	for i, a := range d.o.Config.Accounts {
		names[i] = a.Name
	}
	return names
}

// now is the time that guard goes by.
func (d *Daemon) now() guard.Instant { return d.time.Believe(d.o.Now()) }

// Time is the time that guard goes by, for what is ordered of it from outside.
func (d *Daemon) Time() guard.Instant { return d.now() }

// Handler is the HTTP API.
func (d *Daemon) Handler() http.Handler { return d.api }

// Scheduler drives the daemon's loops; the simulation drives it by hand.
func (d *Daemon) Scheduler() *Scheduler { return d.sched }

// Run drives the loops and takes clicks until ctx ends, and returns when the last run is
// over and the last click answered.
func (d *Daemon) Run(ctx context.Context) {
	var rims sync.WaitGroup
	defer rims.Wait()
	rims.Go(func() { d.takeClicks(ctx) })
	d.sched.Run(ctx, d.o.Now, d.o.Wait)
	if err := report.Stopped(context.WithoutCancel(ctx), d.o.Ledger, d.now()); err != nil {
		d.o.Log.Warn("that guard was stopped is not on record", "error", err.Error())
	}
}

func (d *Daemon) reload(ctx context.Context) (*generation, error) {
	c, err := d.o.Load()
	if err != nil {
		return nil, err
	}
	old := d.gen.Load()
	if c.Ledger != old.config.Ledger || c.Listen != old.config.Listen {
		return nil, fmt.Errorf("%w: ledger and listen cannot change while guardd runs: restart it", guard.ErrRefused)
	}
	if err := d.stillNeeded(ctx, c); err != nil {
		return nil, err
	}
	return d.build(ctx, c, false)
}

func (d *Daemon) journal(ctx context.Context, at guard.Instant, who, verb, text string) error {
	return d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: who, Verb: verb, Text: text})
	})
}

// adopt puts a generation to work. Whoever asked for it may be gone meanwhile: a swap
// that has begun is not left half done.
func (d *Daemon) adopt(ctx context.Context, g *generation, at guard.Instant) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxRun)
	defer cancel()
	old := d.gen.Swap(g)
	if err := d.sched.Replace(ctx, g.loops, at); err != nil {
		d.gen.Store(old)
		return err
	}
	select {
	case d.adopted <- struct{}{}:
	default: // it was told, and has not looked yet
	}
	return nil
}

// late is how far behind its time a loop may be before it counts as stale. A run
// may take minutes where a provider is slow; the scheduler ends it at maxRun.
const late = 2 * time.Minute

// Healthy reports whether every loop runs in time.
func (d *Daemon) Healthy() bool { return d.health(d.now()).OK }

// health tells how the loops run, without touching the ledger.
func (d *Daemon) health(at guard.Instant) wire.Health {
	h := wire.Health{OK: true, Version: d.o.Version}
	for _, s := range d.sched.Status() {
		l := wire.Loop{Name: s.Name, Error: s.Error}
		if !s.Last.IsZero() {
			l.Last = &s.Last
		}
		if !s.Next.IsZero() && !s.Running {
			l.Next = &s.Next.Wall
		}
		l.Stale = s.stale(at)
		h.OK = h.OK && !l.Stale
		h.Loops = append(h.Loops, l)
	}
	if l, ok := d.clickLoop(); ok {
		h.Loops = append(h.Loops, l)
	}
	return h
}

// stale reports whether the loop should have run, or ended its run, and has not.
func (s LoopStatus) stale(at guard.Instant) bool {
	if s.Running {
		return at.Sub(s.Since) > max(late, s.Patience)
	}
	return !s.Next.IsZero() && at.Sub(s.Next) > late
}
