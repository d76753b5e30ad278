package meter

import (
	"context"
	"reflect"
	"time"

	"guard"
	"guard/policy/spend"
	"guard/store"
)

// plan solves the deadlines of every open lease and drops the plans of the
// others. It reports whether anything changed.
func (l *Loop) plan(ctx context.Context, b *book) error {
	var ids []string
	open := map[string]bool{}
	for _, lease := range b.open {
		open[lease.ID] = true
		old, known := b.plans[lease.ID]
		next := l.solve(b, lease, old, known)
		b.candidates(l, lease, next)
		if !known || !alike(old, next) {
			ids = append(ids, lease.ID)
		}
	}
	for id := range b.plans {
		if !open[id] {
			ids = append(ids, id)
		}
	}
	return l.ledger.UpdateEach(ctx, len(ids), func(tx *store.Tx, i int) error {
		lease, ok, err := tx.Leases.Get(ids[i])
		if err != nil {
			return err
		}
		if !ok || !lease.Status.Open() {
			return tx.Plans.Delete(ids[i])
		}
		old, known, err := tx.Plans.Get(ids[i])
		if err != nil {
			return err
		}
		next := l.solve(b, lease, old, known)
		if known && alike(old, next) {
			return nil
		}
		return tx.Plans.Put(next)
	})
}

// solve is the plan of one lease, settled against the one before.
func (l *Loop) solve(b *book, lease guard.Lease, old guard.Plan, known bool) guard.Plan {
	at := b.at.Wall
	next := guard.Plan{Lease: lease.ID, SolvedAt: at}
	segs := b.segments[lease.ID]
	sight := l.sight(b, lease, segs)
	if !lease.ExpiresAt.IsZero() {
		d := guard.Deadline{Reason: guard.DeadlineExpiry, Limit: lease.ExpiresAt, Due: lease.ExpiresAt,
			Basis: lease.ExpiresAt.UTC().Format(time.RFC3339)}
		next.Deadlines = append(next.Deadlines, spend.Settle(before(old, d.Reason), d, sight))
	}
	if !lease.Budget.IsSet() {
		next.Unknown = spend.Lines(spend.Spent(segs, at).Unknown)
		return next
	}
	next.Unknown = spend.Lines(spend.Lacks(segs, lease.Budget.Currency()))
	if d, ok := spend.Landing(segs, lease.Budget, l.lead(lease.Resource.Account), at); ok {
		d.Basis = lease.BudgetBasis()
		was := before(old, d.Reason)
		if was == nil && known && (lease.UpdatedBy == "guard" || !lease.UpdatedAt.After(old.SolvedAt)) {
			// There was a plan, and no crossing in sight: it comes from farther
			// away than anything.
			far := d
			far.Limit, far.Due = at.Add(spend.Horizon), at.Add(spend.Horizon)
			far.Stood, far.Furthest = at, far.Due
			was = &far
		}
		next.Deadlines = append(next.Deadlines, spend.Settle(was, d, sight))
	}
	return next
}

func before(p guard.Plan, reason guard.DeadlineReason) *guard.Deadline {
	if d, ok := p.Deadline(reason); ok {
		return &d
	}
	return nil
}

// lead is how long before a crossing the call must be made.
func (l *Loop) lead(account string) time.Duration {
	var truths guard.Truths
	if a, ok := l.account(account); ok {
		truths = a.Provider.Truths()
	}
	return spend.Lead(truths, l.longest[account])
}

// sight is what stands behind the money of a lease: the oldest reading of
// anything that still bills.
func (l *Loop) sight(b *book, lease guard.Lease, segs []guard.Segment) spend.Sight {
	s := spend.Sight{At: b.at.Wall, Read: b.at.Wall, Poll: l.poll(lease.Resource.Account), Doubtful: spend.Doubtful(segs), Why: "the spend of its family was counted anew"}
	for _, seg := range segs {
		if seg.Provisional > 0 && seg.Was != nil {
			s.Why = "the price of " + seg.Resource.String() + " changed from " + seg.Was.String() + " to " + seg.Rate.String()
		}
		if !seg.To.IsZero() {
			continue
		}
		if o, ok := b.observed[seg.Resource.Key()]; ok {
			if read := b.read(o); read.Before(s.Read) {
				s.Read = read
			}
		}
	}
	return s
}

// candidates waits for the second reading of a deadline that is held back.
func (b *book) candidates(l *Loop, lease guard.Lease, p guard.Plan) {
	for _, d := range p.Deadlines {
		if d.NotBefore.After(b.at.Wall) {
			b.wait(d.NotBefore, idle)
		}
		if d.Candidate == nil {
			continue
		}
		when := d.Candidate.First.Add(spend.Agree * l.poll(lease.Resource.Account))
		for _, seg := range b.segments[lease.ID] {
			if seg.To.IsZero() {
				b.second(l, seg.Resource, when)
			}
		}
	}
}

// alike reports whether two plans say the same, whenever they were solved.
func alike(a, b guard.Plan) bool {
	a.SolvedAt, b.SolvedAt = time.Time{}, time.Time{}
	return reflect.DeepEqual(plain(a), plain(b))
}

// plain makes a plan that went through the ledger compare equal to a fresh one.
func plain(p guard.Plan) guard.Plan {
	ds := make([]guard.Deadline, len(p.Deadlines))
	for i, d := range p.Deadlines {
		for _, t := range []*time.Time{&d.Limit, &d.Due, &d.Stood, &d.Furthest, &d.NotBefore} {
			*t = t.UTC().Round(0)
		}
		if d.Candidate != nil {
			c := *d.Candidate
			c.Limit, c.Due, c.First = c.Limit.UTC().Round(0), c.Due.UTC().Round(0), c.First.UTC().Round(0)
			d.Candidate = &c
		}
		ds[i] = d
	}
	p.Deadlines = ds
	if len(p.Unknown) == 0 {
		p.Unknown = nil
	}
	return p
}
