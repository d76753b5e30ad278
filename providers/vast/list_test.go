package vast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/vast/vasttest"
)

// cloud is an account with these instances.
func cloud(boxes ...providertest.Thing) *vasttest.Cloud {
	return vasttest.Of(providertest.World{Instances: boxes})
}

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "boxes", cloudtest.In(h), guard.NewSecret(providertest.Secret))
}

// listed are the things of a kind by their IDs.
func listed(t testing.TB, p *Provider, kind guard.Kind) map[string]guard.Resource {
	t.Helper()
	inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
	if err != nil || len(inv.Results) != 1 || inv.Results[0].Err != nil {
		t.Fatalf("%+v, %v", inv, err)
	}
	out := map[string]guard.Resource{}
	for _, r := range inv.Results[0].Resources {
		out[r.ID.ID] = r
	}
	return out
}

// at is a context whose calls are made at noon.
func at(t testing.TB) context.Context { return guard.WithInstant(t.Context(), noon) }

func thing(id string) providertest.Thing {
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: "box " + id, GPUs: 2, Price: guard.MustMoney("1.38USD")}
}

// words are those of a record: of its container, of its contract now, as intended and next.
func words(actual any, now, intended, next string) map[string]any {
	return map[string]any{"actual_status": actual, "cur_state": now, "intended_status": intended, "next_state": next}
}

// TestStates: the contract says what bills, and a word that nobody knows bills as if it ran.
func TestStates(t *testing.T) {
	for i, tt := range []struct {
		set  map[string]any
		want string
	}{
		{words("running", "running", "running", "running"), "running (running) for 1.38 USD"},
		{words(nil, "running", "running", "running"), "provisioning (creating) for 1.38 USD"},
		{words("loading", "running", "running", "running"), "provisioning (loading) for 1.38 USD"},
		{words("rebooting", "running", "running", "running"), "running (rebooting) for 1.38 USD"},
		{words("frozen", "running", "running", "running"), "unknown (frozen) for 1.38 USD"},
		{words("exited", "running", "running", "running"), "unknown (exited) for 1.38 USD"},
		{words("unknown", "running", "running", "running"), "unknown (unknown) for 1.38 USD"},
		{words("offline", "running", "running", "running"), "unknown (offline) for 1.38 USD"},
		{words("stopped", "running", "running", "running"), "unknown (stopped) for 1.38 USD"},
		{words("levitating", "running", "running", "running"), "unknown (levitating) for 1.38 USD"},
		{words(7, "running", "running", "running"), "unknown (running) for 1.38 USD"},
		{words("running", "asleep", "running", "running"), "unknown (asleep) for 1.38 USD"},
		{words("running", "running", "stopped", "stopped"), "stopping (running) for 1.38 USD"},
		{words("running", "stopped", "stopped", "stopped"), "stopping (running) for 1.38 USD"},
		{words("frozen", "stopped", "stopped", "stopped"), "unknown (frozen) for 1.38 USD"},
		{words("stopped", "stopped", "stopped", "stopped"), "stopped (stopped) for 0.02 USD"},
		{words("exited", "stopped", "stopped", "stopped"), "stopped (stopped) for 0.02 USD"},
		{words("offline", "stopped", "stopped", "stopped"), "stopped (stopped) for 0.02 USD"},
		{words(nil, "stopped", "stopped", "stopped"), "stopped (stopped) for 0.02 USD"},
		{words("exited", "stopped", "running", "running"), "stopped (scheduling) for 0.02 USD"},
	} {
		c := cloud(thing("1"))
		c.Boxes["1"] = vasttest.Box{Set: tt.set}
		r := listed(t, on(t, c), guard.Instance)["1"]
		h, _ := r.BillingRate().Hourly()
		if got := fmt.Sprintf("%s (%s) for %s", r.State, r.RawState, h); got != tt.want || r.Bills != guard.Yes || r.Ended != "" {
			t.Errorf("%d: %v is %s, bills %s, ended %q; want %s", i, tt.set, got, r.Bills, r.Ended, tt.want)
		}
	}
}

