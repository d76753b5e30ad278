package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"guard"
	"guard/configs"
	"guard/daemon/decide"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/say"
	"guard/providers"
	"guard/store"
)

// dooms are leases that something dooms, in the order of their IDs.
type dooms []decide.Doom

func sorted(m map[guard.ResourceID]decide.Doom) dooms {
	out := make(dooms, 0, len(m))
	for _, d := range m {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b decide.Doom) int { return strings.Compare(a.Resource.Key(), b.Resource.Key()) })
	return out
}

// in keeps those of some accounts.
func (ds dooms) in(accounts map[string]bool) dooms {
	return slices.DeleteFunc(slices.Clone(ds), func(d decide.Doom) bool { return !accounts[d.Resource.Account] })
}

func (ds dooms) ids() []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.Resource.String()
	}
	return out
}

// accounts are those that they are in, each once.
func (ds dooms) accounts() map[string]bool {
	out := map[string]bool{}
	for _, d := range ds {
		out[d.Resource.Account] = true
	}
	return out
}

// wire is what people are shown of them.
func (ds dooms) wire(c *configs.Config) []wire.Doomed {
	out := make([]wire.Doomed, len(ds))
	for i, d := range ds {
		w := wire.Doomed{ID: d.Resource.String(), Name: d.Name, Owner: d.Lease.Owner, Purpose: d.Lease.Purpose,
			Does: string(d.Act.Action), Limit: string(d.Act.Cause), Why: d.Act.Why, At: d.Act.Limit.In(c.TimeZone), Spend: []string{}}
		for _, m := range d.Spend.Totals {
			w.Spend = append(w.Spend, m.Round().String())
		}
		if d.Spend.Hourly.IsSet() {
			text := d.Spend.Hourly.Round().String()
			w.Hourly = &text
		}
		out[i] = w
	}
	return out
}

// newly is what one set of rules dooms and another spares, now.
func newly(ctx context.Context, at guard.Instant, before, after *decide.Loop) (dooms, error) {
	spared, err := before.Doomed(ctx, at)
	if err != nil {
		return nil, err
	}
	doomed, err := after.Doomed(ctx, at)
	if err != nil {
		return nil, err
	}
	for id := range spared {
		delete(doomed, id)
	}
	return sorted(doomed), nil
}

// inForceName is the ledger's value with what was last in force.
const inForceName = "daemon/in-force"

// inForce is what of a configuration can doom a lease, kept so that a restart is
// compared with what was in force before it.
type inForce struct {
	Rules policy.Rules                    `json:"rules"`
	May   map[string]providers.MayRelease `json:"may"`
}

func (g *generation) inForce() inForce {
	f := inForce{Rules: g.config.Rules, May: map[string]providers.MayRelease{}}
	for _, a := range g.accounts {
		f.May[a.Name] = a.MayRelease
	}
	return f
}

// same reports whether two configurations doom the same. Both are compared as they
// are kept.
func (f inForce) same(o inForce) bool {
	a, errA := json.Marshal(f)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// before judges by what was in force before this start; nil where nothing is on
// record, or where that is in force still: to judge a large ledger twice takes
// most of a start.
func (d *Daemon) before(ctx context.Context, g *generation) (*decide.Loop, error) {
	// What an older guard did not know of yet was as its default is.
	was := inForce{Rules: policy.DefaultRules()}
	known := false
	err := d.o.Ledger.View(ctx, func(v *store.View) (err error) {
		known, err = v.Value(inForceName, &was)
		return err
	})
	if err != nil || !known || was.same(g.inForce()) {
		return nil, err
	}
	var accounts []*providers.Account
	for _, now := range g.accounts {
		a := *now
		if may, ok := was.May[a.Name]; ok {
			a.MayRelease = may
		}
		accounts = append(accounts, &a)
	}
	return decide.New(decide.Config{Ledger: d.o.Ledger, Accounts: accounts, Rules: was.Rules, Zone: g.config.TimeZone, Log: d.o.Log}), nil
}

// begin compares a start with what was in force before it. Guard does not refuse to
// start, for then nobody would watch at all: what is newly doomed gets fresh notice,
// and people are told.
func (d *Daemon) begin(ctx context.Context, g *generation, at guard.Instant) error {
	was, err := d.before(ctx, g)
	if err != nil {
		return err
	}
	var doomed dooms
	if was != nil {
		if doomed, err = newly(ctx, at, was, g.decide); err != nil {
			return err
		}
		doomed = doomed.in(enforcing(g.accounts))
	}
	if len(doomed) > 0 {
		d.o.Log.Warn("the configuration newly dooms leases", "count", len(doomed), "leases", policy.Few(doomed.ids(), shown))
	}
	if err := d.giveNotice(ctx, at, "the configuration was changed", doomed.accounts()); err != nil {
		return err
	}
	return d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		if len(doomed) > 0 {
			if err := tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "started", Text: startedOver(doomed, at, guard.English).Title}); err != nil {
				return err
			}
			if err := d.queue(tx, g, "restart", at, func(lang guard.Lang) guard.Message { return startedOver(doomed, at, lang) }); err != nil {
				return err
			}
		}
		return d.settle(tx, g, at)
	})
}

// startedOver tells that a start dooms what the configuration before it spared.
func startedOver(doomed dooms, at guard.Instant, lang guard.Lang) guard.Message {
	m := guard.Message{Urgent: true, CreatedAt: at.Wall,
		Title: say.In(lang, "guardd was started with a configuration that newly ends %d: %s", len(doomed), say.List(lang, doomed.ids(), shown)),
		Lines: []string{say.In(lang, "The configuration before it spared them. Each gets fresh notice first. Extend, hold or protect what must live, or put the old configuration back.")}}
	for _, x := range doomed {
		m.About = append(m.About, x.Resource)
	}
	return m
}

// giveNotice gives everything overdue in accounts fresh notice. It is durable before
// what dooms it: given for nothing it only puts things off.
func (d *Daemon) giveNotice(ctx context.Context, at guard.Instant, why string, accounts map[string]bool) error {
	names := slices.Sorted(maps.Keys(accounts))
	return d.o.Ledger.UpdateEach(ctx, len(names), func(tx *store.Tx, i int) error {
		return decide.GiveNotice(tx, at.Wall, why, names[i])
	})
}

// settle writes down what a generation puts into force.
func (d *Daemon) settle(tx *store.Tx, g *generation, at guard.Instant) error {
	if err := d.dropWords(tx, g, at); err != nil {
		return err
	}
	return tx.SetValue(inForceName, g.inForce())
}

// queue tells something to every channel, once for a cause and a moment.
func (d *Daemon) queue(tx *store.Tx, g *generation, cause string, at guard.Instant, in func(guard.Lang) guard.Message) error {
	for _, c := range policy.Copies(g.audience(), "guard|"+cause, fmt.Sprint(at.Wall.Unix()), in) {
		if err := tx.Queue(c); err != nil {
			return err
		}
	}
	return nil
}
