package lambda

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/lambda/lambdatest"
	"guard/providers/prices"
	"guard/providers/providertest/cloudtest"
)

func TestWhatAnInstanceIs(t *testing.T) {
	set := func(fields map[string]any) lambdatest.Special { return lambdatest.Special{Set: fields} }
	typed := func(name string, cents any, gpus any) lambdatest.Special {
		return set(map[string]any{"instance_type": map[string]any{"name": name, "gpu_description": "V100", "price_cents_per_hour": cents, "specs": map[string]any{"gpus": gpus}}})
	}
	c := cloud()
	for id, special := range map[string]lambdatest.Special{
		"active":    {},
		"unhealthy": {Unhealthy: true},
		"new word":  set(map[string]any{"status": "melting"}),
		"silent":    set(map[string]any{"status": nil}),
		"eight":     typed("gpu_8x_v100", 632, 8),
		"cpu":       typed("cpu_4x_general", 20, 0),
		"none":      typed("gpu_1x_gh200", 149, 0),
		"one cent":  typed("tiny", 1, 1),
		"free":      typed("free", 0, 1),
		"fraction":  typed("odd", 12.5, 1),
		"huge":      typed("odd", 1e12, 1),
		"untold":    set(map[string]any{"instance_type": nil}),
		"priced":    typed("gpu_1x_own", 5, 2),
	} {
		c.Special[id] = special
		c.Create(thing(id))
	}
	p := on(t, c)
	var err error
	if p.book, _, err = prices.Parse("book", []byte("currency: USD\ninstances:\n  - {type: gpu_1x_own, scope: \"*\", rate: {amount: \"2\", per: hour, per_gpu: true}}\n")); err != nil {
		t.Fatal(err)
	}
	got := listed(t, p, guard.Instance)
	for id, want := range map[string]string{
		"active":    "running active, 2 of A10 (24 GB PCIe) yes, 1.50 USD per hour",
		"unhealthy": "running unhealthy, 2 of A10 (24 GB PCIe) yes, 1.50 USD per hour",
		"new word":  "unknown melting, 2 of A10 (24 GB PCIe) yes, 1.50 USD per hour",
		"silent":    "unknown , 2 of A10 (24 GB PCIe) yes, 1.50 USD per hour",
		"eight":     "running active, 8 of V100 yes, 6.32 USD per hour",
		"cpu":       "running active, 0 of  no, 0.20 USD per hour",
		"none":      "running active, 0 of V100 unknown, 1.49 USD per hour",
		"one cent":  "running active, 1 of V100 yes, 0.01 USD per hour",
		"free":      "running active, 1 of V100 yes, unknown",
		"fraction":  "running active, 1 of V100 yes, unknown",
		"huge":      "running active, 1 of V100 yes, unknown",
		"untold":    "running active, 0 of  unknown, unknown",
		"priced":    "running active, 2 of V100 yes, 4.00 USD per hour (2 × 2.00 USD per gpu per hour)",
	} {
		r := got[id]
		if s := fmt.Sprintf("%s %s, %d of %s %s, %s", r.State, r.RawState, r.GPUs, r.GPUModel, r.HasGPU, r.Rate); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
		if r.Bills != guard.Yes || r.StopSaves != guard.StopUnsupported || !r.Created.IsZero() {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// TestTags: left out there are none; one that cannot be read may be any.
func TestTags(t *testing.T) {
	c := cloud()
	for id, tags := range map[string]any{
		"two":     []any{map[string]any{"key": "team", "value": "nlp"}, map[string]any{"key": "guard:keep", "value": ""}},
		"none":    []any{},
		"null":    nil,
		"a text":  "x",
		"one odd": []any{map[string]any{"key": "team", "value": "nlp"}, map[string]any{"key": 7, "value": "x"}},
	} {
		c.Create(thing(id))
		c.Special[id] = lambdatest.Special{Set: map[string]any{"tags": tags}}
	}
	got := listed(t, on(t, c), guard.Instance)
	for id, want := range map[string]string{"two": "map[guard:keep: team:nlp] false", "none": "map[] false", "null": "map[] true", "a text": "map[] true", "one odd": "map[team:nlp] true"} {
		if s := fmt.Sprint(got[id].Tags, got[id].TagsUntold); s != want {
			t.Errorf("%s: %s, want %s", id, s, want)
		}
	}
	if tags, untold := (instance{}).tags(); tags != nil || untold {
		t.Errorf("left out: %v, %t", tags, untold)
	}
}

func TestProtection(t *testing.T) {
	action := func(available any, reason string) providers.Field {
		return providers.Field(fmt.Sprintf(`{"terminate":{"available":%v,"reason_code":%q}}`, available, reason))
	}
	for want, all := range map[guard.Tri][]providers.Field{
		guard.No:      {action(true, ""), action(false, "vm-is-terminating"), action(false, "vm-has-not-launched")},
		guard.Yes:     {action(false, "vm-is-too-old"), action(false, "a new word"), action(false, "")},
		guard.Unknown: {action("null", ""), action(`"no"`, ""), nil, providers.Field(`[]`), providers.Field(`{}`)},
	} {
		for _, f := range all {
			if got := (instance{Actions: f}).protected(); got != want {
				t.Errorf("%s: %q, want %q", f, got, want)
			}
		}
	}
}

func TestFileSystems(t *testing.T) {
	c := cloud(thing("i2"), thing("i1"))
	for _, id := range []string{"own", "shared", "free", "hidden", "untold"} {
		c.Create(fileSystemOn(id, ""))
	}
	c.Create(fileSystemOn("held", "i2"))
	c.Special["i1"] = lambdatest.Special{Mounts: []string{"own", "shared"}}
	c.Special["i2"] = lambdatest.Special{Mounts: []string{"shared"}}
	c.Special["own"] = lambdatest.Special{Bytes: 123_456_789_012}
	c.Special["hidden"] = lambdatest.Special{Set: map[string]any{"is_in_use": true}}
	c.Special["untold"] = lambdatest.Special{Set: map[string]any{"is_in_use": nil, "bytes_used": -5, "created": "yesterday"}}
	p := on(t, c)
	var err error
	if p.book, _, err = prices.Parse("book", []byte("currency: USD\nvolumes:\n  - {type: file-system, scope: \"*\", rate: {amount: \"0.20\", per: gb_month}}\n")); err != nil {
		t.Fatal(err)
	}
	got := listed(t, p, guard.Filesystem)
	for id, want := range map[string]string{
		"own":    "i1 [] untold false, 124 GB for 0.033973 USD per hour (124 × 0.20 USD per gb per month), created true",
		"shared": "i1 [i2] untold false, 0 GB for unknown, created true",
		"held":   "i2 [] untold false, 0 GB for unknown, created true",
		"free":   " [] untold false, 0 GB for unknown, created true",
		"hidden": " [] untold true, 0 GB for unknown, created true",
		"untold": " [] untold true, 0 GB for unknown, created false",
	} {
		r := got[id]
		if s := fmt.Sprintf("%s %v untold %t, %d GB for %s, created %t", r.Parent.ID, r.UsedBy, r.UsesUntold, r.SizeGB, r.Rate, !r.Created.IsZero()); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
		if r.Bills != guard.Yes {
			t.Errorf("%s bills %s", id, r.Bills)
		}
	}
	boxes := listed(t, p, guard.Instance)
	if a, b := fmt.Sprint(boxes["i1"].Children), fmt.Sprint(boxes["i2"].Children); a != "[{gpus/own no} {gpus/shared no}]" || b != "[{gpus/held no}]" {
		t.Errorf("children are %s and %s", a, b)
	}
}

// TestMountsByNameAlone: a file system that an instance names, without its ID, is needed.
func TestMountsByNameAlone(t *testing.T) {
	for i, tt := range []struct {
		set    map[string]any
		untold bool
	}{
		{map[string]any{"file_system_names": []any{}, "file_system_mounts": nil}, false},
		{map[string]any{"file_system_names": []any{"data"}, "file_system_mounts": nil}, true},
		{map[string]any{"file_system_names": []any{"data"}, "file_system_mounts": []any{map[string]any{"file_system_id": 7}}}, true},
		{map[string]any{"file_system_names": []any{"other"}}, false},
		{map[string]any{"file_system_names": []any{"data"}, "file_system_mounts": nil, "status": "terminated"}, false},
		{map[string]any{"file_system_names": "data"}, false},
	} {
		c := cloud(thing("i"))
		c.Create(fileSystemOn("data", ""))
		c.Special["i"] = lambdatest.Special{Set: tt.set}
		p := on(t, c)
		r := listed(t, p, guard.Filesystem)["data"]
		if l := p.Get(at(t), r.ID)[0]; r.UsesUntold != tt.untold || l.Resource.UsesUntold != tt.untold {
			t.Errorf("%d: %v: %+v, by ID %+v", i, tt.set, r, l)
		}
	}
}

// TestCalls counts what reading takes, where every call takes a second.
func TestCalls(t *testing.T) {
	c := cloud(thing("a"), thing("b"), thing("c"))
	for _, id := range []string{"f", "g"} {
		c.Create(fileSystemOn(id, "a"))
	}
	ids := func(p *Provider, kind guard.Kind, names ...string) []guard.ResourceID {
		var out []guard.ResourceID
		for _, n := range names {
			out = append(out, p.id(kind, n))
		}
		return out
	}
	for what, x := range map[string]struct {
		want int
		call func(p *Provider)
	}{
		"list of both kinds": {2, func(p *Provider) {
			_, _ = p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem}})
		}},
		"get one":          {1, func(p *Provider) { p.Get(at(t), ids(p, guard.Instance, "a")...) }},
		"get three":        {1, func(p *Provider) { p.Get(at(t), ids(p, guard.Instance, "a", "b", "c", "a")...) }},
		"get two and one":  {2, func(p *Provider) { p.Get(at(t), ids(p, guard.Instance, "a", "b", "gone")...) }},
		"get file systems": {2, func(p *Provider) { p.Get(at(t), ids(p, guard.Filesystem, "f", "g", "gone")...) }},
		"identity":         {0, func(p *Provider) { _, _ = p.Identity(at(t)) }},
	} {
		before := len(c.Calls())
		x.call(on(t, c))
		if n := len(c.Calls()) - before; n != x.want {
			t.Errorf("%s takes %d calls, want %d", what, n, x.want)
		}
	}
}

