package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/api"
	"guard/daemon/client"
	"guard/daemon/notify"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
)

// world is the whole daemon on virtual time: real scheduler, loops, API and
// ledger; fake clouds and a fake channel.
type world struct {
	t       *testing.T
	start   time.Time
	at      guard.Instant
	clouds  map[string]*fake.Cloud
	channel *channel
	backend *memory.Backend
	ledger  *store.Ledger
	daemon  *daemon.Daemon
	client  *client.Client
	config  string
	bootID  string // of the machine
	machine daemon.Machine
	log     bytes.Buffer
	// pager is a channel for what nobody else takes; nil: there is none.
	pager *pager
	// beat is what a heartbeat reaches; nil: none is sent.
	beat func(to guard.Secret) func(context.Context) error
	// stepped is run after every run of due loops.
	stepped func()
}

// channel is a place where people read that can be out of order.
type channel struct {
	posts []guard.Message
	down  bool
	lang  guard.Lang
}

func (c *channel) Name() string     { return "team" }
func (c *channel) Lang() guard.Lang { return c.lang }
func (c *channel) Post(_ context.Context, m guard.Message, _ string) (guard.Posted, error) {
	if c.down {
		return guard.Posted{}, fmt.Errorf("%w: the channel is down", guard.ErrUnavailable)
	}
	c.posts = append(c.posts, m)
	return guard.Posted{Receipt: fmt.Sprint(len(c.posts))}, nil
}
func (c *channel) Find(_ context.Context, m guard.Message, _ string) (guard.Posted, bool, error) {
	for i, p := range c.posts {
		if p.ID == m.ID {
			return guard.Posted{Receipt: fmt.Sprint(i + 1)}, true, nil
		}
	}
	return guard.Posted{}, false, nil
}

// pager is a fall-back channel.
type pager struct{ channel }

func (*pager) Name() string   { return "pager" }
func (*pager) Fallback() bool { return true }

func (w *world) channels(*configs.Config) ([]notify.Channel, error) {
	if w.pager == nil {
		return []notify.Channel{w.channel}, nil
	}
	return []notify.Channel{w.channel, w.pager}, nil
}

// newWorld starts a daemon over the scripts, with the accounts' common lines
// (mode, rules …) of config.
func newWorld(t *testing.T, config string, scripts ...fake.Script) *world {
	t.Helper()
	w := &world{t: t, start: fake.DefaultStart, clouds: map[string]*fake.Cloud{}, channel: &channel{}, backend: memory.New(), config: config, bootID: "boot-1"}
	w.at = guard.Instant{Wall: w.start, Elapsed: time.Hour}
	for _, s := range scripts {
		s.Start = w.start
		s.Time = w.cloudTime // guard's wall clock may be wrong, the cloud's is not
		c, err := fake.NewCloud(s)
		if err != nil {
			t.Fatal(err)
		}
		w.clouds[s.Account] = c
	}
	t.Cleanup(func() {
		if w.ledger == nil {
			return // it never started
		}
		if err := w.ledger.Check(context.Background()); err != nil {
			t.Errorf("the ledger is not in order: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", w.log.String())
		}
	})
	w.boot()
	return w
}

// load reads a configuration, with secrets of the tests' own.
func load(config string) (*configs.Config, error) {
	return configs.Load([]byte(config), "guard.yaml", &configs.Decoders{Providers: map[string]configs.SectionDecoder{"fake": configs.SectionOf(struct{}{})}}, func(name string) (string, bool) {
		secret, ok := map[string]string{"SLACK_BOT_TOKEN": "xoxb-test", "SLACK_APP_TOKEN": "xapp-test", "GUARD_HEARTBEAT_URL": "https://watcher.example/ping/secret"}[name]
		return secret, ok
	})
}

func (w *world) load() (*configs.Config, error) {
	return load(w.config)
}

// boot starts a daemon over what the backend holds.
func (w *world) boot() {
	w.t.Helper()
	if err := w.tryBoot(); err != nil {
		w.t.Fatal(err)
	}
}

