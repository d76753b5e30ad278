//go:build linux

package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/signals/machine"
)

// Options are what an agent works with.
type Options struct {
	Resource string // ACCOUNT/ID of this box
	Version  string
	Every    time.Duration // how long one sample stands for
	// Dir is where the state is kept and what waits for guardd; Run is where jobs on this
	// box say that they run (its folder beats) and find the notice of a release.
	Dir, Run string
	GPUs     GPUs
	Box      Box
	// Send calls guardd. Errors of the kinds of wire.Error are guardd's own words; any
	// other is that it was not heard. One with RetryAfter says when to come again.
	Send func(context.Context, wire.AgentRequest) (wire.AgentAnswer, error)
	// Fuse is the dead-man fuse; nil: there is none.
	Fuse *Fuse
	// Now tells both clocks, and Chance a number in [0, 1).
	Now    func() guard.Instant
	Chance func() float64
	Log    *slog.Logger
}

// Fuse ends the box in guard's place: where guard is silent, or has no way of its own.
type Fuse struct {
	After time.Duration // of guard's silence
	Does  string        // for people
	// DryRun says what would be done and does nothing.
	DryRun bool
	// Fire does it. It is called again some minutes later where it fails, or where the box
	// goes on all the same.
	Fire func(context.Context) error
}

// agent is one run of it.
type agent struct {
	Options
	boot  string
	queue buffer
	wake  chan struct{}

	mu       sync.Mutex
	window   window
	procs    guard.Sample // the last list of processes
	listed   guard.Instant
	troubles map[string]string
	state    state
	vain     guard.Instant // since when guardd does not answer
	skew     time.Duration // guardd's clock minus this one, as last told
	burn     Burn
	fired    guard.Instant

	// Of the shipping loop alone: why guardd takes nothing, as last told.
	said string
	// Of the sampling loop alone.
	counters *machine.Counters
	read     guard.Instant
}

// Run samples and sends until ctx ends. An error means that it could not begin.
func Run(ctx context.Context, o Options) error {
	if err := makeFolders(o); err != nil {
		return err
	}
	held, err := lock(o.Dir)
	if err != nil {
		return err
	}
	defer held.Close()
	a := &agent{Options: o, boot: o.Box.Boot(), wake: make(chan struct{}, 1), troubles: map[string]string{}, burn: FuseOff}
	if a.state, err = recall(o.Dir, o.Resource); err != nil {
		return err
	}
	a.queue = buffer{most: mostWaiting, stream: rand.Text(), file: filepath.Join(o.Dir, samplesFile)}
	if err := a.queue.load(); err != nil {
		return err
	}
	a.tellFuse()
	c := o.Box.Counters()
	a.counters, a.read = &c, o.Now()
	var wg sync.WaitGroup
	wg.Go(func() { o.GPUs.Run(ctx, a.reading, func(why string) { a.trouble("gpus", why) }) })
	wg.Go(func() { a.ship(ctx) })
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			a.sample()
			a.watch(ctx)
		}
	}
	wg.Wait()
	if err := a.queue.keep(); err != nil {
		a.Log.Warn("samples that wait are lost", "error", err.Error())
	}
	return nil
}

// reading takes in what was read of the GPUs.
func (a *agent) reading(s guard.Sample) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.GPUs != nil {
		a.window.add(s.GPUs, s.Interval)
	}
	if s.Processes.OK {
		a.procs, a.listed = guard.Sample{Processes: s.Processes, GPUProcesses: s.GPUProcesses}, a.Now()
	}
}

// trouble records what cannot be read, and says so once.
func (a *agent) trouble(what, why string) {
	a.mu.Lock()
	was := a.troubles[what]
	a.troubles[what] = why
	a.mu.Unlock()
	switch {
	case why != "" && why != was:
		a.Log.Warn("cannot read all of the box", "what", what, "why", why)
	case why == "" && was != "":
		a.Log.Info("can read again", "what", what)
	}
}

// sample makes the sample of the interval that ends now. After a sleep there is none: what
// went on in it nobody has seen.
func (a *agent) sample() {
	at := a.Now()
	took := at.Sub(a.read).Round(100 * time.Millisecond) // timers are not exact, and a second is the least
	if took < time.Second {
		return
	}
	c := a.Box.Counters()
	x := guard.Sample{At: at.Wall, Interval: took, Basis: guard.Summary, Source: "agent"}
	c.Fill(&x, a.counters, took)
	a.counters, a.read = &c, at
	a.mu.Lock()
	// A third of the time: nvidia-smi takes its own on a box that works hard.
	x.GPUs = a.window.summary(a.Every / 3)
	a.window = window{}
	if !a.listed.IsZero() && at.Sub(a.listed) < 2*appsEvery+a.Every {
		x.Processes, x.GPUProcesses = a.procs.Processes, append([]guard.GPUProcess(nil), a.procs.GPUProcesses...)
	}
	slept := took > 2*a.Every
	if slept {
		a.vain = guard.Instant{} // nobody was called in that time
	}
	a.mu.Unlock()
	if slept {
		return
	}
	a.Box.Processes(&x)
	x.Sessions, x.InputAge = a.Box.Sessions(at.Wall)
	x.HeartbeatAge = a.Box.Heartbeat(at.Wall)
	a.queue.push(x, a.boot, at)
	a.kick()
}

// kick has what waits sent now.
func (a *agent) kick() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// request is what is sent next, after so many failures in a row: the less the more there
// were, for a line may be too slow for all that waits.
func (a *agent) request(failures int) (wire.AgentRequest, error) {
	at := a.Now()
	batch, rest, lost, err := a.queue.batch(a.boot, at, max(mostBatch>>failures, 1))
	if err != nil {
		return wire.AgentRequest{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := wire.AgentRequest{ID: a.Resource, SentAt: at.Wall, Version: a.Version, Boot: a.boot, Samples: batch, Waiting: rest, Lost: lost}
	if r.Samples == nil {
		r.Samples = []wire.AgentSample{}
	}
	r.Trouble = cmp.Or(a.troubles["gpus"], a.troubles["disk"])
	if f := a.Fuse; f != nil {
		v := Judge(f.After, a.state.Heard, a.scene(at))
		r.Fuse = &wire.AgentFuse{State: string(v.Burn), After: short(f.After), Does: f.Does, DryRun: f.DryRun, Why: v.Why}
		if !v.At.IsZero() {
			t := v.At.Wall.Add(a.skew)
			r.Fuse.At = &t
		}
	}
	return r, nil
}

// scene is the moment for the fuse. The caller holds the lock.
func (a *agent) scene(at guard.Instant) Scene {
	return Scene{At: at, Boot: a.boot, Vain: a.vain}
}

// makeFolders makes what Run needs; jobs of every user may leave a file in beats.
func makeFolders(o Options) error {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	if err := os.MkdirAll(o.Box.Beats, 0o755); err != nil {
		return fmt.Errorf("make the folder for heartbeats: %w", err)
	}
	return os.Chmod(o.Box.Beats, 0o777|os.ModeSticky)
}
