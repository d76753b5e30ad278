package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/decide"
	"guard/daemon/keep"
	"guard/daemon/meter"
	"guard/daemon/notify"
	"guard/daemon/observe"
	"guard/daemon/release"
	"guard/daemon/report"
	"guard/daemon/signals"
	"guard/policy"
	"guard/providers"
	"guard/store"
)

// identityTimeout bounds how long a start or a reload waits for the accounts to
// say who they are.
const identityTimeout = 20 * time.Second

// generation is everything that one configuration makes: a reload builds a new
// one beside the old and then swaps. All it remembers is losable.
type generation struct {
	config   *configs.Config
	accounts []*providers.Account
	channels []notify.Channel
	clicks   Clicks // nil: there are no buttons
	// missing are accounts that the ledger needs and the configuration lacks.
	missing  []string
	sources  []signals.Source
	standing standing
	decide   *decide.Loop
	digest   *report.Digest
	loops    []Loop
}

func (g *generation) account(name string) (*providers.Account, bool) {
	for _, a := range g.accounts {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}

func (g *generation) names() []string {
	names := make([]string, len(g.accounts))
	for i, a := range g.accounts {
		names[i] = a.Name
	}
	return names
}

func (g *generation) channelNames() []string {
	names := make([]string, len(g.channels))
	for i, c := range g.channels {
		names[i] = c.Name()
	}
	return names
}

// audience is who reads each channel, in the language that the channel has. What is there
// only for what the others cannot be told is not among them.
func (g *generation) audience() []guard.Audience {
	out := make([]guard.Audience, 0, len(g.channels))
	for _, c := range g.channels {
		if !notify.IsFallback(c) {
			out = append(out, notify.AudienceOf(c))
		}
	}
	return out
}

// build makes a generation. It changes nothing that is running.
func (d *Daemon) build(ctx context.Context, c *configs.Config, starting bool) (*generation, error) {
	g := &generation{config: c}
	var err error
	if g.standing, err = readStanding(ctx, d.o.Ledger); err != nil {
		return nil, err
	}
	for _, ca := range c.Accounts {
		a, err := d.open(ctx, ca)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", ca.Name, err)
		}
		a.Mode = g.standing.mode(ca.Name, ca.Mode)
		g.accounts = append(g.accounts, a)
	}
	if err := d.distinct(ctx, g.accounts, starting); err != nil {
		return nil, err
	}
	if g.channels, err = d.o.Channels(c); err != nil {
		return nil, err
	}
	if g.clicks, err = d.clicksOf(c); err != nil {
		return nil, err
	}
	if d.o.Sources != nil {
		if g.sources, err = d.o.Sources(c); err != nil {
			return nil, err
		}
	}
	if g.missing, err = d.missing(ctx, c); err != nil {
		return nil, err
	}
	d.wire(g)
	return g, nil
}

func (d *Daemon) open(ctx context.Context, ca configs.Account) (*providers.Account, error) {
	factory, ok := d.o.Factories[ca.Provider]
	if !ok {
		return nil, fmt.Errorf("%w: there is no provider %q in this guardd", guard.ErrUnsupported, ca.Provider)
	}
	p, err := factory(ctx, ca)
	if err != nil {
		return nil, err
	}
	a := providers.NewAccount(ca.Name, ca.Provider, p)
	a.MayRelease = ca.MayRelease
	at := d.now().Wall
	a.Poll, a.PollAt = interval(ca.Poll, at)
	a.Sweep, a.SweepAt = interval(ca.Sweep, at)
	return a, nil
}

// interval is how far apart the times of a schedule are, and for a cron spec the
// function that tells them.
func interval(s configs.Schedule, at time.Time) (time.Duration, func(time.Time) time.Time) {
	if d, ok := s.Interval(); ok {
		return d, nil
	}
	first := s.Next(at)
	return s.Next(first).Sub(first), s.Next
}

