package main

import (
	"strings"
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
	var s *story
	c := &autodltest.Cloud{Token: providertest.Secret, Pro: map[string]autodltest.Instance{}, Assets: "100000",
		Cloud: &cloudtest.Cloud{StopFirst: true, Lags: cloudtest.Lags{Stop: 20 * time.Second}, Clock: func() time.Time { return s.now() }}}
	for _, id := range []string{"pro-train", "pro-parked"} {
		c.Create(providertest.Thing{ID: id, Name: id, GPUs: 1, Price: guard.MustMoney("2CNY")})
	}
	s = tell(t, `
mode: enforce
accounts:
  - {name: dl, provider: autodl, autodl: {token: {env: AUTODL_TOKEN}}}
`, func(a configs.Account) (providers.Provider, error) {
		return autodl.New(autodl.Options{Name: a.Name, Config: autodl.Config{Token: guard.NewSecret(providertest.Secret)}, Base: cloudtest.In(c), Unpaced: true})
	})
	s.until(time.Minute)
	s.register(wire.RegisterRequest{ID: "dl/pro-train", TTL: "1h59m"})
	s.register(wire.RegisterRequest{ID: "dl/pro-parked", TTL: "1h59m", OnLimit: "stop"})
	s.until(time.Hour)
	s.is("dl/pro-train", "running, bills yes, spent 2.00 CNY")
	s.until(4 * time.Hour)
	s.is("dl/pro-train", "released, bills no, spent 4.01 CNY")
	s.is("dl/pro-parked", "stopped, bills no, spent 4.01 CNY")
	writes := map[string]int{}
	for _, call := range c.Calls() {
		_, verb, _ := strings.Cut(call, "/pro/")
		writes[verb]++
	}
	if writes["power_off"] != 2 || writes["release"] != 1 {
		t.Errorf("two stops and a release are wanted: %v", writes)
	}
	// Four hours are 240 polls, 24 readings of the balance, two details, and the reads around
	// three writes.
	if n := len(c.Calls()); n > 350 {
		t.Errorf("%d calls in four hours: %v", n, writes)
	}
	t.Logf("%d calls in four hours", len(c.Calls()))
}
