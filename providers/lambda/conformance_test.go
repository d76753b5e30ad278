package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/lambda/lambdatest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// noon is when the tests' calls are made.
var noon = guard.Instant{Wall: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}

func TestConformance(t *testing.T) { providertest.Run(t, harness()) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return adapter(t, "conformance", rt, secret)
		},
		Serve:      func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(lambdatest.Of(w)) },
		Classify:   classify,
		Scopes:     []string{Scope},
		ID:         func(n int) string { return fmt.Sprintf("%032x", n) },
		LeftoverID: func(_ guard.Kind, n int) string { return fmt.Sprintf("f%031x", n) },
		Kinds:      []guard.Kind{guard.Filesystem},
		Attached:   []guard.Kind{guard.Filesystem},
		Currency:   usd,
		Unpaged:    true,
		NotFound: func(string) (int, string) {
			return http.StatusNotFound, `{"error":{"code":"global/object-does-not-exist","message":"Specified instance does not exist."}}`
		},
		Odd:     oddServers(),
		Context: func(t *testing.T) context.Context { return at(t) },
	}
}

// at is a context whose calls are made at noon.
func at(t testing.TB) context.Context { return guard.WithInstant(t.Context(), noon) }

// adapter is one without a pace.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{APIKey: secret}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func classify(r *http.Request, _ []byte) providertest.Op {
	switch {
	case r.Method != http.MethodGet:
		return providertest.Op{Call: providertest.Release}
	case strings.HasPrefix(r.URL.Path, "/api/v1/instances/"):
		return providertest.Op{Call: providertest.Get}
	}
	return providertest.Op{Call: providertest.List, Scope: Scope}
}

// odd are records that no API should tell.
var odd = map[string]map[string]any{
	"nulls": {"name": nil, "status": nil, "instance_type": nil, "tags": nil, "actions": nil, "file_system_mounts": nil, "region": nil},
	"words for numbers": {"instance_type": map[string]any{"name": 7, "price_cents_per_hour": "75", "specs": map[string]any{"gpus": "one"}},
		"tags": []any{map[string]any{"key": 1, "value": 2}}},
	"absurd numbers":   {"instance_type": map[string]any{"price_cents_per_hour": json.RawMessage("1e38"), "specs": map[string]any{"gpus": json.RawMessage("1e38")}}},
	"negative numbers": {"instance_type": map[string]any{"price_cents_per_hour": -70580167, "specs": map[string]any{"gpus": -8}}},
	"beyond a float":   {"instance_type": map[string]any{"price_cents_per_hour": json.RawMessage("1e999")}},
	"new words":        {"status": "hibernating", "actions": map[string]any{"terminate": map[string]any{"available": false, "reason_code": "vm-is-shy"}}},
	"lists for objects": {"instance_type": []any{}, "tags": map[string]any{}, "actions": []any{1}, "file_system_mounts": "x",
		"status": []any{}},
	"huge texts": {"name": strings.Repeat("x", 1<<15), "status": strings.Repeat("y", 1<<15), "tags": []any{map[string]any{"key": "k", "value": strings.Repeat("z", 1<<15)}}},
	"no ID":      {"id": nil},
	"a huge ID":  {"id": strings.Repeat("i", 1<<12)},
	"odd mounts": {"file_system_mounts": []any{nil, 7, map[string]any{"file_system_id": 3}, map[string]any{"file_system_id": "f"}}},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, set := range odd {
		c := cloud(thing("one"))
		c.Special["one"] = lambdatest.Special{Set: set}
		out[name] = cloudtest.In(c)
	}
	return out
}

// cloud is an account with these things.
func cloud(things ...providertest.Thing) *lambdatest.Cloud {
	return lambdatest.Of(providertest.World{Instances: things})
}

func thing(id string) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("1.50USD")}
}

func fileSystemOn(id, instance string) providertest.Thing {
	return providertest.Thing{Kind: guard.Filesystem, ID: id, Name: id, AttachedTo: instance}
}

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "gpus", cloudtest.In(h), guard.NewSecret(providertest.Secret))
}

// listed are the things of a kind by their IDs.
func listed(t testing.TB, p *Provider, kind guard.Kind) map[string]guard.Resource {
	t.Helper()
	inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
	if err != nil || len(inv.Results) != 1 || inv.Results[0].Err != nil {
		t.Fatalf("%+v, %v", inv, err)
	}
	out := map[string]guard.Resource{}
	for _, r := range inv.Results[0].Resources {
		out[r.ID.ID] = r
	}
	return out
}
