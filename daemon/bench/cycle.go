package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/client"
	"guard/providers"
	"guard/store"
)

// times is how often what is short is measured.
const times = 3

// cost measures one stretch of work. Garbage of what was before is collected first.
func (b *bench) cost(ctx context.Context, work func() error) (c Cost, err error) {
	debug.FreeOSMemory()
	cloud, err := b.cloud.used(ctx)
	if err != nil {
		return c, err
	}
	updates, puts, size, runs := b.counts.updates.Load(), b.counts.puts.Load(), b.counts.bytes.Load(), b.runs()
	before, err := used()
	if err != nil {
		return c, err
	}
	if err := work(); err != nil {
		return c, err
	}
	after, err := used()
	if err != nil {
		return c, err
	}
	served, err := b.cloud.used(ctx)
	if err != nil {
		return c, err
	}
	c = Cost{CPU: ms(after.CPU - before.CPU), Wall: ms(after.wall.Sub(before.wall)), CloudCPU: ms(served.CPU - cloud.CPU),
		Alloc: mb(int64(after.alloc - before.alloc)), Updates: b.counts.updates.Load() - updates, Puts: b.counts.puts.Load() - puts,
		Bytes: b.counts.bytes.Load() - size, N: 1}
	if b.daemon != nil {
		c.Loops = b.runs()
		for name, n := range runs {
			c.Loops[name] -= n
		}
	}
	return c, nil
}

// runs is how often each loop ran so far, accounts taken together.
func (b *bench) runs() map[string]uint64 {
	out := map[string]uint64{}
	if b.daemon == nil {
		return out
	}
	for _, l := range b.daemon.Scheduler().Status() {
		name, _, _ := strings.Cut(l.Name, "/")
		out[name] += l.Runs
	}
	return out
}

// repeat is the median of several.
func (b *bench) repeat(ctx context.Context, n int, work func() error) (Cost, error) {
	var all []Cost
	for range n {
		c, err := b.cost(ctx, work)
		if err != nil {
			return c, err
		}
		all = append(all, c)
	}
	c := median(all, func(c Cost) float64 { return c.CPU })
	c.N = n
	return c, nil
}

// over sets the ratio to a bare loop.
func (c *Cost) over(bare Cost) {
	if bare.CPU > 0 {
		x := round(c.CPU / bare.CPU)
		c.XBare = &x
	}
}

// bare measures the loops that only read.
func (b *bench) bare(ctx context.Context) (err error) {
	var accounts []providers.Provider
	for i := range b.Fleet.Accounts {
		p, err := b.cloud.provider(accountName(i))
		if err != nil {
			return err
		}
		accounts = append(accounts, p)
	}
	read := func(kinds ...guard.Kind) func() error {
		return func() error {
			for _, p := range accounts {
				inv, err := p.List(guard.WithInstant(ctx, b.now()), providers.Query{Kinds: kinds})
				if err != nil {
					return err
				}
				for _, res := range inv.Results {
					if res.Err != nil {
						return res.Err
					}
				}
			}
			return nil
		}
	}
	all := []guard.Kind{guard.Instance, guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem}
	if err := read(all...)(); err != nil { // connections, caches
		return err
	}
	if b.result.Cycles.BareAll, err = b.repeat(ctx, times, read(all...)); err != nil {
		return err
	}
	b.result.Cycles.BareInstances, err = b.repeat(ctx, times, read(guard.Instance))
	return err
}

// full measures the first round of a daemon that starts on a ledger which holds
// nothing but leases.
func (b *bench) full(ctx context.Context) (err error) {
	if _, err := b.open(ctx, func() error { return b.register(ctx) }); err != nil {
		return err
	}
	resetPeak()
	b.result.Cycles.Full, err = b.profiled(ctx, "full", func() (Cost, error) {
		return b.cost(ctx, func() error { return b.settle(ctx) })
	})
	b.result.Cycles.Full.over(b.result.Cycles.BareAll)
	return err
}

func (b *bench) profiled(ctx context.Context, name string, work func() (Cost, error)) (Cost, error) {
	if b.Profile == nil {
		return work()
	}
	stop, err := b.Profile(name)
	if err != nil {
		return Cost{}, err
	}
	defer stop()
	return work()
}

// register writes the leases, shuffled over all accounts and ending ten a second,
// with guard's tags as they are after a lease's first minutes.
func (b *bench) register(ctx context.Context) error {
	var leases []guard.Lease
	for i := range b.Fleet.Accounts {
		_, own := b.Fleet.account(i)
		leases = append(leases, own...)
	}
	rnd := rand.New(rand.NewPCG(b.Fleet.Seed, 1<<32)) //nolint:gosec // a fleet is not a secret
	rnd.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	b.result.Parameters.Leases = len(leases)
	dueUntil := min(int(b.Due/time.Second)*perSecond, len(leases)/4)
	return b.ledger.UpdateEach(ctx, len(leases), func(tx *store.Tx, i int) error {
		l := leases[i]
		l.ExpiresAt = l.ExpiresAt.Add(time.Duration(i/perSecond) * time.Second)
		l.TagsWritten = written(l, b.ledger.Deployment())
		if i < dueUntil {
			b.due[l.Resource.Key()] = l.ExpiresAt
		}
		return tx.Leases.Put(l)
	})
}

