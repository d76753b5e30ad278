package main

import (
	"fmt"

	"guard/configs"
	"guard/daemon/signals"
	"guard/providers"
	"guard/providers/signals/prometheus"
	"guard/providers/signals/ssh"
)

// sourceKinds are how each kind of source of samples is made: a new one is one line here
// and one in sections.
var sourceKinds = map[string]func(configs.Source) (providers.SignalSource, error){
	prometheus.Kind:       newPrometheus,
	prometheus.ScrapeKind: newScraper,
	ssh.Kind:              newSSH,
}

// sources makes the sources of a configuration. It asks none of them.
func sources(c *configs.Config) ([]signals.Source, error) {
	var out []signals.Source
	for _, s := range c.Signals.Sources {
		source, err := sourceKinds[s.Kind](s)
		if err != nil {
			return nil, fmt.Errorf("signals source %s: %w", s.Name, err)
		}
		out = append(out, signals.Source{Name: s.Name, SignalSource: source, Accounts: s.Accounts})
	}
	return out, nil
}

func newPrometheus(s configs.Source) (providers.SignalSource, error) {
	section, _ := s.Section.(prometheus.Config)
	section.CA = s.In(section.CA)
	return prometheus.New(section, nil)
}

func newScraper(s configs.Source) (providers.SignalSource, error) {
	section, _ := s.Section.(prometheus.ScrapeConfig)
	section.CA = s.In(section.CA)
	return prometheus.NewScraper(section, nil)
}

func newSSH(s configs.Source) (providers.SignalSource, error) {
	section, _ := s.Section.(ssh.Config)
	section.Key.File, section.KnownHosts = s.In(section.Key.File), s.In(section.KnownHosts)
	return ssh.New(section)
}
