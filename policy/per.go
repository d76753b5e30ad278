package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
)

// Per is what every rule takes beside its own keys. The zero value changes nothing.
type Per struct {
	Off bool
	// Match is what the rule speaks for.
	Match Match
	// Remind is how long after people were last told of an open finding they are told
	// again, as long as it is true; 0: never.
	Remind time.Duration
	// Grace is the notice before the rule does something; 0: as the rule has it.
	Grace time.Duration
}

// speaks reports whether the rule is asked about a subject at all.
func (p Per) speaks(f Facts) bool { return !p.Off && (p.Match.all() || p.Match.has(f)) }

// Match is what a rule speaks for. What is empty asks for nothing; of several values of
// one kind one must be right, and a * in a text stands for anything.
type Match struct {
	// Tags must all be there, on the resource or on its lease, compared exactly.
	Tags    map[string]string
	Purpose []string
	Owner   []string
	Account []string
	Kind    []guard.Kind
}

// all reports a match that asks for nothing, as nearly every rule's.
func (m Match) all() bool {
	return len(m.Tags)+len(m.Purpose)+len(m.Owner)+len(m.Account)+len(m.Kind) == 0
}

// has reports whether the facts are about something that the match names. What nobody
// tells is no match: a tag filter is for nothing where the provider tells no tags.
func (m Match) has(f Facts) bool {
	kind := f.Resource().Kind
	if f.Awaiting != nil {
		kind = guard.Instance
	}
	l := f.claim()
	return m.tagged(f, l) && anyLike(m.Purpose, f.purpose(l)) && anyLike(m.Owner, f.owner(l)) &&
		anyLike(m.Account, f.Account.Name) && (len(m.Kind) == 0 || slices.Contains(m.Kind, kind))
}

func (m Match) tagged(f Facts, l *guard.Lease) bool {
	for k, want := range m.Tags {
		ok := l != nil && l.Tags[k] == want && hasKey(l.Tags, k)
		if o := f.Observed; o != nil {
			ok = ok || o.Resource.Tags[k] == want && hasKey(o.Resource.Tags, k)
		}
		if !ok {
			return false
		}
	}
	return true
}

func hasKey(m map[string]string, k string) bool {
	_, ok := m[k]
	return ok
}

// blind says why a tag filter can match nothing here; "" where it can.
func (m Match) blind(f Facts) string {
	if len(m.Tags) == 0 || f.Observed == nil || !f.Observed.Resource.TagsUntold || f.claim() != nil {
		return ""
	}
	var want []string
	for _, k := range slices.Sorted(maps.Keys(m.Tags)) {
		want = append(want, k+"="+m.Tags[k])
	}
	return f.say("it is for %s only, and the provider tells no tags", f.list(want))
}

func anyLike(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return like(p, s) })
}

// like compares a text with a pattern in which * stands for anything.
func like(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	for i := 0; i <= len(s); i++ {
		if like(rest, s[i:]) {
			return true
		}
	}
	return false
}

// claim is the lease that the subject belongs to: its own, or that of the instance that
// it was last on; nil where there is none.
func (f Facts) claim() *guard.Lease {
	if f.Lease != nil {
		return f.Lease
	}
	return f.InstanceLease
}

// purpose is what a thing is for, by its lease or by what guard wrote on it; "" where
// nobody tells.
func (f Facts) purpose(l *guard.Lease) string {
	switch {
	case l != nil && l.Purpose != "":
		return l.Purpose
	case f.Observed != nil:
		return guard.Plain(f.Observed.Resource.Tags[guard.TagPurpose])
	}
	return ""
}

// owner is whose a thing is, by its lease or by its own tags; "" where nobody tells.
func (f Facts) owner(l *guard.Lease) string {
	switch {
	case l != nil && l.Owner != "":
		return l.Owner
	case f.Observed != nil:
		return ownerTag(f.Observed.Resource.Tags)
	}
	return ""
}

// perLines are what the rules' matches cannot see, for people.
func (f Facts) perLines(r Rules) []string {
	var lines []string
	for _, rule := range rules {
		if why := r.Per[rule.name].Match.blind(f); why != "" {
			lines = append(lines, f.say("Rule %s says nothing of it: %s.", rule.name, why))
		}
	}
	return lines
}

// JudgedKind is the kind of thing that a rule is about; "" where that may be any.
func JudgedKind(rule guard.Rule) guard.Kind {
	if kind := orphanKind(rule); kind != "" {
		return kind
	}
	switch rule {
	case guard.RuleProviderReclaim, guard.RuleRenewsSoon, guard.RuleChargeMismatch:
		return ""
	}
	return guard.Instance
}
