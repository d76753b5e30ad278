package autodltest

import (
	"net/http"
	"slices"
	"time"
)

// company refuses an account that is not one.
func (c *Cloud) company(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !c.Company {
			Code(w, "BadRequest", "无当前资源访问权限")
			return
		}
		do(w, r)
	}
}

func (c *Cloud) listDeployments(w http.ResponseWriter, r *http.Request) {
	var in Page
	if !asked(w, r, &in) {
		return
	}
	all := []any{}
	for _, d := range c.Deployments {
		running := len(slices.DeleteFunc(slices.Clone(d.Containers), func(x Container) bool { return x.Released || x.Status == "shutdown" }))
		all = append(all, map[string]any{"uuid": d.ID, "name": d.Name, "deployment_type": "ReplicaSet", "status": "running",
			"replica_num": d.Replicas, "starting_num": 0, "running_num": running, "finished_num": 0})
	}
	pageOf(c, w, all, in)
}

// born is when every container was created.
var born = time.Date(2026, 3, 6, 9, 0, 0, 0, time.UTC).Format(time.RFC3339)

func (c *Cloud) listContainers(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Page
		Deployment string `json:"deployment_uuid"`
		Container  string `json:"container_uuid"`
		Released   bool   `json:"released"`
	}
	if !asked(w, r, &in) {
		return
	}
	i := slices.IndexFunc(c.Deployments, func(d Deployment) bool { return d.ID == in.Deployment })
	if i < 0 {
		Code(w, "RecordNotFoundError", "未查询到相关部署")
		return
	}
	all := []any{}
	for _, x := range c.Deployments[i].Containers {
		if x.Released != in.Released || in.Container != "" && in.Container != x.ID {
			continue
		}
		all = append(all, map[string]any{"uuid": x.ID, "deployment_uuid": in.Deployment, "machine_id": "m", "status": x.Status,
			"gpu_name": x.GPU, "gpu_num": x.GPUs, "price": x.Price, "created_at": born, "started_at": born, "stopped_at": null(time.Time{}),
			"info": map[string]any{"root_password": c.Canary, "ssh_command": c.Canary}})
	}
	pageOf(c, w, all, in.Page)
}

// endContainer ends one; its deployment starts another where it still has to keep up more.
func (c *Cloud) endContainer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Container string `json:"deployment_container_uuid"`
		Decrease  bool   `json:"decrease_one_replica_num"`
	}
	if !asked(w, r, &in) {
		return
	}
	for i := range c.Deployments {
		d := &c.Deployments[i]
		n := slices.IndexFunc(d.Containers, func(x Container) bool { return x.ID == in.Container && !x.Released })
		if n < 0 {
			continue
		}
		d.Containers[n].Status, d.Containers[n].Released = "shutdown", true
		if in.Decrease {
			d.Replicas--
		}
		up := len(slices.DeleteFunc(slices.Clone(d.Containers), func(x Container) bool { return x.Released }))
		if up < d.Replicas {
			next := d.Containers[n]
			next.ID, next.Status, next.Released = next.ID+"+", "running", false
			d.Containers = append(d.Containers, next)
		}
		success(w, nil)
		return
	}
	Code(w, "RecordNotFoundError", "未查询到相关容器")
}
