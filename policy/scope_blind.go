package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
)

// scopeBlind tells of regions that guard cannot see into. An account that does
// not answer at all is accountUnreachable's.
func scopeBlind(_ Rules, f Facts) Outcome {
	if !f.account() || !f.Account.Failing.IsZero() || f.Account.Mismatch != "" {
		return Outcome{}
	}
	var out Outcome
	var names []string
	since := time.Time{}
	var facts []guard.Fact
	for _, s := range f.Scopes {
		if s.Failing.IsZero() {
			continue
		}
		if tell := s.Failing.Add(blindFor); f.At.Before(tell) {
			out.Next = earliest(out.Next, tell)
			continue
		}
		since = earliest(since, s.Failing)
		name := fmt.Sprintf("%s in %s", plural(s.Kind), orWhole(s.Scope))
		names = append(names, name)
		seen := "never seen"
		if !s.Complete.IsZero() {
			seen = "last seen " + f.stamp(s.Complete)
		}
		facts = append(facts, guard.Fact{Name: name, Value: fmt.Sprintf("%s; %s", seen, s.Error), Source: "provider", At: s.Failing})
	}
	if len(names) == 0 {
		return out
	}
	slices.Sort(names)
	v := f.verdict(guard.RuleScopeBlind, since)
	v.Facts = append(v.Facts, facts...)
	lines := []string{"What is there is neither gone nor safe: limits that are known go on to apply."}
	for _, fact := range facts[:min(len(facts), 10)] {
		lines = append(lines, Upper(fact.Name)+": "+fact.Value+".")
	}
	v.Stages = []Stage{{Name: "blind", Title: fmt.Sprintf("%s: guard cannot see %s", f.Account.Name, list(names)), Lines: lines}}
	out.Verdicts = []Verdict{v}
	return out
}

func plural(k guard.Kind) string {
	if k == "" {
		return "resources"
	}
	if strings.HasSuffix(string(k), "s") {
		return string(k) + "es"
	}
	return string(k) + "s"
}

func orWhole(scope string) string {
	if scope == "" {
		return "the account"
	}
	return scope
}
