package fake

import (
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

func TestConformance(t *testing.T) { providertest.Run(t, harness()) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			p, err := New(Config{Account: "conformance", Scopes: scopes, Token: secret, Next: rt, Truths: MustCloud(Script{}).Truths()})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Serve: func(t *testing.T, w providertest.World) http.RoundTripper {
			s := Script{Account: "conformance", Scopes: w.Scopes, PageSize: w.PageSize, Token: guard.NewSecret(providertest.Secret)}
			for _, x := range w.Instances {
				r := Resource{ID: x.ID, Name: x.Name, Scope: x.Scope, Tags: x.Tags}
				if x.Protected {
					r.Protected = []string{"release"}
				}
				s.Resources = append(s.Resources, r)
			}
			if w.Canary != "" {
				s.Faults = []Fault{{Reply: Reply{SetFields: map[string]any{"root_password": w.Canary, "ssh": "ssh -p " + w.Canary}}}}
			}
			return MustCloud(s).RoundTripper()
		},
		Classify: func(r *http.Request, body []byte) providertest.Op {
			o, _ := parse(r, body)
			if o.dry {
				return providertest.Op{Call: providertest.DryRun}
			}
			return providertest.Op{Call: o.call, Scope: o.scope}
		},
		Odd: oddServers(),
	}
}

// oddFields are values that no API should send, by field.
var oddFields = map[string]map[string]any{
	"nulls":              {"state": nil, "rate": nil, "gpus": nil, "tags": nil, "created": nil, "name": nil, "scope": nil, "attached": nil, "parent": nil, "protected": nil},
	"words for numbers":  {"gpus": "eight", "size_gb": "NaN", "created": "yesterday", "rate": map[string]any{"amount": "free", "per": "hour", "currency": "USD"}},
	"numbers for words":  {"state": 7, "name": 12.5, "tags": map[string]any{"a": 1, "b": nil}, "kind": "instance", "scope": 3},
	"absurd numbers":     {"gpus": 1e38, "size_gb": -1, "created": 1e300, "rate": map[string]any{"amount": 1e38, "per": "hour", "currency": "USD"}},
	"negative":           {"gpus": -8, "rate": map[string]any{"amount": "-3", "per": "hour", "currency": "USD"}},
	"an unknown state":   {"state": "frozen"},
	"an unknown period":  {"rate": map[string]any{"amount": "3", "per": "fortnight", "currency": "USD"}},
	"no currency":        {"rate": map[string]any{"amount": "3", "per": "hour", "currency": "$$"}},
	"lists for objects":  {"tags": []any{}, "rate": []any{1}, "parent": "x", "attached": map[string]any{}, "protected": "yes", "used_by": 4},
	"huge texts":         {"name": strings.Repeat("x", 1<<15), "state": strings.Repeat("y", 1<<15), "gpu_model": strings.Repeat("z\x00", 1<<14)},
	"no ID":              {"id": nil},
	"an empty ID":        {"id": ""},
	"a huge ID":          {"id": strings.Repeat("i", 1<<12)},
	"another kind":       {"kind": "toaster"},
	"everything is null": {"id": nil, "kind": nil, "state": nil},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, fields := range oddFields {
		out[name] = MustCloud(Script{Scopes: []string{"zone-a", "zone-b"}, Token: guard.NewSecret(providertest.Secret),
			Resources: []Resource{{ID: "i-1", Rate: &Rate{Amount: "3", Per: "hour"}}},
			Faults:    []Fault{{Call: CallList, Reply: Reply{SetFields: fields}}}}).RoundTripper()
	}
	return out
}
