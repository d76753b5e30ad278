package lambda

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestIdentity(t *testing.T) {
	c := cloud(thing("a"))
	p := on(t, c)
	id, err := p.Identity(at(t))
	if err != nil || id.Strong || id.ID == "" || strings.Contains(id.ID, providertest.Secret) {
		t.Errorf("%+v, %v", id, err)
	}
	other, err := adapter(t, "gpus", cloudtest.In(c), guard.NewSecret("another")).Identity(at(t))
	if err != nil || other.ID == id.ID {
		t.Errorf("another key is %+v, %v", other, err)
	}
}

func TestConfig(t *testing.T) {
	key := guard.NewSecret("k")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com/api/v1": true, "http://127.0.0.1:4010": true,
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
	for _, endpoint := range []string{"", "https://cloud.lambda.ai/api/v1/", "https://cloud.lambda.ai"} {
		if p, err := New(Options{Name: "a", Config: Config{APIKey: key, Endpoint: endpoint}}); err != nil || p.api.Base != "https://cloud.lambda.ai" {
			t.Errorf("%q: %s, %v", endpoint, p.api.Base, err)
		}
	}
}

func TestFind(t *testing.T) {
	if got := Find(func(string) (string, bool) { return "", false }); got != nil {
		t.Errorf("nowhere: %+v", got)
	}
	got := Find(func(k string) (string, bool) { return providertest.Secret, k == keyEnv })
	if len(got) != 1 || got[0].Section != "{api_key: {env: LAMBDA_API_KEY}}" || strings.Contains(fmt.Sprint(got), providertest.Secret) {
		t.Errorf("%+v", got)
	}
}

// TestPace: all goroutines together make less than a call a second.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cloud(thing("a"))
		p, err := New(Options{Name: "gpus", Config: Config{APIKey: guard.NewSecret(providertest.Secret)}, Base: cloudtest.In(c)})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := p.List(t.Context(), providers.Query{Kinds: []guard.Kind{guard.Instance}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); len(c.Calls()) != 6 || d < 5*time.Second || d > 7*time.Second {
			t.Errorf("%d calls in %s", len(c.Calls()), d)
		}
	})
}
