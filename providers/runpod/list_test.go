package runpod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/runpod/runpodtest"
)

// cloud is an account with these pods.
func cloud(pods ...providertest.Thing) *runpodtest.Cloud {
	return runpodtest.Of(providertest.World{Instances: pods})
}

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "pods", cloudtest.In(h), guard.NewSecret(providertest.Secret))
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
	return providertest.Thing{Kind: guard.Instance, ID: id, Name: id, GPUs: 2, Price: guard.MustMoney("1.38USD")}
}

func TestWhatAPodBills(t *testing.T) {
	c := cloud(thing("running"), thing("disk"), thing("bare"), thing("zero"), thing("untold"), thing("failed"), thing("cpu"), thing("silent"))
	c.Pods["running"] = runpodtest.Pod{DiskGB: 50}
	c.Pods["disk"] = runpodtest.Pod{DiskGB: 50}
	c.Pods["zero"] = runpodtest.Pod{Set: map[string]any{"gpu": map[string]any{"id": runpodtest.RTX4090, "count": 0}, "cost": 0.01}}
	c.Pods["untold"] = runpodtest.Pod{Set: map[string]any{"mounts": nil}}
	c.Pods["failed"] = runpodtest.Pod{Failed: true}
	c.Pods["cpu"] = runpodtest.Pod{CPU: true}
	c.Pods["silent"] = runpodtest.Pod{Set: map[string]any{"cost": 0}}
	for _, id := range []string{"disk", "bare", "untold"} {
		if err := c.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	got := listed(t, on(t, c), guard.Instance)
	for id, want := range map[string]string{
		"running": "running, bills yes, saves compute, 2 GPUs yes, 1.38 USD per hour, stopped 0.013699 USD per hour (50 × 0.20 USD per gb per month)",
		"disk":    "stopped, bills yes, saves compute, 2 GPUs yes, unknown, stopped 0.013699 USD per hour (50 × 0.20 USD per gb per month)",
		"bare":    "stopped, bills no, saves all, 2 GPUs yes, unknown, stopped 0.00 USD per hour",
		"zero":    "running, bills yes, saves all, 0 GPUs yes, 0.01 USD per hour, stopped 0.00 USD per hour",
		"untold":  "stopped, bills unknown, saves , 2 GPUs yes, unknown, stopped unknown",
		"failed":  "unknown, bills yes, saves unsupported, 2 GPUs yes, 1.38 USD per hour, stopped unknown",
		"cpu":     "running, bills yes, saves all, 0 GPUs no, 1.38 USD per hour, stopped 0.00 USD per hour",
		"silent":  "running, bills yes, saves all, 2 GPUs yes, 1.38 USD per hour (2 × 0.69 USD per gpu per hour), stopped 0.00 USD per hour",
	} {
		r := got[id]
		if s := fmt.Sprintf("%s, bills %s, saves %s, %d GPUs %s, %s, stopped %s", r.State, r.Bills, r.StopSaves, r.GPUs, r.HasGPU, r.Rate, r.StoppedRate); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
	}
	if r := got["silent"]; r.Rate.Source != "catalogue" || got["running"].Rate.Source != "api" {
		t.Errorf("sources: %+v", r.Rate)
	}
}

func TestLocks(t *testing.T) {
	locked := thing("locked")
	locked.Protected = true
	c := cloud(thing("open"), locked, thing("stuck"), thing("kept"))
	c.Pods["stuck"] = runpodtest.Pod{Set: map[string]any{"actions": []string{"terminate"}}}
	c.Pods["kept"] = runpodtest.Pod{Set: map[string]any{"actions": []string{"stop"}, "locked": nil}}
	for id, r := range listed(t, on(t, c), guard.Instance) {
		want := map[string]string{"open": "no no all", "locked": "yes yes all", "stuck": "no no unsupported", "kept": "yes unknown all"}[id]
		if got := fmt.Sprintf("%s %s %s", r.ReleaseProtected, r.StopProtected, r.StopSaves); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// An account with everything in it.
func full() *runpodtest.Cloud {
	volume := func(id, on string) providertest.Thing {
		return providertest.Thing{Kind: guard.Filesystem, ID: id, Name: id, AttachedTo: on}
	}
	c := runpodtest.Of(providertest.World{
		Instances: []providertest.Thing{thing("p1"), thing("n1"), thing("n2")},
		Leftovers: []providertest.Thing{volume("v1", "p1"), volume("v2", "n2"), volume("v3", "")},
	})
	c.Pods["n1"], c.Pods["n2"] = runpodtest.Pod{Cluster: "c1", Util: []int{90, 80}}, runpodtest.Pod{Cluster: "c1"}
	c.Clusters = []runpodtest.Cluster{{ID: "c1", Name: "training"}}
	c.Endpoints = []runpodtest.Endpoint{
		{ID: "e1", Name: "busy", Max: 5, Volumes: []string{"v1"}, Workers: []runpodtest.Worker{
			{ID: "w1", Status: "RUNNING", GPU: runpodtest.RTX4090, GPUs: 2}, {ID: "w2", Status: "IDLE", GPU: runpodtest.RTX4090, GPUs: 2},
			{ID: "w3", Status: "THROTTLED", GPU: runpodtest.RTX4090, GPUs: 2},
		}},
		{ID: "e2", Name: "asleep", Max: 5},
		{ID: "e3", Name: "off"},
	}
	return c
}

// TestCallsOfAPoll: a plain account is two calls whatever its size, and what endpoints add
// is bounded.
func TestCallsOfAPoll(t *testing.T) {
	var pods []providertest.Thing
	for i := range 500 {
		pods = append(pods, thing(fmt.Sprint("p", i)))
	}
	c := cloud(pods...)
	p := on(t, c)
	poll := func() int {
		before := len(c.Calls())
		got := listed(t, p, guard.Instance)
		for _, s := range p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: got["p0"]}}}) {
			if s.Err != nil {
				t.Error(s.Err)
			}
		}
		return len(c.Calls()) - before
	}
	if n := poll(); n != 3 { // with the catalogue
		t.Errorf("the first poll made %d calls", n)
	}
	if n := poll(); n != 2 {
		t.Errorf("500 pods: %d calls, want 2", n)
	}
	for i := range 35 {
		c.Endpoints = append(c.Endpoints, runpodtest.Endpoint{ID: fmt.Sprint("e", i), Max: 1})
	}
	for range 4 {
		if n := poll(); n != 2+crewsAtOnce {
			t.Errorf("35 endpoints: %d calls, want %d", n, 2+crewsAtOnce)
		}
	}
	for id, r := range listed(t, p, guard.Instance) {
		if r.Type == serverless && r.State != guard.StateStopped {
			t.Errorf("%s: %s: its workers were not read in four polls", id, r.RawState)
		}
	}
}

