package runpodtest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

// born is when everything that has no time of its own was created.
var born = time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC).Format(time.RFC3339)

// nodes are the pods of a cluster.
func (c *Cloud) nodes(cluster string) []cloudtest.Thing {
	return slices.DeleteFunc(c.List(guard.Instance, ""), func(t cloudtest.Thing) bool {
		return c.Pods[t.ID].Cluster != cluster || t.State == guard.StateGone
	})
}

func (c *Cloud) cluster(x Cluster) map[string]any {
	nodes := c.nodes(x.ID)
	statuses := map[string]int{}
	compute := map[string]any{"gpuTypeId": RTX4090, "gpuCountPerPod": 1, "podCount": len(nodes)}
	for _, t := range nodes {
		statuses[c.status(t)]++
		compute["gpuTypeId"], compute["gpuCountPerPod"] = c.Pods[t.ID].gpu(), t.GPUs
	}
	return map[string]any{"id": x.ID, "name": x.Name, "type": "TRAINING", "compute": compute, "dataCenterId": "US-TX-3",
		"pods": map[string]any{"total": len(nodes), "byStatus": statuses}, "createdAt": born}
}

func (c *Cloud) listClusters(w http.ResponseWriter, _ *http.Request) {
	records := []any{}
	for _, x := range c.Clusters {
		records = append(records, c.cluster(x))
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"clusters": records})
}

// named is where a thing of an ID is in a list; it refuses where it is not.
func named[T any](w http.ResponseWriter, r *http.Request, all []T, id func(T) string) (int, bool) {
	i := slices.IndexFunc(all, func(x T) bool { return id(x) == r.PathValue("id") })
	if i < 0 {
		Problem(w, http.StatusNotFound, "not found")
	}
	return i, i >= 0
}

func idOfCluster(x Cluster) string   { return x.ID }
func idOfEndpoint(x Endpoint) string { return x.ID }

func (c *Cloud) getCluster(w http.ResponseWriter, r *http.Request) {
	i, ok := named(w, r, c.Clusters, idOfCluster)
	if !ok {
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		cloudtest.Reply(w, http.StatusOK, c.cluster(c.Clusters[i]))
		return
	}
	records := []any{}
	for _, t := range c.nodes(c.Clusters[i].ID) {
		records = append(records, c.pod(t))
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"pods": records})
}

func (c *Cloud) deleteCluster(w http.ResponseWriter, r *http.Request) {
	i, ok := named(w, r, c.Clusters, idOfCluster)
	if !ok {
		return
	}
	var errs []error
	for _, t := range c.nodes(c.Clusters[i].ID) {
		errs = append(errs, c.Release(guard.Instance, t.ID))
	}
	c.Clusters = slices.Delete(c.Clusters, i, i+1)
	done(w, errors.Join(errs...))
}

func (c *Cloud) endpoint(e Endpoint) map[string]any {
	return map[string]any{
		"id": e.ID, "name": e.Name, "gpu": map[string]any{"pools": []string{"ADA_24"}, "count": 1},
		"workers": map[string]any{"min": e.Min, "max": e.Max, "idleTimeout": 5}, "scaling": map[string]any{"type": "QUEUE_DELAY", "value": 4},
		"dataCenterIds": []string{}, "networkVolumes": append([]string{}, e.Volumes...), "timeout": 300000, "flashboot": "OFF",
		"env": map[string]string{"HF_TOKEN": c.Canary}, "image": "my-org/worker", "args": c.Canary, "createdAt": born,
	}
}

func (c *Cloud) listEndpoints(w http.ResponseWriter, _ *http.Request) {
	records := []any{}
	for _, e := range c.Endpoints {
		records = append(records, c.endpoint(e))
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"endpoints": records})
}

func (c *Cloud) getEndpoint(w http.ResponseWriter, r *http.Request) {
	i, ok := named(w, r, c.Endpoints, idOfEndpoint)
	if !ok {
		return
	}
	e := c.Endpoints[i]
	if !strings.HasSuffix(r.URL.Path, "/workers") {
		cloudtest.Reply(w, http.StatusOK, c.endpoint(e))
		return
	}
	records := []any{}
	for _, x := range e.Workers {
		records = append(records, map[string]any{"id": x.ID, "status": x.Status, "isStale": false, "version": 1, "gpuCount": x.GPUs,
			"gpuTypeId": x.GPU, "image": "my-org/worker", "uptimeSeconds": 60, "dataCenterId": "US-TX-3", "startedAt": born})
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"workers": records, "summary": map[string]int{"total": len(records)}, "endpointVersion": 1})
}

// updateEndpoint changes the bounds; an endpoint that may have no workers has none.
func (c *Cloud) updateEndpoint(w http.ResponseWriter, r *http.Request) {
	i, ok := named(w, r, c.Endpoints, idOfEndpoint)
	if !ok {
		return
	}
	var in struct {
		Workers struct {
			Min *int `json:"min"`
			Max *int `json:"max"`
		} `json:"workers"`
	}
	if !cloudtest.Read(r, &in) || in.Workers.Min == nil || in.Workers.Max == nil {
		Problem(w, http.StatusUnprocessableEntity, "Request validation failed.")
		return
	}
	e := &c.Endpoints[i]
	if e.Min, e.Max = *in.Workers.Min, *in.Workers.Max; e.Max == 0 {
		e.Workers = nil
	}
	cloudtest.Reply(w, http.StatusOK, c.endpoint(*e))
}

func (c *Cloud) deleteEndpoint(w http.ResponseWriter, r *http.Request) {
	if i, ok := named(w, r, c.Endpoints, idOfEndpoint); ok {
		c.Endpoints = slices.Delete(c.Endpoints, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	}
}

// VolumeGB is the size of every network volume.
const VolumeGB = 100

func volume(t cloudtest.Thing) map[string]any {
	return map[string]any{"id": t.ID, "name": t.Name, "size": VolumeGB, "dataCenter": "US-TX-3", "type": "STANDARD"}
}

func (c *Cloud) listVolumes(w http.ResponseWriter, _ *http.Request) {
	records := []any{}
	for _, t := range c.List(guard.Filesystem, "") {
		if t.State != guard.StateGone {
			records = append(records, volume(t))
		}
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"networkVolumes": records})
}

func (c *Cloud) getVolume(w http.ResponseWriter, r *http.Request) {
	if t, err := c.Get(guard.Filesystem, r.PathValue("id")); !refuse(w, err) {
		cloudtest.Reply(w, http.StatusOK, volume(t))
	}
}

func (c *Cloud) deleteVolume(w http.ResponseWriter, r *http.Request) {
	done(w, c.Release(guard.Filesystem, r.PathValue("id")))
}
