package policy

import (
	"time"

	"guard"
)

// jumpTold is how long a jump stays a finding.
const jumpTold = 24 * time.Hour

// counterJump tells of a byte counter that stands far higher after nobody has read it for
// a while, at a rate that nothing around that shows: it may be that of another thing, so it
// counts to no cap, and it may have been traffic, so people hear of it. What egress_spike
// would not tell of as an hour's traffic is not worth a word.
func counterJump(r Rules, f Facts) Outcome {
	if f.Egress == nil || !f.live() || f.Observed.Resource.ID.Kind != guard.Instance {
		return Outcome{}
	}
	var all guard.Jump
	for _, j := range f.Egress.Doubtful {
		if f.At.Sub(j.To) >= jumpTold {
			continue
		}
		if all.To.IsZero() {
			all.From = j.From
		}
		all.To, all.Sent = j.To, all.Sent+j.Sent
	}
	s := f.spike(r)
	if all.Sent < s.hour || all.Sent == 0 {
		return Outcome{}
	}
	v := f.verdict(guard.RuleCounterJump, all.To)
	v.Wastes = guard.Money{}
	rate := uint64(float64(all.Sent) / max(1, all.To.Sub(all.From).Seconds()))
	lines := []string{
		f.say("Between %s and %s its traffic was not read, and then its counters stood %s higher: %s a second on average, which nothing that was read before or after is like.",
			f.stamp(all.From), f.stamp(all.To), guard.ByteText(all.Sent), guard.ByteText(rate)),
		s.doubtful(all.Sent),
		f.say("The provider's bill tells. The numbers: guard egress show %s", f.Resource()),
	}
	v.Stages = []Stage{{Name: "jump " + all.To.UTC().Format(time.RFC3339), Lines: lines,
		Title: f.say("%s: a counter jumped by %s while nothing was read", f.name(), guard.ByteText(all.Sent))}}
	v.Facts = append(v.Facts, guard.Fact{Name: "in doubt", Value: guard.ByteText(all.Sent) + " sent", Source: f.Egress.Source, At: all.To})
	return Outcome{Verdicts: []Verdict{v}, Next: all.To.Add(jumpTold)}
}

// doubtful is what becomes of bytes that may be another thing's.
func (s spike) doubtful(sent uint64) string {
	if cost := s.cost(sent); cost != "" {
		return s.f.say("It may be the counter of something else, so it counts to no cap and to no month; as traffic it would cost: %s.", cost)
	}
	return s.f.say("It may be the counter of something else, so it counts to no cap and to no month.")
}
