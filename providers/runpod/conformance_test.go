package runpod

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
	"guard/providers/runpod/runpodtest"
)

// noon is when the tests' calls are made: a day and a half after the suite's bills.
var noon = guard.Instant{Wall: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}

func TestConformance(t *testing.T) { providertest.Run(t, harness()) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return adapter(t, "conformance", rt, secret)
		},
		Serve:      func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(serve(w)) },
		Classify:   classify,
		Scopes:     []string{Scope},
		ID:         podID,
		LeftoverID: func(_ guard.Kind, n int) string { return fmt.Sprintf("vol%06d", n) },
		Kinds:      []guard.Kind{guard.Filesystem},
		Attached:   []guard.Kind{guard.Filesystem},
		Currency:   usd,
		Unpaged:    true,
		NoTags:     true,
		NotFound: func(string) (int, string) {
			return http.StatusNotFound, `{"title":"Not Found","status":404,"detail":"pod not found"}`
		},
		Odd:        oddServers(),
		Watched:    watched,
		OddSignals: oddSignals(),
		Context:    func(t *testing.T) context.Context { return guard.WithInstant(t.Context(), noon) },
	}
}

// podID is the suite's n-th pod.
func podID(n int) string { return fmt.Sprintf("pod%06d", n) }

// adapter is one without a pace.
func adapter(t testing.TB, name string, rt http.RoundTripper, secret guard.Secret) *Provider {
	t.Helper()
	p, err := New(Options{Name: name, Config: Config{APIKey: secret}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve plays a world; its bills are told with what makes them up, and beside an endpoint.
func serve(w providertest.World) *runpodtest.Cloud {
	c := runpodtest.Of(w)
	c.Endpoints = nil
	for _, x := range w.Charges {
		c.Bills["pods"] = append(c.Bills["pods"], map[string]any{
			"startTime": x.From.Format(time.RFC3339), "endTime": x.To.Format(time.RFC3339), "podId": x.Resource.ID,
			"totalAmount": number(x.Amount), "gpuAmount": number(x.Amount), "cpuAmount": 0, "diskAmount": json.Number("0.0"),
		})
	}
	return c
}

func number(m guard.Money) json.Number { return json.Number(m.Rat().FloatString(6)) }

func classify(r *http.Request, body []byte) providertest.Op {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	call := providertest.Other
	_, of, _ := strings.Cut(path, "/")
	switch {
	case strings.HasPrefix(path, "billing/"):
		call = providertest.Charges
	case strings.HasPrefix(path, "catalog/"):
	case r.Method == http.MethodDelete:
		call = providertest.Release
	case r.Method == http.MethodPatch && strings.HasPrefix(path, podsPath):
		call = providertest.Unprotect
	case r.Method == http.MethodPatch, strings.Contains(string(body), `"stop"`):
		call = providertest.Stop
	case r.Method == http.MethodGet && (of == "" || strings.HasPrefix(path, endpointsPath)):
		call = providertest.List
	case r.Method == http.MethodGet:
		call = providertest.Get
	}
	op := providertest.Op{Call: call}
	if call == providertest.List {
		op.Scope = Scope
	}
	return op
}

// watched is a world whose instances work at 42 %, all but the last.
func watched(_ *testing.T, w providertest.World) providertest.Watched {
	c := serve(w)
	for i, x := range w.Instances {
		if i < len(w.Instances)-1 {
			c.Pods[x.ID] = runpodtest.Pod{Util: []int{42, 0}}
		}
	}
	return providertest.Watched{Server: cloudtest.In(c), At: noon, Instants: true, GPUUtil: guard.Known(42)}
}

// one is the suite's first instance, with fields of its record replaced.
func one(set map[string]any) http.RoundTripper {
	id := podID(1)
	c := runpodtest.Of(providertest.World{Instances: []providertest.Thing{{Kind: guard.Instance, ID: id, GPUs: 1, Price: guard.MustMoney("3USD")}}})
	c.Pods[id] = runpodtest.Pod{Set: set}
	return cloudtest.In(c)
}

// odd are records that no API should tell.
var odd = map[string]map[string]any{
	"nulls": {"name": nil, "status": nil, "actions": nil, "gpu": nil, "mounts": nil, "cost": nil, "locked": nil, "createdAt": nil, "cluster": nil},
	"words for numbers": {"cost": "free", "gpu": map[string]any{"id": 7, "count": "two"},
		"mounts": map[string]any{"persistent": map[string]any{"size": "big"}}, "createdAt": "yesterday"},
	"absurd numbers":   {"cost": json.RawMessage("1e38"), "gpu": map[string]any{"count": json.RawMessage("1e38")}, "mounts": map[string]any{"persistent": map[string]any{"size": -70580167}}},
	"negative numbers": {"cost": -3.5, "gpu": map[string]any{"id": "x", "count": -2}},
	"beyond a float":   {"cost": json.RawMessage("1e999")},
	"new words":        {"status": "HIBERNATING", "actions": []any{"thaw"}, "cloud": "LUNAR"},
	"lists for objects": {"gpu": []any{}, "mounts": []any{}, "cost": []any{1}, "cluster": []any{}, "actions": "stop",
		"runtime": []any{1}},
	"huge texts": {"name": strings.Repeat("x", 1<<15), "status": strings.Repeat("y", 1<<15)},
	"no ID":      {"id": nil},
	"a huge ID":  {"id": strings.Repeat("i", 1<<12)},
	"another's volumes": {"mounts": map[string]any{"persistent": map[string]any{"size": 10}, "network": []any{nil, 7, map[string]any{"volumeId": 3},
		map[string]any{"volumeId": "v"}}}},
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
	for name, runtime := range map[string]any{
		"a list":            []any{},
		"nothing in it":     map[string]any{},
		"nulls":             map[string]any{"gpus": []any{nil, map[string]any{"util": nil, "memoryUtil": nil}}, "cpu": nil},
		"words for numbers": map[string]any{"gpus": []any{map[string]any{"util": "N/A", "memoryUtil": "-"}}},
		"absurd numbers":    map[string]any{"gpus": []any{map[string]any{"util": -70580167, "memoryUtil": json.RawMessage("1e300")}}},
		"beyond a float":    map[string]any{"gpus": []any{map[string]any{"util": json.RawMessage("1e999")}}},
		"more than it has":  map[string]any{"gpus": make([]struct{}, maxGPUs+9)},
	} {
		out[name] = one(map[string]any{"runtime": runtime})
	}
	return out
}
