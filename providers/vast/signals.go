package vast

import (
	"context"

	"guard"
	"guard/providers"
)

// Signals gives what Vast told of each instance in its last listing, which is read again
// only where that is old or known already: the listing of a poll tells both, and no call
// more is needed. It is instants, of instances that run.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	return p.held.Signals(ctx, q, func(ctx context.Context) error {
		_, err := (&listing{p: p}).instances(ctx)
		return err
	})
}

// hold keeps what instances tell of their work at the time of the call.
func (p *Provider) hold(ctx context.Context, all []instance) {
	samples := map[string]guard.Sample{}
	for _, x := range all {
		if state, _ := x.state(); state != guard.StateRunning {
			continue
		}
		util := percent(x.Util)
		if !util.OK {
			continue
		}
		id, _ := x.key()
		samples[id] = guard.Sample{Basis: guard.Instantaneous, Source: Kind,
			GPUs: []guard.GPUSample{{Util: util, MemTotal: memory(x.GPURAM)}}}
	}
	p.held.Hold(providers.Clock(ctx), samples)
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
