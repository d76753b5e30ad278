package daemon

import (
	"context"
	"slices"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/signals"
	"guard/policy/activity"
	"guard/store/samples"
)

// book is what is known of how hard instances work. It goes on over reloads.
func (d *Daemon) book() *signals.Book {
	kept := d.o.Samples
	if kept == nil {
		kept = samples.Memory()
	}
	return signals.NewBook(signals.Config{Ledger: d.o.Ledger, Store: kept,
		Busy: func() activity.Busy { return d.inForce().Rules.Busy }, Keep: func() time.Duration { return d.inForce().Signals.Keep },
		Kick: d.sched.Kick, Log: d.o.Log})
}

// inForce is the configuration in force, or to come.
func (d *Daemon) inForce() *configs.Config {
	if g := d.gen.Load(); g != nil {
		return g.config
	}
	return d.o.Config
}

// signalLoops are one for each account's own source, and one for each further source
// that tells of it.
func (d *Daemon) signalLoops(g *generation) (loops []Loop) {
	for _, a := range g.accounts {
		loops = append(loops, signals.New(d.signals, a))
		for _, s := range g.sources {
			if len(s.Accounts) == 0 || slices.Contains(s.Accounts, a.Name) {
				loops = append(loops, signals.NewOf(d.signals, a, s))
			}
		}
	}
	return loops
}

func (d *Daemon) recent(ctx context.Context, id guard.ResourceID, since time.Time) ([]guard.Sample, error) {
	return d.signals.Recent(ctx, id.Key(), since)
}
