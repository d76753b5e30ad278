package runpod

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/runpod/runpodtest"
)

// TestLocksOfNodes: a cluster is deleted with all its nodes, so one that is locked keeps it.
func TestLocksOfNodes(t *testing.T) {
	for want, locked := range map[guard.Tri][2]any{guard.No: {false, false}, guard.Yes: {true, nil}, guard.Unknown: {false, "no"}} {
		c := full()
		c.Pods["n1"] = runpodtest.Pod{Cluster: "c1", Set: map[string]any{"locked": locked[0]}}
		c.Pods["n2"] = runpodtest.Pod{Cluster: "c1", Set: map[string]any{"locked": locked[1]}}
		p := on(t, c)
		id := p.id(guard.Instance, "cluster/c1")
		by, err := p.Protection(at(t), id)
		if got := listed(t, p, guard.Instance)[id.ID].ReleaseProtected; got != want || by.Release != want || err != nil {
			t.Errorf("nodes with locked %v: %s, by ID %s, %v; want %s", locked, got, by.Release, err, want)
		}
	}
}

func TestWhatIsBilledAsOneIsOne(t *testing.T) {
	c := full()
	p := on(t, c)
	got := listed(t, p, guard.Instance)
	for id, want := range map[string]string{
		"p1":            "running, 2 GPUs, 1.38 USD per hour, []",
		"cluster/c1":    "running, 4 GPUs, 2.76 USD per hour, [v2]",
		"serverless/e1": "running, 4 GPUs, 4.40 USD per hour (2 × 2.20 USD per worker per hour), [v1]", // the endpoint is older than the pod that mounts it
		"serverless/e2": "stopped, 0 GPUs, unknown, []",
		"serverless/e3": "stopped, 0 GPUs, unknown, []",
	} {
		r := got[id]
		var children []string
		for _, x := range r.Children {
			children = append(children, x.ID.ID)
		}
		if s := fmt.Sprintf("%s, %d GPUs, %s, %v", r.State, r.GPUs, r.Rate, children); s != want {
			t.Errorf("%s is %s, want %s", id, s, want)
		}
	}
	if nodes := got["cluster/c1"].Nodes; !slices.Equal(nodes, []string{"n1", "n2"}) {
		t.Errorf("the nodes of cluster/c1: %v", nodes)
	}
	if len(got) != 5 {
		t.Errorf("%d instances, want 5: the nodes of a cluster are none", len(got))
	}
	want := []string{"GET /v2/pods", "GET /v2/catalog/gpus", "GET /v2/clusters", "GET /v2/serverless", "GET /v2/serverless/e1/workers", "GET /v2/serverless/e2/workers"}
	if calls := c.Calls(); !slices.Equal(calls, want) {
		t.Errorf("calls: %v, want %v", calls, want)
	}

	volumes := listed(t, p, guard.Filesystem)
	for id, want := range map[string]string{"v1": "serverless/e1 [p1]", "v2": "cluster/c1 []", "v3": " []"} {
		if r := volumes[id]; fmt.Sprintf("%s %v", r.Parent.ID, r.UsedBy) != want || r.Bills != guard.Yes {
			t.Errorf("%s is on %s %v, want %s", id, r.Parent.ID, r.UsedBy, want)
		}
	}
	// What is read by ID is the same.
	for id, r := range got {
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != r.State || l.Resource.Rate != r.Rate || !l.Resource.Created.Equal(r.Created) || l.Resource.GPUs != r.GPUs {
			t.Errorf("%s by ID: %s %+v, %v; listed %+v", id, l.Verdict, l.Resource, l.Err, r)
		}
	}
	for id, r := range volumes {
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound || l.Resource.Parent != r.Parent {
			t.Errorf("%s by ID: %+v, %v", id, l.Resource, l.Err)
		}
	}
	l := p.Get(at(t), p.id(guard.Instance, "n1"))[0]
	if !errors.Is(l.Err, guard.ErrRefused) || !strings.Contains(fmt.Sprint(l.Err), "pods/cluster/c1") {
		t.Errorf("a node by ID: %s, %v", l.Verdict, l.Err)
	}
}

// TestANodeThatIsNotTold: what the others cost is not what the cluster does.
func TestANodeThatIsNotTold(t *testing.T) {
	c := full()
	c.Pods["n2"] = runpodtest.Pod{Cluster: "c1", Set: map[string]any{"id": nil}}
	inv, _ := on(t, c).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if inv.Results[0].Err == nil {
		t.Error("the list is whole")
	}
	for _, r := range inv.Results[0].Resources {
		if r.ID.ID == "cluster/c1" && (r.Rate.Known() || r.Bills != guard.Yes || r.State != guard.StateRunning) {
			t.Errorf("%s, %s, bills %s", r.State, r.Rate, r.Bills)
		}
	}
}
