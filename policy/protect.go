package policy

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/spend"
)

// Protection is an admin's wish that a thing is never touched.
type Protection struct {
	On bool
	// Why names the tag or the person.
	Why string
	// Ambiguous: the tag only looks like one of the protect tags.
	Ambiguous bool
	// Lost is since when the tag is missing, and Until when that counts (UTC); both
	// zero while it is there, and where there is none.
	Lost, Until time.Time
}

// lost yields the tags whose loss does not count yet, and when it will: one odd
// reading takes no protection away (law 8). By then the thing has been read again,
// at the latest right before the call, and people have had notice.
func (f Facts) lost() iter.Seq2[guard.LostTag, time.Time] {
	return func(yield func(guard.LostTag, time.Time) bool) {
		if f.Observed == nil {
			return
		}
		for _, t := range f.Observed.LostTags {
			until := t.Since.Add(max(freshNotice, spend.Agree*f.Poll))
			if f.At.Before(until) && !yield(t, until) {
				return
			}
		}
	}
}

// lossCounts is when the next lost tag is believed to be gone; zero where none is lost.
func (f Facts) lossCounts() time.Time {
	var next time.Time
	for _, until := range f.lost() {
		next = earliest(next, until)
	}
	return next
}

// Protection tells whether an admin protects the subject: by the lease, by a tag
// that equals a protect tag, or by one that looks like it. Keys are case-sensitive
// at most providers and people are not, so a near miss protects, and is reported.
func (f Facts) Protection(r Rules) Protection {
	if f.Lease != nil && f.Lease.Protected {
		by := f.Lease.ProtectedBy
		if by == "" {
			by = f.say("an admin")
		}
		return Protection{On: true, Why: f.say("protected by %s", by)}
	}
	if f.Observed != nil {
		if p := r.Protect.of(f, f.Observed.Resource.Tags); p.On {
			return p
		}
	}
	for t, until := range f.lost() {
		if p := r.Protect.of(f, map[string]string{t.Key: t.Value}); p.On {
			return Protection{On: true, Lost: t.Since, Until: until,
				Why: f.say("%s: it is missing since %s, and that counts from %s", p.Why, f.stamp(t.Since), f.stamp(until))}
		}
	}
	return Protection{}
}

// of judges the tags of a resource; an exact match wins over a near miss.
func (p Protect) of(f Facts, tags map[string]string) Protection {
	if !p.looks(tags) {
		return Protection{}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Tags)) {
		if v, ok := tags[key]; ok && v == p.Tags[key] {
			return Protection{On: true, Why: f.say("the tag %s=%s protects it", key, v)}
		}
	}
	for _, want := range slices.Sorted(maps.Keys(p.Tags)) {
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			if nearMiss(key, tags[key], want) {
				return Protection{On: true, Ambiguous: true,
					Why: f.say("ambiguous protect tag: %q=%q looks like %s=%s", key, tags[key], want, p.Tags[want])}
			}
		}
	}
	return Protection{}
}

// looks reports tags of which any may protect; of nearly every resource none does.
func (p Protect) looks(tags map[string]string) bool {
	for want, is := range p.Tags {
		for key, value := range tags {
			if key == want && value == is || nearMiss(key, value, want) {
				return true
			}
		}
	}
	return false
}

// nearMiss reports a key that a person may have meant as want. A plain "no" in
// the value is not meant to protect.
func nearMiss(key, value, want string) bool {
	if bareKey(key) != bareKey(want) {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "false", "no", "off", "0":
		return false
	}
	return true
}

// bareKey drops what people vary: case, spaces, the prefix before the last colon
// or slash, and the kind of dash.
func bareKey(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	if i := strings.LastIndexAny(key, ":/"); i >= 0 {
		key = key[i+1:]
	}
	return unspaced.Replace(key)
}

var unspaced = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// ambiguousProtect reports tags that only look like a protect tag.
func ambiguousProtect(r Rules, f Facts) Outcome {
	p := f.Protection(r)
	if !p.Ambiguous || !f.Observed.Live() || Foreign(f.Observed.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	v := f.verdict(guard.RuleProtectAmbiguous, f.Observed.FirstSeen)
	v.Facts = append(v.Facts, guard.Fact{Name: "protect tag", Value: p.Why, Source: "provider", At: f.Observed.Seen})
	v.Stages = []Stage{{Name: "found", Title: f.entitled(p.Why), Lines: []string{
		f.say("Until the tag is exactly right or gone, guard treats it as protected and does not touch it."),
	}}}
	return Outcome{Verdicts: []Verdict{v}}
}
