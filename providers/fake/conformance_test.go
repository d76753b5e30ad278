package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

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
			return timedPaid{p.Timed()}
		},
		Serve: func(t *testing.T, w providertest.World) http.RoundTripper {
			s := Script{Account: "conformance", Scopes: w.Scopes, PageSize: w.PageSize, Timer: TimerKept, Token: guard.NewSecret(providertest.Secret)}
			if w.Balance.IsSet() {
				s.Balance = w.Balance.String()
			}
			for _, x := range w.Charges {
				s.Start = w.Charges[len(w.Charges)-1].To
				s.Timeline = append(s.Timeline, Event{At: x.To.Sub(s.Start), Charge: &Charge{ID: x.Resource.ID, Amount: x.Amount.String(), Covers: x.To.Sub(x.From)}})
			}
			for _, x := range w.Instances {
				r := Resource{ID: x.ID, Name: x.Name, Scope: x.Scope, Tags: x.Tags, GPUs: x.GPUs, Rate: &Rate{Amount: "2.50", Per: "hour"}}
				if x.Stopped {
					r.State = "stopped"
				}
				if x.Protected {
					r.Protected = []string{"release"}
				}
				for _, l := range w.Leftovers {
					if l.AttachedTo == x.ID {
						r.Attached = append(r.Attached, l.ID)
					}
				}
				s.Resources = append(s.Resources, r)
			}
			for _, l := range w.Leftovers {
				s.Resources = append(s.Resources, Resource{Kind: l.Kind, ID: l.ID, Scope: l.Scope})
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
			if o.call == CallDelete {
				o.call = CallRelease
			}
			return providertest.Op{Call: o.call, Scope: o.scope}
		},
		LeftoverID: func(kind guard.Kind, n int) string { return fmt.Sprintf("%s-%d", kind, n) },
		Kinds:      []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem},
		Attached:   []guard.Kind{guard.Volume, guard.Address},
		Currency:   "USD",
		Odd:        oddServers(),
		Watched:    watched,
		OddSignals: oddSignals(),
	}
}

// watched is a world half an hour on, all of it at 42 % but the last instance.
func watched(_ *testing.T, w providertest.World) providertest.Watched {
	s := Script{Account: "conformance", Scopes: w.Scopes, Token: guard.NewSecret(providertest.Secret)}
	for i, x := range w.Instances {
		s.Resources = append(s.Resources, Resource{ID: x.ID, Scope: x.Scope})
		if i < len(w.Instances)-1 {
			s.Timeline = append(s.Timeline, Event{ID: x.ID, Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(42), "tx_bytes_s": Every(1)}}})
		}
	}
	c := MustCloud(s)
	return providertest.Watched{Server: c.RoundTripper(), At: c.At(30 * time.Minute), GPUUtil: guard.Known(42)}
}

// oddSamples are values that no monitor should tell, by field.
var oddSamples = map[string]map[string]any{
	"nulls":                                {"at": nil, "interval_s": nil, "basis": nil, "gpu_util": nil, "nics": nil, "gpu_processes": nil, "boot": nil},
	"words for numbers":                    {"gpu_util": "N/A", "gpu_mem_mib": []any{"NaN", "0x10", "-"}, "cpu_cores": "many", "interval_s": "soon", "at": "now"},
	"lists for numbers":                    {"gpu_util": []any{[]any{1}, map[string]any{}}, "cpu_cores": []any{1}, "gpu_processes": []any{1, "x", nil}, "nics": []any{1, nil}},
	"absurd numbers":                       {"gpu_util": []any{37100, -1, 1e300, 1e-300}, "interval_s": 1e30, "nics": []any{map[string]any{"name": "eth0", "rx": 1e40, "tx": -1}}},
	"a number JSON can hold and Go cannot": {"gpu_util": json.RawMessage("[1e999]"), "cpu_cores": json.RawMessage("1e999")},
	"a time in the year 9999":              {"at": "9999-12-31T23:59:59Z"},
	"a time in words of another zone":      {"at": "2026-03-06T18:00:00+08:00"},
	"more GPUs than a machine has":         {"gpu_util": make([]int, maxGPUs+9)},
	"more processes than are kept":         {"gpu_processes": make([]struct{}, maxGPUProcesses+9)},
	"huge texts":                           {"boot": strings.Repeat("x", 1<<12), "basis": strings.Repeat("y", 1<<12)},
}

func oddSignals() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, fields := range oddSamples {
		out[name] = oddlyWatched(Reply{SetFields: fields})
	}
	for name, body := range map[string]string{"samples are a page": `"<html>"`, "samples are an object": `{}`, "samples are of another": `[]`} {
		out[name] = oddlyWatched(Reply{Status: 200, Body: `{"results":[{"kind":"instance","id":"i-00000000000000001","samples":` + body + `},{"kind":"instance","id":"i-9","samples":[{"at":1}]}]}`})
	}
	return out
}

// oddlyWatched is the suite's first instance, watched, with odd replies.
func oddlyWatched(odd Reply) http.RoundTripper {
	const id = "i-00000000000000001"
	return MustCloud(Script{Account: "conformance", Scopes: []string{"zone-a", "zone-b"}, Token: guard.NewSecret(providertest.Secret), Resources: []Resource{{ID: id}},
		Timeline: []Event{{ID: id, Signals: &Signals{Of: map[string]Reading{"gpu_util": Every(42), "tx_bytes_s": Every(1)}}}},
		Faults:   []Fault{{Call: CallSignals, Reply: odd}}}).RoundTripper()
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
