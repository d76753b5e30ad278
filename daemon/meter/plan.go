package meter

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"guard"
	"guard/policy/spend"
	"guard/store"
)

// family is the money of one lease, and what stands behind it.
type family struct {
	segs    []guard.Segment
	told    []guard.Segment // of them those that people are told of where they have no price
	ahead   []guard.Segment // what its traffic will owe, beside what is counted
	members []string        // whose they are, but for the leased thing itself
	sight   spend.Sight
}

// plan solves the leases whose money or word changed and those that time moves,
// and drops the plans of leases that have ended.
func (r *run) plan(ctx context.Context) error {
	var ids []string
	r.families = map[string]family{}
	err := r.ledger.View(ctx, func(v *store.View) error {
		if err := r.recount(v); err != nil {
			return err
		}
		for _, id := range r.solve {
			moves, err := r.moves(v, id)
			if err != nil {
				return err
			}
			if moves {
				ids = append(ids, id)
			}
		}
		return nil
	})
	if err != nil {
		return reading(err)
	}
	err = r.ledger.UpdateEach(ctx, len(ids), func(tx *store.Tx, i int) error {
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
		next := r.solved(lease, r.families[lease.ID], old, known)
		if known && alike(old, next) {
			return nil
		}
		return tx.Plans.Put(next)
	})
	if err != nil {
		return fmt.Errorf("meter: write plans: %w", err)
	}
	return reading(r.ledger.View(ctx, r.await))
}

// moves reports whether there is something to write of a lease's plan.
func (r *run) moves(v *store.View, id string) (bool, error) {
	delete(r.book.restless, id)
	old, known, err := v.Plans.Get(id)
	if err != nil {
		return false, err
	}
	lease, ok, err := v.Leases.Get(id)
	if err != nil || !ok || !lease.Status.Open() {
		return known, err
	}
	f, err := r.family(v, lease, old)
	if err != nil {
		return false, err
	}
	if known && alike(old, r.solved(lease, f, old, known)) {
		return false, nil
	}
	r.families[id] = f
	return true, nil
}

// family gathers the money of a lease.
func (r *run) family(v *store.View, lease guard.Lease, old guard.Plan) (family, error) {
	var f family
	var open []string // what still bills
	var renewals []guard.Segment
	var flows []spend.Flow
	own := lease.Resource.Key()
	for _, key := range r.book.members[lease.ID] {
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return f, err
		}
		segs := spend.Of(lease.ID, m)
		f.segs = append(f.segs, segs...)
		f.told = append(f.told, r.told(lease, m, segs)...)
		flow, err := r.flows(v, key)
		if err != nil {
			return f, err
		}
		if len(segs) > 0 {
			flows = append(flows, flow...)
		}
		again, err := r.renewals(v, lease, m)
		if err != nil {
			return f, err
		}
		renewals = append(renewals, again...)
		if len(segs) > 0 && key != own {
			f.members = append(f.members, key)
		}
		for _, s := range segs {
			if !s.From.Before(r.at.Wall) {
				r.book.restless[lease.ID] = true // what it lacks grows when that begins
			}
			if s.To.IsZero() {
				open = append(open, key)
			}
		}
	}
	f.sight = spend.Sight{At: r.at.Wall, Read: r.at.Wall, Poll: r.poll(lease.Resource.Account), Doubtful: spend.Doubtful(f.segs),
		Why: "the spend of its family was counted anew"}
	if f.ahead = r.ahead(lease, flows); len(flows) > 0 {
		f.sight.Why = trafficWord(flows)
	}
	f.ahead = append(f.ahead, renewals...)
	for _, s := range f.segs {
		if s.Provisional > 0 && s.Was != nil {
			f.sight.Why = "the price of " + s.Resource.String() + " changed from " + s.Was.String() + " to " + s.Rate.String()
		}
	}
	if !candidate(old) {
		return f, nil // a first reading: when it was taken decides nothing yet
	}
	for _, key := range open {
		o, ok, err := v.Observed.Get(key)
		if err != nil {
			return f, err
		}
		if read := r.read(o); ok && read.Before(f.sight.Read) {
			f.sight.Read = read
		}
	}
	return f, nil
}

// renewals are what will be paid again by itself for one member of a lease's family.
func (r *run) renewals(v *store.View, lease guard.Lease, m guard.Metered) ([]guard.Segment, error) {
	n := len(m.Lumps)
	if n == 0 || m.Lumps[n-1].Lease != lease.ID {
		return nil, nil
	}
	o, ok, err := v.Observed.Get(m.Resource.Key())
	if err != nil || !ok || !o.Live() {
		return nil, err
	}
	return spend.Renewals(m, o.Resource.Lump), nil
}

