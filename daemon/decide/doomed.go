package decide

import (
	"context"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
	"guard/store"
)

// Doom is a resource that a limit ends or stops now or within its notice.
type Doom struct {
	Resource guard.ResourceID
	Name     string
	Lease    guard.Lease
	Act      policy.Act
	Spend    policy.Spend
}

// Doomed is every resource that a limit would end or stop now or within its
// notice, by these rules, if guard acted in every account: two sets of it differ
// by what two configurations protect, allow and turn off, and what of it lies in
// one account is what a switch to enforce dooms there.
func (l *Loop) Doomed(ctx context.Context, at guard.Instant) (map[guard.ResourceID]Doom, error) {
	x, m := newIndex(at), moment{now: at.Wall}
	doomed := map[guard.ResourceID]Doom{}
	err := l.Ledger.View(ctx, func(v *store.View) error {
		clear(doomed)
		if err := x.fold(v); err != nil {
			return err
		}
		w := newWatch(l, v, m)
		w.anew = true
		for _, s := range x.due(m.now) {
			if !s.resource() {
				continue
			}
			f, _, _, err := w.facts(s, x)
			if err != nil {
				return err
			}
			f.Mode = guard.Enforce
			act := policy.Evaluate(l.Rules, f).Act()
			if act == nil || act.Block != "" {
				continue
			}
			d := Doom{Resource: f.Resource(), Act: *act, Spend: f.Spend()}
			d.Resource.Scope = ""
			if f.Observed != nil {
				d.Name = f.Observed.Resource.Name
			}
			if f.Lease != nil {
				d.Lease = *f.Lease
			}
			doomed[d.Resource] = d
		}
		return w.failed
	})
	if err != nil {
		return nil, fmt.Errorf("look for what the rules doom: %w", err)
	}
	return doomed, nil
}

// ceilings is the plan with the ceiling that the rules have now, where the meter
// solved for another one, or for none.
func (l *Loop) ceilings(f policy.Facts, segments []guard.Segment) guard.Plan {
	plan := f.Plan
	was, had := plan.Deadline(guard.DeadlineCeiling)
	var lead time.Duration
	if a := l.accounts[f.Lease.Resource.Account]; a != nil {
		lead = spend.Lead(a.Provider.Truths(), 0)
	}
	d, has := l.Rules.Ceiling(*f.Lease, segments, lead, f.At)
	if had == has && was.Basis == d.Basis {
		return plan
	}
	plan.Deadlines = slices.DeleteFunc(slices.Clone(plan.Deadlines), func(d guard.Deadline) bool { return d.Reason == guard.DeadlineCeiling })
	if has {
		d.Stood = f.At
		plan.Deadlines = append(plan.Deadlines, d)
	}
	return plan
}