// TestPrices: what is billed now is told for the whole contract; dph_total is what it costs
// while it runs, and never what it costs while it is stopped.
func TestPrices(t *testing.T) {
	hours := func(total, disk float64) map[string]any {
		return map[string]any{"gpuCostPerHour": total - disk, "diskHour": disk, "totalHour": total}
	}
	stopped := words("exited", "stopped", "stopped", "stopped")
	loading := words("loading", "running", "running", "running")
	with := func(set map[string]any, more map[string]any) map[string]any {
		out := map[string]any{"storage_cost": 720}
		for _, m := range []map[string]any{set, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	for name, tt := range map[string]struct {
		set  map[string]any
		want string
	}{
		"it runs":                               {nil, "1.38 USD per hour, stopped 0.02 USD per hour"},
		"the disk is within":                    {with(nil, map[string]any{"dph_base": 0.169, "dph_total": 0.207, "instance": hours(0.207, 0.038), "storage_total_cost": 0.038}), "0.207 USD per hour, stopped 0.038 USD per hour"},
		"stopped":                               {with(stopped, map[string]any{"dph_base": 0.169, "dph_total": 0.207, "instance": hours(0.038, 0.038)}), "unknown, stopped 0.038 USD per hour"},
		"stopped, and told as if it ran":        {with(stopped, map[string]any{"instance": hours(1.38, 0.02)}), "unknown, stopped 0.02 USD per hour"},
		"stopped, and the disk told elsewhere":  {with(stopped, map[string]any{"instance": nil}), "unknown, stopped 0.02 USD per hour"},
		"stopped, and nothing told":             {with(stopped, map[string]any{"instance": nil, "storage_total_cost": nil}), "unknown, stopped unknown"},
		"stopped for nothing":                   {with(stopped, map[string]any{"instance": hours(0, 0), "storage_total_cost": 0}), "unknown, stopped unknown"},
		"it runs, and is told as if it did not": {with(nil, map[string]any{"instance": hours(0.02, 0.02)}), "1.38 USD per hour, stopped 0.02 USD per hour"},
		"it loads":                              {with(loading, map[string]any{"instance": hours(0.02, 0.02)}), "1.38 USD per hour, stopped 0.02 USD per hour"},
		"the parts are not told":                {with(nil, map[string]any{"instance": nil}), "1.38 USD per hour, stopped 0.02 USD per hour"},
		"nor the part without a disk":           {with(nil, map[string]any{"instance": nil, "dph_base": nil}), "unknown, stopped 0.02 USD per hour"},
		"for nothing":                           {with(nil, map[string]any{"instance": hours(0, 0), "dph_total": 0, "storage_total_cost": 0}), "unknown, stopped unknown"},
		"absurd":                                {with(nil, map[string]any{"instance": hours(1e38, -1), "dph_total": 1e38, "storage_total_cost": "x"}), "unknown, stopped unknown"},
	} {
		c := cloud(thing("1"))
		c.Boxes["1"] = vasttest.Box{Set: tt.set}
		r := listed(t, on(t, c), guard.Instance)["1"]
		if got := fmt.Sprintf("%s, stopped %s", r.Rate, r.StoppedRate); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestAnSLA: with one a stop is not sure to save anything, so what is stopped counts as if it
// ran.
func TestAnSLA(t *testing.T) {
	stopped := words("exited", "stopped", "stopped", "stopped")
	for target, want := range map[any]string{
		0.95: "nothing, 1.38 USD", 1: "nothing, 1.38 USD",
		0: "compute, 0.02 USD", nil: "compute, 0.02 USD", "0.95": "compute, 0.02 USD", -1: "compute, 0.02 USD",
	} {
		c := cloud(thing("1"))
		c.Boxes["1"] = vasttest.Box{Set: maps.Clone(stopped)}
		c.Boxes["1"].Set["target_reliability"] = target
		c.Boxes["1"].Set["instance"] = map[string]any{"gpuCostPerHour": 0, "diskHour": 0.02, "totalHour": 0.02}
		r := listed(t, on(t, c), guard.Instance)["1"]
		h, _ := r.BillingRate().Hourly()
		if got := fmt.Sprintf("%s, %s", r.StopSaves, h); got != want || r.State != guard.StateStopped || r.Bills != guard.Yes {
			t.Errorf("with a target of %v: %s, %s; want %s", target, r.State, got, want)
		}
	}
}

// TestGPUs: none, where a model is told, is not believed: guard may end boxes with GPUs only.
func TestGPUs(t *testing.T) {
	for want, set := range map[string]map[string]any{
		"8 yes":     {"num_gpus": 8},
		"0 no":      {"num_gpus": 0, "gpu_name": nil},
		"0 unknown": {"num_gpus": 0, "gpu_name": "H100 SXM"},
	} {
		c := cloud(thing("1"))
		c.Boxes["1"] = vasttest.Box{Set: set}
		if r := listed(t, on(t, c), guard.Instance)["1"]; fmt.Sprint(r.GPUs, " ", r.HasGPU) != want {
			t.Errorf("%v: %d GPUs %s, want %s", set, r.GPUs, r.HasGPU, want)
		}
	}
}

func TestTraffic(t *testing.T) {
	for name, tt := range map[string]struct {
		up, down any
		want     string
	}{
		"both":               {0.02, 0.01, "0.02 USD, in 0.01 USD"},
		"free":               {0.0, 0.0, "0.00 USD, in 0.00 USD"},
		"nothing is told":    {nil, nil, "unknown, in unknown"},
		"only of the way in": {nil, 0.01, "unknown, in unknown"},
		"absurd":             {1e9, -1, "unknown, in unknown"},
		"words":              {"0.02", "x", "unknown, in unknown"},
	} {
		c := cloud(thing("1"))
		c.Boxes["1"] = vasttest.Box{Set: map[string]any{"inet_up_cost": tt.up, "inet_down_cost": tt.down}}
		e := listed(t, on(t, c), guard.Instance)["1"].Egress
		if got := fmt.Sprintf("%s, in %s", e.PerGB, e.InPerGB); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestOutbid: an interruptible instance whose contract is stopped in all its words was taken
// back, and its disk bills on.
func TestOutbid(t *testing.T) {
	c := cloud(thing("1"), thing("2"), thing("3"), thing("4"))
	c.Boxes["1"], c.Boxes["3"] = vasttest.Box{Bid: true}, vasttest.Box{Bid: true}
	c.Boxes["4"] = vasttest.Box{Bid: true, Set: words("exited", "stopped", "running", "running")}
	if err := errors.Join(c.Outbid("1"), c.Stop("2")); err != nil {
		t.Fatal(err)
	}
	for id, r := range listed(t, on(t, c), guard.Instance) {
		want := map[string]string{"1": "stopped reclaim true", "2": "stopped  false", "3": "running  true", "4": "stopped  true"}[id]
		if got := fmt.Sprint(r.State, " ", r.Ended, " ", r.Spot); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
		if h, _ := r.BillingRate().Hourly(); id <= "2" && !h.Equal(vasttest.Disk) {
			t.Errorf("%s costs %s", id, h)
		}
	}
}

func TestWhatIsTold(t *testing.T) {
	c := cloud(thing("1"))
	c.Boxes["1"] = vasttest.Box{Set: map[string]any{"start_date": 1761008618.225083, "disk_space": 10.08}}
	r := listed(t, on(t, c), guard.Instance)["1"]
	if !r.Created.Equal(time.Date(2025, 10, 21, 1, 3, 38, 0, time.UTC)) || r.SizeGB != 11 || r.Name != "box 1" || r.Tags != nil || r.HasGPU != guard.Yes ||
		!r.PlatformEnds.At.Equal(time.Unix(2034617753+2*86400, 0)) || r.StopSaves != guard.StopSavesCompute {
		t.Errorf("%+v", r)
	}
	book, _, err := prices.Parse("book.yaml", []byte(`
currency: USD
instances:
  - {type: RTX 4090, scope: "*", rate: {amount: "0.50", per: hour, per_gpu: true}, stopped: {amount: "0.03", per: hour}}
volumes:
  - {type: volume, scope: "*", rate: {amount: "0.10", per: gb_month}}
egress:
  - {scope: "*", amount: "0.04"}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := on(t, c)
	p.book = book
	r = listed(t, p, guard.Instance)["1"]
	if got := fmt.Sprintf("%s, %s, %s", r.Rate, r.StoppedRate, r.Egress.PerGB); got != "1.00 USD per hour (2 × 0.50 USD per gpu per hour), 0.03 USD per hour, 0.04 USD" {
		t.Errorf("by the book: %s", got)
	}
}

// TestVolumes: a volume counts to the oldest instance that it is attached to, whoever is
// asked, and where not all of them are told it is needed by more.
func TestVolumes(t *testing.T) {
	c := vasttest.Of(providertest.World{
		Instances: []providertest.Thing{thing("9"), thing("10"), thing("11")},
		Leftovers: []providertest.Thing{{Kind: guard.Volume, ID: "7", Name: "data", AttachedTo: "10"}, {Kind: guard.Volume, ID: "8"}},
	})
	c.Users = map[string][]string{"7": {"11", "9"}}
	p := on(t, c)
	volumes := listed(t, p, guard.Volume)
	if r := volumes["7"]; r.Parent.ID != "9" || !slices.Equal(r.UsedBy, []string{"10", "11"}) || r.UsesUntold || r.Rate.String() != "0.02 USD per hour" || r.SizeGB != vasttest.DiskGB || r.Name != "data" {
		t.Errorf("%+v", r)
	}
	if r := volumes["8"]; !r.Parent.IsZero() || r.UsesUntold {
		t.Errorf("%+v", r)
	}
	for id, r := range listed(t, p, guard.Instance) {
		if want := map[string]int{"9": 1}[id]; len(r.Children) != want {
			t.Errorf("%s has %v", id, r.Children)
		}
	}
	for _, id := range []string{"7", "8"} {
		if l := p.Get(at(t), p.id(guard.Volume, id))[0]; l.Verdict != guard.VerdictFound || l.Resource.Parent != volumes[id].Parent {
			t.Errorf("%s by ID: %+v", id, l)
		}
	}
	for entries, untold := range map[string]bool{`[]`: false, `[12]`: false, `[{"instance_id":12}]`: false, `[{"name":"x"}]`: true, `null`: true, `{}`: true, `[12,null]`: true, ``: true} {
		x := volume{ID: providers.Field("7"), Instances: providers.Field(entries)}
		if r := p.volume(x); r.UsesUntold != untold {
			t.Errorf("instances %s: %+v", entries, r)
		}
	}
}

// TestPages: what is listed is whole, or it is told that it is not.
func TestPages(t *testing.T) {
	for name, tt := range map[string]struct {
		pages []string
		n     int
		whole bool
	}{
		"one":                          {[]string{`{"instances":[{"id":1}],"next_token":null,"total_instances":1}`}, 1, true},
		"two":                          {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"instances":[{"id":2}],"total_instances":2}`}, 2, true},
		"one less than there are":      {[]string{`{"instances":[{"id":1}],"next_token":null,"total_instances":2}`}, 1, false},
		"one went meanwhile":           {[]string{`{"instances":[{"id":1}],"next_token":"a","total_instances":3}`, `{"instances":[{"id":2}],"next_token":"","total_instances":1}`}, 2, true},
		"round in circles":             {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"instances":[{"id":2}],"next_token":"b"}`, `{"instances":[{"id":3}],"next_token":"a"}`}, 3, false},
		"a token of another sort":      {[]string{`{"instances":[{"id":1}],"next_token":7}`}, 1, false},
		"the second fails with a 200":  {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"success":false,"error":"invalid_token"}`}, 1, false},
		"the second is not found":      {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"success":false,"error":"not_found"}`}, 1, false},
		"the second is without a list": {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"success":true}`}, 1, false},
		"one twice, and one not":       {[]string{`{"instances":[{"id":1},{"id":2}],"next_token":"a"}`, `{"instances":[{"id":2},{"id":3}],"total_instances":4}`}, 3, false},
		"only the first says how many": {[]string{`{"instances":[{"id":1}],"next_token":"a","total_instances":9}`, `{"instances":[{"id":2}],"next_token":null}`}, 2, false},
		"one twice":                    {[]string{`{"instances":[{"id":1},{"id":2}],"next_token":"a"}`, `{"instances":[{"id":2}],"total_instances":2}`}, 2, true},
		"an empty one between":         {[]string{`{"instances":[{"id":1}],"next_token":"a"}`, `{"instances":[],"next_token":"b"}`, `{"instances":[{"id":2}],"total_instances":2}`}, 2, true},
		"an entry without an ID":       {[]string{`{"instances":[{"id":1},{"id":"2"},null,7],"next_token":null}`}, 1, false},
	} {
		n := 0
		p := on(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, tt.pages[min(n, len(tt.pages)-1)])
			n++
		}))
		inv, _ := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		r := inv.Results[0]
		if len(r.Resources) != tt.n || (r.Err == nil) != tt.whole || errors.Is(r.Err, guard.ErrNotFound) || n != len(tt.pages) {
			t.Errorf("%s: %d instances after %d calls, %v", name, len(r.Resources), n, r.Err)
		}
	}
	inv, _ := on(t, cloud()).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Snapshot}})
	if !errors.Is(inv.Results[0].Err, guard.ErrUnsupported) {
		t.Errorf("snapshots: %+v", inv)
	}
}

