package runpod

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestHere(t *testing.T) {
	env := func(v string) func(string) string { return func(string) string { return v } }
	for name, c := range map[string]struct{ got, want string }{
		"nowhere":                 {here(env(""), podEnv), ""},
		"in a pod":                {here(env("xyz"), podEnv), "xyz"},
		"in something else's pod": {here(env("a\nb"), podEnv), ""},
		"too long":                {here(env(strings.Repeat("x", 999)), podEnv), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// TestIdentity: the key is the identity, nobody is asked; in a pod it is asked once what
// that is of, and a failure tells nothing.
func TestIdentity(t *testing.T) {
	c := full()
	t.Setenv(podEnv, "")
	p := on(t, c)
	id, err := p.Identity(at(t))
	if err != nil || id.Strong || id.Self != "" || len(c.Calls()) != 0 || strings.Contains(id.ID, providertest.Secret) {
		t.Errorf("%+v, %v after %d calls", id, err, len(c.Calls()))
	}
	other := adapter(t, "pods", cloudtest.In(c), guard.NewSecret("another"))
	if o, err := other.Identity(at(t)); err != nil || o.ID == id.ID {
		t.Errorf("another key: %+v, %v", o, err)
	}
	for pod, want := range map[string]string{"p1": "p1", "n1": "cluster/c1", "elsewhere": "elsewhere"} {
		t.Setenv(podEnv, pod)
		c := full()
		p := on(t, c)
		for range 3 {
			if id, err := p.Identity(at(t)); err != nil || id.Self != want {
				t.Errorf("on %s: %+v, %v, want %s", pod, id, err, want)
			}
		}
		if n := len(c.Calls()); n != 1 {
			t.Errorf("on %s: %d calls, want one", pod, n)
		}
	}
	t.Setenv(endpointEnv, "e1")
	for pod, want := range map[string]string{"p1": "p1", "n1": "cluster/c1", "w1": "serverless/e1", "": ""} {
		t.Setenv(podEnv, pod)
		if id, err := on(t, full()).Identity(at(t)); err != nil || id.Self != want {
			t.Errorf("on %q, with an endpoint's ID at hand: %+v, %v, want %q", pod, id, err, want)
		}
	}
	t.Setenv(podEnv, "p1")
	t.Setenv(endpointEnv, "")
	f := &cloudtest.Faults{Next: full()}
	f.Add(0, func(*http.Request) bool { return true }, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	if id, err := on(t, f).Identity(at(t)); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("where the read fails: %+v, %v", id, err)
	}
}

func TestConfig(t *testing.T) {
	key := guard.NewSecret("k")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com/v2": true, "http://127.0.0.1:4010": true,
		"api.example.com": false, "ftp://x": false, "https://u:p@x": false, "https://x/?k=1": false} {
		problems := 0
		c := Config{APIKey: key, Endpoint: endpoint}
		c.Check(func(string, string) { problems++ })
		if (problems == 0) != want {
			t.Errorf("endpoint %q: %d problems", endpoint, problems)
		}
	}
	var keys []string
	(&Config{}).Check(func(k, _ string) { keys = append(keys, k) })
	if fmt.Sprint(keys) != "[api_key]" {
		t.Errorf("without a key: %v", keys)
	}
	if _, err := New(Options{Name: "a"}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("New without a key: %v", err)
	}
	for _, endpoint := range []string{"", "https://api.runpod.io/v2/", "https://api.runpod.io"} {
		if p, err := New(Options{Name: "a", Config: Config{APIKey: key, Endpoint: endpoint}}); err != nil || p.api.Base != "https://api.runpod.io" {
			t.Errorf("%q: %s, %v", endpoint, p.api.Base, err)
		}
	}
}

func TestFind(t *testing.T) {
	env := func(of map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := of[k]; return v, ok }
	}
	if got := Find(env(nil)); got != nil {
		t.Errorf("nowhere: %+v", got)
	}
	got := Find(env(map[string]string{keyEnv: providertest.Secret, podEnv: "p"}))
	if len(got) != 1 || got[0].Section != "{api_key: {env: RUNPOD_API_KEY}}" || strings.Contains(fmt.Sprint(got), providertest.Secret) || !strings.Contains(got[0].Note, "the pod's own") && !strings.Contains(got[0].Note, "that pod's own") {
		t.Errorf("%+v", got)
	}
}
