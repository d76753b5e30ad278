package runpod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
	"guard/providers/runpod/runpodtest"
)

// TestEndpointsThatFail: what was read of their workers before stands.
func TestEndpointsThatFail(t *testing.T) {
	c := cloud(thing("p1"))
	for i := range crewsAtOnce + 2 {
		c.Endpoints = append(c.Endpoints, runpodtest.Endpoint{ID: fmt.Sprint("e", i), Max: 1})
	}
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	for range 2 {
		listed(t, p, guard.Instance)
	}
	f.Add(3, func(r *http.Request) bool { return r.URL.Path == "/v2/serverless" }, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	if inv, _ := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}}); !errors.Is(inv.Results[0].Err, guard.ErrUnavailable) {
		t.Errorf("%v", inv.Results[0].Err)
	}
	for id, r := range listed(t, p, guard.Instance) {
		if r.Type == serverless && r.State != guard.StateStopped {
			t.Errorf("%s is %s: %s", id, r.State, r.RawState)
		}
	}
}

// TestTheCatalogueOfACallThatEnds: the next call asks for it again.
func TestTheCatalogueOfACallThatEnds(t *testing.T) {
	f := &cloudtest.Faults{Next: full()}
	ctx, cancel := context.WithCancel(at(t))
	f.Add(1, func(r *http.Request) bool { return r.URL.Path == "/v2/catalog/gpus" }, func(http.ResponseWriter, *http.Request) { cancel() })
	p := on(t, f)
	inv, _ := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err := inv.Results[0].Err; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if r := listed(t, p, guard.Instance)["serverless/e1"]; !r.Rate.Known() {
		t.Errorf("after that an endpoint costs %s", r.Rate)
	}
}

// TestWorkersThatBill: one that is not placed does not; nulls alone do not say that.
func TestWorkersThatBill(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status":"RUNNING","gpuTypeId":"x","startedAt":"2026-03-10T11:00:00Z"}`: true,
		`{"status":"RUNNING","gpuTypeId":null,"startedAt":null}`:                  true,
		`{"status":"IDLE"}`:                             true,
		`{"status":"UNHEALTHY"}`:                        true,
		`{"status":"A NEW WORD"}`:                       true,
		`{"status":null}`:                               true,
		`{"status":"INITIALIZING"}`:                     false,
		`{"status":"INITIALIZING","gpuTypeId":"x"}`:     true,
		`{"status":"INITIALIZING","startedAt":"later"}`: true,
		`{"status":"THROTTLED","gpuTypeId":"x"}`:        false,
	} {
		var w worker
		if !providers.Field(text).Into(&w) || w.bills() != want {
			t.Errorf("%s bills: %t", text, w.bills())
		}
	}
}
