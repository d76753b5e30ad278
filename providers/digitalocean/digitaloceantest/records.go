package digitaloceantest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

// GB is the size of every volume, snapshot and image.
const GB = 100

// wordsOf are tags as DigitalOcean keeps them.
func wordsOf(tags map[string]string) []string {
	out := []string{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if v := tags[k]; v != "" {
			k += ":" + v
		}
		out = append(out, k)
	}
	return out
}

// retagged are tags with a word more, or less.
func retagged(tags map[string]string, tag string, on bool) map[string]string {
	out := map[string]string{}
	for _, w := range wordsOf(tags) {
		if w != tag {
			out[w] = ""
		}
	}
	if on {
		out[tag] = ""
	}
	return out
}

// made is a record with what is special of it.
func (c *Cloud) made(t cloudtest.Thing, record map[string]any) map[string]any {
	maps.Copy(record, c.Special[t.ID].Set)
	return record
}

var region = map[string]any{"name": "New York 3", "slug": "nyc3", "features": []string{"metadata"}, "available": true, "sizes": []string{}}

var statuses = map[guard.State]string{
	guard.StateProvisioning: "new", guard.StateRunning: "active", guard.StateStopping: "active",
	guard.StateStopped: "off", guard.StateReleasing: "active",
}

// droplet is the record of one; one with GPUs stands in the listing of those alone.
func (c *Cloud) droplet(t cloudtest.Thing) map[string]any {
	id, _ := strconv.Atoi(t.ID)
	slug := "s-8vcpu-16gb"
	size := map[string]any{"memory": 16384, "vcpus": 8, "disk": 320, "transfer": 6, "price_monthly": 0, "price_hourly": nil,
		"regions": []string{"nyc3"}, "available": true, "description": "Basic"}
	if t.Price.IsSet() {
		size["price_hourly"] = json.Number(t.Price.Rat().FloatString(4))
	}
	out := map[string]any{
		"id": id, "name": t.Name, "memory": 16384, "vcpus": 8, "disk": 320, "locked": t.Protected, "status": statuses[t.State], "kernel": nil,
		"created_at": t.Created.Format(time.RFC3339), "features": []string{"monitoring"}, "next_backup_window": nil, "region": region,
		"backup_ids": []int{}, "snapshot_ids": c.madeOf(guard.Image, t.ID), "volume_ids": c.attached(guard.Volume, t.ID),
		"networks": map[string]any{"v4": []any{}, "v6": []any{}}, "tags": wordsOf(t.Tags), "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
	}
	if t.GPUs > 0 {
		slug = fmt.Sprintf("gpu-h100x%d-80gb", t.GPUs)
		gpu := map[string]any{"count": t.GPUs, "model": "nvidia_h100", "vram": map[string]any{"amount": 80, "unit": "gib"}}
		out["gpu_info"], size["gpu_info"] = gpu, gpu
	}
	size["slug"] = slug
	out["size"], out["size_slug"] = size, slug
	return c.made(t, out)
}

func (c *Cloud) listDroplets(w http.ResponseWriter, r *http.Request) {
	gpus := r.URL.Query().Get("type") == "gpus"
	out := []map[string]any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone && (t.GPUs > 0) == gpus && !isEndpoint(t) {
			out = append(out, c.droplet(t))
		}
	}
	c.page(w, r, "droplets", out)
}

// attached are the IDs of what hangs on a droplet.
func (c *Cloud) attached(kind guard.Kind, droplet string) []string {
	out := []string{}
	for _, t := range c.List(kind, "") {
		if t.AttachedTo == droplet && t.State != guard.StateGone {
			out = append(out, t.ID)
		}
	}
	return out
}

// madeOf are the IDs of what was made of a droplet.
func (c *Cloud) madeOf(kind guard.Kind, droplet string) []int {
	out := []int{}
	for _, t := range c.List(kind, "") {
		if id, err := strconv.Atoi(t.ID); err == nil && c.Special[t.ID].Of == droplet && t.State != guard.StateGone {
			out = append(out, id)
		}
	}
	return out
}

