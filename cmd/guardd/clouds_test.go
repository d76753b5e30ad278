package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/store"
	"guard/store/memory"
)

// story is the whole daemon on virtual time over an adapter and a stateful fake of its
// cloud, from nine in the morning of 2026-03-06 on.
type story struct {
	t      *testing.T
	at     guard.Instant
	daemon *daemon.Daemon
	client *client.Client
	told   []guard.Message
}

// begins is when a story does.
var begins = time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC)

// begin is a story in which nothing happens yet.
func begin(t *testing.T) *story {
	return &story{t: t, at: guard.Instant{Wall: begins, Elapsed: time.Hour}}
}

// cloud gives a cloud the story's clock.
func (s *story) cloud(c *cloudtest.Cloud) *cloudtest.Cloud {
	c.Clock = func() time.Time { return s.at.Wall }
	return c
}

// tell has a daemon watch an account, made by open, in enforce mode for a minute. Whatever
// variable of the environment the account's section names is the suite's secret.
func (s *story) tell(rules, account string, open daemon.Factory) {
	s.t.Helper()
	config := fmt.Sprintf("mode: enforce\nrules: {%s}\naccounts:\n  - {%s}\n", rules, account)
	c, err := configs.Load([]byte(config), "guard.yaml", sections, func(string) (string, bool) { return providertest.Secret, true })
	if err != nil {
		s.t.Fatal(err)
	}
	ledger, err := store.Open(s.t.Context(), memory.New(), s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := ledger.Check(context.Background()); err != nil {
			s.t.Errorf("the ledger is not in order: %v", err)
		}
	})
	s.daemon, err = daemon.New(s.t.Context(), daemon.Options{
		Ledger: ledger, Config: c, Factories: map[string]daemon.Factory{c.Accounts[0].Provider: open}, Boot: "story",
		Now: func() guard.Instant { return s.at }, Log: slog.New(slog.DiscardHandler),
		Channels: func(*configs.Config) ([]notify.Channel, error) { return []notify.Channel{s}, nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.client, err = client.New(client.Options{Transport: client.InProcess(api.As(api.Caller{Name: "admin", Role: guard.Admin}, s.daemon.Handler()))}); err != nil {
		s.t.Fatal(err)
	}
	s.until(time.Minute)
}

// Name implements notify.Channel.
func (s *story) Name() string { return "team" }

// Find implements notify.Channel.
func (s *story) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, nil
}

// Post implements notify.Channel.
func (s *story) Post(_ context.Context, m guard.Message, _ string) (guard.Posted, error) {
	s.told = append(s.told, m)
	return guard.Posted{Receipt: fmt.Sprint(len(s.told))}, nil
}

// until runs the daemon to a time after the story's beginning.
func (s *story) until(after time.Duration) {
	s.t.Helper()
	end := time.Hour + after
	for steps := 0; ; steps++ {
		if steps > 100_000 {
			s.t.Fatalf("the daemon does not come to rest at %s", s.at.Wall)
		}
		if s.daemon.Scheduler().RunDue(s.t.Context(), s.at) {
			continue
		}
		next, ok := s.daemon.Scheduler().Next()
		if !ok || next.Elapsed > end {
			s.at = s.at.Add(end - s.at.Elapsed)
			return
		}
		if next.Elapsed > s.at.Elapsed {
			s.at = s.at.Add(next.Elapsed - s.at.Elapsed)
		}
	}
}

func (s *story) register(r wire.RegisterRequest) {
	s.t.Helper()
	r.Purpose = "test"
	if _, err := s.client.Register(s.t.Context(), r); err != nil {
		s.t.Fatal(err)
	}
}

// is sees how `guard show` tells of a thing: its state, whether it bills, what the lease
// has spent.
func (s *story) is(id, want string) {
	s.t.Helper()
	show, err := s.client.Show(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	spend := "nothing known"
	if show.Item.Spend != nil {
		spend = *show.Item.Spend
	}
	if got := fmt.Sprintf("%s, bills %s, spent %s", show.Item.State, show.Item.Billing, spend); got != want {
		s.t.Errorf("at %s %s is %q, want %q", s.at.Wall.Format("15:04"), id, got, want)
	}
}

// heard sees that people were told something with these words in its title.
func (s *story) heard(words ...string) {
	s.t.Helper()
	if !slices.ContainsFunc(s.told, func(m guard.Message) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Title, w) })
	}) {
		var titles []string
		for _, m := range s.told {
			titles = append(titles, m.Title)
		}
		s.t.Errorf("nobody was told of %q; told was:\n%s", words, strings.Join(titles, "\n"))
	}
}

// called sees how often a cloud was called: in all at most, and exactly for each part of a
// call.
func (s *story) called(calls []string, most int, want map[string]int) {
	s.t.Helper()
	for part, n := range want {
		if got := strings.Count(strings.Join(calls, "\n"), part); got != n {
			s.t.Errorf("%d calls have %q, want %d: %v", got, part, n, calls)
		}
	}
	if len(calls) > most {
		s.t.Errorf("%d calls, at most %d are wanted", len(calls), most)
	}
	s.t.Logf("%d calls", len(calls))
}
