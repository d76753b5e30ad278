package main

import (
	"context"
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
// its volume and its address are told of; another that somebody turned off costs on. An
// endpoint of Dedicated Inference is seen and ended as they are.
func TestDigitalOceanStory(t *testing.T) {
	s := begin(t)
	c := digitaloceantest.Of(providertest.World{})
	c.Cloud = s.cloud(&cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}})
	for _, id := range []string{"3164001", "3164002"} {
		c.Create(providertest.Thing{ID: id, Name: "box", GPUs: 1, Price: guard.MustMoney("6USD")})
	}
	const endpoint = "inference/6b5c619c-359c-44ca-87e2-47e98170c01d"
	c.Create(providertest.Thing{ID: endpoint, Name: "mistral", GPUs: 2, Price: guard.MustMoney("2USD")})
	c.Create(providertest.Thing{Kind: guard.Volume, ID: "506f78a4-e098-11e5-ad9f-000f53306ae1", Name: "data", AttachedTo: "3164001"})
	c.Create(providertest.Thing{Kind: guard.Address, ID: "45.55.96.47", AttachedTo: "3164001"})
	s.tell("orphan_volume: {after: 1h, then: alert}, orphan_address: {after: 1h, then: alert}", "name: ocean, provider: digitalocean, sweep: 10m, digitalocean: {token: {env: DIGITALOCEAN_ACCESS_TOKEN}}",
		factory(func(_ context.Context, a configs.Account, section digitalocean.Config) (providers.Provider, error) {
			return digitalocean.New(digitalocean.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "ocean/3164001", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "ocean/3164002", TTL: "8h"})
	s.until(time.Hour)
	s.is("ocean/"+endpoint, "running, bills yes, spent 4.00 USD") // nobody registered it
	s.register(wire.RegisterRequest{ID: "ocean/" + endpoint, TTL: "1h59m"})
	s.is("ocean/3164001", "running, bills yes, spent 6.00 USD")
	if err := c.Stop("3164002"); err != nil {
		t.Fatal(err)
	}
	s.until(4 * time.Hour)
	s.is("ocean/3164001", "released, bills no, spent 12.10 USD")   // two hours, and a minute until it is gone
	s.is("ocean/"+endpoint, "released, bills no, spent 12.00 USD") // of two machines, three hours
	s.is("ocean/3164002", "stopped, bills yes, spent 24.00 USD")   // off, it costs as before
	s.heard("data", "left behind")
	s.heard("45.55.96.47", "left behind")
	// Four hours are 240 polls of three calls and an identity, 24 sweeps, bills, tags, and the reads around an end.
	s.called(c.Calls(), 1400, map[string]int{"DELETE /v2/droplets": 1, "DELETE /v2/dedicated-inferences": 1})
}
