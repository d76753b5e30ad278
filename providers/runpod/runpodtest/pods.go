package runpodtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// statuses are a pod's words for its states, and actions what each allows.
var (
	statuses = map[guard.State]string{
		guard.StateProvisioning: "PROVISIONING", guard.StateRunning: "RUNNING", guard.StateStopping: "RUNNING",
		guard.StateStopped: "EXITED", guard.StateReleasing: "RUNNING", guard.StateGone: "TERMINATED",
	}
	actions = map[string][]string{
		"PROVISIONING": {"stop", "terminate"}, "RUNNING": {"stop", "restart", "terminate"},
		"EXITED": {"start", "terminate"}, "ERROR": {"start", "terminate"}, "TERMINATED": {},
	}
)

func (c *Cloud) status(t cloudtest.Thing) string {
	if c.Pods[t.ID].Failed && t.State == guard.StateRunning {
		return "ERROR"
	}
	return statuses[t.State]
}

func (c *Cloud) listPods(w http.ResponseWriter, r *http.Request) {
	records := []any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone && (c.Pods[t.ID].Cluster == "" || r.URL.Query().Get("includeClusterPods") == "true") {
			records = append(records, c.pod(t))
		}
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"pods": records})
}

func (c *Cloud) createPod(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"name"`
		GPU  struct {
			ID    string `json:"id"`
			Count int    `json:"count"`
		} `json:"gpu"`
		Mounts struct {
			Persistent struct {
				Size int `json:"size"`
			} `json:"persistent"`
		} `json:"mounts"`
	}
	if !cloudtest.Read(r, &in) || in.Name == "" {
		Problem(w, http.StatusUnprocessableEntity, "Request validation failed.")
		return
	}
	c.made++
	t := c.Create(providertest.Thing{ID: fmt.Sprintf("made%d", c.made), Name: in.Name, GPUs: max(in.GPU.Count, 1), Price: guard.MustMoney("0.69USD")})
	c.Pods[t.ID] = Pod{GPU: in.GPU.ID, DiskGB: in.Mounts.Persistent.Size}
	cloudtest.Reply(w, http.StatusCreated, c.pod(t))
}

func (c *Cloud) getPod(w http.ResponseWriter, r *http.Request) { c.showPod(w, r.PathValue("id")) }

func (c *Cloud) showPod(w http.ResponseWriter, id string) {
	t, err := c.Get(guard.Instance, id)
	if !refuse(w, err) {
		cloudtest.Reply(w, http.StatusOK, c.pod(t))
	}
}

// kept refuses to change a node of a cluster.
func (c *Cloud) kept(w http.ResponseWriter, id string) bool {
	if c.Pods[id].Cluster == "" {
		return false
	}
	Problem(w, http.StatusConflict, "pod belongs to a cluster")
	return true
}

// updatePod locks and unlocks.
func (c *Cloud) updatePod(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Locked *bool `json:"locked"`
	}
	id := r.PathValue("id")
	switch {
	case c.kept(w, id):
	case !cloudtest.Read(r, &in) || in.Locked == nil:
		Problem(w, http.StatusUnprocessableEntity, "Request validation failed.")
	case !refuse(w, c.Edit(guard.Instance, id, func(t *providertest.Thing) { t.Protected = *in.Locked })):
		c.showPod(w, id)
	}
}

func (c *Cloud) deletePod(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); !c.kept(w, id) {
		done(w, c.Release(guard.Instance, id))
	}
}

func (c *Cloud) actOnPod(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Action string `json:"action"`
	}
	id := r.PathValue("id")
	t, err := c.Get(guard.Instance, id)
	switch {
	case refuse(w, err), c.kept(w, id):
	case !cloudtest.Read(r, &in):
		Problem(w, http.StatusUnprocessableEntity, "Request validation failed.")
	case !slices.Contains(actions[c.status(t)], in.Action), t.Protected:
		Problem(w, http.StatusConflict, "action is not valid for the current status")
	case in.Action == "terminate":
		done(w, c.Release(guard.Instance, id))
	case in.Action == "stop" && refuse(w, c.Stop(id)), in.Action == "start" && refuse(w, c.Start(id)):
	default:
		c.showPod(w, id)
	}
}

// pod is the record of a pod.
func (c *Cloud) pod(t cloudtest.Thing) map[string]any {
	p, status := c.Pods[t.ID], c.status(t)
	out := map[string]any{
		"id": t.ID, "name": t.Name, "status": status, "actions": actions[status], "locked": t.Protected, "cost": json.Number("0.0"),
		"image": "runpod/pytorch:2.8.0", "args": c.Canary, "disk": 20, "ports": []string{"8888/http"}, "registry": nil,
		"env": map[string]string{"JUPYTER_PASSWORD": c.Canary}, "cloud": "SECURE", "dataCenterId": "US-TX-3", "cudaVersion": "12.8",
		"ssh": map[string]any{"proxy": map[string]string{"command": "ssh " + c.Canary}, "direct": nil}, "template": nil,
		"globalNetworking": map[string]any{"enabled": false}, "runtime": nil, "mounts": c.mounts(t),
		"createdAt": t.Created.Format(time.RFC3339), "startedAt": nil,
	}
	if p.CPU {
		out["cpu"] = map[string]any{"id": "cpu5c", "vcpuCount": 4, "memory": 8}
	} else {
		out["gpu"] = map[string]any{"id": p.gpu(), "count": t.GPUs}
	}
	if p.Cluster != "" {
		out["cluster"] = map[string]any{"id": p.Cluster, "rank": 0}
	}
	if status != "EXITED" && status != "TERMINATED" && t.Price.IsSet() {
		out["cost"] = json.Number(t.Price.Rat().FloatString(4))
	}
	if status == "RUNNING" {
		out["startedAt"] = t.Started.Format(time.RFC3339)
	}
	if status == "RUNNING" && p.Util != nil {
		gpus := []any{}
		for _, u := range p.Util {
			gpus = append(gpus, map[string]any{"util": u, "memoryUtil": 50})
		}
		out["runtime"] = map[string]any{"uptime": 3600, "gpus": gpus, "cpu": map[string]any{"util": 25}, "memory": map[string]any{"util": 10}}
	}
	maps.Copy(out, p.Set)
	return out
}

func (c *Cloud) mounts(t cloudtest.Thing) map[string]any {
	if gb := c.Pods[t.ID].DiskGB; gb > 0 {
		return map[string]any{"persistent": map[string]any{"size": gb, "path": "/workspace"}}
	}
	for _, v := range c.List(guard.Filesystem, "") {
		if v.AttachedTo == t.ID {
			return map[string]any{"network": []any{map[string]any{"volumeId": v.ID, "path": "/workspace"}}}
		}
	}
	return map[string]any{}
}