// on is the number of the droplet that a thing hangs on; 0 where there is none any more.
func (c *Cloud) on(t cloudtest.Thing) int {
	if t.AttachedTo == "" {
		return 0
	}
	if _, err := c.one(guard.Instance, t.AttachedTo); err != nil {
		return 0
	}
	id, _ := strconv.Atoi(t.AttachedTo)
	return id
}

func (c *Cloud) volume(t cloudtest.Thing) map[string]any {
	on := []int{}
	if id := c.on(t); id != 0 {
		on = append(on, id)
	}
	return c.made(t, map[string]any{"id": t.ID, "name": t.Name, "description": "", "droplet_ids": on, "size_gigabytes": GB, "region": region,
		"created_at": t.Created.Format(time.RFC3339), "tags": wordsOf(t.Tags), "filesystem_type": "ext4", "filesystem_label": "data"})
}

func (c *Cloud) address(t cloudtest.Thing) map[string]any {
	out := map[string]any{"ip": t.ID, "region": region, "locked": false, "project_id": "746c6152-2fa2-11ed-92d3-27aaa54e4988", "droplet": nil}
	if strings.Contains(t.ID, ":") {
		out = map[string]any{"ip": t.ID, "region_slug": "nyc3", "reserved_at": t.Created.Format(time.RFC3339), "droplet": nil}
	}
	if id := c.on(t); id != 0 {
		out["droplet"] = map[string]any{"id": id, "name": "box"}
	}
	return c.made(t, out)
}

// listAddresses lists those of one version.
func (c *Cloud) listAddresses(name string, six bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.page(w, r, name, slices.DeleteFunc(c.records(guard.Address, c.address), func(x map[string]any) bool {
			return strings.Contains(fmt.Sprint(x["ip"]), ":") != six
		}))
	}
}

// version is a handler that knows addresses of one version alone.
func version(six bool, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.PathValue("id"), ":") != six {
			refuse(w, guard.ErrNotFound)
			return
		}
		next(w, r)
	}
}

func (c *Cloud) image(t cloudtest.Thing) map[string]any {
	id, _ := strconv.Atoi(t.ID)
	typ := c.Special[t.ID].Type
	if typ == "" {
		typ = "snapshot"
	}
	return c.made(t, map[string]any{"id": id, "name": t.Name, "type": typ, "distribution": "Ubuntu", "slug": nil, "public": false, "regions": []string{"nyc3"},
		"created_at": t.Created.Format(time.RFC3339), "min_disk_size": 25, "size_gigabytes": GB - 0.5, "description": "", "tags": wordsOf(t.Tags), "status": "available"})
}

// snapshot is the record of a volume's snapshot, or of a droplet's.
func (c *Cloud) snapshot(t cloudtest.Thing) map[string]any {
	typ := "volume"
	if t.Kind == guard.Image {
		typ = "droplet"
	}
	return c.made(t, map[string]any{"id": t.ID, "name": t.Name, "created_at": t.Created.Format(time.RFC3339), "regions": []string{"nyc3"},
		"resource_id": c.Special[t.ID].Of, "resource_type": typ, "min_disk_size": 25, "size_gigabytes": GB - 0.5, "tags": wordsOf(t.Tags)})
}

func (c *Cloud) listSnapshots(w http.ResponseWriter, r *http.Request) {
	out := slices.DeleteFunc(c.records(guard.Snapshot, c.snapshot), func(x map[string]any) bool { return strings.Contains(fmt.Sprint(x["id"]), "/") })
	if r.URL.Query().Get("resource_type") == "droplet" {
		out = []map[string]any{}
		for _, t := range c.List(guard.Image, "") {
			if typ := c.Special[t.ID].Type; t.State != guard.StateGone && (typ == "" || typ == "snapshot") {
				out = append(out, c.snapshot(t))
			}
		}
	}
	c.page(w, r, "snapshots", out)
}

func (c *Cloud) getSnapshot(w http.ResponseWriter, r *http.Request) {
	t, err := c.one(guard.Snapshot, r.PathValue("id"))
	if err != nil {
		t, err = c.one(guard.Image, r.PathValue("id"))
	}
	if !refuse(w, err) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"snapshot": c.snapshot(t)})
	}
}