// wire makes the loops, in the order of a cycle.
func (d *Daemon) wire(g *generation) {
	o, kick := d.o, d.sched.Kick
	sweeps := map[string]func(){}
	sweep := func(account string) {
		if s := sweeps[account]; s != nil {
			s()
		}
	}
	for _, a := range g.accounts {
		others := slices.DeleteFunc(g.names(), func(name string) bool { return name == a.Name })
		l := observe.New(observe.Config{Ledger: o.Ledger, Account: a, Others: others, Boot: o.Boot, Term: d.term, Rival: d.halt,
			Rules: g.config.Rules, Kick: kick, Log: o.Log})
		sweeps[a.Name] = func() { l.RequestSweep(); kick(l.Name()) }
		g.loops = append(g.loops, l)
	}
	g.loops = append(g.loops, d.signalLoops(g)...)
	rules, zone, audience := g.config.Rules, g.config.TimeZone, g.audience()
	g.decide = decide.New(decide.Config{Ledger: o.Ledger, Accounts: g.accounts, Rules: rules, Audience: audience, Fallback: g.fallbacks(),
		Zone: zone, Clock: d.time.Belief, Activity: d.signals.Activity, Stirred: d.signals.Stirred, Kick: kick, Log: o.Log})
	g.loops = append(g.loops,
		meter.New(meter.Config{Ledger: o.Ledger, Account: g.account, Rules: rules, Kick: kick, Sweep: sweep, Log: o.Log}),
		g.decide)
	releases := func(name string, a *providers.Account) {
		judging, calling := release.New(release.Config{Ledger: o.Ledger, AccountName: name, Account: a, Judge: g.decide,
			Verify: rules.Verify, ForcedUnprotect: rules.Limits.ForcedUnprotect, Parallel: o.Parallel, Audience: audience, Zone: zone,
			Kick: kick, Sweep: sweep, Log: o.Log})
		g.loops = append(g.loops, judging, calling)
	}
	for _, a := range g.accounts {
		releases(a.Name, a)
	}
	for _, name := range g.missing {
		releases(name, nil)
	}
	g.loops = append(g.loops, notify.New(notify.Config{Ledger: o.Ledger, Log: o.Log, Kick: kick, Quiet: g.config.Notify.Quiet.Ends, Zone: g.config.TimeZone}, g.channels...), d.keep)
	if d.spool != nil {
		g.loops = append(g.loops, d.spool)
	}
	g.loops = append(g.loops, d.reports(g)...)
}

// kept is how the configuration in force wants the ledger's file kept.
func (d *Daemon) kept() keep.Settings {
	g := d.gen.Load()
	c := g.config
	return keep.Settings{Off: c.Backup.Off, Dir: c.Backup.Dir, Next: c.Backup.Schedule.Next, Keep: c.Backup.Keep,
		Retention: c.Retention, Audience: g.audience(), Zone: c.TimeZone}
}

// shown is how many things a sentence names; named, how many a refusal does, which people
// have to see to one by one.
const (
	shown = 10
	named = 100
)

// need is what the ledger still holds of an account.
type need struct {
	account string
	ids     []string
}

func (n need) String() string { return n.account + " (" + policy.Few(n.ids, named) + ")" }

// needs lists the accounts that open leases and releases belong to.
func (d *Daemon) needs(ctx context.Context) ([]need, error) {
	ids := map[string][]string{}
	err := d.o.Ledger.View(ctx, func(v *store.View) error {
		clear(ids)
		for l, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			if l.Status.Open() {
				ids[l.Resource.Account] = append(ids[l.Resource.Account], l.Resource.String())
			}
		}
		for r, err := range v.Releases.All("") {
			if err != nil {
				return err
			}
			if !slices.Contains(ids[r.Target.Account], r.Target.String()) {
				ids[r.Target.Account] = append(ids[r.Target.Account], r.Target.String())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]need, 0, len(ids))
	for account, of := range ids {
		slices.Sort(of)
		out = append(out, need{account, of})
	}
	slices.SortFunc(out, func(a, b need) int { return strings.Compare(a.account, b.account) })
	return out, nil
}

// stillNeeded refuses a configuration that drops or swaps an account on which
// the ledger has open leases or releases: they would go on billing unwatched.
func (d *Daemon) stillNeeded(ctx context.Context, c *configs.Config) error {
	needs, err := d.needs(ctx)
	if err != nil {
		return err
	}
	var lost []string
	for _, n := range needs {
		if a, ok := c.Account(n.account); !ok {
			lost = append(lost, n.String())
		} else if old, ok := d.gen.Load().config.Account(n.account); ok && old.Provider != a.Provider {
			lost = append(lost, n.String()+" under provider "+a.Provider)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%w: the new configuration drops accounts that open leases still need: %s. Keep the account until they are released",
			guard.ErrRefused, strings.Join(lost, "; "))
	}
	return nil
}

// missing are the accounts that the ledger needs and the configuration lacks.
// At a start they are watched as far as that goes without credentials: their
// releases are blocked and people are told.
func (d *Daemon) missing(ctx context.Context, c *configs.Config) ([]string, error) {
	needs, err := d.needs(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range needs {
		if _, ok := c.Account(n.account); !ok {
			names = append(names, n.account)
			d.o.Log.Error("account missing in the configuration", "account", n.account, "needed_by", n.String())
		}
	}
	return names, nil
}
