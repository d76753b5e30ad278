package prometheus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers/signals/machine"
)

// metric is what a series tells, by the key of its query.
type metric string

// told says how a metric is asked for and where it goes.
type told struct {
	// query is asked of a server, unless the configuration has another.
	query string
	// gpu is where the number of one GPU goes; nil: it is of the machine.
	gpu func(*guard.GPUSample) *guard.Gauge
	// add: of the parts of a GPU that is cut up, numbers add up; of others the highest
	// counts.
	add bool
	// family is the exporter's name of it, and unit what a number there is divided by.
	family string
	unit   float64
}

// last is the newest number in an interval. A plain selector would go back five minutes
// and tell of a machine that is no more.
func last(selector string) string { return "last_over_time(" + selector + "[$interval])" }

func devices(family string) string {
	return last(family + `{device!~"` + strings.ReplaceAll(machine.Virtual, `\`, `\\`) + `"}`)
}

// disks leave out what lies on whole disks.
const disks = `{device!~"` + machine.VirtualDisks + `"}`

// The metrics of the machine; those of GPUs need no name here.
const (
	cpuCores metric = "cpu_cores"
	cores    metric = "cores"
	rx       metric = "rx"
	tx       metric = "tx"
	disk     metric = "disk"
	boot     metric = "boot"
)

// metrics are all that is read. DCGM counts memory in MiB, energy in mJ.
var metrics = map[metric]told{
	"gpu_util":        {query: last("DCGM_FI_DEV_GPU_UTIL"), family: "DCGM_FI_DEV_GPU_UTIL", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.Util }},
	"gpu_util_max":    {query: "max_over_time(DCGM_FI_DEV_GPU_UTIL[$interval])", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.UtilMax }},
	memUsed:           {query: last("DCGM_FI_DEV_FB_USED"), family: "DCGM_FI_DEV_FB_USED", add: true, gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.MemUsed }},
	memFree:           {query: last("DCGM_FI_DEV_FB_FREE"), family: "DCGM_FI_DEV_FB_FREE", add: true, gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.MemTotal }},
	"gpu_power":       {query: last("DCGM_FI_DEV_POWER_USAGE"), family: "DCGM_FI_DEV_POWER_USAGE", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.Power }},
	"gpu_power_limit": {query: last("DCGM_FI_DEV_POWER_MGMT_LIMIT"), family: "DCGM_FI_DEV_POWER_MGMT_LIMIT", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.PowerLimit }},
	"gpu_energy":      {query: last("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION") + " / 1000", family: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", unit: 1000, gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.Energy }},
	"gpu_engine":      {query: "max_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE[$interval])", family: "DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.Engine }},
	"gpu_tensor":      {query: "max_over_time(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE[$interval])", family: "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.Tensor }},
	"gpu_dram":        {query: "max_over_time(DCGM_FI_PROF_DRAM_ACTIVE[$interval])", family: "DCGM_FI_PROF_DRAM_ACTIVE", gpu: func(g *guard.GPUSample) *guard.Gauge { return &g.DRAM }},

	cpuCores: {query: `sum without (cpu, mode) (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[$rate]))`},
	cores:    {query: `count without (cpu, mode) (` + last(`node_cpu_seconds_total{mode="idle"}`) + `)`},
	rx:       {query: devices("node_network_receive_bytes_total")},
	tx:       {query: devices("node_network_transmit_bytes_total")},
	disk: {query: `sum without (device) (rate(node_disk_read_bytes_total` + disks + `[$rate])) + ` +
		`sum without (device) (rate(node_disk_written_bytes_total` + disks + `[$rate]))`},
	boot: {query: last("node_boot_time_seconds")},
}

// What is used and what is free make the whole of a GPU's memory.
const (
	memUsed metric = "gpu_mem_used"
	memFree metric = "gpu_mem_free"
)

// Keys are the names of all queries, sorted.
func Keys() []string {
	var out []string
	for m := range metrics {
		out = append(out, string(m))
	}
	slices.Sort(out)
	return out
}

// Queries are what a server is asked, by key: the defaults under those of a
// configuration, with the interval filled in.
func Queries(own map[string]string, interval time.Duration) map[string]string {
	out := map[string]string{}
	for m, t := range metrics {
		out[string(m)] = t.query
	}
	maps.Copy(out, own)
	fill := strings.NewReplacer("$interval", seconds(interval), "$rate", seconds(2*interval))
	for key, q := range out {
		if q = strings.TrimSpace(q); q == "" {
			delete(out, key)
			continue
		}
		out[key] = fill.Replace(q)
	}
	return out
}

// seconds writes a duration as PromQL does.
func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
