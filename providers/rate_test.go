package providers_test

import (
	"testing"
	"time"

	"guard"
	"guard/providers"
)

func TestHourly(t *testing.T) {
	for text, want := range map[string]string{
		"2.5": "2.5", "1e-3": "0.001", `"2.5"`: "", "0": "", "-1": "", "1e38": "", "null": "", "": "", "1000000000": "",
	} {
		r := providers.Field(text).Hourly("USD")
		if want == "" {
			if r != (guard.Rate{}) {
				t.Errorf("%s costs %+v", text, r)
			}
			continue
		}
		if !r.Known() || r.Free || !r.Amount.Equal(guard.MustMoney(want+"USD")) || r.Per != time.Hour || r.Unit != "machine" || r.Source != "api" {
			t.Errorf("%s costs %+v", text, r)
		}
	}
}
