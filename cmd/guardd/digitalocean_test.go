package main

import (
	"strings"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/digitalocean"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestDigitalOceanStory: a GPU droplet is destroyed at the end of its lease, with proof, and
// its volume and its address are told of; another that somebody turned off costs on.
func TestDigitalOceanStory(t *testing.T) {
	var s *story
	c := digitaloceantest.Of(providertest.World{})
	c.Cloud = &cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}, Clock: func() time.Time { return s.now() }}
	for _, id := range []string{"3164001", "3164002"} {
		c.Create(providertest.Thing{ID: id, Name: "box", GPUs: 1, Price: guard.MustMoney("6USD")})
	}
	c.Create(providertest.Thing{Kind: guard.Volume, ID: "506f78a4-e098-11e5-ad9f-000f53306ae1", Name: "data", AttachedTo: "3164001"})
	c.Create(providertest.Thing{Kind: guard.Address, ID: "45.55.96.47", AttachedTo: "3164001"})
	s = tell(t, `
mode: enforce
rules: {orphan_volume: {after: 1h, then: alert}, orphan_address: {after: 1h, then: alert}}
accounts:
  - {name: ocean, provider: digitalocean, sweep: 10m, digitalocean: {token: {env: DIGITALOCEAN_ACCESS_TOKEN}}}
`, func(a configs.Account) (providers.Provider, error) {
		return digitalocean.New(digitalocean.Options{Name: a.Name, Config: digitalocean.Config{Token: guard.NewSecret(providertest.Secret)}, Base: cloudtest.In(c), Unpaced: true})
	})
	s.until(time.Minute)
	s.register(wire.RegisterRequest{ID: "ocean/3164001", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "ocean/3164002", TTL: "8h"})
	s.until(time.Hour)
	s.is("ocean/3164001", "running, bills yes, spent 6.00 USD")
	if err := c.Stop("3164002"); err != nil {
		t.Fatal(err)
	}
	s.until(4 * time.Hour)
	s.is("ocean/3164001", "released, bills no, spent 12.10 USD") // two hours, and a minute until it is gone
	s.is("ocean/3164002", "stopped, bills yes, spent 24.00 USD") // off, it costs as before
	s.heard("data", "left behind")
	s.heard("45.55.96.47", "left behind")
	deletions := 0
	for _, call := range c.Calls() {
		if strings.HasPrefix(call, "DELETE /v2/droplets") {
			deletions++
		}
	}
	if deletions != 1 {
		t.Errorf("%d deletions, want one", deletions)
	}
	// Four hours are 240 polls of two calls and an identity, 24 sweeps, tags, and the reads around an end.
	if n := len(c.Calls()); n > 960 {
		t.Errorf("%d calls in four hours", n)
	}
	t.Logf("%d calls in four hours", len(c.Calls()))
}
