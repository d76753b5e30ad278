package vast

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestHere(t *testing.T) {
	env := func(of map[string]string) func(string) string { return func(k string) string { return of[k] } }
	for name, tt := range map[string]struct{ got, want string }{
		"nowhere":                   {here(env(nil)), ""},
		"in an instance":            {here(env(map[string]string{labelEnv: "C.37", idEnv: "37"})), "37"},
		"by its number":             {here(env(map[string]string{idEnv: "37"})), "37"},
		"in another sort of thing":  {here(env(map[string]string{idEnv: "4f2a9c"})), ""},
		"with a label of their own": {here(env(map[string]string{labelEnv: "mine"})), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Setenv(idEnv, "")
	t.Setenv(labelEnv, "C.1")
	c := full()
	id, err := on(t, c).Identity(at(t))
	if err != nil || id != (guard.Identity{ID: "4711", Strong: true, Self: "1"}) {
		t.Errorf("%+v, %v", id, err)
	}
	for _, body := range []string{`{"id":0}`, `{"id":"4711"}`, `{"id":1.5}`, `{"success":false,"error":"not_found"}`} {
		if id, err := adapter(t, "a", cloudtest.Canned(body), guard.NewSecret("k")).Identity(at(t)); !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("%s: %+v, %v", body, id, err)
		}
	}
}

// TestBalance: what is left stands in one of two fields.
func TestBalance(t *testing.T) {
	for body, want := range map[string]string{
		`{"balance":12.345678901234}`:        "12.345678901234 USD",
		`{"balance":-0.17}`:                  "-0.17 USD",
		`{"balance":0}`:                      "0.00 USD",
		`{"balance":0,"credit":5.742}`:       "5.742 USD",
		`{"balance":-0.17,"credit":0.0}`:     "-0.17 USD",
		`{"balance":3,"credit":5}`:           "3.00 USD",
		`{"balance":5,"credit":3}`:           "3.00 USD",
		`{"balance":0,"credit":-2}`:          "-2.00 USD",
		`{"balance":0,"credit":null}`:        "",
		`{"balance":null,"credit":5}`:        "",
		`{"balance":"5"}`:                    "",
		`{"balance":1e38}`:                   "",
		`{"id":1}`:                           "",
		`{"success":false,"error":"no_way"}`: "",
	} {
		b, err := adapter(t, "a", cloudtest.Canned(body), guard.NewSecret("k")).Balance(at(t))
		if (want == "") != (err != nil) || err == nil && b.Amount.String() != want {
			t.Errorf("%s: %s, %v; want %q", body, b.Amount, err, want)
		}
	}
}

func TestConfig(t *testing.T) {
	key := guard.NewSecret("k")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com/api": true, "http://127.0.0.1:4010": true,
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
	for _, endpoint := range []string{"", "https://console.vast.ai/api/", "https://console.vast.ai"} {
		if p, err := New(Options{Name: "a", Config: Config{APIKey: key, Endpoint: endpoint}}); err != nil || p.api.Base != "https://console.vast.ai" {
			t.Errorf("%q: %s, %v", endpoint, p.api.Base, err)
		}
	}
}

func TestFind(t *testing.T) {
	home := t.TempDir()
	env := func(of map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := of[k]; return v, ok }
	}
	if got := Find(env(map[string]string{"HOME": home})); got != nil {
		t.Errorf("nowhere: %+v", got)
	}
	path := filepath.Join(home, ".config", "vastai", "vast_api_key")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(providertest.Secret), 0o600)); err != nil {
		t.Fatal(err)
	}
	got := Find(env(map[string]string{"HOME": home, keyEnv: providertest.Secret, idEnv: "37"}))
	if len(got) != 2 || got[0].Section != "{api_key: {env: VAST_API_KEY}}" || got[1].Section != fmt.Sprintf("{api_key: {file: %q}}", path) ||
		strings.Contains(fmt.Sprint(got), providertest.Secret) || !strings.Contains(got[0].Note, "that instance's own") {
		t.Errorf("%+v", got)
	}
	if got := Find(env(map[string]string{"XDG_CONFIG_HOME": filepath.Join(home, ".config")})); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