// TestAPartThatFails: what could be read is told, and the list is not complete.
func TestAPartThatFails(t *testing.T) {
	for path, want := range map[string]int{"/v2/pods": 0, "/v2/clusters": 5, "/v2/serverless": 2, "/v2/serverless/e1/workers": 5} {
		f := &cloudtest.Faults{Next: full()}
		f.Add(0, func(r *http.Request) bool { return r.URL.Path == path }, func(w http.ResponseWriter, _ *http.Request) {
			runpodtest.Problem(w, http.StatusForbidden, "access denied")
		})
		p := on(t, f)
		for _, kind := range []guard.Kind{guard.Instance, guard.Filesystem} {
			inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
			if err != nil {
				t.Fatal(err)
			}
			r := inv.Results[0]
			switch {
			case kind == guard.Instance && (!errors.Is(r.Err, guard.ErrPermission) || len(r.Resources) != want):
				t.Errorf("%s is refused: %d instances, %v; want %d", path, len(r.Resources), r.Err, want)
			case kind == guard.Filesystem && (path == "/v2/pods" || path == "/v2/serverless") && (r.Err == nil || len(r.Resources) > 0):
				t.Errorf("%s is refused: %d volumes, %v", path, len(r.Resources), r.Err)
			}
		}
	}
}

