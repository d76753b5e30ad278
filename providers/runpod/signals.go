package runpod

import (
	"context"

	"guard"
	"guard/providers"
)

// Signals gives what RunPod told of each instance in its last listing, which is read again
// only where that is old or known already: the listing of a poll tells both, and one call
// is enough. It is instants, of pods that run. Serverless workers tell nothing.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	return p.held.Signals(ctx, q, func(ctx context.Context) error {
		pods, err := (&listing{p: p}).allPods(ctx)
		if err == nil {
			p.hold(ctx, pods)
		}
		return err
	})
}

// hold keeps what pods tell of their work at the time of the call.
func (p *Provider) hold(ctx context.Context, pods []pod) {
	samples := map[string]guard.Sample{}
	for _, x := range pods {
		s, ok := p.sample(x)
		if !ok {
			continue
		}
		id, _ := x.key()
		c := x.clusterID()
		if c == "" {
			samples[id] = s
			continue
		}
		// A cluster works where any of its nodes does.
		s.GPUs, s.Boot = append(samples[c].GPUs, s.GPUs...), ""
		samples[c] = s
	}
	p.held.Hold(providers.Clock(ctx), samples)
}

// sample is what a pod tells of its work; false where it tells nothing. memoryUtil is a
// percentage, of the GPU's memory as the catalogue has it.
func (p *Provider) sample(x pod) (guard.Sample, bool) {
	var runtime struct {
		GPUs providers.Field `json:"gpus"`
		CPU  providers.Field `json:"cpu"`
	}
	if x.state() != guard.StateRunning || !x.Runtime.Into(&runtime) {
		return guard.Sample{}, false
	}
	s := guard.Sample{Basis: guard.Instantaneous, Source: Kind, Boot: x.Started.Text(maxWord)}
	var gpus []struct {
		Util   providers.Field `json:"util"`
		Memory providers.Field `json:"memoryUtil"`
	}
	runtime.GPUs.Into(&gpus)
	model, _, _ := x.gpus()
	total := p.memory(model)
	for _, g := range gpus[:min(len(gpus), maxGPUs)] {
		one := guard.GPUSample{Util: g.Util.Gauge(), MemTotal: total}
		if used := g.Memory.Gauge(); used.OK && total.OK {
			one.MemUsed = guard.Known(used.V / 100 * total.V)
		}
		s.GPUs = append(s.GPUs, one)
	}
	s.CPUCores, s.Cores = x.cores(runtime.CPU)
	return s, len(s.GPUs) > 0 || s.CPUCores.OK
}

// cores is how many of a CPU pod's cores are busy, and how many it has. Of a GPU pod the
// API tells a percentage, and not of how many.
func (x pod) cores(util providers.Field) (busy, all guard.Gauge) {
	var c struct {
		Count providers.Field `json:"vcpuCount"`
	}
	var u struct {
		Util providers.Field `json:"util"`
	}
	if !x.CPU.Into(&c) || !util.Into(&u) {
		return busy, all
	}
	all = c.Count.Gauge()
	if percent := u.Util.Gauge(); percent.OK && all.OK {
		busy = guard.Known(percent.V / 100 * all.V)
	}
	return busy, all
}
