package autodl

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/autodl/autodltest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// noon is when the tests' calls are made.
var noon = guard.Instant{Wall: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Harness{
		New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return adapter(t, "conformance", rt, secret)
		},
		Serve:        func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(autodltest.Of(w)) },
		Classify:     classify,
		Scopes:       []string{Scope},
		ID:           proID,
		Currency:     cny,
		NoTags:       true,
		NoProtection: true,
		NotFound: func(string) (int, string) {
			return http.StatusOK, `{"code":"RecordNotFoundError","data":null,"msg":"未查询到相关实例","request_id":"r"}`
		},
		Odd:     oddServers(),
		Context: func(t *testing.T) context.Context { return guard.WithInstant(t.Context(), noon) },
	})
}

// proID is the suite's n-th Pro instance.
func proID(n int) string { return fmt.Sprintf("pro-%012x", n) }

// adapter is one without a pace.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{Token: secret}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func classify(r *http.Request, _ []byte) providertest.Op {
	if strings.Contains(r.URL.Path, "/deployment/") {
		return providertest.Op{Call: providertest.Other} // of a scope that the suite does not ask about
	}
	switch path.Base(r.URL.Path) {
	case "list":
		return providertest.Op{Call: providertest.List, Scope: Scope}
	case "status":
		return providertest.Op{Call: providertest.Get}
	case "power_off":
		return providertest.Op{Call: providertest.Stop}
	case "release":
		return providertest.Op{Call: providertest.Release}
	case "balance":
		return providertest.Op{Call: providertest.Balance}
	}
	return providertest.Op{Call: providertest.Other}
}

// odd are records and details that no API should tell.
var odd = map[string]autodltest.Instance{
	"nulls": {Set: map[string]any{"name": nil, "status": nil, "status_at": nil, "start_mode": nil, "charge_type": nil, "req_gpu_amount": nil,
		"gpu_spec_uuid": nil, "created_at": nil, "started_at": nil, "stopped_at": nil}, Detail: map[string]any{"payg_price": nil, "usage_info": nil}},
	"words for numbers": {Set: map[string]any{"req_gpu_amount": "two", "created_at": "yesterday"}, Detail: map[string]any{"payg_price": "free", "expand_system_disk_size": "big"}},
	"absurd numbers": {Set: map[string]any{"req_gpu_amount": json.RawMessage("1e38")},
		Detail: map[string]any{"payg_price": json.RawMessage("1e38"), "expand_system_disk_size": json.RawMessage("1e38")}},
	"negative numbers":  {Set: map[string]any{"req_gpu_amount": -2}, Detail: map[string]any{"payg_price": -1970, "system_init_disk_size": -1}},
	"beyond a float":    {Detail: map[string]any{"payg_price": json.RawMessage("1e999")}},
	"nothing for it":    {Detail: map[string]any{"payg_price": 0}},
	"new words":         {Set: map[string]any{"status": "hibernating", "charge_type": "barter", "start_mode": "tpu"}},
	"lists for objects": {Set: map[string]any{"started_at": []any{}, "stopped_at": []any{1}, "status": []any{}}, Detail: map[string]any{"usage_info": []any{}}},
	"huge texts":        {Set: map[string]any{"name": strings.Repeat("x", 1<<15), "status": strings.Repeat("y", 1<<15)}},
	"no ID":             {Set: map[string]any{"uuid": nil}},
	"a huge ID":         {Set: map[string]any{"uuid": strings.Repeat("i", 1<<12)}},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, x := range odd {
		c := cloud(thing(proID(1)))
		c.Pro[proID(1)] = x
		out[name] = cloudtest.In(c)
	}
	return out
}

// cloud is an account with these Pro instances.
func cloud(things ...providertest.Thing) *autodltest.Cloud {
	return autodltest.Of(providertest.World{Instances: things})
}

func thing(id string) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("3.94CNY")}
}
