package slack

import (
	"strings"
	"testing"

	"guard"
	"guard/daemon/notify/notifytest"
)

// TestValue: a button's value comes back as it went out, and nothing else is read.
func TestValue(t *testing.T) {
	for _, c := range clicks {
		v := value{Message: "slack|lab/instance/i-<&>模\u2028|noticed", Click: string(c), Key: "k1"}
		s, ok := v.encode()
		if !ok || strings.ContainsAny(s, "<>&\u2028") {
			t.Fatalf("encoded as %q, %t", s, ok)
		}
		if got, err := decodeValue(s); err != nil || got != v {
			t.Errorf("%q is read as %+v, %v", s, got, err)
		}
	}
	long := value{Message: strings.Repeat("m", maxValue), Click: "ack", Key: "k"}
	if s, ok := long.encode(); ok {
		t.Errorf("a value of %d bytes is offered", len(s))
	}
	for _, s := range []string{
		"", "null", "[]", "{}", "7", `"x"`, "{",
		`{"message":"m","click":"release","key":""}`, `{"message":"","click":"release","key":"k"}`,
		`{"message":"m","click":"destroy","key":"k"}`, `{"message":"m","click":"","key":"k"}`,
		`{"message":"m","click":"release","key":"k"} `, `{"message":"m","click":"release","key":"k"}{}`,
		`{"message":"m","click":"release","key":"k","more":1}`, `{"Message":"m","click":"release","key":"k"}`,
		`{"message":"a","message":"m","click":"release","key":"k"}`, `{"click":"release","message":"m","key":"k"}`,
		`{"message":["m"],"click":"release","key":"k"}`, "{\"message\":\"\xff\",\"click\":\"release\",\"key\":\"k\"}",
		`{"message":"` + strings.Repeat("m", maxValue) + `","click":"release","key":"k"}`,
	} {
		v, err := decodeValue(s)
		if v != (value{}) {
			t.Errorf("%.80q is read as %+v", s, v)
		}
		notifytest.Kind(t, err, guard.ErrInvalid)
	}
}

func FuzzValue(f *testing.F) {
	f.Add(`{"message":"slack|i-1","click":"extend","key":"k"}`)
	f.Add(`{"message":"\u003c","click":"why","key":"k"}`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := decodeValue(s)
		if err != nil {
			notifytest.Kind(t, err, guard.ErrInvalid)
			return
		}
		if again, ok := v.encode(); !ok || again != s || v.Message == "" || v.Key == "" {
			t.Errorf("%q is read as %+v, which is written %q", s, v, again)
		}
	})
}
