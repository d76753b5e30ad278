package digitalocean

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
	"guard/providers/digitalocean/digitaloceantest"
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
		Serve: func(_ *testing.T, w providertest.World) http.RoundTripper {
			return cloudtest.In(digitaloceantest.Of(w))
		},
		Classify:   classify,
		Scopes:     []string{Scope},
		ID:         dropletID,
		LeftoverID: leftoverID,
		Kinds:      []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem},
		Attached:   []guard.Kind{guard.Volume},
		Currency:   usd,
		NotFound: func(string) (int, string) {
			return http.StatusNotFound, `{"id":"not_found","message":"The resource you requested could not be found."}`
		},
		Odd:     oddServers(),
		Context: func(t *testing.T) context.Context { return at(t) },
	}
}

// dropletID is the suite's n-th droplet.
func dropletID(n int) string { return fmt.Sprint(3164000 + n) }

func leftoverID(kind guard.Kind, n int) string {
	switch kind {
	case guard.Image:
		return fmt.Sprint(67512000 + n)
	case guard.Address:
		return fmt.Sprintf("45.55.96.%d", n)
	}
	id := fmt.Sprintf("506f78a4-e098-11e5-ad9f-%012d", n)
	if kind == guard.Filesystem {
		id = "atl1/" + id
	}
	return id
}

// at is a context whose calls are made at noon.
func at(t testing.TB) context.Context { return guard.WithInstant(t.Context(), noon) }

// adapter is one without a pace, of an account that pays ahead.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{Token: secret, Prepaid: true}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func classify(r *http.Request, _ []byte) providertest.Op {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	collection, of, _ := strings.Cut(path, "/")
	switch {
	case path == "account":
		return providertest.Op{Call: providertest.Identity}
	case strings.Contains(path, "/invoices"):
		return providertest.Op{Call: providertest.Charges}
	case collection == "customers":
		return providertest.Op{Call: providertest.Balance}
	case collection == "tags":
		return providertest.Op{Call: providertest.Tag}
	case path == "nfs/snapshots":
		return providertest.Op{Call: providertest.List, Scope: NFS}
	case path == "dedicated-inferences":
		return providertest.Op{Call: providertest.List, Scope: Inference}
	case r.Method == http.MethodDelete:
		return providertest.Op{Call: providertest.Release}
	case of != "":
		return providertest.Op{Call: providertest.Get}
	}
	return providertest.Op{Call: providertest.List, Scope: Scope}
}

// oddRecords are such as no API should tell.
var oddRecords = map[string]map[string]any{
	"nulls": {"name": nil, "status": nil, "locked": nil, "created_at": nil, "size": nil, "size_slug": nil, "gpu_info": nil, "tags": nil, "volume_ids": nil},
	"words for numbers": {"size": map[string]any{"slug": 7, "price_hourly": "free", "gpu_info": map[string]any{"count": "two"}}, "gpu_info": "x",
		"volume_ids": []any{1, nil}, "snapshot_ids": []any{"x"}, "created_at": "yesterday"},
	"absurd numbers":    {"size": map[string]any{"price_hourly": json.RawMessage("1e38")}, "gpu_info": map[string]any{"count": json.RawMessage("1e38")}, "disk": -70580167},
	"negative numbers":  {"size": map[string]any{"price_hourly": -6.74}, "gpu_info": map[string]any{"count": -8}},
	"beyond a float":    {"size": map[string]any{"price_hourly": json.RawMessage("1e999")}},
	"new words":         {"status": "hibernating", "tags": []any{"a b", 7}},
	"lists for objects": {"size": []any{}, "gpu_info": []any{}, "tags": "x", "locked": []any{}, "volume_ids": map[string]any{}},
	"huge texts":        {"name": strings.Repeat("x", 1<<15), "status": strings.Repeat("y", 1<<15), "tags": []any{strings.Repeat("z", 1<<15)}},
	"no ID":             {"id": nil},
	"a word for an ID":  {"id": "3164001"},
	"a huge ID":         {"id": json.RawMessage("1e30")},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, set := range oddRecords {
		c := cloud(thing(1))
		c.Special[dropletID(1)] = digitaloceantest.Special{Set: set}
		out[name] = cloudtest.In(c)
	}
	return out
}

// cloud is an account with these things.
func cloud(things ...providertest.Thing) *digitaloceantest.Cloud {
	return digitaloceantest.Of(providertest.World{Instances: things})
}

func thing(n int) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: dropletID(n), Name: fmt.Sprintf("box-%d", n), GPUs: 2, Price: guard.MustMoney("6.74USD")}
}

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "ocean", cloudtest.In(h), guard.NewSecret(providertest.Secret))
}

// listed are the things of a kind by their IDs.
func listed(t testing.TB, p *Provider, kind guard.Kind) map[string]guard.Resource {
	t.Helper()
	inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
	out := map[string]guard.Resource{}
	for _, res := range inv.Results {
		if res.Err != nil {
			err = res.Err
		}
		for _, r := range res.Resources {
			if out[r.ID.ID] = r; r.ID.Scope != res.Scope {
				t.Errorf("%s is in the scope %s, and of %s", r.ID, res.Scope, r.ID.Scope)
			}
		}
	}
	if err != nil || len(inv.Results) == 0 {
		t.Fatalf("%+v, %v", inv, err)
	}
	return out
}
