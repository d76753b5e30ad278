package digitalocean

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/providertest/cloudtest"
)

const cluster = "k8s:" + digitaloceantest.Cluster

func TestGroups(t *testing.T) {
	for tags, want := range map[string]string{
		`["k8s","` + cluster + `","k8s:worker"]`:               cluster + "/gpu-h100x1-80gb",
		`["k8s:worker","` + cluster + `","k8s"]`:               cluster + "/gpu-h100x1-80gb",
		`["` + cluster + `"]`:                                  "",
		`["k8s","k8s:worker"]`:                                 "",
		`["k8s","k8s:BD5F5959-5e1e-4205-a714-a914373942af"]`:   "",
		`["k8s","k8s:../../droplets/12345-a714-a914373942af"]`: "",
		`["k8s","x` + cluster + `"]`:                           "",
		`["k8s","` + cluster + `/nodes"]`:                      "",
		`[]`:                                                   "",
		`null`:                                                 "",
	} {
		if got := groupOf(providers.Field(tags), "gpu-h100x1-80gb"); got != want {
			t.Errorf("%s: %q, want %q", tags, got, want)
		}
	}
}

// TestANodeGoesThroughItsPool: one call reads the pools, one deletes the node; what no pool
// has is destroyed as any other.
func TestANodeGoesThroughItsPool(t *testing.T) {
	c := cloud(thing(3))
	c.AddNode(thing(1))
	c.AddNode(thing(2))
	p := on(t, c)
	got := listed(t, p, guard.Instance)
	group := got[dropletID(1)].Group
	if group != cluster+"/gpu-h100x2-80gb" || got[dropletID(3)].Group != "" || p.Get(at(t), p.id(guard.Instance, dropletID(1)))[0].Resource.Group != group {
		t.Fatalf("groups are %q and %q", group, got[dropletID(3)].Group)
	}
	release := func(id guard.ResourceID, group string) (string, error) {
		before := len(c.Calls())
		err := p.Release(at(t), id, providers.ReleaseOptions{Group: group})
		var out []string
		for _, call := range c.Calls()[before:] {
			out = append(out, strings.ReplaceAll(call, "/v2/kubernetes/clusters/"+digitaloceantest.Cluster, "cluster"))
		}
		return strings.Join(out, ", "), err
	}
	const pools = "GET cluster/node_pools"
	end := fmt.Sprintf("%s, DELETE cluster/node_pools/%s/nodes/node-%s?skip_drain=1", pools, digitaloceantest.Pool, dropletID(1))
	for i, x := range []struct {
		id    guard.ResourceID
		group string
		want  string
	}{
		{p.id(guard.Instance, dropletID(1)), group, end},
		{p.id(guard.Instance, dropletID(1)), group, pools + ", DELETE /v2/droplets/" + dropletID(1)}, // it left, and is gone
		{p.id(guard.Instance, dropletID(3)), group, pools + ", DELETE /v2/droplets/" + dropletID(3)},
		{p.id(guard.Instance, dropletID(2)), strings.Replace(group, "bd5f", "0000", 1), strings.Replace(pools, "cluster", "/v2/kubernetes/clusters/0000"+digitaloceantest.Cluster[4:], 1) + ", DELETE /v2/droplets/" + dropletID(2)},
		{p.id(guard.Instance, dropletID(9)), "k8s:../../x", "DELETE /v2/droplets/" + dropletID(9)},
		{p.id(guard.Volume, disk), group, "DELETE /v2/volumes/" + disk},
	} {
		if got, err := release(x.id, x.group); err != nil || got != x.want {
			t.Errorf("%d: %s, %v, want %s", i, got, err, x.want)
		}
	}
}

// TestANodeThatStays: where its pool cannot be asked, the droplet is not destroyed alone.
func TestANodeThatStays(t *testing.T) {
	pools := func(nodes string) string { return `{"node_pools":[{"id":"p","nodes":[` + nodes + `]}]}` }
	node := func(set string) string { return fmt.Sprintf(`{"id":"n","droplet_id":"%s"%s}`, dropletID(1), set) }
	for name, x := range map[string]struct {
		status int
		body   string
		delete int // the status of the deletion; 0: there is none
		want   error
		says   string
	}{
		"without leave to read":   {403, `{"id":"forbidden"}`, 0, guard.ErrPermission, "kubernetes:read"},
		"a server that fails":     {500, `{}`, 0, guard.ErrUnavailable, ""},
		"a proxy's not found":     {404, `{}`, 0, guard.ErrBadReply, ""},
		"no list":                 {200, `{}`, 0, guard.ErrBadReply, ""},
		"an odd list":             {200, `{"node_pools":{}}`, 0, guard.ErrBadReply, ""},
		"odd nodes":               {200, `{"node_pools":[{"nodes":7}]}`, 0, guard.ErrBadReply, ""},
		"a node of no ID":         {200, strings.Replace(pools(node("")), `"n"`, `"../x"`, 1), 0, guard.ErrBadReply, ""},
		"a pool of no ID":         {200, strings.Replace(pools(node("")), `"p"`, `null`, 1), 0, guard.ErrBadReply, ""},
		"one that goes":           {200, pools(node(`,"status":{"state":"deleting"}`)), 0, nil, ""},
		"one that is drained":     {200, pools(node(`,"status":{"state":"draining"}`)), 202, nil, ""},
		"without leave to end":    {200, pools(node("")), 403, guard.ErrPermission, "kubernetes:update"},
		"an end that is lost":     {200, pools(node("")), 502, guard.ErrUncertain, ""},
		"an end that nobody told": {200, pools(node("")), 410, guard.ErrUncertain, ""},
		"a node that is no more":  {200, pools(node("")), 404, nil, ""},
	} {
		var calls []string
		p := on(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls = append(calls, r.Method+" "+r.URL.Path)
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodDelete {
				digitaloceantest.Refuse(w, x.delete, map[int]string{404: "not_found"}[x.delete], "no")
				return
			}
			w.WriteHeader(x.status)
			_, _ = w.Write([]byte(x.body))
		}))
		err := p.Release(at(t), p.id(guard.Instance, dropletID(1)), providers.ReleaseOptions{Group: cluster})
		if !errors.Is(err, x.want) || x.says != "" && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
		deletes := slices.DeleteFunc(calls, func(c string) bool { return !strings.HasPrefix(c, "DELETE") })
		if len(deletes) > 1 || (x.delete != 0) != (len(deletes) == 1) || len(deletes) == 1 && !strings.Contains(deletes[0], "/node_pools/p/nodes/n") {
			t.Errorf("%s: %v", name, deletes)
		}
	}
}

// TestPoolsFault keeps the faults of a cluster from what is in none.
func TestPoolsFault(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing(1))}
	f.Add(0, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "kubernetes") }, func(w http.ResponseWriter, _ *http.Request) {
		digitaloceantest.Refuse(w, http.StatusForbidden, "forbidden", "no")
	})
	p := on(t, f)
	if err := p.Release(at(t), p.id(guard.Instance, dropletID(1)), providers.ReleaseOptions{}); err != nil {
		t.Error(err)
	}
}
