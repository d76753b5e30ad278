package decide

import (
	"context"
	"fmt"

	"guard"
	"guard/policy"
	"guard/store"
)

// Doomed is every resource that a limit would end or stop now or within its
// notice, by these rules, if guard acted in every account. What a switch to
// enforce dooms gets fresh notice and is not what this is about: two sets of it
// differ by what two configurations protect, allow and turn off.
func (l *Loop) Doomed(ctx context.Context, at guard.Instant) (map[guard.ResourceID]bool, error) {
	x, m := newIndex(at), moment{now: at.Wall}
	doomed := map[guard.ResourceID]bool{}
	err := l.Ledger.View(ctx, func(v *store.View) error {
		clear(doomed)
		if err := x.fold(v); err != nil {
			return err
		}
		w := newWatch(l, v, m)
		for _, s := range x.due(m.now) {
			if !s.resource() {
				continue
			}
			f, _, _, err := w.facts(s, x.family[s.key], 0)
			if err != nil {
				return err
			}
			f.Mode = guard.Enforce
			if act := policy.Evaluate(l.Rules, f).Act(); act != nil && act.Block == "" {
				id := f.Resource()
				id.Scope = ""
				doomed[id] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for what the rules doom: %w", err)
	}
	return doomed, nil
}
