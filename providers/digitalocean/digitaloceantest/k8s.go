package digitaloceantest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cluster is the one cluster, and Pool its pool.
const (
	Cluster = "bd5f5959-5e1e-4205-a714-a914373942af"
	Pool    = "cdda885e-7663-40c8-bc74-3a036c66545d"
)

// AddNode makes a droplet of a thing that is a node of the pool.
func (c *Cloud) AddNode(t providertest.Thing) {
	t.Tags = map[string]string{"k8s": "", "k8s:" + Cluster: "", "k8s:worker": ""}
	if c.Nodes == nil {
		c.Nodes = map[string]bool{}
	}
	c.Nodes[t.ID] = true
	c.Create(t)
}

func (c *Cloud) listPools(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("cluster") != Cluster {
		refuse(w, guard.ErrNotFound)
		return
	}
	nodes := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.Nodes)) {
		if t, err := c.one(guard.Instance, id); err == nil {
			state := "running"
			if t.State == guard.StateReleasing {
				state = "deleting"
			}
			nodes = append(nodes, map[string]any{"id": "node-" + id, "name": t.Name, "status": map[string]string{"state": state}, "droplet_id": id})
		}
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"node_pools": []any{
		map[string]any{"id": "f49f4379-7e7f-4af5-aeb6-0354bd840778", "name": "empty", "count": 0, "nodes": []any{}},
		map[string]any{"id": Pool, "name": "gpus", "size": "gpu-h100x1-80gb", "count": len(nodes), "auto_scale": false, "nodes": nodes},
	}})
}

func (c *Cloud) endNode(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.PathValue("node"), "node-")
	if r.PathValue("cluster") != Cluster || r.PathValue("pool") != Pool || !c.Nodes[id] || r.URL.Query().Get("skip_drain") != "1" || r.URL.Query().Get("replace") != "" {
		refuse(w, guard.ErrNotFound)
		return
	}
	delete(c.Nodes, id)
	r.SetPathValue("id", id)
	c.endWith(http.StatusAccepted, guard.Instance)(w, r)
}
