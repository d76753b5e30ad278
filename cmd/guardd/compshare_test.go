package main

import (
	"context"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/compshare"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestCompShareStory: an instance by the hour is stopped and terminated at the end of its lease,
// with proof, though another operation stands in the way for a while, and its data disk is told
// of; one that is paid for by the month is only watched.
func TestCompShareStory(t *testing.T) {
	s := begin(t)
	c := &compsharetest.Cloud{PublicKey: providertest.Secret, PrivateKey: providertest.Secret, Locked: map[string]bool{},
		Instances: map[string]compsharetest.Instance{"uhost-month": {Charge: "Month", Expires: begins.AddDate(0, 0, 10)}},
		Cloud:     s.cloud(&cloudtest.Cloud{StopFirst: true, Lags: cloudtest.Lags{Stop: 20 * time.Second}})}
	c.Create(providertest.Thing{ID: "uhost-train", Name: "train", GPUs: 1, Price: guard.MustMoney("2CNY")})
	c.Create(providertest.Thing{ID: "uhost-month", Name: "month", GPUs: 1, Price: guard.MustMoney("1068CNY")})
	c.Create(providertest.Thing{Kind: guard.Volume, ID: "udisk-data", Name: "data", AttachedTo: "uhost-train"})
	s.tell("orphan_volume: {after: 1h, then: alert}", "name: cs, provider: compshare, sweep: 10m, compshare: {public_key: {env: COMPSHARE_PUBLIC_KEY}, private_key: {env: COMPSHARE_PRIVATE_KEY}}",
		factory(func(_ context.Context, a configs.Account, section compshare.Config) (providers.Provider, error) {
			return compshare.New(compshare.Options{Name: a.Name, Config: section, Base: cloudtest.In(c), Unpaced: true})
		}))
	s.register(wire.RegisterRequest{ID: "cs/uhost-train", TTL: "1h59m"})
	s.until(time.Hour)
	s.is("cs/uhost-train", "running, bills yes, spent 2.05 CNY")
	c.Change(func(c *compsharetest.Cloud) { c.Locked["uhost-train"] = true })
	s.until(2*time.Hour + 5*time.Minute)
	s.is("cs/uhost-train", "running, bills yes, spent 4.27 CNY")
	c.Change(func(c *compsharetest.Cloud) { c.Locked["uhost-train"] = false })
	s.until(5 * time.Hour)
	s.is("cs/uhost-train", "released, bills no, spent 4.46 CNY")
	s.heard("data", "left behind")
	// Five hours are 300 polls, signals and questions whose keys they are, 30 sweeps, and the
	// reads around a stop that is tried again while something stands in the way.
	s.called(c.Calls(), 1100, map[string]int{"TerminateCompShareInstance": 1})
}
