package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify"
	notifylog "guard/daemon/notify/log"
	"guard/daemon/notify/slack"
	"guard/daemon/notify/url"
	"guard/providers"
	"guard/providers/autodl"
	"guard/providers/aws"
	"guard/providers/compshare"
	"guard/providers/digitalocean"
	"guard/providers/exec"
	"guard/providers/lambda"
	"guard/providers/manual"
	"guard/providers/runpod"
	"guard/providers/signals/prometheus"
	"guard/providers/signals/ssh"
	"guard/providers/vast"
)

// sections is how each provider's own part of an account is decoded, and each kind's
// of a source of samples; factories is how an adapter is made; unconfigured are adapters
// without an account, for what they declare and can. A new provider is one entry in each.
var (
	sections = &configs.Decoders{
		Providers: map[string]configs.SectionDecoder{
			autodl.Kind:       configs.SectionOf(autodl.Config{}),
			aws.Kind:          configs.SectionOf(aws.Config{}),
			compshare.Kind:    configs.SectionOf(compshare.Config{}),
			digitalocean.Kind: configs.SectionOf(digitalocean.Config{}),
			exec.Kind:         configs.SectionOf(exec.Config{}),
			lambda.Kind:       configs.SectionOf(lambda.Config{}),
			manual.Kind:       configs.SectionOf(manual.Config{}),
			runpod.Kind:       configs.SectionOf(runpod.Config{}),
			vast.Kind:         configs.SectionOf(vast.Config{}),
		},
		Sources: map[string]configs.SectionDecoder{
			prometheus.Kind:       configs.SectionOf(prometheus.Defaults()),
			prometheus.ScrapeKind: configs.SectionOf(prometheus.ScrapeConfig{}),
			ssh.Kind:              configs.SectionOf(ssh.Config{}),
		},
		Address: func(address guard.Secret) error {
			_, err := url.New(url.Config{URL: address})
			return err
		},
	}
	factories = map[string]daemon.Factory{
		autodl.Kind: factory(func(_ context.Context, a configs.Account, c autodl.Config) (providers.Provider, error) {
			return autodl.New(autodl.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		aws.Kind: factory(func(ctx context.Context, a configs.Account, c aws.Config) (providers.Provider, error) {
			return aws.New(ctx, aws.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		compshare.Kind: factory(func(_ context.Context, a configs.Account, c compshare.Config) (providers.Provider, error) {
			return compshare.New(compshare.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		digitalocean.Kind: factory(func(_ context.Context, a configs.Account, c digitalocean.Config) (providers.Provider, error) {
			return digitalocean.New(digitalocean.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		exec.Kind: factory(func(_ context.Context, a configs.Account, c exec.Config) (providers.Provider, error) {
			return exec.New(exec.Options{Name: a.Name, Config: c, Programs: programs})
		}),
		lambda.Kind: factory(func(_ context.Context, a configs.Account, c lambda.Config) (providers.Provider, error) {
			return lambda.New(lambda.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		manual.Kind: factory(func(_ context.Context, a configs.Account, c manual.Config) (providers.Provider, error) {
			return manual.New(a.Name, c)
		}),
		runpod.Kind: factory(func(_ context.Context, a configs.Account, c runpod.Config) (providers.Provider, error) {
			return runpod.New(runpod.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
		vast.Kind: factory(func(_ context.Context, a configs.Account, c vast.Config) (providers.Provider, error) {
			return vast.New(vast.Options{Name: a.Name, Config: c, Book: a.Book})
		}),
	}
	unconfigured = map[string]providers.Provider{
		autodl.Kind:       &autodl.Provider{},
		aws.Kind:          &aws.Provider{},
		compshare.Kind:    &compshare.Provider{},
		digitalocean.Kind: &digitalocean.Provider{},
		exec.Kind:         &exec.Provider{},
		lambda.Kind:       &lambda.Provider{},
		manual.Kind:       &manual.Provider{},
		runpod.Kind:       &runpod.Provider{},
		vast.Kind:         &vast.Provider{},
	}
	// programs are those of exec accounts; they end with guardd.
	programs = &exec.Programs{}
)

// factory makes adapters of accounts whose provider's section is a C.
func factory[C any](open func(ctx context.Context, a configs.Account, section C) (providers.Provider, error)) daemon.Factory {
	return func(ctx context.Context, a configs.Account) (providers.Provider, error) {
		section, ok := a.Section.(C)
		if !ok {
			return nil, fmt.Errorf("%w: the %s section of %s was not decoded", guard.ErrInvalid, a.Provider, a.Name)
		}
		return open(ctx, a, section)
	}
}

// channels makes the channels of a configuration: the log always, Slack and other services
// where they are configured, in the order in which they stand in for each other.
func channels(log *slog.Logger) func(*configs.Config) ([]notify.Channel, error) {
	return func(c *configs.Config) ([]notify.Channel, error) {
		out := []notify.Channel{notifylog.New(log)}
		if c.Notify.Slack != nil {
			s, err := slack.New(inSlack(c.Notify.Slack, c.TimeZone))
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		for _, u := range c.Notify.URLs {
			ch, err := url.New(url.Config{Name: u.Name, URL: u.URL, Lang: u.Lang, Fallback: u.Fallback})
			if err != nil {
				return nil, fmt.Errorf("notify.urls: %s: %w", u.Name, err)
			}
			out = append(out, ch)
		}
		return out, nil
	}
}

// inSlack is how guard speaks in Slack. People are known by the names that leases give
// them, and by their IDs; there are buttons where there is a token to answer clicks.
func inSlack(s *configs.Slack, zone *time.Location) slack.Config {
	users := map[string]string{}
	for _, u := range slices.Concat(s.Users, s.Admins) {
		users[u.ID] = u.ID
		if u.Name != "" {
			users[u.Name] = u.ID
		}
	}
	return slack.Config{Token: s.Token, Channel: s.Channel, Users: users, Buttons: s.AppToken.IsSet(), Lang: s.Lang, Zone: zone, Endpoint: s.Endpoint}
}

// load reads and checks the configuration file.
func load(path string) (*configs.Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errFile, err)
	}
	c, err := configs.Load(data, path, sections, os.LookupEnv)
	if err != nil {
		return nil, fmt.Errorf("%w:\n%w", errFile, err)
	}
	return c, nil
}
