package compshare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers"
)

// atOnce is how many instances may be asked about in one call (pages).
const atOnce = 10

// window is what is told of where more than one is asked about (pages), and asked for always.
const window = time.Minute

// Signals reads what CompShare's monitoring told of each instance in the last minute: a call
// for each ten in one region. Of one whose region is not known, it is read first.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	asked, err := p.regions(ctx, q)
	told := map[string]providers.Signals{}
	for _, region := range slices.Sorted(maps.Keys(asked)) {
		for batch := range slices.Chunk(asked[region], atOnce) {
			samples, failed := map[string][]guard.Sample(nil), err
			if failed == nil {
				samples, failed = p.monitor(ctx, region, batch)
			}
			if providers.EndsAll(failed) {
				err = failed
			}
			for _, id := range batch {
				told[id] = providers.Signals{Samples: samples[id], Err: failed}
			}
		}
	}
	for i, of := range q.Of {
		x, ok := told[of.Resource.ID.ID]
		switch {
		case !ok && err != nil:
			x.Err = err
		case ok:
			x.Samples = slices.DeleteFunc(slices.Clone(x.Samples), func(s guard.Sample) bool { return !s.At.After(of.Since) })
		}
		if out[i] = x; x.Err != nil {
			out[i].Err = providers.Says("read the signals of", of.Resource.ID, x.Err)
		}
	}
	return out
}

// regions sorts instances by where they are; those that are nowhere are left out.
func (p *Provider) regions(ctx context.Context, q providers.SignalQuery) (map[string][]string, error) {
	var missing []string
	for _, of := range q.Of {
		if id := of.Resource.ID.ID; p.quoteOf(id).region == "" && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	for batch := range slices.Chunk(missing, pageSize) {
		told, _, err := p.byID(ctx, batch)
		if err != nil {
			return nil, err
		}
		for _, x := range told {
			p.keep(x, providers.Clock(ctx))
		}
	}
	out := map[string][]string{}
	for _, of := range q.Of {
		id := of.Resource.ID.ID
		if region := p.quoteOf(id).region; region != "" && !slices.Contains(out[region], id) {
			out[region] = append(out[region], id)
		}
	}
	return out, nil
}

// The metrics that are read, in percent (pages).
const (
	gpuUtil   = "cloudwatch_gpu_util"
	gpuMemory = "cloudwatch_gpu_memory_usage"
	cpuUsed   = "uhost_cpu_used"
)

// point is one value of a metric; of a GPU, bus tells which.
type point struct {
	metric, bus string
	value       guard.Gauge
}

// monitor reads the samples of some instances in one region.
func (p *Provider) monitor(ctx context.Context, region string, ids []string) (map[string][]guard.Sample, error) {
	body, err := p.ask(ctx, "GetCompShareInstanceMonitor", params{"Region": region, "UHostIds": ids})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Data struct {
			List providers.Field `json:"List"`
		} `json:"Data"`
	}
	var hosts []providers.Field
	if body.Into(&reply); !reply.Data.List.Into(&hosts) {
		return nil, fmt.Errorf("%w: the answer has no list of samples in it", guard.ErrBadReply)
	}
	out := map[string][]guard.Sample{}
	for _, f := range hosts {
		var x struct {
			ID      providers.Field `json:"UHostId"`
			Metrics providers.Field `json:"Metrics"`
		}
		f.Into(&x)
		if id, ok := x.ID.ID(maxID); ok && slices.Contains(ids, id) {
			out[id] = p.quoteOf(id).samples(points(x.Metrics), providers.Clock(ctx))
		}
	}
	return out, nil
}

// points are the values of the metrics that are read, by their time.
func points(metrics providers.Field) map[time.Time][]point {
	out := map[time.Time][]point{}
	var all []struct {
		Key     providers.Field `json:"MetricKey"`
		Tags    providers.Field `json:"Tags"`
		Results providers.Field `json:"Results"`
	}
	metrics.Into(&all)
	for _, m := range all {
		key := m.Key.Text(maxWord)
		var results []struct {
			Tags   providers.Field `json:"TagMap"`
			Values providers.Field `json:"Values"`
		}
		if key != gpuUtil && key != gpuMemory && key != cpuUsed || !m.Results.Into(&results) {
			continue
		}
		for i, r := range results[:min(len(results), maxGPUs)] {
			bus := cmp.Or(busOf(r.Tags, 0), busOf(m.Tags, i), strconv.Itoa(i))
			var values []struct {
				At    providers.Field `json:"Timestamp"`
				Value providers.Field `json:"Value"`
			}
			r.Values.Into(&values)
			for _, v := range values[:min(len(values), mostPoints)] {
				if at := unix(v.At); !at.IsZero() && v.Value.Gauge().OK {
					out[at] = append(out[at], point{key, bus, v.Value.Gauge()})
				}
			}
		}
	}
	return out
}

// busOf is the GPU that tags name, and the i-th where they are the tags of several; "" for
// none.
func busOf(tags providers.Field, i int) string {
	var t struct {
		Bus providers.Field `json:"gpu_bus_id"`
	}
	tags.Into(&t)
	var several []providers.Field
	if t.Bus.Into(&several) && i < len(several) {
		return several[i].Text(maxWord)
	}
	return t.Bus.Text(maxWord)
}

// mostPoints is how many values of one metric a minute may have.
const mostPoints = 600

// samples makes samples of values. Each is of one reading, as far as anybody says.
func (q quote) samples(at map[time.Time][]point, now time.Time) []guard.Sample {
	var out []guard.Sample
	before := time.Time{}
	for _, t := range slices.SortedFunc(maps.Keys(at), time.Time.Compare) {
		if t.After(now.Add(providers.Skew)) {
			continue
		}
		apart := window
		if !before.IsZero() {
			apart = t.Sub(before)
		}
		s := guard.Sample{At: t, Interval: apart, Basis: guard.Instantaneous, Source: Kind}
		before = t
		gpus := map[string]guard.GPUSample{}
		for _, v := range at[t] {
			g := gpus[v.bus]
			switch v.metric {
			case gpuUtil:
				if !g.Util.OK || v.value.V > g.Util.V { // of two that claim to be one GPU, the one that works
					g.Util = v.value
				}
			case gpuMemory:
				if g.MemTotal = q.gpuMiB; q.gpuMiB.OK {
					g.MemUsed = guard.Known(v.value.V / 100 * q.gpuMiB.V)
				}
			case cpuUsed:
				if s.Cores = q.cpus; q.cpus.OK {
					s.CPUCores = guard.Known(v.value.V / 100 * q.cpus.V)
				}
				continue
			}
			gpus[v.bus] = g
		}
		for _, bus := range slices.SortedFunc(maps.Keys(gpus), cmp.Compare) {
			s.GPUs = append(s.GPUs, gpus[bus])
		}
		out = append(out, s)
	}
	return out
}