// solved is the plan of one lease, settled against the one before.
func (r *run) solved(lease guard.Lease, f family, old guard.Plan, known bool) guard.Plan {
	r.work.solved++
	at := r.at.Wall
	next := guard.Plan{Lease: lease.ID, Family: f.members, SolvedAt: at}
	if !lease.ExpiresAt.IsZero() {
		d := guard.Deadline{Reason: guard.DeadlineExpiry, Limit: lease.ExpiresAt, Due: lease.ExpiresAt,
			Basis: lease.ExpiresAt.UTC().Format(time.RFC3339)}
		next.Deadlines = append(next.Deadlines, spend.Settle(before(old, d.Reason), d, f.sight))
	}
	if d, ok := r.ceiling(lease, f, old, known); ok {
		next.Deadlines = append(next.Deadlines, d)
	}
	if !lease.Budget.IsSet() {
		next.Unknown = spend.Lines(spend.Spent(f.told, at).Unknown)
		return next
	}
	next.Unknown = spend.Lines(spend.Lacks(f.told, lease.Budget.Currency()))
	if d, ok := spend.Landing(slices.Concat(f.segs, f.ahead), lease.Budget, r.lead(lease.Resource.Account), at); ok {
		d.Basis = lease.BudgetBasis()
		was := before(old, d.Reason)
		if was == nil && known && (lease.UpdatedBy == "guard" || !lease.UpdatedAt.After(old.SolvedAt)) {
			was = far(d, at) // there was a plan, and no crossing in sight
		}
		next.Deadlines = append(next.Deadlines, spend.Settle(was, d, f.sight))
	}
	return next
}

// ceiling is the deadline of the ceiling that a lease reaches first. A configuration
// that moves it is no word of a person about this lease: it wants a second reading
// and notice, as every odd move does (law 8).
func (r *run) ceiling(lease guard.Lease, f family, old guard.Plan, known bool) (guard.Deadline, bool) {
	d, ok := r.rules.Ceiling(lease, slices.Concat(f.segs, f.ahead), r.lead(lease.Resource.Account), r.at.Wall)
	if !ok {
		return d, false
	}
	was := before(old, d.Reason)
	if was == nil && known {
		was = far(d, r.at.Wall)
	}
	if was != nil {
		was.Basis = d.Basis
	}
	return spend.Settle(was, d, f.sight), true
}

// far is a deadline that comes from farther away than anything.
func far(d guard.Deadline, at time.Time) *guard.Deadline {
	d.Limit, d.Due = at.Add(spend.Horizon), at.Add(spend.Horizon)
	d.Stood, d.Furthest = at, d.Due
	return &d
}

func before(p guard.Plan, reason guard.DeadlineReason) *guard.Deadline {
	if d, ok := p.Deadline(reason); ok {
		return &d
	}
	return nil
}

// lead is how long before a crossing the call must be made.
func (r *run) lead(account string) time.Duration {
	var truths guard.Truths
	if a, ok := r.account(account); ok {
		truths = a.Provider.Truths()
	}
	return spend.Lead(truths, r.ended.longest[account])
}

// candidate reports whether a deadline waits for a second reading.
func candidate(p guard.Plan) bool {
	return slices.ContainsFunc(p.Deadlines, func(d guard.Deadline) bool { return d.Candidate != nil })
}

// await keeps what time alone can move, and has the meter run again when it may
// have.
func (r *run) await(v *store.View) error {
	b := r.book
	for _, key := range slices.Sorted(maps.Keys(b.doubtful)) {
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return err
		}
		if !doubtful(m) {
			delete(b.doubtful, key)
			continue
		}
		r.second(m.Resource, m.Segments[len(m.Segments)-1].From.Add(spend.Agree*r.poll(m.Resource.Account)))
	}
	for _, id := range r.solve {
		p, _, err := v.Plans.Get(id)
		if err != nil {
			return err
		}
		for _, d := range p.Deadlines {
			if d.NotBefore.After(r.at.Wall) {
				r.wait(d.NotBefore, idle)
			}
			if !d.NotBefore.IsZero() || d.Candidate != nil {
				b.restless[id] = true
			}
			if d.Candidate == nil {
				continue
			}
			if err := r.awaitCandidate(v, id, *d.Candidate); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitCandidate waits for the second reading of all that a lease pays for.
func (r *run) awaitCandidate(v *store.View, id string, c guard.Candidate) error {
	lease, _, err := v.Leases.Get(id)
	if err != nil {
		return err
	}
	when := c.First.Add(spend.Agree * r.poll(lease.Resource.Account))
	for _, key := range r.book.members[id] {
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(m.Segments, func(s guard.Segment) bool { return s.Lease == id && s.To.IsZero() }) {
			r.second(m.Resource, when)
		}
	}
	return nil
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
	if len(p.Family) == 0 {
		p.Family = nil
	}
	return p
}
