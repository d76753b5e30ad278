package decide

import (
	"context"
	"fmt"

	"guard"
	"guard/policy"
)

// Doomed is every resource that a limit would end or stop now or within its
// notice, by these rules, if guard acted in every account. What a switch to
// enforce dooms gets fresh notice and is not what this is about: two sets of it
// differ by what two configurations protect, allow and turn off.
func (l *Loop) Doomed(ctx context.Context, at guard.Instant) (map[guard.ResourceID]bool, error) {
	s, err := l.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for what the rules doom: %w", err)
	}
	s.now = at.Wall
	doomed := map[guard.ResourceID]bool{}
	for _, sub := range s.subjects() {
		if sub.key == "" {
			continue
		}
		f := l.resource(s, sub.key, sub.account)
		f.Mode = guard.Enforce
		if act := policy.Evaluate(l.Rules, f).Act(); act != nil && act.Block == "" {
			id := f.Resource()
			id.Scope = ""
			doomed[id] = true
		}
	}
	return doomed, nil
}
