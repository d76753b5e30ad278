package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/api"
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

// signalsAsked is what the API asks of them.
func (d *Daemon) signalsAsked() api.Signals {
	return api.Signals{
		Push:     d.signals.Push,
		Activity: func(id guard.ResourceID) (activity.State, bool) { return d.signals.Activity(id.Key()) },
		Recent: func(ctx context.Context, id guard.ResourceID, since time.Time) ([]guard.Sample, error) {
			return d.signals.Recent(ctx, id.Key(), since)
		},
		Failing:  func(id guard.ResourceID) []string { return d.signals.Failing(id.Key(), d.inForce().TimeZone) },
		Troubles: d.signalTroubles,
	}
}

// signalTroubles are why samples do not come, or are not stored.
func (d *Daemon) signalTroubles() (out []api.SignalTrouble) {
	for _, b := range d.signals.Broken() {
		out = append(out, api.SignalTrouble{Loop: b.Loop, Text: fmt.Sprintf("signals of %s cannot be read from %s", b.Account, b.Source), Since: b.Since, Why: b.Why})
	}
	if t := d.signals.Trouble(); t != "" {
		out = append(out, api.SignalTrouble{Text: "samples are not stored as they should be: guard works, and may forget at a restart how long a box is idle", Why: t})
	}
	return out
}
