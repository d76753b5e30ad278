package digitalocean

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

const model = "inference/6b5c619c-359c-44ca-87e2-47e98170c01d"

// served is an endpoint with two machines of one GPU each.
func served(id string) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: "mistral", GPUs: 2, Price: money("2USD")}
}

func shown(r guard.Resource) string {
	return fmt.Sprintf("%s %s: %s %d × %s for %s, bills %s, %s", r.Name, r.RawState, r.State, r.GPUs, r.GPUModel, r.Rate, r.Bills, r.Type)
}

// TestTheLifeOfAnEndpoint: it is listed in a scope of its own, bills until it is gone, and
// its release is safe to repeat.
func TestTheLifeOfAnEndpoint(t *testing.T) {
	now := noon.Wall
	c := digitaloceantest.Of(providertest.World{})
	c.Cloud = &cloudtest.Cloud{Lags: cloudtest.Lags{Boot: time.Minute, End: time.Minute}, Clock: func() time.Time { return now }}
	c.Create(served(model))
	c.Create(thing(1))
	p := on(t, c)
	id := guard.ResourceID{Account: "ocean", Kind: guard.Instance, Scope: Inference, ID: model}
	is := func(want string) {
		t.Helper()
		got := listed(t, p, guard.Instance)
		l := p.Get(at(t), id)[0]
		if l.Verdict != guard.VerdictFound || shown(l.Resource) != want || shown(got[model]) != want || len(got) != 2 {
			t.Errorf("it is %s %q, and listed %q; want %q: %v", l.Verdict, shown(l.Resource), shown(got[model]), want, l.Err)
		}
		if r := got[model]; r.HasGPU != guard.Yes || r.StopSaves != guard.StopUnsupported || !r.Created.Equal(noon.Wall) || r.ID != id {
			t.Errorf("%+v", r)
		}
	}
	is("mistral provisioning: provisioning 2 × mi300 for 4.00 USD per hour (2 × 2.00 USD per worker per hour), bills yes, inference/gpu-mi300x1-192gb")
	now = now.Add(2 * time.Minute)
	is("mistral active: running 2 × mi300 for 4.00 USD per hour (2 × 2.00 USD per worker per hour), bills yes, inference/gpu-mi300x1-192gb")
	if err := p.Tag(at(t), id, map[string]string{guard.TagLease: "L-1"}); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("a tag on it: %v", err)
	}
	for range 2 {
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	is("mistral deleting: releasing 2 × mi300 for 4.00 USD per hour (2 × 2.00 USD per worker per hour), bills yes, inference/gpu-mi300x1-192gb")
	now = now.Add(2 * time.Minute)
	if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("in the end it is %s, %v", l.Verdict, l.Err)
	}
	if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
		t.Error(err)
	}
	if got := listed(t, p, guard.Instance); len(got) != 1 {
		t.Errorf("left are %v", got)
	}
}

