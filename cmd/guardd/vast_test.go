package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/vast"
	"guard/providers/vast/vasttest"
)

// TestVastStory: an instance is destroyed at the end of its lease, with proof, and its volume
// is told of; another is stopped and costs its disk from then on; a third is outbid, which
// people hear, and costs its disk too. Vast tells of both in the same words.
func TestVastStory(t *testing.T) {
	s := begin(t)
	c := &vasttest.Cloud{Key: providertest.Secret, User: 4711, Credit: guard.MustMoney("100USD"), Boxes: map[string]vasttest.Box{"102": {Bid: true}, "103": {Bid: true}},
		Cloud: s.cloud(&cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}})}
	for id, name := range map[string]string{"101": "train", "102": "parked", "103": "cheap"} {
		c.Create(providertest.Thing{ID: id, Name: name, GPUs: 2, Price: guard.MustMoney("3USD")})
	}
	c.Create(providertest.Thing{Kind: guard.Volume, ID: "201", Name: "data", AttachedTo: "101"})
	s.tell("orphan_volume: {after: 1h, then: alert}", "name: boxes, provider: vast, sweep: 10m, vast: {api_key: {env: VAST_API_KEY}}",
		factory(func(_ context.Context, a configs.Account, section vast.Config) (providers.Provider, error) {
			return vast.New(vast.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "boxes/101", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "boxes/102", TTL: "1h59m", OnLimit: "stop"})
	s.register(wire.RegisterRequest{ID: "boxes/103", TTL: "12h"})
	s.until(time.Hour)
	s.is("boxes/101", "running, bills yes, spent 3.02 USD") // with an hour of its volume
	if err := c.Outbid("103"); err != nil {
		t.Fatal(err)
	}
	s.until(4 * time.Hour)
	// Two hours, a minute until it is gone, and the volume that stays.
	s.is("boxes/101", "released, bills no, spent 6.13 USD")
	// Two hours, until the stop is seen, and two of its disk.
	s.is("boxes/102", "stopped, bills yes, spent 6.05 USD")
	// An hour, until it is seen, and three of its disk.
	s.is("boxes/103", "stopped, bills yes, spent 3.11 USD")
	s.heard("boxes/103", "the provider took it back")
	if slices.ContainsFunc(s.told, func(m guard.Message) bool {
		return strings.Contains(m.Title, "boxes/102") && strings.Contains(m.Title, "took it back")
	}) {
		t.Error("guard's own stop is told of as the provider's")
	}
	s.heard("boxes/201 (data)", "left behind")
	// Four hours are 240 polls, 24 sweeps, and the reads around two writes.
	s.called(c.Calls(), 600, map[string]int{"DELETE ": 1, "PUT ": 1, "POST ": 0, "PATCH ": 0})
}

// TestVastEmptied: when the balance is used up Vast stops what runs, and its disk bills on,
// into debt, until the lease's end destroys it.
func TestVastEmptied(t *testing.T) {
	s := begin(t)
	c := &vasttest.Cloud{Key: providertest.Secret, User: 4711, Credit: guard.MustMoney("1.50USD"), Boxes: map[string]vasttest.Box{},
		Cloud: s.cloud(&cloudtest.Cloud{})}
	c.Create(providertest.Thing{ID: "101", Name: "train", GPUs: 1, Price: guard.MustMoney("3USD")})
	s.tell("", "name: boxes, provider: vast, poll: 10m, vast: {api_key: {env: VAST_API_KEY}}",
		factory(func(_ context.Context, a configs.Account, section vast.Config) (providers.Provider, error) {
			return vast.New(vast.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "boxes/101", TTL: "180h"})
	s.until(30 * time.Minute)
	if err := c.Drain(); err != nil {
		t.Fatal(err)
	}
	c.Change(func(c *vasttest.Cloud) { c.Credit = guard.MustMoney("-0.48USD") })
	s.until(7 * 24 * time.Hour)
	s.is("boxes/101", "stopped, bills yes, spent 4.90 USD") // half an hour, until it is seen, and 167 of its disk
	s.heard("boxes/101", "not free: 0.48 USD per day")
	s.until(8 * 24 * time.Hour)
	s.is("boxes/101", "released, bills no, spent 5.14 USD")
}
