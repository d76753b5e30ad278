package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/say"
)

// manyOrphans is how many leftovers of one kind are told of one by one, at most: of more
// people hear how old they are and what they cost.
const manyOrphans = 10

// ages are the groups in which many leftovers are told of, by how old they are at least,
// the oldest first.
var ages = []time.Duration{180 * 24 * time.Hour, 90 * 24 * time.Hour, settled, 7 * 24 * time.Hour, 0}

// ageWord is one of them in words.
func ageWord(age int, lang guard.Lang) string {
	return []string{say.In(lang, "older than 180 days"), say.In(lang, "90 to 180 days old"), say.In(lang, "30 to 90 days old"),
		say.In(lang, "7 to 30 days old"), say.In(lang, "younger than 7 days")}[age]
}

// legion groups many leftovers by who keeps them and by age, with what each group costs a
// month; nil where they are few, or something else.
func legion(fs []guard.Finding, at time.Time, lang guard.Lang) []string {
	if len(fs) <= manyOrphans || orphanKind(fs[0].Rule) == "" {
		return nil
	}
	groups := map[string][]guard.Finding{}
	order := map[string]int{}
	for _, f := range fs {
		age := slices.IndexFunc(ages, func(least time.Duration) bool { return at.Sub(f.Since) >= least })
		if age < 0 {
			age = len(ages) - 1
		}
		name, rank := ageWord(age, lang), age
		if i := slices.IndexFunc(f.Facts, func(fact guard.Fact) bool { return fact.Name == madeBy }); i >= 0 {
			who, _, _ := strings.Cut(f.Facts[i].Value, " made it")
			name, rank = say.In(lang, "made by %s, %s", say.Kept(lang, lower(who)), name), rank+len(ages)
		}
		groups[name] = append(groups[name], f)
		order[name] = rank
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(order[a], order[b]), strings.Compare(a, b)) })
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = say.In(lang, "%d %s: %s.", len(groups[name]), name, monthlyOf(groups[name], lang))
	}
	return append(lines, say.In(lang, "guard findings shows each of them."))
}

// lower makes an article begin a word inside a sentence; a name stays as it is.
func lower(s string) string {
	if rest, ok := strings.CutPrefix(s, "A"); ok && strings.HasPrefix(rest, " ") {
		return "a" + rest
	}
	return s
}

// monthlyOf is what findings cost a month together, and of how many that is not known.
func monthlyOf(fs []guard.Finding, lang guard.Lang) string {
	unknown := 0
	for _, f := range fs {
		if !f.Wastes.IsSet() {
			unknown++
		}
	}
	const hours = 730
	var parts []string
	for _, m := range wastes(fs) {
		parts = append(parts, m.Percent(hours*100).Round().String())
	}
	switch {
	case len(parts) == 0:
		return say.In(lang, "what they cost is not known")
	case unknown > 0:
		return say.In(lang, "%s a month, and %d of an unknown price", strings.Join(parts, " + "), unknown)
	}
	return say.In(lang, "%s a month", strings.Join(parts, " + "))
}
