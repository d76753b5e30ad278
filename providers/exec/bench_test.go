package exec

import (
	"fmt"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// BenchmarkPoll is a poll of 500 machines over pipes, with what a plug-in in this process
// takes; one process and one request for all of them.
func BenchmarkPoll(b *testing.B) {
	var w providertest.World
	for i := range 500 {
		w.Instances = append(w.Instances, providertest.Thing{Kind: guard.Instance, ID: fmt.Sprintf("m-%d", i), Scope: "global", GPUs: 8})
	}
	calls := 0
	next := cloudtest.In(newCloud(w))
	count := roundTrip(func(r *http.Request) (*http.Response, error) {
		calls++
		return next.RoundTrip(r)
	})
	p := adapter(b, &plugin{rt: count, scopes: []string{"global"}, key: guard.NewSecret(providertest.Secret)})
	b.ReportAllocs()
	for b.Loop() {
		inv, err := p.List(b.Context(), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		if err != nil || len(inv.Results) != 1 || len(inv.Results[0].Resources) != 500 || inv.Results[0].Err != nil {
			b.Fatalf("%+v, %v", inv, err)
		}
	}
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
