package compsharetest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

// words are an instance's for its states.
var words = map[guard.State]string{
	guard.StateProvisioning: "Starting", guard.StateRunning: "Running", guard.StateStopping: "Stopping",
	guard.StateStopped: "Stopped", guard.StateReleasing: "Stopped",
}

// GPU is the GpuType of every instance.
const GPU = "4090"

// Keep is how long a Postpay instance that is stopped is kept.
const Keep = 7 * 24 * time.Hour

// record is an entry of the list.
func (c *Cloud) record(t cloudtest.Thing, priced bool) map[string]any {
	x := c.Instances[t.ID]
	charge := cmp.Or(x.Charge, "Postpay")
	disks := []any{map[string]any{"DiskId": t.ID + "-boot", "DiskType": "CLOUD_SSD", "IsBoot": "True", "Size": 60}}
	for _, v := range c.List(guard.Volume, "") {
		if v.AttachedTo == t.ID {
			disks = append(disks, map[string]any{"DiskId": v.ID, "DiskType": "CLOUD_SSD", "IsBoot": "False", "Size": VolumeGB})
		}
	}
	out := map[string]any{
		"UHostId": t.ID, "Name": t.Name, "State": words[t.State], "Zone": Zone, "ChargeType": charge, "IsSpot": x.Spot,
		"InstanceType": "Container", "GpuType": GPU, "GPU": t.GPUs, "CPU": 16, "Memory": 65536, "GraphicsMemory": map[string]any{"Value": 24, "Rate": 1},
		"DiskSet": disks, "IPSet": []any{map[string]any{"IP": c.Canary, "Type": "Bgp"}}, "Password": c.Canary, "SshLoginCommand": "ssh " + c.Canary,
		"Softwares": []any{map[string]any{"Name": "JupyterLab", "URL": "https://h/?token=" + c.Canary}}, "Tag": "Default", "Remark": "",
		"CreateTime": t.Created.Unix(), "UpdateTime": t.Changed.Unix(), "ExpireTime": 0, "AutoRenew": cmp.Or(x.Renews, "Yes"), "IsExpire": "No",
		"ReleaseTime": 0, "InstancePrice": 0, "CompShareImagePrice": 0,
	}
	if !x.Expires.IsZero() {
		out["ExpireTime"] = x.Expires.Unix()
	}
	if t.State == guard.StateStopped && charge == "Postpay" {
		out["ReleaseTime"] = t.Changed.Add(Keep).Unix()
	}
	if priced {
		boot := map[string]any{"ChargeType": charge, "Price": number(cmp.Or(x.Boot, "0")), "IsBoot": true}
		out["CompShareImagePrice"], out["DiskPriceInfo"] = number(cmp.Or(x.Image, "0")), []any{boot}
		out["PostPayPowerOffBillingResource"] = []any{}
		if x.Boot != "" && charge == "Postpay" {
			out["PostPayPowerOffBillingResource"] = []any{boot}
		}
		if t.Price.IsSet() {
			out["InstancePrice"] = json.Number(t.Price.Rat().FloatString(4))
		}
	}
	maps.Copy(out, x.Set)
	return out
}

func number(s string) json.Number { return json.Number(s) }

// monitor tells of the last minute, at the whole minute, as far as anybody works.
func (c *Cloud) monitor(w http.ResponseWriter, in request) {
	switch {
	case in.Region == "" || len(in.UHostIds) == 0:
		Code(w, 230, "Params [Region] not available")
		return
	case len(in.UHostIds) > 10:
		Code(w, 230, "Params [UHostIds] not available")
		return
	}
	now := time.Now()
	if c.Clock != nil {
		now = c.Clock()
	}
	at := now.Truncate(time.Minute).Unix()
	hosts := []any{}
	for _, id := range in.UHostIds {
		x := c.Instances[id]
		value := func(key, bus string, v int) map[string]any {
			return map[string]any{"MetricKey": key, "Tags": map[string]any{"gpu_bus_id": []string{bus}},
				"Results": []any{map[string]any{"ResourceId": id, "TagMap": map[string]any{"gpu_bus_id": bus}, "Values": []any{map[string]any{"Timestamp": at, "Value": v}}}}}
		}
		metrics := []any{}
		for i, u := range x.Util {
			bus := string(rune('0'+i)) + ":00.0"
			metrics = append(metrics, value("cloudwatch_gpu_util", bus, u), value("cloudwatch_gpu_memory_usage", bus, 50))
		}
		if x.Util != nil {
			metrics = append(metrics, value("uhost_cpu_used", "", 25), value("cloudwatch_memory_usage", "", 10))
		}
		host := map[string]any{"UHostId": id, "Metrics": metrics}
		maps.Copy(host, x.Monitor)
		hosts = append(hosts, host)
	}
	success(w, in, map[string]any{"Data": map[string]any{"List": hosts}})
}
