// Package lambdatest plays Lambda's REST API v1 in memory, for tests: instances boot, are
// terminated and are taken back, and file systems outlive them. It answers in the words of
// the API's own description (version 1.8.3).
package lambdatest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one account, an [http.Handler]. Protected is what cannot be terminated, and a
// mounted file system is AttachedTo its instance. Its fields are set before it is used.
type Cloud struct {
	*cloudtest.Cloud

	Key    string // that is let in
	Canary string // is put wherever a reply holds a secret
	// Special is what is special of instances and file systems, by ID.
	Special map[string]Special

	mu    sync.Mutex
	calls []string
}

// Special is what is special of a thing.
type Special struct {
	// Mounts are further file systems of an instance, beside those AttachedTo it.
	Mounts []string
	// Bytes are what a file system holds.
	Bytes int64
	// Unhealthy: the instance does not answer.
	Unhealthy bool
	// Set replaces fields of the record, whatever they should be.
	Set map[string]any
}

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	return &Cloud{Cloud: cloudtest.Of(w), Key: providertest.Secret, Canary: w.Canary, Special: map[string]Special{}}
}

// Calls are the calls made so far, as METHOD PATH.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer "+c.Key {
		Refuse(w, http.StatusUnauthorized, "global/invalid-api-key", "API key was invalid, expired, or deleted.")
		return
	}
	m := http.NewServeMux()
	m.HandleFunc("GET /api/v1/instances", c.listInstances)
	m.HandleFunc("GET /api/v1/instances/{id}", c.getInstance)
	m.HandleFunc("POST /api/v1/instance-operations/terminate", c.terminate)
	m.HandleFunc("GET /api/v1/file-systems", c.listFileSystems)
	m.HandleFunc("DELETE /api/v1/filesystems/{id}", c.deleteFileSystem)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	m.ServeHTTP(w, r)
}

// Refuse writes a refusal in the API's form.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	cloudtest.Reply(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// refuse writes the refusal for an error of the things; false for none. Of what an
// instance that cannot be terminated is answered the description says nothing.
func refuse(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, guard.ErrNotFound):
		Refuse(w, http.StatusNotFound, "global/object-does-not-exist", "Specified object does not exist.")
	case errors.Is(err, guard.ErrProtected):
		Refuse(w, http.StatusBadRequest, "global/invalid-parameters", "Invalid request data.")
	case errors.Is(err, guard.ErrConflict):
		Refuse(w, http.StatusBadRequest, "filesystems/filesystem-in-use", "The filesystem is in use.")
	default:
		Refuse(w, http.StatusInternalServerError, "global/internal-error", "An internal error occurred.")
	}
	return true
}

func data(w http.ResponseWriter, of any) {
	cloudtest.Reply(w, http.StatusOK, map[string]any{"data": of})
}

func (c *Cloud) listInstances(w http.ResponseWriter, _ *http.Request) {
	records := []any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone {
			records = append(records, c.instance(t))
		}
	}
	data(w, records)
}

func (c *Cloud) getInstance(w http.ResponseWriter, r *http.Request) {
	if t, err := c.Get(guard.Instance, r.PathValue("id")); !refuse(w, err) {
		data(w, c.instance(t))
	}
}

func (c *Cloud) terminate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IDs []string `json:"instance_ids"`
	}
	if !cloudtest.Read(r, &in) || len(in.IDs) == 0 {
		Refuse(w, http.StatusBadRequest, "global/invalid-parameters", "Invalid request data.")
		return
	}
	records := []any{}
	for _, id := range in.IDs {
		t, err := c.Get(guard.Instance, id)
		if refuse(w, cmp.Or(err, c.Release(guard.Instance, id))) {
			return
		}
		t.State = guard.StateReleasing
		records = append(records, c.instance(t))
	}
	data(w, map[string]any{"terminated_instances": records})
}

var statuses = map[guard.State]string{
	guard.StateProvisioning: "booting", guard.StateRunning: "active", guard.StateReleasing: "terminating", guard.StateGone: "terminated",
}

// mounts are the file systems of an instance.
func (c *Cloud) mounts(id string) []string {
	out := slices.Clone(c.Special[id].Mounts)
	for _, t := range c.List(guard.Filesystem, "") {
		if t.AttachedTo == id {
			out = append(out, t.ID)
		}
	}
	return out
}

