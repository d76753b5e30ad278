package main

import (
	"strings"
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
	var s *story
	c := &runpodtest.Cloud{Key: providertest.Secret, Pods: map[string]runpodtest.Pod{"parked": {DiskGB: 730}},
		Cloud: &cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute}, Clock: func() time.Time { return s.now() }}}
	for _, id := range []string{"train", "parked"} {
		c.Create(providertest.Thing{ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("3USD")})
	}
	c.Create(providertest.Thing{Kind: guard.Filesystem, ID: "data", Name: "data", AttachedTo: "train"})
	s = tell(t, `
mode: enforce
rules: {orphan_filesystem: {after: 1h, then: alert}}
accounts:
  - {name: pods, provider: runpod, sweep: 10m, runpod: {api_key: {env: RUNPOD_API_KEY}}}
`, func(a configs.Account) (providers.Provider, error) {
		return runpod.New(runpod.Options{Name: a.Name, Config: runpod.Config{APIKey: guard.NewSecret(providertest.Secret)}, Base: cloudtest.In(c), Unpaced: true})
	})
	s.until(time.Minute)
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
	writes := 0
	for _, call := range c.Calls() {
		if !strings.HasPrefix(call, "GET ") {
			writes++
		}
	}
	if writes != 2 {
		t.Errorf("%d writes, want a deletion and a stop: %v", writes, c.Calls())
	}
	// Four hours are 240 polls and signals, 24 sweeps, and the reads around two writes.
	if n := len(c.Calls()); n > 600 {
		t.Errorf("%d calls in four hours", n)
	}
	t.Logf("%d calls in four hours", len(c.Calls()))
}
