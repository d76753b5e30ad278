package spend

import (
	"slices"
	"time"

	"guard"
)

// Horizon is how far ahead a crossing is looked for; a cap that lasts longer has
// none.
const Horizon = 100 * 365 * 24 * time.Hour

// Crossing is the last moment at which the segments owe no more than the cap,
// with open segments going on for ever: sup{t: S(t) ≤ cap}. It may lie in the
// past. Parts in other currencies or of unknown rate are left out; [Lacks] names
// them. It is false where the cap is not crossed within Horizon of from, or is no
// amount.
func Crossing(segs []guard.Segment, budget guard.Money, from time.Time) (time.Time, bool) {
	if !budget.IsSet() {
		return time.Time{}, false
	}
	var ps []piece
	first := from.UnixNano()
	for _, p := range pieces(segs) {
		if p.perNano == nil || p.seg.Rate.Currency() != budget.Currency() {
			continue
		}
		ps = append(ps, p)
		first = min(first, p.from)
	}
	q := newQuest(ps)
	q.most = q.parts(budget.Rat())
	lo, hi := from.UnixNano(), from.Add(Horizon).UnixNano()
	switch {
	case q.over(lo):
		lo, hi = first, lo
		if q.over(lo) { // a negative cap: crossed before anything ran
			return time.Unix(0, lo).UTC(), true
		}
	case !q.over(hi):
		return time.Time{}, false
	}
	return time.Unix(0, q.first(lo, hi)-1).UTC(), true
}

// Landing is the budget deadline of a lease: the crossing of its cap, and the
// call due a lead earlier, so that the release is over by then. Stretches whose
// price was read only once count at the dearer of the two prices.
func Landing(segs []guard.Segment, budget guard.Money, lead time.Duration, at time.Time) (guard.Deadline, bool) {
	cross, ok := Crossing(Cautious(segs), budget, at)
	if !ok {
		return guard.Deadline{}, false
	}
	return guard.Deadline{Reason: guard.DeadlineBudget, Limit: cross, Due: cross.Add(-lead), Lead: lead}, true
}

// Cautious returns the segments with every provisional rate replaced by the
// dearer of it and the rate before, where the two can be compared.
func Cautious(segs []guard.Segment) []guard.Segment {
	if !slices.ContainsFunc(segs, func(s guard.Segment) bool { return s.Was != nil }) {
		return segs
	}
	out := slices.Clone(segs)
	for i, s := range segs {
		if s.Was == nil {
			continue
		}
		was, now := s.Was.Over(time.Hour), s.Rate.Over(time.Hour)
		if was != nil && (now == nil || (s.Was.Currency() == s.Rate.Currency() && was.Cmp(now) > 0)) {
			out[i].Rate = *s.Was
		}
	}
	return out
}

// Doubtful reports whether a segment's price was read only once.
func Doubtful(segs []guard.Segment) bool {
	for _, s := range segs {
		if s.Provisional > 0 {
			return true
		}
	}
	return false
}
