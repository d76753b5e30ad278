package vast

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

// held is what the instances of the last listing told of their work.
type held struct {
	at      time.Time
	samples map[string]guard.Sample // by the instance's ID
}

// Signals gives what Vast told of each instance in its last listing, which is read again
// only where that is old or known already: the listing of a poll tells both, and no call
// more is needed. It is instants, of instances that run.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	if len(q.Of) == 0 {
		return out
	}
	h := p.lastHeld()
	if h.samples == nil || providers.Clock(ctx).Sub(h.at).Abs() > heldFor || !h.newer(q) {
		if _, err := (&listing{p: p}).instances(providers.Read(ctx)); err != nil {
			for i, of := range q.Of {
				out[i].Err = providers.Says("read the signals of", of.Resource.ID, err)
			}
			return out
		}
		h = p.lastHeld()
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

// hold keeps what instances tell of their work at the time of the call.
func (p *Provider) hold(ctx context.Context, all []instance) {
	h := held{at: providers.Clock(ctx), samples: map[string]guard.Sample{}}
	apart := h.at.Sub(p.lastHeld().at)
	if apart <= 0 || apart > farApart {
		apart = pollEvery
	}
	for _, x := range all {
		if state, _ := x.state(); state != guard.StateRunning {
			continue
		}
		util := percent(x.Util)
		if !util.OK {
			continue
		}
		id, _ := x.key()
		h.samples[id] = guard.Sample{At: h.at, Interval: apart, Basis: guard.Instantaneous, Source: Kind,
			GPUs: []guard.GPUSample{{Util: util, MemTotal: memory(x.GPURAM)}}}
	}
	p.mu.Lock()
	p.held = h
	p.mu.Unlock()
}

// percent is a utilisation. The description calls it a fraction, and the CLI prints it as a
// percentage: above 1 it can only be the latter, nothing is nothing, and what lies between
// may be either. Below 0 there is no data.
func percent(f providers.Field) guard.Gauge {
	g := f.Gauge()
	if !g.OK || g.V < 0 || g.V > 0 && g.V <= 1 || g.V > 100 {
		return guard.Gauge{}
	}
	return g
}

// memory is that of a GPU, in MiB.
func memory(f providers.Field) guard.Gauge {
	if n, ok := f.Count(maxGB); ok && n > 0 {
		return guard.Known(float64(n))
	}
	return guard.Gauge{}
}