// TestAWaitEndsAReading: after a refusal that asks to wait nothing more is asked.
func TestAWaitEndsAReading(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("a"))}
	asked := 0
	f.Add(0, func(*http.Request) bool { asked++; return true }, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		lambdatest.Refuse(w, http.StatusTooManyRequests, "global/rate-limited", "slow down")
	})
	p := on(t, f)
	looks := p.Get(at(t), p.id(guard.Instance, "a"), p.id(guard.Instance, "b"), p.id(guard.Instance, "c"), p.id(guard.Filesystem, "f"))
	for _, l := range looks {
		if wait, ok := guard.RetryAfter(l.Err); l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrThrottled) || !ok || wait.Seconds() != 7 {
			t.Errorf("%s is %s, %v", l.ID, l.Verdict, l.Err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// TestAListThatIsNotFound says nothing of what would be in it.
func TestAListThatIsNotFound(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("a"), thing("b"), thing("c"))}
	f.Add(0, func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "/instances/") }, func(w http.ResponseWriter, _ *http.Request) {
		lambdatest.Refuse(w, http.StatusNotFound, "global/object-does-not-exist", "no")
	})
	p := on(t, f)
	for i, l := range p.Get(at(t), p.id(guard.Instance, "a"), p.id(guard.Instance, "b"), p.id(guard.Instance, "c"), p.id(guard.Filesystem, "f")) {
		if want := i < 3; (l.Verdict == guard.VerdictFound) != want || !want && !errors.Is(l.Err, guard.ErrBadReply) {
			t.Errorf("%s is %s, %v", l.ID, l.Verdict, l.Err)
		}
	}
}

