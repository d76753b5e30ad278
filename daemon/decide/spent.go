package decide

import (
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/spend"
)

// purse adds up what a lease's family, or a lone resource, has cost so far, when that is
// first asked for: within the View or the transaction that get reads.
type purse struct {
	l        *Loop
	get      func(key string) (guard.Metered, bool, error)
	failed   *error // what kept it from being added up
	at       time.Time
	metered  guard.Metered
	lease    *guard.Lease
	family   []string // the keys of what may count to the lease, too
	segments []guard.Segment
	spend    policy.Spend
	read     bool
	added    bool
}

func (w *watch) purse(f policy.Facts, children []string) *purse {
	p := &purse{l: w.l, get: w.v.Metered.Get, failed: &w.failed, at: f.At, metered: f.Metered, lease: f.Lease}
	if f.Lease != nil {
		p.family = slices.Concat(children, f.Plan.Family)
	}
	return p
}

// all are the segments that count.
func (p *purse) all() []guard.Segment {
	if p.read {
		return p.segments
	}
	p.read, p.segments = true, spend.Segments(p.metered)
	if p.lease == nil {
		return p.segments
	}
	// Its own count to it before the meter has said so; what was ever on it only
	// as the meter says.
	lease := p.lease.ID
	p.segments = slices.DeleteFunc(slices.Clone(p.segments), func(s guard.Segment) bool { return s.Lease != "" && s.Lease != lease })
	slices.Sort(p.family)
	for _, key := range slices.Compact(p.family) {
		m, _, err := p.get(key)
		if err != nil {
			*p.failed = err
			return p.segments
		}
		p.segments = append(p.segments, spend.Of(lease, m)...)
	}
	return p.segments
}

// sum is what they come to.
func (p *purse) sum() policy.Spend {
	if !p.added {
		p.added, p.spend = true, p.l.spent(p.lease, p.all(), p.at)
	}
	return p.spend
}

// spent is what segments come to at a time, and when they reach what a lease's people
// are told of.
func (l *Loop) spent(lease *guard.Lease, segments []guard.Segment, at time.Time) policy.Spend {
	total := spend.Spent(segments, at)
	out := policy.Spend{Totals: total.Known, AtLeast: len(total.Unknown) > 0}
	if lease == nil || !lease.Budget.IsPositive() || !lease.Status.Open() {
		return out
	}
	limit := lease.Budget
	out.Hourly = spend.Burn(segments, at).In(limit.Currency())
	for _, percent := range l.Rules.Budget.Warn {
		part := limit.Percent(percent)
		if missing, err := part.Sub(total.In(limit.Currency())); err != nil || !missing.IsPositive() {
			continue
		}
		if reached, ok := spend.Reach(segments, part, at); ok {
			out.Crossings = append(out.Crossings, policy.Crossing{Percent: percent, At: reached})
		}
		break // the next one is all that can come next
	}
	return out
}
