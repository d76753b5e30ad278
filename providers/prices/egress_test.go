package prices

import (
	"strings"
	"testing"

	"guard"
)

func TestEgress(t *testing.T) {
	b, _, err := Parse("aws.yaml", []byte(`currency: USD
egress:
  - {amount: "0.09", free_gb: 100}
  - {scope: ap-east-1, amount: "0.12", in: "0.01"}
  - {scope: local, amount: "0", free: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	usd := guard.MustMoney
	for scope, want := range map[string]guard.EgressPrice{
		"us-east-1": {PerGB: usd("0.09 USD"), FreeGB: 100, Source: Source},
		"ap-east-1": {PerGB: usd("0.12 USD"), InPerGB: usd("0.01 USD"), Source: Source},
		"local":     {PerGB: usd("0 USD"), Source: Source},
	} {
		if got, ok := b.Egress(scope); !ok || got != want {
			t.Errorf("%s: %+v, %t", scope, got, ok)
		}
	}
	if b.Len() != 3 {
		t.Errorf("%d prices", b.Len())
	}
	if _, ok := (*Book)(nil).Egress("us-east-1"); ok {
		t.Error("no book has a price")
	}
	_, _, err = Parse("aws.yaml", []byte(`currency: USD
egress:
  - {amount: "0"}
  - {amount: "-1"}
  - {scope: a}
  - {scope: b, amount: "1", free_gb: much}
  - {scope: c, amount: "1", in: "-1"}
  - {scope: d, amount: "1", per: gb}
  - {scope: e, amount: "1"}
  - {scope: e, amount: "2"}
`))
	for _, want := range []string{":3: amount: 0 mostly", ":4: amount: -1.00 USD is below zero", ":5: egress: amount is missing", `:6: free_gb: "much"`, `:7: in: "-1"`, ":8: ", ":10: egress in e has a price already"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
