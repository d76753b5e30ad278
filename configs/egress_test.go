package configs

import (
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// A stop has its own time and notice; a day's limit may be below an hour's.
func TestEgressStop(t *testing.T) {
	c := mustLoad(t, "rules: {egress_spike: {hour: 20USD, day: 10USD, then: stop, act: 2h, grace: 30m}}")
	want := policy.EgressSpike{Hour: guard.MustMoney("20 USD"), Day: guard.MustMoney("10 USD"), Then: guard.ActStop, Act: 2 * time.Hour}
	if got := c.Rules.EgressSpike; got != want || c.Rules.Per[guard.RuleEgressSpike].Grace != 30*time.Minute {
		t.Errorf("%+v, %+v", got, c.Rules.Per[guard.RuleEgressSpike])
	}
}

func TestExchange(t *testing.T) {
	c := mustLoad(t, `exchange: {base: CNY, rates: {USD: "7.12", EUR: "8.30"}}`)
	if got, ok := c.Rules.Exchange.To(guard.MustMoney("10 USD"), "CNY"); !ok || got.String() != "71.20 CNY" {
		t.Errorf("10 USD are %s", got)
	}
	if got, ok := c.Rules.Exchange.To(guard.MustMoney("83 CNY"), "EUR"); !ok || got.String() != "10.00 EUR" {
		t.Errorf("83 CNY are %s", got)
	}
	if c = mustLoad(t, "mode: observe\n"); c.Rules.Exchange.Base != "" {
		t.Errorf("without one: %+v", c.Rules.Exchange)
	}
}
