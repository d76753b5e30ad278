package guard

import (
	"math/big"
	"testing"
)

func TestExchange(t *testing.T) {
	x := Exchange{Base: "CNY", Rates: map[string]*big.Rat{"USD": big.NewRat(712, 100), "EUR": big.NewRat(8, 1), "GBP": new(big.Rat)}}
	for _, c := range []struct{ from, currency, want string }{
		{"10 USD", "CNY", "71.20 CNY"},
		{"71.2 CNY", "USD", "10.00 USD"},
		{"89 USD", "EUR", "79.21 EUR"},
		{"5 JPY", "JPY", "5 JPY"},
		{"5 JPY", "CNY", ""},
		{"5 GBP", "CNY", ""},
		{"5 CNY", "GBP", ""},
		{"5 CNY", "", ""},
	} {
		got, ok := x.To(MustMoney(c.from), c.currency)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s in %s: %s, %t; want %s", c.from, c.currency, got, ok, c.want)
		}
	}
	if m, ok := x.To(Money{}, "CNY"); ok {
		t.Errorf("no amount became %s", m)
	}
	if m, ok := (Exchange{}).To(MustMoney("5 USD"), "CNY"); ok {
		t.Errorf("without rates 5 USD became %s", m)
	}
}