// cents is a price as the API tells it.
func cents(m guard.Money) any {
	if !m.IsSet() {
		return nil
	}
	return new(big.Int).Quo(new(big.Rat).Mul(m.Rat(), big.NewRat(100, 1)).Num(), big.NewInt(1))
}

func (c *Cloud) instance(t cloudtest.Thing) map[string]any {
	can, special, status := map[string]any{"available": true}, c.Special[t.ID], statuses[t.State]
	terminate := can
	switch {
	case t.State == guard.StateReleasing, t.State == guard.StateGone:
		terminate = map[string]any{"available": false, "reason_code": "vm-is-terminating"}
	case t.State == guard.StateProvisioning:
		terminate = map[string]any{"available": false, "reason_code": "vm-has-not-launched"}
	case t.Protected:
		terminate = map[string]any{"available": false, "reason_code": "vm-is-too-old"}
	}
	switch {
	case t.State == guard.StateGone && t.Ended == guard.ByReclaim:
		status = "preempted"
	case special.Unhealthy && t.State == guard.StateRunning:
		status = "unhealthy"
	}
	tags := []any{}
	for _, k := range slices.Sorted(maps.Keys(t.Tags)) {
		tags = append(tags, map[string]string{"key": k, "value": t.Tags[k]})
	}
	names, mounts := []string{}, []any{}
	for _, fs := range c.mounts(t.ID) {
		names = append(names, "name of "+fs)
		mounts = append(mounts, map[string]string{"mount_point": "/lambda/nfs/" + fs, "file_system_id": fs})
	}
	out := map[string]any{
		"id": t.ID, "name": t.Name, "ip": "198.51.100.2", "private_ip": "10.0.2.100", "status": status,
		"ssh_key_names": []string{"My SSH key"}, "file_system_names": names, "hostname": "headnode1",
		"region":        map[string]string{"name": "us-west-1", "description": "California, USA"},
		"jupyter_token": c.Canary, "jupyter_url": "https://jupyter.example.com/?token=" + c.Canary, "is_reserved": false,
		"actions": map[string]any{"migrate": can, "rebuild": can, "restart": can, "cold_reboot": can, "terminate": terminate},
		"tags":    tags,
		"instance_type": map[string]any{
			"name": fmt.Sprintf("gpu_%dx_a10", t.GPUs), "description": fmt.Sprintf("%dx A10 (24 GB PCIe)", t.GPUs), "gpu_description": "A10 (24 GB PCIe)",
			"price_cents_per_hour": cents(t.Price), "specs": map[string]int{"vcpus": 30, "memory_gib": 200, "storage_gib": 1400, "gpus": t.GPUs},
		},
	}
	if len(mounts) > 0 {
		out["file_system_mounts"] = mounts
	}
	maps.Copy(out, special.Set)
	return out
}

func (c *Cloud) listFileSystems(w http.ResponseWriter, _ *http.Request) {
	used := map[string]bool{}
	for _, t := range c.List(guard.Instance, "") {
		for _, fs := range c.mounts(t.ID) {
			used[fs] = used[fs] || t.State != guard.StateGone
		}
	}
	records := []any{}
	for _, t := range c.List(guard.Filesystem, "") {
		if t.State == guard.StateGone {
			continue
		}
		out := map[string]any{
			"id": t.ID, "name": t.Name, "mount_point": "/lambda/nfs/" + t.Name, "created": t.Created.Format(time.RFC3339),
			"created_by": map[string]string{"id": "u1", "email": "me@example.com", "status": "active"}, "is_in_use": used[t.ID],
			"region": map[string]string{"name": "us-west-1", "description": "California, USA"}, "bytes_used": c.Special[t.ID].Bytes,
		}
		maps.Copy(out, c.Special[t.ID].Set)
		records = append(records, out)
	}
	data(w, records)
}

func (c *Cloud) deleteFileSystem(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	t, err := c.Get(guard.Filesystem, id)
	if err == nil && t.State == guard.StateGone {
		err = guard.ErrNotFound
	}
	if !refuse(w, cmp.Or(err, c.Release(guard.Filesystem, id))) {
		data(w, map[string]any{"deleted_ids": []string{id}})
	}
}