// copied is a backup of the ledger, and putBack makes one the ledger; no daemon
// runs then.
func (w *world) copied() *strings.Reader {
	w.t.Helper()
	var b bytes.Buffer
	if err := w.backend.Backup(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
	return strings.NewReader(b.String())
}

func (w *world) putBack(backup *strings.Reader) {
	w.t.Helper()
	var err error
	if w.backend, err = memory.Restore(backup); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryBoot() error {
	ctx := w.t.Context()
	ledger, err := store.Open(ctx, w.backend, w.at)
	if err != nil {
		return err
	}
	c, err := w.load()
	if err != nil {
		return err
	}
	d, err := daemon.New(ctx, daemon.Options{
		Ledger: ledger, Config: c, Load: w.load, Boot: w.bootID, Machine: w.machine,
		Factories: map[string]daemon.Factory{"fake": func(_ context.Context, a configs.Account) (providers.Provider, error) {
			return w.clouds[a.Name].Provider(), nil
		}},
		Channels: w.channels, Beat: w.beat,
		Now: func() guard.Instant { return w.at },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		return err
	}
	w.daemon, w.ledger = d, ledger
	w.client, err = client.New(client.Options{Transport: client.InProcess(api.As(api.Caller{Name: "admin", Role: guard.Admin}, d.Handler()))})
	return err
}

// cloudTime is the true time, which guard's wall clock may have left.
func (w *world) cloudTime(at guard.Instant) time.Time { return w.start.Add(at.Elapsed - time.Hour) }

// offset is a time of the story, by the clouds.
func (w *world) offset() time.Duration { return w.at.Elapsed - time.Hour }

// step sets guard's wall clock; a negative d sets it back.
func (w *world) step(d time.Duration) { w.at.Wall = w.at.Wall.Add(d) }

// until runs the story to an offset from its start.
func (w *world) until(offset time.Duration) {
	w.t.Helper()
	end := w.at.Elapsed + offset - w.offset()
	for steps := 0; ; steps++ {
		if steps > 200_000 {
			w.t.Fatalf("the daemon does not come to rest at %s", w.offset())
		}
		if w.daemon.Scheduler().RunDue(w.t.Context(), w.at) {
			if w.stepped != nil {
				w.stepped()
			}
			continue
		}
		next, ok := w.daemon.Scheduler().Next()
		if !ok || next.Elapsed > end {
			w.at = w.at.Add(end - w.at.Elapsed)
			for _, c := range w.clouds {
				c.Advance(w.cloudTime(w.at))
			}
			return
		}
		if next.Elapsed > w.at.Elapsed {
			w.at = w.at.Add(next.Elapsed - w.at.Elapsed)
		}
	}
}

func (w *world) register(r wire.RegisterRequest) wire.Registered {
	w.t.Helper()
	if r.Purpose == "" {
		r.Purpose = "test"
	}
	out, err := w.client.Register(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// item is one resource as `guard ls` shows it.
func (w *world) item(id string) wire.Item {
	w.t.Helper()
	s, err := w.client.Show(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Item
}

// spent is what the cloud's own meter says, of several things together.
func (w *world) spent(account string, ids ...string) *big.Rat {
	sum := new(big.Rat)
	for _, id := range ids {
		r, _ := w.clouds[account].Spend(id)
		if r == nil {
			w.t.Fatalf("the cloud knows no %s", id)
		}
		sum.Add(sum, r)
	}
	return sum
}

func (w *world) effective(account, id string) int {
	n := 0
	for _, c := range w.clouds[account].CallsOf(fake.CallRelease, id) {
		if c.Outcome == "ok" {
			n++
		}
	}
	return n
}

// posts are the titles that people were told about one resource.
func (w *world) posts(part string) []string {
	var out []string
	for _, p := range w.channel.posts {
		if text := p.Title + "\n" + strings.Join(p.Lines, "\n"); strings.Contains(text, part) {
			out = append(out, p.Title)
		}
	}
	return out
}

// toldOnce checks that no message reached people twice.
func (w *world) toldOnce() {
	w.t.Helper()
	seen := map[string]bool{}
	for _, p := range w.channel.posts {
		if seen[p.ID] {
			w.t.Errorf("told twice: %s (%s)", p.Title, p.ID)
		}
		seen[p.ID] = true
	}
}

func (w *world) findings() []string {
	w.t.Helper()
	f, err := w.client.Findings(w.t.Context(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, x := range f.Findings {
		out = append(out, x.Rule+" "+x.Subject)
	}
	return out
}
