package spend

import (
	"sort"
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
	most := budget.Rat()
	over := func(t int64) bool { return sum(ps, t).Cmp(most) > 0 }
	lo, hi := from.UnixNano(), from.Add(Horizon).UnixNano()
	switch {
	case over(lo):
		lo, hi = first, lo
		if over(lo) { // a negative cap: crossed before anything ran
			return time.Unix(0, lo).UTC(), true
		}
	case !over(hi):
		return time.Time{}, false
	}
	// S never falls, so the first moment over the cap is found by halving; the
	// one before it is the last that is not.
	n := sort.Search(int(hi-lo), func(d int) bool { return over(lo + int64(d)) })
	return time.Unix(0, lo+int64(n)-1).UTC(), true
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
	out := make([]guard.Segment, len(segs))
	for i, s := range segs {
		if s.Was != nil {
			was, now := s.Was.Over(time.Hour), s.Rate.Over(time.Hour)
			if was != nil && (now == nil || (s.Was.Currency() == s.Rate.Currency() && was.Cmp(now) > 0)) {
				s.Rate = *s.Was
			}
		}
		out[i] = s
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