// TestAListThatFails: as many reads one by one would fail, too.
func TestAListThatFails(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("1"))}
	calls := 0
	f.Add(0, func(*http.Request) bool { calls++; return true }, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	})
	p := on(t, f)
	var ids []guard.ResourceID
	for i := range 20 {
		ids = append(ids, p.id(guard.Instance, fmt.Sprint(i+1)))
	}
	for _, l := range p.Get(at(t), ids...) {
		if l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrPermission) {
			t.Errorf("%s is %s, %v", l.ID, l.Verdict, l.Err)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls, want one", calls)
	}
}

// TestCallsOfAPoll: a page has 25, and the signals come with it.
func TestCallsOfAPoll(t *testing.T) {
	var boxes []providertest.Thing
	for i := range 101 {
		boxes = append(boxes, thing(fmt.Sprint(1000+i)))
	}
	c := cloud(boxes...)
	p := on(t, c)
	all := listed(t, p, guard.Instance)
	p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: all["1000"]}}})
	if n := len(c.Calls()); n != 5 || len(all) != 101 {
		t.Errorf("%d instances took %d calls, want 5", len(all), n)
	}
	if slices.ContainsFunc(c.Calls(), func(s string) bool { return strings.HasSuffix(s, "/") }) {
		t.Errorf("a trailing slash: %v", c.Calls())
	}
}
