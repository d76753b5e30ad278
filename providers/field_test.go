package providers_test

import (
	"strings"
	"testing"

	"guard/providers"
)

func TestFieldMoney(t *testing.T) {
	for in, want := range map[string]string{
		"0.35": "0.35 USD", "2": "2.00 USD", "-3": "-3.00 USD", "1.25e-05": "0.0000125 USD", "1E2": "100.00 USD",
		"0.6899999976158142":         "0.6899999976158142 USD",
		"0.000012500000000000000001": "0.0000125 USD",
		"null":                       "", "": "", `"0.35"`: "", "1e38": "", "-1e38": "", "1e99999999": "", "1e": "", "true": "", "[1]": "", "{}": "",
		"9999999999999999": "", strings.Repeat("9", 500): "",
	} {
		got, ok := providers.Field(in).Money("USD")
		if text := got.String(); ok != (want != "") || ok && text != want {
			t.Errorf("%.40s is %s, %t, want %q", in, text, ok, want)
		}
	}
	if _, ok := providers.Field("1").Money("$$"); ok {
		t.Error("an amount of no currency")
	}
}

func TestFieldID(t *testing.T) {
	for in, want := range map[string]bool{`"pod_1"`: true, `""`: false, "7": false, "null": false, `"a\u0000b"`: false, `"` + strings.Repeat("x", 300) + `"`: false} {
		if id, ok := providers.Field(in).ID(256); ok != want {
			t.Errorf("%.20s is %q, %t", in, id, ok)
		}
	}
}

func TestFieldCount(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "8": 8, "8.0": 8, "-1": -1, "8.5": -1, "1e3": -1, `"8"`: -1, "null": -1, "101": -1, "99999999999999999999": -1} {
		if n, ok := providers.Field(in).Count(100); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s is %d, %t", in, n, ok)
		}
	}
}
