package digitalocean

import (
	"fmt"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

func TestPrices(t *testing.T) {
	for text, want := range map[string]string{
		"6.74":                "6.74 USD per hour",
		"0.00743999984115362": "0.00744 USD per hour", // a float of 32 bits with the digits of 64
		"23.920000076293945":  "23.92 USD per hour",   // another
		"23.92":               "23.92 USD per hour",   // which is none
		"0.5":                 "0.50 USD per hour",
		"1":                   "1.00 USD per hour",
		"1e1":                 "10.00 USD per hour",
		"0":                   "unknown",
		"-6.74":               "unknown",
		"1e38":                "unknown",
		"1e999":               "unknown",
		`"6.74"`:              "unknown",
		"null":                "unknown",
		"":                    "unknown",
	} {
		if got := hourly(providers.Field(text)).String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if m := hourly(providers.Field("0.007440001")).Amount.String(); m != "0.007440001 USD" {
		t.Errorf("digits of its own are lost: %s", m)
	}
}

// TestDroplets: both listings make one, in every state and price.
func TestDroplets(t *testing.T) {
	plain, off, contract := thing(2), thing(3), thing(4)
	plain.GPUs, off.Stopped, contract.Price = 0, true, guard.Money{}
	off.Tags = map[string]string{"env": "prod", "web": "", "guard:lease": "L-1"}
	c := cloud(thing(1), plain, off, contract)
	c.Create(providertest.Thing{Kind: guard.Volume, ID: leftoverID(guard.Volume, 1), AttachedTo: dropletID(1)})
	got := listed(t, on(t, c), guard.Instance)
	for n, want := range map[int]string{
		1: "running active, 2 of nvidia_h100 yes, 6.74 USD per hour, map[] [{ocean/506f78a4-e098-11e5-ad9f-000000000001 no}]",
		2: "running active, 0 of  no, 6.74 USD per hour, map[] []",
		3: "stopped off, 2 of nvidia_h100 yes, 6.74 USD per hour, map[env:prod guard:lease:L-1 web:] []",
		4: "running active, 2 of nvidia_h100 yes, unknown, map[] []",
	} {
		r := got[dropletID(n)]
		if s := fmt.Sprintf("%s %s, %d of %s %s, %s, %v %v", r.State, r.RawState, r.GPUs, r.GPUModel, r.HasGPU, r.Rate, r.Tags, r.Children); s != want {
			t.Errorf("%d is\n%s, want\n%s", n, s, want)
		}
		if r.Bills != guard.Yes || r.StopSaves != guard.StopSavesNothing || r.Created.IsZero() {
			t.Errorf("%d: %+v", n, r)
		}
	}
}
