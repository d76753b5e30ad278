package providers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// TestFieldTextReadsAsJSONDoes: the short way of a plain string tells the same.
func TestFieldTextReadsAsJSONDoes(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, raw string) {
		var f providers.Field
		var s string
		if json.Unmarshal([]byte(raw), &f) != nil || json.Unmarshal(f, &s) != nil {
			return
		}
		if got, want := f.Text(20), providers.Text(s, 20); got != want {
			t.Fatalf("%s reads as %q, want %q", raw, got, want)
		}
	}
	for _, raw := range []string{`""`, `"a"`, `"\""`, `"\\"`, `"a\u0041"`, "\"\xff\"", `"日本"`, `"0123456789012345678901234"`} {
		check(t, raw)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, `"`+rapid.StringMatching("[a-z\\\\\"\x00-\x7fäß]{0,30}").Draw(t, "inside")+`"`)
	})
}