// TestSpecs: what an endpoint tells of its GPUs, and what they cost.
func TestSpecs(t *testing.T) {
	machines := func(of ...any) map[string]any {
		var all []any
		for i := 0; i < len(of); i += 2 {
			all = append(all, map[string]any{"accelerator_slug": of[i], "scale": of[i+1]})
		}
		return map[string]any{"model_deployments": []any{map[string]any{"accelerators": all}}}
	}
	book, _, err := prices.Parse("book", []byte(`currency: USD
instances:
  - {type: inference/gpu-l40sx2-96gb, scope: "*", rate: {amount: "1.50", per: hour}}
  - {type: inference/gpu-h200x8-1128gb, scope: "*", rate: {amount: "3", per: hour, per_gpu: true}}
  - {type: inference/gpu-b300x8, scope: "*", rate: {amount: "3", per: hour, per_gpu: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	const alike = "inference/gpu-mi300x1-192gb"
	for name, x := range map[string]struct {
		set  map[string]any
		want string
	}{
		"two sizes":             {map[string]any{"spec": machines("gpu-mi300x1-192gb", 2, "gpu-h100x8-640gb", 1)}, "10 × mi300 for 27.92 USD per hour, inference"},
		"one size twice":        {map[string]any{"spec": machines("gpu-mi300x1-192gb", 2, "gpu-mi300x1-192gb", 1)}, "3 × mi300 for 6.00 USD per hour (3 × 2.00 USD per worker per hour), " + alike},
		"by the book":           {map[string]any{"spec": machines("gpu-l40sx2-96gb", 2)}, "4 × l40s for 3.00 USD per hour (2 × 1.50 USD per worker per hour), inference/gpu-l40sx2-96gb"},
		"by the book, a GPU":    {map[string]any{"spec": machines("gpu-h200x8-1128gb", 2)}, "16 × h200 for 48.00 USD per hour (2 × 24.00 USD per worker per hour), inference/gpu-h200x8-1128gb"},
		"without a price":       {map[string]any{"spec": machines("gpu-mi300x8-1536gb", 1)}, "8 × mi300 for unknown, inference/gpu-mi300x8-1536gb"},
		"one without a price":   {map[string]any{"spec": machines("gpu-mi300x1-192gb", 1, "gpu-mi300x8-1536gb", 1)}, "9 × mi300 for unknown, inference"},
		"in another region":     {map[string]any{"region": "nyc2"}, "2 × mi300 for unknown, " + alike},
		"an odd size":           {map[string]any{"spec": machines("h100", 2)}, "0 ×  for unknown, inference/h100"},
		"one odd size":          {map[string]any{"spec": machines("gpu-mi300x1-192gb", 2, "h100", 2)}, "0 × mi300 for unknown, inference"},
		"a size of no count":    {map[string]any{"spec": machines("gpu-b300x8", 1)}, "0 ×  for unknown, inference/gpu-b300x8"},
		"no scale":              {map[string]any{"spec": machines("gpu-mi300x1-192gb", nil)}, "0 ×  for unknown, inference"},
		"a scale of nothing":    {map[string]any{"spec": machines("gpu-mi300x1-192gb", 0)}, "0 ×  for unknown, inference"},
		"an absurd scale":       {map[string]any{"spec": machines("gpu-mi300x1-192gb", 1e9)}, "0 ×  for unknown, inference"},
		"a number for a size":   {map[string]any{"spec": machines(7, 1)}, "0 ×  for unknown, inference"},
		"no machines":           {map[string]any{"spec": machines()}, "0 ×  for unknown, inference"},
		"no spec":               {map[string]any{"spec": nil}, "0 ×  for unknown, inference"},
		"a spec of words":       {map[string]any{"spec": "large"}, "0 ×  for unknown, inference"},
		"a spec to come":        {map[string]any{"spec": nil, "pending_deployment_spec": machines("gpu-mi300x1-192gb", 4)}, "4 × mi300 for 8.00 USD per hour (4 × 2.00 USD per worker per hour), " + alike},
		"one and another later": {map[string]any{"spec": machines("gpu-mi300x1-192gb", 3), "pending_deployment_spec": machines("gpu-mi300x1-192gb", 4)}, "3 × mi300 for 6.00 USD per hour (3 × 2.00 USD per worker per hour), " + alike},
	} {
		c := cloud(served(model))
		c.Special[model] = digitaloceantest.Special{Set: x.set}
		p := on(t, c)
		p.book = book
		r := listed(t, p, guard.Instance)[model]
		if got := fmt.Sprintf("%d × %s for %s, %s", r.GPUs, r.GPUModel, r.Rate, r.Type); got != x.want || r.HasGPU != guard.Yes || r.Bills != guard.Yes {
			t.Errorf("%s: %s, want %s: %+v", name, got, x.want, r)
		}
	}
	c := cloud(served(model))
	c.Special[model] = digitaloceantest.Special{Set: map[string]any{"status": "error", "name": nil}}
	if got := shown(listed(t, on(t, c), guard.Instance)[model]); !strings.HasPrefix(got, "mistral error: unknown 2 × mi300 for 4.00 USD") {
		t.Errorf("in error, and named by its spec: %s", got)
	}
}

// TestCallsForEndpoints: a spec is read when an endpoint is new or has changed, a few at a
// time, and prices once an hour.
func TestCallsForEndpoints(t *testing.T) {
	c := cloud()
	name := func(i int) string { return fmt.Sprintf("inference/6b5c619c-359c-44ca-87e2-0000000000%02d", i) }
	for i := range 12 {
		c.Create(served(name(i)))
	}
	p := on(t, c)
	poll := func(after time.Duration, want ...int) map[string]guard.Resource {
		t.Helper()
		before := len(c.Calls())
		inv, err := p.List(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(after)}), providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: []string{Inference}})
		if err != nil || len(inv.Results) != 1 || inv.Results[0].Err != nil {
			t.Fatalf("%+v, %v", inv, err)
		}
		got := []int{0, 0, 0} // lists, specs, prices
		for _, call := range c.Calls()[before:] {
			path, _, _ := strings.Cut(strings.TrimPrefix(call, "GET /v2/dedicated-inferences"), "?")
			got[map[string]int{"": 0, "/sizes": 2}[path]+map[bool]int{true: 1}[path != "" && path != "/sizes"]]++
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s: %v lists, specs and prices, want %v: %v", after, got, want, c.Calls()[before:])
		}
		out := map[string]guard.Resource{}
		for _, r := range inv.Results[0].Resources {
			out[r.ID.ID] = r
		}
		return out
	}
	if r := poll(0, 1, 10, 1); len(r) != 12 || r[name(11)].Rate.Known() || !r[name(0)].Rate.Known() {
		t.Errorf("%v", r)
	}
	if r := poll(time.Minute, 1, 2, 0); !r[name(11)].Rate.Known() {
		t.Errorf("%v", r)
	}
	poll(2*time.Minute, 1, 0, 0)
	c.Special[name(3)] = digitaloceantest.Special{Set: map[string]any{"updated_at": "2026-03-10T12:03:00Z", "spec": map[string]any{"model_deployments": []any{
		map[string]any{"accelerators": []any{map[string]any{"accelerator_slug": "gpu-mi300x1-192gb", "scale": 7}}}}}}}
	if r := poll(3*time.Minute, 1, 0, 0); r[name(3)].GPUs != 7 {
		t.Errorf("the list tells a spec: %+v", r[name(3)])
	}
	c.Special[name(3)] = digitaloceantest.Special{Set: map[string]any{"updated_at": "2026-03-10T12:04:00Z"}}
	if r := poll(4*time.Minute, 1, 1, 0); r[name(3)].GPUs != 2 {
		t.Errorf("it changed: %+v", r[name(3)])
	}
	c.Special[name(4)] = digitaloceantest.Special{Set: map[string]any{"status": "updating"}}
	poll(5*time.Minute, 1, 1, 0)
	c.Special[name(5)] = digitaloceantest.Special{Set: map[string]any{"updated_at": nil}}
	poll(6*time.Minute, 1, 1, 0)
	poll(7*time.Minute, 1, 1, 0)
	c.Special[name(5)] = digitaloceantest.Special{Set: map[string]any{"spec": nil}}
	poll(8*time.Minute, 1, 1, 0)
	poll(9*time.Minute, 1, 1, 0) // it may tell one later
	delete(c.Special, name(5))
	poll(time.Hour, 1, 1, 1)

	var ids []guard.ResourceID
	for i := range 6 {
		ids = append(ids, p.id(guard.Instance, name(i)))
	}
	before := len(c.Calls())
	if looks := p.Get(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(time.Hour)}), ids...); looks[5].Verdict != guard.VerdictFound || len(c.Calls())-before != 6 {
		t.Errorf("%+v after %v", looks[5], c.Calls()[before:])
	}
}

// TestNoMoreSpecs: one that is refused with a wait is the last that is asked for.
func TestNoMoreSpecs(t *testing.T) {
	f, asked := &cloudtest.Faults{Next: cloud(served(model), served(model+"-2"))}, 0
	f.Add(0, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "6b5c619c") }, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "60")
		digitaloceantest.Refuse(w, http.StatusTooManyRequests, "too_many_requests", "slower")
	})
	inv, err := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err != nil || asked != 1 || !errors.Is(inv.Results[1].Err, guard.ErrThrottled) || len(inv.Results[1].Resources) != 2 {
		t.Errorf("asked %d times: %+v, %v", asked, inv, err)
	}
}

// TestAnEndpointThatGoes: a refusal to delete what is going already is none.
func TestAnEndpointThatGoes(t *testing.T) {
	c := cloud(served(model))
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	f.Add(0, func(r *http.Request) bool { return r.Method == http.MethodDelete }, func(w http.ResponseWriter, _ *http.Request) {
		digitaloceantest.Refuse(w, http.StatusConflict, "conflict", "it is busy")
	})
	for status, want := range map[string]error{"updating": guard.ErrConflict, "deleting": nil} {
		c.Special[model] = digitaloceantest.Special{Set: map[string]any{"status": status}}
		if err := p.Release(at(t), p.id(guard.Instance, model), providers.ReleaseOptions{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", status, err, want)
		}
	}
}

// TestWhoMayNotReadEndpoints: the droplets are read all the same, and the scope says what is
// missing. A spec or a price that cannot be read hides no endpoint.
func TestWhoMayNotReadEndpoints(t *testing.T) {
	for name, x := range map[string]struct {
		path   string
		status int
		kind   error
		scope  bool
		want   string
	}{
		"not the list":  {"/v2/dedicated-inferences", 403, guard.ErrPermission, true, ""},
		"no known key":  {"/v2/dedicated-inferences", 401, guard.ErrPermission, false, ""},
		"no such list":  {"/v2/dedicated-inferences", 404, guard.ErrBadReply, false, ""},
		"a broken list": {"/v2/dedicated-inferences", 500, guard.ErrUnavailable, false, ""},
		"not its spec":  {"/v2/dedicated-inferences/" + strings.TrimPrefix(model, "inference/"), 500, guard.ErrUnavailable, false, "unknown"},
		"a lost spec":   {"/v2/dedicated-inferences/" + strings.TrimPrefix(model, "inference/"), 404, nil, false, "unknown"},
		"no prices":     {"/v2/dedicated-inferences/sizes", 500, nil, false, "unknown"},
	} {
		f := &cloudtest.Faults{Next: cloud(thing(1), served(model))}
		f.Add(0, func(r *http.Request) bool { return r.URL.Path == x.path }, func(w http.ResponseWriter, _ *http.Request) {
			digitaloceantest.Refuse(w, x.status, map[int]string{404: "not_found"}[x.status], "no")
		})
		inv, err := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		if err != nil || len(inv.Results) != 2 || inv.Results[0].Err != nil || len(inv.Results[0].Resources) != 1 {
			t.Fatalf("%s: %+v, %v", name, inv, err)
		}
		res := inv.Results[1]
		if !errors.Is(res.Err, x.kind) || res.Scope != Inference || res.Err != nil && strings.Contains(res.Err.Error(), "dedicated_inference:read") != x.scope {
			t.Errorf("%s: %s, %v", name, res.Scope, res.Err)
		}
		if got := len(res.Resources); got != map[bool]int{true: 1}[x.want != ""] || got > 0 && res.Resources[0].Rate.String() != x.want {
			t.Errorf("%s: %+v", name, res.Resources)
		}
	}
	f := &cloudtest.Faults{Next: cloud(thing(1), served(model))}
	f.Add(0, func(r *http.Request) bool { return r.URL.Path == "/v2/droplets" }, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		digitaloceantest.Refuse(w, http.StatusTooManyRequests, "too_many_requests", "slower")
	})
	calls := 0
	f.Add(0, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/dedicated") }, func(http.ResponseWriter, *http.Request) { calls++ })
	inv, err := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err != nil || len(inv.Results) != 2 || !errors.Is(inv.Results[1].Err, guard.ErrThrottled) || calls > 0 {
		t.Errorf("while it is to wait: %d calls, %+v, %v", calls, inv, err)
	}
}

// TestPricesOfGPUsStay: prices that cannot be read anew are those of before.
func TestPricesOfGPUsStay(t *testing.T) {
	c := cloud(served(model))
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	price := func(after time.Duration) string {
		return p.Get(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(after)}), guard.ResourceID{Account: "ocean", Kind: guard.Instance, ID: model})[0].Resource.Rate.String()
	}
	const want = "4.00 USD per hour (2 × 2.00 USD per worker per hour)"
	if got := price(0); got != want {
		t.Error(got)
	}
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/sizes") }, func(w http.ResponseWriter, _ *http.Request) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"sizes": "many"})
	})
	if got := price(2 * time.Hour); got != want {
		t.Errorf("two hours later: %s", got)
	}
}
