package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"guard"
	"guard/policy/release"
	"guard/providers"
	"guard/store"
)

const (
	// parallel is how many calls of one account are out at once, unless configured.
	parallel = 8
	// callTimeout bounds one call; what it had done by then is not known.
	callTimeout = 25 * time.Second
)

func attempts(r guard.Release) string { return strconv.Itoa(r.Attempt) }

// Once makes the calls that are intended and not made yet, and writes down what
// came of each. It wants to run only when kicked.
func (c *Caller) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	pending := c.flight.all()
	if len(pending) == 0 || c.Account == nil {
		return guard.Instant{}, nil
	}
	ready, err := c.ready(ctx, pending)
	if err != nil {
		return at.Add(soon), fmt.Errorf("%s: read the ledger: %w", c.Name(), err)
	}
	var g errgroup.Group
	g.SetLimit(cmp.Or(c.Parallel, parallel))
	errs := make([]error, len(ready))
	for i, r := range ready {
		if ctx.Err() != nil {
			break // the rest stay pending
		}
		g.Go(func() error {
			errs[i] = c.perform(ctx, at, r)
			return nil
		})
	}
	_ = g.Wait() // each result is in errs
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return at.Add(soon), err
	}
	return guard.Instant{}, nil
}

// ready is the pending calls whose intent is in the ledger, exactly as made; what
// was due first goes first.
func (c *Caller) ready(ctx context.Context, pending map[string]call) ([]order, error) {
	var out []order
	var drop []string
	err := c.Ledger.View(ctx, func(v *store.View) error {
		out, drop = nil, nil
		for id, p := range pending {
			r, ok, err := v.Releases.Get(p.target.Key())
			if err != nil {
				return err
			}
			if !ok || r.ID != id || r.State != guard.ReleaseIntended || r.Attempt != p.attempt || r.Calls == r.Attempt {
				drop = append(drop, id)
				continue
			}
			le, ok, err := v.LeaseOf(p.target.Key())
			if err != nil {
				return err
			}
			o := order{release: r}
			if ok {
				o.lease = &le
			}
			if o.observed, _, err = v.Observed.Get(p.target.Key()); err != nil {
				return err
			}
			out = append(out, o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range drop {
		c.flight.done(id)
	}
	slices.SortFunc(out, func(a, b order) int {
		return cmp.Or(a.release.Due.Compare(b.release.Due), strings.Compare(a.release.ID, b.release.ID))
	})
	return out, nil
}

// order is one call to make.
type order struct {
	release  guard.Release
	lease    *guard.Lease
	observed guard.Observed
}

// options go with the call: what would start it again goes first.
func (o order) options() providers.ReleaseOptions {
	opt := providers.ReleaseOptions{Token: o.release.ID, Group: o.observed.Resource.Group}
	if parent := o.observed.Resource.Parent; parent.Kind == guard.SpotRequest {
		opt.Parent = parent
	}
	return opt
}

// perform makes one call and records its outcome.
func (c *Caller) perform(ctx context.Context, at guard.Instant, o order) error {
	callCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	outcome := c.call(callCtx, o)
	if outcome != nil && callCtx.Err() != nil && !errors.Is(outcome, guard.ErrUncertain) {
		outcome = fmt.Errorf("%w: %w", guard.ErrUncertain, outcome)
	}
	r := o.release
	c.Log.Info("release call", "target", r.Target.String(), "action", string(r.Action), "attempt", r.Attempt, "error", outcome)
	kicks := map[string]bool{}
	// The outcome is written even while the daemon stops: the call is made.
	err := c.Ledger.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return c.outcome(tx, at, r, outcome, kicks) })
	// Recorded or not, it is no longer out; unrecorded it is read again first, as
	// after a restart.
	c.flight.done(r.ID)
	kicks["release/"+c.AccountName] = true
	c.kickAll(kicks)
	if err != nil {
		return fmt.Errorf("%s: record the outcome of releasing %s: %w", c.Name(), r.Target, err)
	}
	return nil
}

// call asks the provider to end or stop the target. An error says what came of
// it in guard's own error kinds.
func (c *Caller) call(ctx context.Context, o order) error {
	r := o.release
	if c.mayUnprotect(o.lease) {
		p, err := c.Account.Protector.Protection(ctx, r.Target)
		if err != nil {
			return fmt.Errorf("read the protection of %s: %w", r.Target, err)
		}
		on := p.Release
		if r.Action == guard.ActStop {
			on = p.Stop
		}
		if on == guard.Yes {
			if err := c.Account.Protector.Unprotect(ctx, r.Target); err != nil {
				return fmt.Errorf("take the protection off %s: %w", r.Target, err)
			}
		}
	}
	if r.Action == guard.ActStop {
		if c.Account.Stopper == nil {
			return fmt.Errorf("%w: stop %s: account %s cannot stop instances", guard.ErrUnsupported, r.Target, c.AccountName)
		}
		return c.Account.Stopper.Stop(ctx, r.Target) // adapters name the call and its subject
	}
	return c.Account.Provider.Release(ctx, r.Target, o.options())
}

// outcome records what came of a call, inside its transaction.
func (c *Caller) outcome(tx *store.Tx, at guard.Instant, made guard.Release, outcome error, kicks map[string]bool) error {
	key := made.Target.Key()
	r, ok, err := tx.Releases.Get(key)
	if err != nil || !ok || r.ID != made.ID || r.State != guard.ReleaseIntended || r.Attempt != made.Attempt {
		return err
	}
	o, _, err := tx.Observed.Get(key)
	if err != nil {
		return err
	}
	le, err := leaseFor(tx, r)
	if err != nil {
		return err
	}
	out := release.Step(r, release.Input{At: at.Wall, Verify: c.verify(), Configured: true, Call: &release.Call{Err: outcome}})
	return c.record(scope{tx: tx, at: at, observed: o, lease: le, kicks: kicks, truths: c.Account.Provider.Truths()}, r, out)
}
