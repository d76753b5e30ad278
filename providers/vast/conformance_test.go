package vast

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
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/vast/vasttest"
)

// noon is when the tests' calls are made: a day and a half after the suite's bills.
var noon = guard.Instant{Wall: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}

func TestConformance(t *testing.T) { providertest.Run(t, harness()) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return adapter(t, "conformance", rt, secret)
		},
		Serve:        func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(serve(w)) },
		Classify:     classify,
		Scopes:       []string{Scope},
		ID:           instanceID,
		LeftoverID:   func(_ guard.Kind, n int) string { return fmt.Sprint(20_000_000 + n) },
		Kinds:        []guard.Kind{guard.Volume},
		Attached:     []guard.Kind{guard.Volume},
		Currency:     usd,
		NoTags:       true,
		NoProtection: true,
		NotFound: func(string) (int, string) {
			return http.StatusNotFound, `{"success":false,"error":"not_found","msg":"Instance not found"}`
		},
		Odd:        oddServers(),
		Watched:    watched,
		OddSignals: oddSignals(),
		Context:    func(t *testing.T) context.Context { return guard.WithInstant(t.Context(), noon) },
	}
}

// instanceID is the suite's n-th instance.
func instanceID(n int) string { return fmt.Sprint(10_000_000 + n) }

// adapter is one without a pace.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{APIKey: secret}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(w providertest.World) *vasttest.Cloud {
	c := vasttest.Of(w)
	for _, x := range w.Charges {
		c.Charge(x.From, "instance-"+x.Resource.ID, map[string]guard.Money{"gpu": x.Amount})
	}
	return c
}

// classify takes a read of the user for one of the balance: it is of the identity, too.
func classify(r *http.Request, body []byte) providertest.Op {
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	switch {
	case path == "v0/users/current":
		return providertest.Op{Call: providertest.Balance}
	case path == "v0/charges":
		return providertest.Op{Call: providertest.Charges}
	case r.Method == http.MethodDelete:
		return providertest.Op{Call: providertest.Release}
	case r.Method == http.MethodPut && strings.Contains(string(body), `"stopped"`):
		return providertest.Op{Call: providertest.Stop}
	case r.Method == http.MethodGet && strings.HasPrefix(path, "v0/instances/"):
		return providertest.Op{Call: providertest.Get}
	case r.Method == http.MethodGet:
		return providertest.Op{Call: providertest.List, Scope: Scope}
	}
	return providertest.Op{Call: providertest.Other}
}

// watched is a world whose instances work at 42 %, all but the last.
func watched(_ *testing.T, w providertest.World) providertest.Watched {
	c, util := serve(w), 42.0
	for i, x := range w.Instances {
		if i < len(w.Instances)-1 {
			c.Boxes[x.ID] = vasttest.Box{Util: &util}
		}
	}
	return providertest.Watched{Server: cloudtest.In(c), At: noon, Instants: true, GPUUtil: guard.Known(util)}
}

// one is the suite's first instance, with fields of its record replaced.
func one(set map[string]any) http.RoundTripper {
	id := instanceID(1)
	c := vasttest.Of(providertest.World{Instances: []providertest.Thing{{Kind: guard.Instance, ID: id, GPUs: 1, Price: guard.MustMoney("3USD")}}})
	c.Boxes[id] = vasttest.Box{Set: set}
	return cloudtest.In(c)
}

// odd are records that no API should tell.
var odd = map[string]map[string]any{
	"nulls": {"label": nil, "actual_status": nil, "cur_state": nil, "next_state": nil, "intended_status": nil, "gpu_name": nil, "num_gpus": nil,
		"instance": nil, "dph_total": nil, "dph_base": nil, "is_bid": nil, "start_date": nil, "end_date": nil, "volume_info": nil, "disk_space": nil},
	"words for numbers": {"dph_total": "free", "instance": map[string]any{"totalHour": "0.1", "diskHour": "?"}, "num_gpus": "two", "start_date": "yesterday", "disk_space": "big"},
	"absurd numbers": {"instance": map[string]any{"totalHour": json.RawMessage("1e38")}, "dph_total": json.RawMessage("1e38"), "num_gpus": json.RawMessage("1e38"),
		"disk_space": json.RawMessage("1e300"), "start_date": json.RawMessage("1e38"), "end_date": json.RawMessage("-1e38")},
	"negative numbers":  {"instance": map[string]any{"totalHour": -3.5}, "dph_total": -1, "num_gpus": -2, "disk_space": -1, "inet_up_cost": -1},
	"beyond a float":    {"instance": map[string]any{"totalHour": json.RawMessage("1e999")}, "start_date": json.RawMessage("1e999")},
	"new words":         {"actual_status": "levitating", "cur_state": "asleep"},
	"lists for objects": {"instance": []any{1}, "volume_info": map[string]any{"a": 1}, "label": []any{}},
	"huge texts":        {"label": strings.Repeat("x", 1<<15), "actual_status": strings.Repeat("y", 1<<15)},
	"no ID":             {"id": nil},
	"a text for an ID":  {"id": "10000001"},
	"a huge ID":         {"id": json.RawMessage("1" + strings.Repeat("0", 40))},
	"odd volumes":       {"volume_info": []any{nil, 7, "8", map[string]any{"id": "x"}, map[string]any{"volume_id": 9}, []any{}}},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, set := range odd {
		out[name] = one(set)
	}
	return out
}

func oddSignals() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, util := range map[string]any{
		"no data": -1, "a word": "N/A", "an absurd number": json.RawMessage("1e300"), "beyond a float": json.RawMessage("1e999"), "a list": []any{1}, "beyond 100": 142,
	} {
		out[name] = one(map[string]any{"gpu_util": util, "gpu_ram": util})
	}
	return out
}
