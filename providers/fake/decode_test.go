package fake

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"guard/providers"
)

// TestTextReadsAsJSONDoes: the short way of a plain string tells the same.
func TestTextReadsAsJSONDoes(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, raw string) {
		var f field
		if json.Unmarshal([]byte(raw), &f) != nil {
			return
		}
		var s string
		if json.Unmarshal(f, &s) != nil {
			return
		}
		if got, want := f.text(20), providers.Text(s, 20); got != want {
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
