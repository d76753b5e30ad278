package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/autodl"
	"guard/providers/autodl/autodltest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestAutoDLStory: an instance is turned off and released at the end of its lease, with proof;
// another is only turned off, and costs nothing from then on.
func TestAutoDLStory(t *testing.T) {
	s := begin(t)
	c := &autodltest.Cloud{Token: providertest.Secret, Pro: map[string]autodltest.Instance{}, Assets: "100000",
		Cloud: s.cloud(&cloudtest.Cloud{StopFirst: true, Lags: cloudtest.Lags{Stop: 20 * time.Second}})}
	for _, id := range []string{"pro-train", "pro-parked"} {
		c.Create(providertest.Thing{ID: id, Name: id, GPUs: 1, Price: guard.MustMoney("2CNY")})
	}
	s.tell("", "name: dl, provider: autodl, autodl: {token: {env: AUTODL_TOKEN}}",
		factory(func(_ context.Context, a configs.Account, section autodl.Config) (providers.Provider, error) {
			return autodl.New(autodl.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "dl/pro-train", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "dl/pro-parked", TTL: "1h59m", OnLimit: "stop"})
	s.until(time.Hour)
	s.is("dl/pro-train", "running, bills yes, spent 2.00 CNY")
	s.until(4 * time.Hour)
	s.is("dl/pro-train", "released, bills no, spent 4.01 CNY")
	s.is("dl/pro-parked", "stopped, bills no, spent 4.01 CNY")
	// Four hours are 240 polls, 24 readings of the balance, two details, and the reads around
	// three writes.
	s.called(c.Calls(), 350, map[string]int{"/pro/power_off": 2, "/pro/release": 1})
}

// TestAutoDLWithoutDeployments: that the deployments could not be asked for is forgotten once
// AutoDL says that the account has none.
func TestAutoDLWithoutDeployments(t *testing.T) {
	s := begin(t)
	c := &cloudtest.Faults{Next: &autodltest.Cloud{Token: providertest.Secret, Assets: "100000", Cloud: s.cloud(&cloudtest.Cloud{})}}
	c.Add(6, func(r *http.Request) bool { return r.URL.Path == "/api/v1/dev/deployment/list" }, // two polls of three tries
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	s.tell("", "name: dl, provider: autodl, poll: 1m, autodl: {token: {env: AUTODL_TOKEN}}",
		factory(func(_ context.Context, a configs.Account, section autodl.Config) (providers.Provider, error) {
			return autodl.New(autodl.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	stands := func(state string, needs int) {
		t.Helper()
		if out, err := s.client.Status(t.Context()); err != nil || out.Accounts[0].State != state || len(out.Attention) != needs {
			t.Errorf("at %s: %+v, %q, %v", s.at.Wall.Format("15:04"), out.Accounts[0], out.Attention, err)
		}
	}
	stands("blind", 1) // never read, so a person is called at once
	s.until(3 * time.Minute)
	stands("ok", 0)
}