// TestAWaitIsHeard: where RunPod asks for one nothing more is asked, also after a list that is
// not whole, and it is told.
func TestAWaitIsHeard(t *testing.T) {
	for path, want := range map[string]int{"/v2/clusters": 3, "/v2/serverless": 4, "/v2/serverless/e1/workers": 5} {
		c := full()
		c.Create(thing("odd"))
		c.Pods["odd"] = runpodtest.Pod{Set: map[string]any{"id": 7}}
		f := &cloudtest.Faults{Next: c}
		calls := 0
		f.Add(0, func(r *http.Request) bool { calls++; return r.URL.Path == path }, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "40")
			runpodtest.Problem(w, http.StatusTooManyRequests, "slow down")
		})
		inv, _ := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem}})
		for _, r := range inv.Results {
			if wait, ok := guard.RetryAfter(r.Err); !ok || wait.Seconds() != 40 {
				t.Errorf("%s asks to wait, the %s: %v", path, r.Kind.Plural(), r.Err)
			}
		}
		if calls != want {
			t.Errorf("%s asks to wait: %d calls, want %d", path, calls, want)
		}
	}
}

func TestGetMany(t *testing.T) {
	c := cloud(thing("p1"), thing("p2"), thing("p3"), thing("p4"), thing("p5"), thing("p6"))
	p := on(t, c)
	ids := func(names ...string) (out []guard.ResourceID) {
		for _, n := range names {
			out = append(out, p.id(guard.Instance, n))
		}
		return out
	}
	p.Get(at(t), ids("p1", "p2", "p3", "p4", "p1")...)
	if n := len(c.Calls()); n != 5 { // and the catalogue
		t.Errorf("four pods: %d calls, want 5", n)
	}
	before := len(c.Calls())
	for i, l := range p.Get(at(t), ids("p1", "p2", "p3", "p4", "p5", "p6", "gone")...) {
		if want := i < 6; (l.Verdict == guard.VerdictFound) != want || !want && l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", l.ID, l.Verdict, l.Err)
		}
	}
	if n := len(c.Calls()) - before; n != 2 {
		t.Errorf("six pods and one that is gone: %d calls, want 2", n)
	}
}

