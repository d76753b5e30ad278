package daemon_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// rim is a place where clicks come from.
type rim struct {
	name string
	of   *rims
}

// rims notes which of them run.
type rims struct {
	mu   sync.Mutex
	log  []string
	made int
}

func (r *rims) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *rims) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, ", ")
}

func (r *rim) Name() string { return "slack buttons" }
func (r *rim) Run(ctx context.Context, handle func(context.Context, wire.Click) wire.ClickAnswer) {
	r.of.note("%s on", r.name)
	a := handle(ctx, wire.Click{Channel: "slack", User: "U9", Command: "ls"})
	<-ctx.Done()
	r.of.note("%s off (%t)", r.name, a.Done)
}
func (r *rim) Health() (time.Time, string)           { return time.Time{}, "slack says invalid_auth" }
func (r *rim) Check(context.Context) (string, error) { return "", guard.ErrPermission }

// A rim runs beside the loops from the start to the stop; a reload puts another in its
// place only where what it goes by has changed; and what is wrong with it is told.
func TestRim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all rims
		config := strings.Replace(enforce+people, "{slack: {", "{slack: {language: en, ", 1)
		read := func() (*configs.Config, error) { return load(config) }
		cloud, err := fake.NewCloud(lab(gpu("i-1", "1")))
		if err != nil {
			t.Fatal(err)
		}
		began, at := time.Now(), cloud.At(0)
		now := func() guard.Instant { return at.Add(time.Since(began)) }
		ledger, err := store.Open(t.Context(), memory.New(), now())
		if err != nil {
			t.Fatal(err)
		}
		c, err := read()
		if err != nil {
			t.Fatal(err)
		}
		d, err := daemon.New(t.Context(), daemon.Options{Ledger: ledger, Config: c, Load: read, Boot: "boot", Now: now, Wait: daemon.Wait, Log: slog.New(slog.DiscardHandler),
			Factories: map[string]daemon.Factory{"fake": func(context.Context, configs.Account) (providers.Provider, error) { return cloud.Provider(), nil }},
			Channels:  func(*configs.Config) ([]notify.Channel, error) { return []notify.Channel{&channel{}}, nil },
			Clicks: func(c *configs.Config) (daemon.Clicks, error) {
				if !c.Notify.Slack.AppToken.IsSet() {
					return nil, nil
				}
				all.made++
				return &rim{fmt.Sprint(all.made), &all}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		asks, err := client.New(client.Options{Transport: client.InProcess(api.As(api.Caller{Name: "admin", Role: guard.Admin}, d.Handler()))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); d.Run(ctx) }()
		reload := func(old, with string) {
			synctest.Wait()
			if !strings.Contains(config, old) {
				t.Fatalf("no %s in the configuration", old)
			}
			config = strings.Replace(config, old, with, 1)
			if err := d.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		synctest.Wait()
		if s, err := asks.Status(t.Context()); err != nil || !strings.Contains(fmt.Sprint(s.Loops), "slack buttons") || !strings.Contains(fmt.Sprint(s.Loops), "invalid_auth") {
			t.Errorf("%+v, %v", s.Loops, err)
		}
		if !d.Healthy() {
			t.Error("a guard whose buttons do not work is restarted for that")
		}
		reload("users: [{id: U1, name: ana}]", "users: []")
		reload("language: en", "language: zh")
		reload("app_token: {env: SLACK_APP_TOKEN}, ", "")
		cancel()
		<-done
		if got := all.said(); got != "1 on, 1 off (false), 2 on, 2 off (false)" || all.made != 2 {
			t.Errorf("%s; made %d", got, all.made)
		}
	})
}
