package main

import (
	"context"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/lambda"
	"guard/providers/lambda/lambdatest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestLambdaStory: an instance is terminated at the end of its lease, with proof, and its
// file system is told of; another, that Lambda takes back, ends its lease by itself.
func TestLambdaStory(t *testing.T) {
	s := begin(t)
	c := &lambdatest.Cloud{Key: providertest.Secret, Special: map[string]lambdatest.Special{},
		Cloud: s.cloud(&cloudtest.Cloud{Lags: cloudtest.Lags{End: time.Minute, Forget: time.Hour}})}
	for _, id := range []string{"train", "spot"} {
		c.Create(providertest.Thing{ID: id, Name: id, GPUs: 8, Price: guard.MustMoney("6.32USD")})
	}
	c.Create(providertest.Thing{Kind: guard.Filesystem, ID: "data", Name: "data", AttachedTo: "train"})
	s.tell("orphan_filesystem: {after: 1h, then: alert}", "name: gpus, provider: lambda, sweep: 10m, lambda: {api_key: {env: LAMBDA_API_KEY}}",
		factory(func(_ context.Context, a configs.Account, section lambda.Config) (providers.Provider, error) {
			return lambda.New(lambda.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "gpus/train", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "gpus/spot", TTL: "8h"})
	s.until(time.Hour)
	s.is("gpus/train", "running, bills yes, spent 6.32 USD")
	if err := c.Reclaim("spot", guard.StateGone); err != nil {
		t.Fatal(err)
	}
	s.until(4 * time.Hour)
	s.is("gpus/train", "released, bills no, spent 12.75 USD") // two hours, and a minute until it is gone
	s.is("gpus/spot", "gone, bills no, spent 6.43 USD")       // an hour, and until the next poll
	s.heard("spot", "took it back")
	s.heard("data", "left behind")
	// Four hours are 240 polls, 24 sweeps of two calls, and the reads around an end.
	s.called(c.Calls(), 330, map[string]int{"POST ": 1})
}