// quiet lets the fleet come to rest and measures rounds in which all is listed,
// metered and judged while nothing changes; then what the process holds.
func (b *bench) quiet(ctx context.Context) (err error) {
	for _, d := range []time.Duration{poll, poll, poll, sweep, sweep, sweep} {
		if err := b.pass(ctx, d); err != nil {
			return err
		}
	}
	writes := b.cloud.writes.Load()
	b.result.Cycles.Quiet, err = b.profiled(ctx, "quiet", func() (Cost, error) {
		return b.repeat(ctx, times, func() error { return b.pass(ctx, sweep) })
	})
	if err != nil {
		return err
	}
	if n := b.cloud.writes.Load() - writes; n > 0 {
		return fmt.Errorf("%w: the fleet is not quiet: the daemon asked the cloud for %d changes", guard.ErrUncertain, n)
	}
	b.result.Cycles.Quiet.over(b.result.Cycles.BareAll)
	before, err := used()
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	after, err := used()
	if err != nil {
		return err
	}
	if b.Heap != nil {
		if err := b.Heap(); err != nil {
			return err
		}
	}
	cloud, err := b.cloud.used(ctx)
	b.result.Memory = Memory{Resident: mb(before.RSS), AfterGC: mb(after.RSS), Heap: mb(after.Anon), Peak: mb(before.Peak), Cloud: mb(cloud.RSS)}
	return err
}

// minutes measures ordinary polls while nothing changes, and what they leave in the
// ledger. The start before them listed everything.
func (b *bench) minutes(ctx context.Context) error {
	if err := b.pass(ctx, 0); err != nil {
		return err
	}
	held, _, err := b.reopened(ctx)
	if err != nil {
		return err
	}
	// The new daemon's first round is not a quiet one.
	for range 2 {
		if err := b.pass(ctx, poll); err != nil {
			return err
		}
	}
	written := b.counts.bytes.Load()
	before, err := used()
	if err != nil {
		return err
	}
	b.result.Cycles.Minute, err = b.profiled(ctx, "minute", func() (Cost, error) {
		return b.repeat(ctx, b.Minutes, func() error { return b.pass(ctx, poll) })
	})
	if err != nil {
		return err
	}
	after, err := used()
	if err != nil {
		return err
	}
	b.result.Cycles.Minute.over(b.result.Cycles.BareInstances)
	scale := 24 * 60 / float64(b.Minutes) / float64(b.Fleet.Instances)
	q := QuietDay{Minutes: b.Minutes, Written: round(float64(b.counts.bytes.Load()-written) * scale)}
	if before.Disk >= 0 && after.Disk >= 0 {
		disk := round(float64(after.Disk-before.Disk) * scale)
		q.Disk = &disk
	}
	now, file, err := b.reopened(ctx)
	if err != nil {
		return err
	}
	q.Kept, q.Held, q.File = round(float64(now-held)*scale), mb(now), mb(file)
	b.result.QuietDay = q
	return b.pass(ctx, 0)
}

// up asks the API whether the daemon is.
func (b *bench) up(ctx context.Context) error {
	c, err := client.New(client.Options{Transport: client.InProcess(api.As(api.Caller{Name: "bench", Role: guard.Admin}, b.daemon.Handler()))})
	if err != nil {
		return err
	}
	h, err := c.Health(ctx)
	if err == nil && !h.OK {
		err = fmt.Errorf("%w: the daemon does not call itself healthy after a start", guard.ErrUnavailable)
	}
	return err
}

// starts measures starts on the ledger as it is.
func (b *bench) starts(ctx context.Context) error {
	var all []opened
	for range times {
		if err := b.shut(); err != nil {
			return err
		}
		debug.FreeOSMemory()
		before, err := used()
		if err != nil {
			return err
		}
		o, err := b.open(ctx, nil)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := b.up(ctx); err != nil {
			return err
		}
		o.daemon += time.Since(start)
		after, err := used()
		if err != nil {
			return err
		}
		o.cpu = after.CPU - before.CPU
		all = append(all, o)
	}
	o := median(all, func(o opened) float64 { return float64(o.total()) })
	b.result.Start = Start{Total: ms(o.total()), File: ms(o.file), Ledger: ms(o.ledger), Daemon: ms(o.daemon), CPU: ms(o.cpu), N: len(all)}
	return nil
}
