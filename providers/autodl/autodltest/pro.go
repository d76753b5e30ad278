package autodltest

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

var thousand = big.NewRat(1000, 1)

// statuses are a Pro instance's words for its states.
var statuses = map[guard.State]string{
	guard.StateProvisioning: "starting", guard.StateRunning: "running", guard.StateStopping: "shutting_down",
	guard.StateStopped: "shutdown", guard.StateReleasing: "shutdown",
}

// Spec is the gpu_spec_uuid of every instance, and Model its GPU.
const (
	Spec  = "pro6000-p"
	Model = "NVIDIA RTX PRO 6000"
)

// cst is the zone of the times that AutoDL tells.
var cst = time.FixedZone("CST", 8*60*60)

// null is a time that may not be.
func null(at time.Time) map[string]any {
	return map[string]any{"Time": at.In(cst).Format(time.RFC3339), "Valid": !at.IsZero()}
}

func (c *Cloud) listPro(w http.ResponseWriter, r *http.Request) {
	var in Page
	if !asked(w, r, &in) {
		return
	}
	all := []any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone {
			all = append(all, c.record(t))
		}
	}
	pageOf(c, w, all, in)
}

// record is an entry of the list.
func (c *Cloud) record(t cloudtest.Thing) map[string]any {
	p := c.Pro[t.ID]
	var off time.Time
	if t.State == guard.StateStopped {
		off = t.Changed
	}
	out := map[string]any{
		"created_at": t.Created.In(cst).Format(time.RFC3339), "uuid": t.ID, "machine_id": "4d67438b4f", "machine_alias": "",
		"region_sign": "neimeng-C", "region_name": "内蒙C区", "status": statuses[t.State], "sub_status": "",
		"status_at": t.Changed.In(cst).Format(time.RFC3339), "start_mode": cmp.Or(p.Mode, "gpu"), "charge_type": cmp.Or(p.Charge, "payg"),
		"req_gpu_amount": t.GPUs, "expired_at": null(time.Time{}), "started_at": null(t.Started), "stopped_at": null(off),
		"name": t.Name, "timed_shutdown_at": null(time.Time{}), "gpu_spec_uuid": Spec,
	}
	maps.Copy(out, p.Set)
	return out
}

// one is the Pro instance that a GET asks for, in its query alone; it refuses where there is
// none.
func (c *Cloud) one(w http.ResponseWriter, r *http.Request) (cloudtest.Thing, bool) {
	id := r.URL.Query().Get("instance_uuid")
	if id == "" {
		wrong(w)
		return cloudtest.Thing{}, false
	}
	t, err := c.Get(guard.Instance, id)
	return t, !refuse(w, err)
}

func (c *Cloud) status(w http.ResponseWriter, r *http.Request) {
	if t, ok := c.one(w, r); ok {
		success(w, statuses[t.State])
	}
}

const gib = 1 << 30

func (c *Cloud) snapshot(w http.ResponseWriter, r *http.Request) {
	t, ok := c.one(w, r)
	if !ok {
		return
	}
	p := c.Pro[t.ID]
	out := map[string]any{
		"region_sign": "neimeng-C", "snapshot_gpu_alias_name": Model, "chip_corp": "nvidia", "cpu_arch": "x86",
		"usage_info":            map[string]any{"container_id": "autodl-" + t.ID, "cpu_usage_percent": 3.34, "data_disk_total_size": 0, "valid": true},
		"system_init_disk_size": 30 * gib, "expand_system_disk_size": (30 + p.Expanded) * gib,
		"ssh_command": "ssh " + c.Canary, "proxy_host": c.Canary, "root_password": c.Canary, "ssh_port": 34222,
		"jupyter_token": c.Canary, "jupyter_domain": c.Canary, "service_6006_domain": c.Canary, "payg_price": 0, "origin_pay_price": 0,
	}
	if t.Price.IsSet() {
		out["payg_price"] = json.Number(new(big.Rat).Mul(t.Price.Rat(), thousand).FloatString(0))
	}
	maps.Copy(out, p.Detail)
	success(w, out)
}

// on does something to the Pro instance that a POST names.
func (c *Cloud) on(do func(id string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ID string `json:"instance_uuid"`
		}
		if asked(w, r, &in) && !refuse(w, do(in.ID)) {
			success(w, nil)
		}
	}
}