// TestTwoOfOneID: what is told twice is one thing, and what is told twice and differently is
// no complete list.
func TestTwoOfOneID(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[{"id":"a","status":"active"},{"id":"a","status":"active"}]}`:                "1 true",
		`{"data":[{"id":"a","status":"terminated"},{"id":"a","status":"active"},{"id":"b"}]}`: "1 false",
	} {
		p := adapter(t, "gpus", cloudtest.Canned(body), guard.NewSecret("k"))
		inv, _ := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		r := inv.Results[0]
		if got := fmt.Sprint(len(r.Resources), r.Err == nil); got != want {
			t.Errorf("%s: %s, %v; want %s", body, got, r.Err, want)
		}
	}
}

// TestAListHasAnEntryWithoutAName: the others are told, and the list is not complete.
func TestAListHasAnEntryWithoutAName(t *testing.T) {
	c := cloud(thing("a"), thing("b"))
	c.Special["a"] = lambdatest.Special{Set: map[string]any{"id": 7}}
	inv, err := on(t, c).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem, guard.Volume}})
	if err != nil || len(inv.Results) != 3 {
		t.Fatalf("%+v, %v", inv, err)
	}
	if r := inv.Results[0]; len(r.Resources) != 1 || !errors.Is(r.Err, guard.ErrBadReply) || !strings.Contains(r.Err.Error(), "1 of 2") {
		t.Errorf("%+v", r)
	}
	if r := inv.Results[1]; len(r.Resources) != 0 || !errors.Is(r.Err, guard.ErrBadReply) {
		t.Errorf("file systems, of which one instance may mount some: %+v", r)
	}
	if r := inv.Results[2]; !errors.Is(r.Err, guard.ErrUnsupported) {
		t.Errorf("volumes: %+v", r)
	}
	c = cloud(thing("a"))
	c.Create(fileSystemOn("f", "a"))
	c.Create(fileSystemOn("g", ""))
	c.Special["g"] = lambdatest.Special{Set: map[string]any{"id": 7}}
	p := on(t, c)
	for id, want := range map[string]guard.Verdict{"f": guard.VerdictFound, "g": guard.VerdictUnknown} {
		if l := p.Get(at(t), p.id(guard.Filesystem, id))[0]; l.Verdict != want {
			t.Errorf("%s by ID: %s, %v", id, l.Verdict, l.Err)
		}
	}
}