// TestAListThatFails: as many reads one by one would fail, too.
func TestAListThatFails(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("p1"))}
	calls := 0
	f.Add(0, func(*http.Request) bool { calls++; return true }, func(w http.ResponseWriter, _ *http.Request) {
		runpodtest.Problem(w, http.StatusForbidden, "access denied")
	})
	p := on(t, f)
	var ids []guard.ResourceID
	for i := range 20 {
		ids = append(ids, p.id(guard.Instance, fmt.Sprint("p", i)))
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

// TestTwoOfOneID: what is told twice is one thing, and what is told twice and differently is
// no complete list.
func TestTwoOfOneID(t *testing.T) {
	for what, tt := range map[string]struct {
		second map[string]any
		whole  bool
	}{
		"the same":       {map[string]any{"id": "w1", "status": "RUNNING", "gpuTypeId": runpodtest.RTX4090, "gpuCount": 1}, true},
		"with more GPUs": {map[string]any{"id": "w1", "status": "RUNNING", "gpuTypeId": runpodtest.RTX4090, "gpuCount": 8}, false},
	} {
		f := &cloudtest.Faults{Next: full()}
		f.Add(0, func(r *http.Request) bool { return r.URL.Path == "/v2/serverless/e1/workers" }, func(w http.ResponseWriter, _ *http.Request) {
			first := map[string]any{"id": "w1", "status": "RUNNING", "gpuTypeId": runpodtest.RTX4090, "gpuCount": 1}
			cloudtest.Reply(w, http.StatusOK, map[string]any{"workers": []any{first, tt.second}})
		})
		inv, _ := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		if err := inv.Results[0].Err; (err == nil) != tt.whole {
			t.Errorf("a worker twice, %s: %v", what, err)
		}
		for _, r := range inv.Results[0].Resources {
			if r.ID.ID == "serverless/e1" && tt.whole && r.Rate.String() != "1.10 USD per hour (1.10 USD per worker per hour)" {
				t.Errorf("a worker twice, %s: %s", what, r.Rate)
			}
		}
	}
	c := cloud(thing("p1"), thing("p2"), thing("p3"))
	c.Pods["p1"] = runpodtest.Pod{Set: map[string]any{"id": "p2", "status": "TERMINATED"}}
	p := on(t, c)
	inv, _ := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if r := inv.Results[0]; len(r.Resources) != 1 || r.Resources[0].ID.ID != "p3" || !errors.Is(r.Err, guard.ErrBadReply) {
		t.Errorf("a pod that runs and is gone: %+v, %v", r.Resources, r.Err)
	}
	ids := []guard.ResourceID{p.id(guard.Instance, "p2")}
	for i := range bySelf {
		ids = append(ids, p.id(guard.Instance, fmt.Sprint("other", i)))
	}
	if l := p.Get(at(t), ids...)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning {
		t.Errorf("by ID it is %s, %s: %v", l.Verdict, l.Resource.State, l.Err)
	}
}

// TestMountsThatAreNotTold: a volume that hangs on nothing may be what they are.
func TestMountsThatAreNotTold(t *testing.T) {
	mounts := func(m any) runpodtest.Pod { return runpodtest.Pod{Set: map[string]any{"mounts": m}} }
	for name, x := range map[string]struct {
		pod    runpodtest.Pod
		untold bool
	}{
		"none":            {mounts(map[string]any{}), false},
		"a disk":          {runpodtest.Pod{DiskGB: 5}, false},
		"null":            {mounts(nil), true},
		"a list":          {mounts([]any{}), true},
		"of another sort": {mounts(map[string]any{"network": "v"}), true},
		"an odd volume":   {mounts(map[string]any{"network": []any{map[string]any{"volumeId": 7}}}), true},
	} {
		c := cloud(thing("p1"))
		c.Create(providertest.Thing{Kind: guard.Filesystem, ID: "v"})
		c.Pods["p1"] = x.pod
		p := on(t, c)
		r := listed(t, p, guard.Filesystem)["v"]
		l := p.Get(at(t), r.ID)[0]
		if r.UsesUntold != x.untold || l.Resource.UsesUntold != x.untold || !r.Parent.IsZero() {
			t.Errorf("%s: %+v, by ID %+v, %v", name, r, l.Resource, l.Err)
		}
	}
	for text, want := range map[string]bool{`[]`: true, `["v"]`: true, `null`: false, ``: false, `{}`: false, `["v",7]`: false} {
		x := serverlessEndpoint{ID: providers.Field(`"e"`), Volumes: providers.Field(text)}
		if _, told := x.volumes(); told != want || usersOf(nil, []serverlessEndpoint{x}).untold == want {
			t.Errorf("an endpoint with %q: told %t", text, told)
		}
	}
}

// TestAPodWithASlash: its ID would name something else here, which guard might end for it.
func TestAPodWithASlash(t *testing.T) {
	c := full()
	c.Pods["p1"] = runpodtest.Pod{Set: map[string]any{"id": "serverless/e1"}}
	inv, _ := on(t, c).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	r := inv.Results[0]
	n := 0
	for _, x := range r.Resources {
		if x.ID.ID == "serverless/e1" {
			n++
		}
	}
	if n != 1 || !errors.Is(r.Err, guard.ErrBadReply) {
		t.Errorf("%d of that ID, %v", n, r.Err)
	}
}

func TestVolumeRates(t *testing.T) {
	for gb, want := range map[int64]string{0: "", 10: "0.70 USD", 1024: "71.68 USD", 1025: "71.73 USD", 4096: "225.28 USD"} {
		got, ok := volumeRate(gb).For(guard.Month)
		if ok != (want != "") || ok && got.Round().String() != want {
			t.Errorf("%d GB: %s a month, want %s", gb, got, want)
		}
	}
	p := on(t, full())
	if r := p.volume(volume{ID: providers.Field(`"v"`), Size: providers.Field("100"), Type: providers.Field(`"HIGH_PERFORMANCE"`)}, users{}); r.Rate.Known() || r.Type != fastVolume {
		t.Errorf("a fast volume: %+v", r)
	}
}
