package configs

import (
	"testing"

	"guard"
)

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
