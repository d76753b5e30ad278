package vasttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// statuses are the words of the container and of the contract, what it is and what it is to
// be, for each state.
var statuses = map[guard.State]struct{ actual, now, next string }{
	guard.StateProvisioning: {"loading", "running", "running"},
	guard.StateRunning:      {"running", "running", "running"},
	guard.StateStopping:     {"running", "running", "stopped"},
	guard.StateStopped:      {"exited", "stopped", "stopped"},
	guard.StateReleasing:    {"running", "running", "running"},
}

// boxes are the instances that are there, in the order of their IDs.
func (c *Cloud) boxes() []cloudtest.Thing {
	all := slices.DeleteFunc(c.List(guard.Instance, ""), func(t cloudtest.Thing) bool { return t.State == guard.StateGone })
	slices.SortFunc(all, func(a, b cloudtest.Thing) int {
		if n := len(a.ID) - len(b.ID); n != 0 {
			return n
		}
		return slices.Compare([]byte(a.ID), []byte(b.ID))
	})
	return all
}

func (c *Cloud) listInstances(w http.ResponseWriter, r *http.Request) {
	all := c.boxes()
	some, next, ok := page(w, r, all, 25, c.PageSize)
	if !ok {
		return
	}
	records := []any{}
	for _, t := range some {
		records = append(records, c.instance(t))
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"success": true, "instances_found": len(records), "total_instances": len(all),
		"next_token": next, "instances": records})
}

func (c *Cloud) createInstance(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Label string  `json:"label"`
		Price float64 `json:"price"`
	}
	if !cloudtest.Read(r, &in) {
		Fail(w, http.StatusBadRequest, "invalid_args")
		return
	}
	c.made++
	t := c.Create(providertest.Thing{ID: fmt.Sprint(90_000_000 + c.made), Name: in.Label, GPUs: 1, Price: guard.MustMoney("0.80USD")})
	c.Boxes[t.ID] = Box{Bid: in.Price > 0}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"success": true, "new_contract": json.Number(t.ID)})
}

// getInstance answers with nothing for what is not there.
func (c *Cloud) getInstance(w http.ResponseWriter, r *http.Request) {
	var record any
	if t, err := c.Get(guard.Instance, r.PathValue("id")); err == nil && t.State != guard.StateGone {
		record = c.instance(t)
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"instances": record})
}

func (c *Cloud) manageInstance(w http.ResponseWriter, r *http.Request) {
	var in struct {
		State string  `json:"state"`
		Label *string `json:"label"`
	}
	id := r.PathValue("id")
	switch {
	case !cloudtest.Read(r, &in):
		Fail(w, http.StatusBadRequest, "invalid_args")
	case in.State == "stopped":
		done(w, c.Stop(id), "not_found")
	case in.State == "running":
		done(w, c.Start(id), "not_found")
	case in.Label != nil:
		done(w, c.Edit(guard.Instance, id, func(t *providertest.Thing) { t.Name = *in.Label }), "not_found")
	default:
		Fail(w, http.StatusBadRequest, "invalid_args")
	}
}

func (c *Cloud) destroyInstance(w http.ResponseWriter, r *http.Request) {
	done(w, c.Release(guard.Instance, r.PathValue("id")), "not_found")
}

// instance is the record of an instance. Its total keeps the price of when it runs.
func (c *Cloud) instance(t cloudtest.Thing) map[string]any {
	b, words := c.Boxes[t.ID], statuses[t.State]
	total := t.Price
	if !total.IsSet() {
		total = Disk
	}
	base, _ := total.Sub(Disk) // both are dollars
	now := map[string]any{"gpuCostPerHour": amount(base), "diskHour": amount(Disk), "totalHour": amount(total), "discountTotalHour": 0, "discountedTotalPerHour": amount(total)}
	if words.now == "stopped" {
		now["gpuCostPerHour"], now["totalHour"], now["discountedTotalPerHour"] = 0, amount(Disk), amount(Disk)
	}
	out := map[string]any{
		"id": json.Number(t.ID), "label": t.Name, "actual_status": words.actual, "cur_state": words.now, "next_state": words.next, "intended_status": words.next,
		"status_msg": c.Canary, "is_bid": b.Bid, "min_bid": amount(base), "dph_base": amount(base), "dph_total": amount(total), "instance": now,
		"storage_cost": 0.15, "storage_total_cost": amount(Disk), "disk_space": json.Number(fmt.Sprint(DiskGB, ".0")), "disk_util": -1,
		"inet_up_cost": 0.02, "inet_down_cost": 0.01, "gpu_name": "RTX 4090", "num_gpus": t.GPUs, "gpu_util": nil, "gpu_ram": 24576,
		"start_date": json.Number(fmt.Sprintf("%d.225083", t.Created.Unix())), "end_date": 2034617753.0, "uptime_mins": nil,
		"jupyter_token": c.Canary, "onstart": "echo " + c.Canary, "extra_env": [][]string{{"HF_TOKEN", c.Canary}}, "image_args": []string{c.Canary},
		"ssh_host": "ssh1.vast.ai", "volume_info": c.volumesOf(t.ID),
	}
	if t.State == guard.StateRunning && b.Util != nil {
		out["gpu_util"] = *b.Util
	}
	maps.Copy(out, b.Set)
	return out
}

func (c *Cloud) volumesOf(instance string) []any {
	out := []any{}
	for _, v := range c.List(guard.Volume, "") {
		if v.AttachedTo == instance || slices.Contains(c.Users[v.ID], instance) {
			out = append(out, map[string]any{"id": json.Number(v.ID)})
		}
	}
	return out
}

func (c *Cloud) listVolumes(w http.ResponseWriter, _ *http.Request) {
	records := []any{}
	for _, v := range c.List(guard.Volume, "") {
		if v.State == guard.StateGone {
			continue
		}
		users := []any{}
		for _, t := range c.boxes() {
			if v.AttachedTo == t.ID || slices.Contains(c.Users[v.ID], t.ID) {
				users = append(users, map[string]any{"id": json.Number(t.ID)})
			}
		}
		records = append(records, map[string]any{"id": json.Number(v.ID), "label": v.Name, "status": "created", "machine_id": 150014, "disk_space": DiskGB,
			"storage_total_cost": amount(Disk), "start_date": v.Created.Unix(), "instances": users})
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"volumes": records})
}

func (c *Cloud) deleteVolume(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID json.Number `json:"id"`
	}
	if !cloudtest.Read(r, &in) || in.ID == "" {
		Fail(w, http.StatusBadRequest, "invalid_args")
		return
	}
	done(w, c.Release(guard.Volume, in.ID.String()), "no_such_volume")
}
