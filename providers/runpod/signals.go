package runpod

import (
	"context"
	"time"

	"guard"
	"guard/providers"
)

const (
	// heldFor is how old the last listing may be to answer from.
	heldFor = 90 * time.Second
	// A reading stands for the time since the one before it. Of the first, and after a
	// long pause, that is what polls are apart where nothing else is configured.
	farApart  = 15 * time.Minute
	pollEvery = time.Minute
)

// held is what the pods of the last listing told of their work.
type held struct {
	at      time.Time
	samples map[string]guard.Sample // by the instance's ID
}

// Signals gives what RunPod told of each instance in its last listing, which is read again
// only where that is old or known already: the listing of a poll tells both, and one call
// is enough. It is instants, of pods that run. Serverless workers tell nothing.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	if len(q.Of) == 0 {
		return out
	}
	h := p.lastHeld()
	if h.samples == nil || providers.Clock(ctx).Sub(h.at).Abs() > heldFor || !h.newer(q) {
		pods, err := (&listing{p: p}).allPods(providers.Read(ctx))
		if err != nil {
			for i, of := range q.Of {
				out[i].Err = providers.Says("read the signals of", of.Resource.ID, err)
			}
			return out
		}
		h = p.hold(ctx, pods)
	}
	for i, of := range q.Of {
		if s, ok := h.samples[of.Resource.ID.ID]; ok && s.At.After(of.Since) {
			out[i].Samples = []guard.Sample{s}
		}
	}
	return out
}

func (p *Provider) lastHeld() held {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// newer reports whether there is something in it that nobody was told yet.
func (h held) newer(q providers.SignalQuery) bool {
	for _, of := range q.Of {
		if h.at.After(of.Since) {
			return true
		}
	}
	return false
}

// hold keeps what pods tell of their work at the time of the call.
func (p *Provider) hold(ctx context.Context, pods []pod) held {
	h := held{at: providers.Clock(ctx), samples: map[string]guard.Sample{}}
	apart := h.at.Sub(p.lastHeld().at)
	if apart <= 0 || apart > farApart {
		apart = pollEvery
	}
	for _, x := range pods {
		s, ok := p.sample(x)
		if !ok {
			continue
		}
		s.At, s.Interval = h.at, apart
		id, _ := x.key()
		c := x.clusterID()
		if c == "" {
			h.samples[id] = s
			continue
		}
		// A cluster works where any of its nodes does.
		all := h.samples[c]
		s.GPUs, s.Boot = append(all.GPUs, s.GPUs...), ""
		h.samples[c] = s
	}
	p.mu.Lock()
	p.held = h
	p.mu.Unlock()
	return h
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
