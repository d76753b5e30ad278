package main

import (
	"context"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/runpod"
	"guard/providers/runpod/runpodtest"
)

// TestRunPodStory: a pod is released at the end of its lease, with proof, and its network
// volume is told of; another is stopped, and costs its volume disk from then on, at twice
// the price.
func TestRunPodStory(t *testing.T) {
	s := begin(t)
	c := &runpodtest.Cloud{Key: providertest.Secret, Pods: map[string]runpodtest.Pod{"parked": {DiskGB: 730}},
		Cloud: s.cloud(&cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}})}
	for _, id := range []string{"train", "parked"} {
		c.Create(providertest.Thing{ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("3USD")})
	}
	c.Create(providertest.Thing{Kind: guard.Filesystem, ID: "data", Name: "data", AttachedTo: "train"})
	s.tell("orphan_filesystem: {after: 1h, then: alert}", "name: pods, provider: runpod, sweep: 10m, runpod: {api_key: {env: RUNPOD_API_KEY}}",
		factory(func(_ context.Context, a configs.Account, section runpod.Config) (providers.Provider, error) {
			return runpod.New(runpod.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "pods/train", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "pods/parked", TTL: "1h59m", OnLimit: "stop"})
	s.until(time.Hour)
	s.is("pods/train", "running, bills yes, spent 3.01 USD") // 100 GB of the volume are a cent
	s.until(4 * time.Hour)
	// Two hours, a minute until it is gone, and the volume that stays.
	s.is("pods/train", "released, bills no, spent 6.09 USD")
	// Two hours, until the stop is seen, and two of 730 GB for 0.20 USD each.
	s.is("pods/parked", "stopped, bills yes, spent 6.41 USD")
	s.heard("data", "left behind")
	// Four hours are 240 polls and signals, 24 sweeps, and the reads around two writes.
	s.called(c.Calls(), 600, map[string]int{"DELETE ": 1, "POST ": 1, "PUT ": 0, "PATCH ": 0})
}
