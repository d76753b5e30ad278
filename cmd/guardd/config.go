package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"guard"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify"
	notifylog "guard/daemon/notify/log"
	"guard/daemon/notify/slack"
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
// without an account, for what they declare and can. A new provider is one line in each.
var (
	sections = &configs.Decoders{
		Providers: map[string]configs.SectionDecoder{
			autodl.Kind:       configs.SectionOf(autodl.Config{}),
			compshare.Kind:    configs.SectionOf(compshare.Config{}),
			aws.Kind:          configs.SectionOf(aws.Config{}),
			exec.Kind:         configs.SectionOf(exec.Config{}),
			digitalocean.Kind: configs.SectionOf(digitalocean.Config{}),
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
	}
	factories = map[string]daemon.Factory{
		compshare.Kind:    newCompShare,
		autodl.Kind:       newAutoDL,
		aws.Kind:          newAWS,
		exec.Kind:         newExec,
		digitalocean.Kind: newDigitalOcean,
		lambda.Kind:       newLambda,
		manual.Kind:       newManual,
		runpod.Kind:       newRunPod,
		vast.Kind:         newVast,
	}
	unconfigured = map[string]providers.Provider{
		compshare.Kind:    &compshare.Provider{},
		autodl.Kind:       &autodl.Provider{},
		aws.Kind:          &aws.Provider{},
		exec.Kind:         &exec.Provider{},
		digitalocean.Kind: &digitalocean.Provider{},
		lambda.Kind:       &lambda.Provider{},
		manual.Kind:       &manual.Provider{},
		runpod.Kind:       &runpod.Provider{},
		vast.Kind:         &vast.Provider{},
	}
	// programs are those of exec accounts; they end with guardd.
	programs = &exec.Programs{}
)

func newExec(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(exec.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the exec section was not decoded", guard.ErrInvalid)
	}
	return exec.New(exec.Options{Name: a.Name, Config: section, Programs: programs})
}

func newManual(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(manual.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the manual section was not decoded", guard.ErrInvalid)
	}
	return manual.New(a.Name, section)
}

func newAWS(ctx context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(aws.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the aws section was not decoded", guard.ErrInvalid)
	}
	return aws.New(ctx, aws.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newDigitalOcean(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(digitalocean.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the digitalocean section was not decoded", guard.ErrInvalid)
	}
	return digitalocean.New(digitalocean.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newLambda(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(lambda.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the lambda section was not decoded", guard.ErrInvalid)
	}
	return lambda.New(lambda.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newAutoDL(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(autodl.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the autodl section was not decoded", guard.ErrInvalid)
	}
	return autodl.New(autodl.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newCompShare(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(compshare.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the compshare section was not decoded", guard.ErrInvalid)
	}
	return compshare.New(compshare.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newRunPod(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(runpod.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the runpod section was not decoded", guard.ErrInvalid)
	}
	return runpod.New(runpod.Options{Name: a.Name, Config: section, Book: a.Book})
}

func newVast(_ context.Context, a configs.Account) (providers.Provider, error) {
	section, ok := a.Section.(vast.Config)
	if !ok {
		return nil, fmt.Errorf("%w: the vast section was not decoded", guard.ErrInvalid)
	}
	return vast.New(vast.Options{Name: a.Name, Config: section, Book: a.Book})
}

// channels makes the channels of a configuration: the log always, Slack where it
// is configured.
func channels(log *slog.Logger) func(*configs.Config) ([]notify.Channel, error) {
	return func(c *configs.Config) ([]notify.Channel, error) {
		out := []notify.Channel{notifylog.New(log)}
		if c.Slack == nil {
			return out, nil
		}
		s, err := slack.New(slack.Config{Token: c.Slack.Token, Channel: c.Slack.Channel, Endpoint: c.Slack.Endpoint})
		if err != nil {
			return nil, err
		}
		return append(out, s), nil
	}
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
