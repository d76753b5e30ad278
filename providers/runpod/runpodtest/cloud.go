// Package runpodtest plays RunPod's REST API v2 in memory, for tests: pods are created,
// boot, are stopped and end, endpoints have workers, and an account may run dry. It answers
// in the words of the API's own description of 2026.
package runpodtest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one account, an [http.Handler]. Pods are its things of the kind instance, and
// network volumes those of the kind filesystem; a lock is Protected, and a mounted volume
// is AttachedTo its pod. Its fields are set before it is used; Change changes them later.
type Cloud struct {
	*cloudtest.Cloud

	Key    string // that is let in
	Canary string // is put wherever a reply may hold a secret
	// Pods is what is special of pods, by ID.
	Pods      map[string]Pod
	Clusters  []Cluster
	Endpoints []Endpoint
	// Bills are the records of each bill, by its name: pods, network-volumes.
	Bills map[string][]map[string]any

	mu    sync.Mutex
	calls []string
	made  int
}

// Pod is what is special of a pod. The zero value has an RTX 4090 for each GPU.
type Pod struct {
	GPU     string // its ID
	CPU     bool   // it has no GPU
	DiskGB  int    // of its volume disk; 0: it has none
	Cluster string // it is a node of it
	Failed  bool   // its container cannot run: ERROR
	Util    []int  // of each GPU; nil: nothing is told of its work
	// Set replaces fields of the record, whatever they should be.
	Set map[string]any
}

// Cluster is an Instant Cluster; its nodes are pods.
type Cluster struct{ ID, Name string }

// Endpoint is a serverless endpoint.
type Endpoint struct {
	ID, Name string
	Min, Max int
	Volumes  []string
	Workers  []Worker
}

// Worker is one of an endpoint's.
type Worker struct {
	ID, Status, GPU string
	GPUs            int
}

// RTX4090 is the GPU of a pod that says of none.
const RTX4090 = "NVIDIA GeForce RTX 4090"

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	return &Cloud{Cloud: cloudtest.Of(w), Key: providertest.Secret, Canary: w.Canary, Pods: map[string]Pod{}, Bills: map[string][]map[string]any{}}
}

// Change changes the account between two calls.
func (c *Cloud) Change(f func(*Cloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// Calls are the calls made so far, as METHOD PATH.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Drain is what a balance of nothing does: pods with a network volume are stopped, all
// others are gone with their data.
func (c *Cloud) Drain() error {
	var errs []error
	volumes := c.List(guard.Filesystem, "")
	for _, p := range c.List(guard.Instance, "") {
		if slices.ContainsFunc(volumes, func(v cloudtest.Thing) bool { return v.AttachedTo == p.ID }) {
			errs = append(errs, c.Stop(p.ID))
			continue
		}
		errs = append(errs, c.Reclaim(p.ID, guard.StateGone))
	}
	return errors.Join(errs...)
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer "+c.Key {
		Problem(w, http.StatusUnauthorized, "missing bearer token")
		return
	}
	c.routes().ServeHTTP(w, r)
}

func (c *Cloud) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /v2/pods", c.listPods)
	m.HandleFunc("POST /v2/pods", c.createPod)
	m.HandleFunc("GET /v2/pods/{id}", c.getPod)
	m.HandleFunc("PATCH /v2/pods/{id}", c.updatePod)
	m.HandleFunc("DELETE /v2/pods/{id}", c.deletePod)
	m.HandleFunc("POST /v2/pods/{id}/action", c.actOnPod)
	m.HandleFunc("GET /v2/clusters", c.listClusters)
	m.HandleFunc("GET /v2/clusters/{id}", c.getCluster)
	m.HandleFunc("GET /v2/clusters/{id}/pods", c.getCluster)
	m.HandleFunc("DELETE /v2/clusters/{id}", c.deleteCluster)
	m.HandleFunc("GET /v2/serverless", c.listEndpoints)
	m.HandleFunc("GET /v2/serverless/{id}", c.getEndpoint)
	m.HandleFunc("GET /v2/serverless/{id}/workers", c.getEndpoint)
	m.HandleFunc("PATCH /v2/serverless/{id}", c.updateEndpoint)
	m.HandleFunc("DELETE /v2/serverless/{id}", c.deleteEndpoint)
	m.HandleFunc("GET /v2/network-volumes", c.listVolumes)
	m.HandleFunc("GET /v2/network-volumes/{id}", c.getVolume)
	m.HandleFunc("DELETE /v2/network-volumes/{id}", c.deleteVolume)
	m.HandleFunc("GET /v2/catalog/gpus", listGPUs)
	m.HandleFunc("GET /v2/billing/{bill}", c.listBill)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	return m
}

// Problem writes a refusal in the API's form.
func Problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":%q,"status":%d,"detail":%q}`, http.StatusText(status), status, detail)
}

// refuse writes the refusal for an error of the things; false for none. Of a lock at a
// release, and of a volume that is mounted, the description says nothing: here they are
// conflicts.
func refuse(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, guard.ErrNotFound):
		Problem(w, http.StatusNotFound, "not found")
	case errors.Is(err, guard.ErrConflict), errors.Is(err, guard.ErrProtected):
		Problem(w, http.StatusConflict, "not in this state")
	default:
		Problem(w, http.StatusInternalServerError, "internal error")
	}
	return true
}

// done ends a call that has no reply.
func done(w http.ResponseWriter, err error) {
	if !refuse(w, err) {
		w.WriteHeader(http.StatusNoContent)
	}
}

func listGPUs(w http.ResponseWriter, _ *http.Request) {
	cloudtest.Reply(w, http.StatusOK, map[string]any{"gpus": []map[string]any{
		{"id": RTX4090, "name": "RTX 4090", "pool": "ADA_24", "memory": 24, "price": map[string]float64{"secure": 0.69, "community": 0.34, "serverless": 1.1}},
		{"id": "NVIDIA H100 80GB HBM3", "name": "H100 SXM", "pool": nil, "memory": 80, "price": map[string]float64{"secure": 2.99, "community": 2.69}},
	}})
}

// listBill tells the records that begin in the window, or overlap it.
func (c *Cloud) listBill(w http.ResponseWriter, r *http.Request) {
	from, to := r.URL.Query().Get("startTime"), r.URL.Query().Get("endTime")
	records := []any{}
	for _, x := range c.Bills[r.PathValue("bill")] {
		begins, _ := x["startTime"].(string)
		ends, _ := x["endTime"].(string)
		if begins < to && ends > from {
			records = append(records, x)
		}
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"records": records, "metadata": map[string]any{"recordCount": len(records)}})
}

// gpu is the ID of the pod's GPU.
func (p Pod) gpu() string { return cmp.Or(p.GPU, RTX4090) }
