package providers

import "testing"

func TestWhatIsWrongWithABody(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1}`: "", " {\"a\":1}\n": "", `{"a":1,"b":[]}`: "",
		"": "the reply is empty", "  ": "the reply is empty",
		"null": "the reply is null", " null\n": "the reply is null",
		`{"a":1`: "the reply is not whole JSON", "<html>": "the reply is not whole JSON",
		`{"a":1}{}`: "the reply is more than one JSON value", `{"a":1} x`: "the reply is more than one JSON value", "null null": "the reply is more than one JSON value",
		`[1]`: "the reply is JSON of another shape", `{"a":"x"}`: "the reply is JSON of another shape",
	} {
		var out struct{ A int }
		if got := decode([]byte(body), &out); got != want || want == "" && out.A != 1 {
			t.Errorf("%q: %q, want %q (%+v)", body, got, want, out)
		}
	}
}
