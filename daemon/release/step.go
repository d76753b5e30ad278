package release

import (
	"context"
	"reflect"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/release"
	"guard/policy/spend"
	"guard/store"
)

// step moves the releases by what the reads found, each in one transaction with
// its journal, its messages and the observation it rests on.
func (l *Loop) step(ctx context.Context, at guard.Instant, s *scene, looks map[string]look) error {
	var todo []guard.Release
	for _, r := range s.releases {
		if !l.flight.has(r.ID) {
			todo = append(todo, r)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	calls := map[string]call{}
	kicks := map[string]bool{}
	err := l.Ledger.UpdateEach(ctx, len(todo), func(tx *store.Tx, i int) error {
		delete(calls, todo[i].ID)
		return l.move(tx, at, s, todo[i], looks, calls, kicks)
	})
	// Where the update failed half-way, the caller finds that some intents are not
	// in the ledger, and leaves them.
	for id, c := range calls {
		l.flight.add(id, c)
	}
	l.kickAll(kicks)
	return err
}

func (c Config) kickAll(kicks map[string]bool) {
	for _, name := range []string{"call/" + c.AccountName, "release/" + c.AccountName, "notify", "meter", "decide"} {
		if kicks[name] {
			c.Kick(name)
		}
	}
	if kicks["sweep"] {
		c.Sweep(c.AccountName)
	}
}

// move steps one release inside its transaction.
func (l *Loop) move(tx *store.Tx, at guard.Instant, s *scene, was guard.Release, looks map[string]look, calls map[string]call, kicks map[string]bool) error {
	key := was.Target.Key()
	r, ok, err := tx.Releases.Get(key)
	if err != nil || !ok || r.ID != was.ID {
		return err
	}
	o, known, err := tx.Observed.Get(key)
	if err != nil {
		return err
	}
	le, err := leaseFor(tx, r)
	if err != nil {
		return err
	}
	var k *look
	if found, ok := looks[r.ID]; ok && at.Sub(found.at) <= release.ReadAhead && (found.Err == nil || at.Sub(found.at) < l.again(r, found)) {
		k = &found // a failed one is no answer any more once it can be tried again
	}
	n, seen, fresh := l.fold(at, r, k, o, known, le, s)
	in := release.Input{At: at.Wall, Verify: l.verify(), Configured: l.Account != nil, Look: seen,
		Unprotect: l.mayUnprotect(le)}
	if r.State != guard.ReleaseIssued && seen.Found != release.Ended {
		if in.Judged, err = l.Judge.Judge(tx, at, r, fresh); err != nil {
			return err
		}
	}
	out := release.Step(r, in)
	if out.Release.State == guard.ReleaseDone && r.Action == guard.ActStop && n.Gone == nil {
		n.Resource.Ended = guard.ByRelease
	}
	if known && !reflect.DeepEqual(n, o) {
		if err := tx.Observed.Put(n); err != nil {
			return err
		}
	}
	if len(out.Moves) == 0 && reflect.DeepEqual(out.Release, r) {
		return nil
	}
	if out.Call {
		calls[r.ID] = call{target: r.Target, attempt: out.Release.Attempt}
		kicks["call/"+l.AccountName] = true
	}
	sc := scope{tx: tx, at: at, observed: n, lease: le, children: l.book.childrenOf(key), kicks: kicks, truths: l.truths(), seen: seen}
	return l.record(sc, r, out)
}

// leaseFor is the lease that a release is of, or that its target has.
func leaseFor(tx *store.Tx, r guard.Release) (*guard.Lease, error) {
	if r.Lease != "" {
		le, ok, err := tx.Leases.Get(r.Lease)
		if err != nil || !ok {
			return nil, err
		}
		return &le, nil
	}
	le, ok, err := tx.LeaseOf(r.Target.Key())
	if err != nil || !ok || !le.Status.Open() {
		return nil, err
	}
	return &le, nil
}

// mayUnprotect needs both the configuration's word and the lease's.
func (c Config) mayUnprotect(le *guard.Lease) bool {
	return c.ForcedUnprotect && le != nil && le.AllowUnprotect && c.Account != nil && c.Account.Protector != nil
}

// scope is what recording an outcome needs beside it.
type scope struct {
	tx       *store.Tx
	at       guard.Instant
	observed guard.Observed
	lease    *guard.Lease
	children []guard.ResourceID
	kicks    map[string]bool
	truths   guard.Truths
	seen     release.Look
}

// record writes an outcome: the release, what it means for its lease, the
// journal, the findings and what people are told.
func (c Config) record(sc scope, was guard.Release, out release.Outcome) error {
	r := out.Release
	if r.State == guard.ReleaseDone {
		receipt, err := c.receipt(sc, r)
		if err != nil {
			return err
		}
		r.Receipt = receipt
	}
	// Where this look is what proved that it is gone, no other loop closes its
	// lease, whoever ended it.
	ended := r.State == guard.ReleaseDone || !r.State.Open() && sc.observed.Gone != nil
	if ended {
		if err := c.endLease(sc, r); err != nil {
			return err
		}
		for _, name := range []string{"sweep", "meter", "decide"} {
			sc.kicks[name] = true
		}
	}
	if out.Renotice {
		r.Notice = r.ID + "|" + release.Renotice(r, release.Scene{}).Stage
	}
	put := sc.tx.Releases.Put
	if !r.State.Open() {
		put = sc.tx.EndRelease
		sc.kicks["decide"] = true
	}
	if err := put(r); err != nil {
		return err
	}
	for _, m := range out.Moves {
		if err := sc.tx.Journal(c.entry(sc, was, r, m)); err != nil {
			return err
		}
	}
	return c.tell(sc, was, r, out)
}

func (c Config) entry(sc scope, was, r guard.Release, m release.Move) guard.JournalEntry {
	data := map[string]string{"release": r.ID, "from": string(m.From), "cause": string(r.Cause)}
	if m.To == guard.ReleaseBlocked {
		data["reason"] = string(r.Reason)
	}
	if r.LastError != "" && r.LastError != was.LastError {
		data["error"] = r.LastError
	}
	return guard.JournalEntry{At: sc.at.Wall, Who: r.By, Verb: string(m.To), Subject: r.Target.String(), Lease: r.Lease, Text: m.Why, Data: data}
}

// endLease closes what was claimed, by the hand that ended it.
func (c Config) endLease(sc scope, r guard.Release) error {
	le := sc.lease
	if le == nil || !le.Status.Open() {
		return nil
	}
	n := *le
	n.UpdatedAt, n.UpdatedBy = sc.at.Wall, "guard"
	if r.Action == guard.ActStop && sc.observed.Gone == nil {
		n.Status = guard.LeaseStopped
		return sc.tx.Leases.Put(n)
	}
	n.Status, n.EndedHow, n.EndedAt = guard.LeaseReleased, guard.ByRelease, sc.at.Wall
	if g := sc.observed.Gone; g != nil {
		n.EndedAt, n.EndedHow, n.Estimated = g.At, g.How, g.Estimated
		if g.How != guard.ByRelease {
			n.Status = guard.LeaseGone
		}
	}
	return sc.tx.Leases.Put(n)
}

// receipt is the proof, and what it all cost.
func (c Config) receipt(sc scope, r guard.Release) (*guard.Receipt, error) {
	out := &guard.Receipt{Attempts: r.Attempt, GoneAt: sc.at.Wall, ProvenAt: sc.at.Wall, Proof: "seen stopped"}
	if g := sc.observed.Gone; g != nil {
		out.Proof, out.Readings, out.GoneAt, out.ProvenAt = g.Proof, g.Readings, g.At, g.ProvenAt
	}
	// An estimated end past the moment at which it would have been asked for again was
	// not watched, for guard was away: that is no measure of the provider.
	watched := sc.observed.Gone == nil || !sc.observed.Gone.Estimated || !out.GoneAt.After(r.VerifyBy)
	if watched && !r.IssuedAt.IsZero() && out.GoneAt.After(r.IssuedAt) {
		out.Took = out.GoneAt.Sub(r.IssuedAt)
	}
	own, _, err := sc.tx.Metered.Get(r.Target.Key())
	if err != nil {
		return nil, err
	}
	in := spend.Input{Observed: sc.observed, Metered: own, Lease: r.Lease, Truths: sc.truths, At: sc.at.Wall, Read: sc.at.Wall}
	if sc.lease != nil {
		in.Taken = spend.Taken(time.Time{}, *sc.lease)
		in.Price, out.Budget = sc.lease.Price, sc.lease.Budget
	}
	own, _ = spend.Fold(in)
	segments := spend.Segments(own)
	if r.Lease != "" {
		segments = spend.Of(r.Lease, own)
	}
	plan, _, err := sc.tx.Plans.Get(r.Lease)
	if err != nil {
		return nil, err
	}
	family := slices.Clone(plan.Family)
	for _, id := range sc.children {
		family = append(family, id.Key())
	}
	slices.Sort(family)
	for _, key := range slices.Compact(family) {
		m, _, err := sc.tx.Metered.Get(key)
		if err != nil {
			return nil, err
		}
		segments = append(segments, spend.Of(r.Lease, m)...)
	}
	for _, id := range sc.children {
		child, ok, err := sc.tx.Observed.Get(id.Key())
		if err != nil {
			return nil, err
		}
		if ok && child.Live() && !goes(sc.observed.Resource, id) && r.Action != guard.ActStop {
			out.Leftovers = append(out.Leftovers, id)
		}
	}
	total := spend.Spent(segments, out.GoneAt)
	out.Spend = total.Known
	if e, ok, err := sc.tx.Egress.Get(r.Target.Key()); err != nil {
		return nil, err
	} else if ok && len(own.Traffic) > 0 {
		sent := slices.DeleteFunc(slices.Clone(segments), func(s guard.Segment) bool { return s.State != spend.StateTraffic })
		out.Traffic, out.TrafficAt = spend.Spent(sent, out.GoneAt).Known, e.At
	}
	if out.Budget.IsSet() && len(total.Unknown) == 0 {
		if left, err := out.Budget.Sub(total.In(out.Budget.Currency())); err == nil {
			out.Unspent = left
		}
	}
	return out, nil
}

// goes reports that the provider deletes a child with its instance.
func goes(instance guard.Resource, child guard.ResourceID) bool {
	for _, c := range instance.Children {
		if c.ID.Key() == child.Key() {
			return c.GoesWithInstance == guard.Yes
		}
	}
	return false
}

// tell queues what people hear of an outcome, and keeps the two findings of the
// workflow: that a release is stuck, and that an accepted one had no effect.
func (c Config) tell(sc scope, was, r guard.Release, out release.Outcome) error {
	view := release.Scene{Zone: c.Zone, ByHand: sc.truths.ByHand}
	if sc.lease != nil {
		view.Purpose = sc.lease.Purpose
	}
	view.Hourly, _ = sc.observed.Resource.BillingRate().Hourly()
	if sc.lease != nil && sc.lease.Price.Known() {
		view.Hourly, _ = sc.lease.Price.Hourly()
	}
	var said []saying
	blockedNow := r.State == guard.ReleaseBlocked && (was.State != guard.ReleaseBlocked || was.Reason != r.Reason)
	if out.Page || blockedNow {
		s := saying(func(v release.Scene) release.Said { return release.Blocked(r, v) })
		fresh, err := c.open(sc, r, s, view, string(r.Reason))
		if err != nil {
			return err
		}
		if out.Page || fresh {
			said = append(said, s)
		}
	}
	if out.Failing {
		s := saying(func(v release.Scene) release.Said { return release.Failing(r, v) })
		fresh, err := c.open(sc, r, s, view, s(view).Stage)
		if err != nil {
			return err
		}
		if fresh {
			said = append(said, s)
		}
	}
	if out.Stalled {
		s := saying(func(v release.Scene) release.Said { return release.Stalled(was, v) })
		if _, err := c.open(sc, r, s, view, s(view).Stage); err != nil {
			return err
		}
		said = append(said, s)
	}
	if out.Renotice {
		said = append(said, func(v release.Scene) release.Said { return release.Renotice(r, v) })
	}
	accepted := r.State == guard.ReleaseIssued && was.State != guard.ReleaseIssued
	if accepted || !r.State.Open() {
		if err := c.close(sc, r, guard.RuleReleaseBlocked); err != nil {
			return err
		}
	}
	switch r.State {
	case guard.ReleaseDone:
		said = append(said, func(v release.Scene) release.Said { return release.Released(r, v) })
	case guard.ReleaseWithdrawn:
		why := out.Moves[len(out.Moves)-1].Why
		said = append(said, func(v release.Scene) release.Said { return release.Withdrawn(r, why, v) })
	}
	if !r.State.Open() {
		if err := c.close(sc, r, guard.RuleReleaseStalled); err != nil {
			return err
		}
	}
	for _, say := range said {
		s, finding := say(view), ""
		if s.Rule != "" {
			f, ok, err := sc.tx.Findings.Get(guard.Finding{Rule: s.Rule, Resource: r.Target}.Key())
			if err != nil {
				return err
			}
			if ok {
				finding = f.ID
			}
		}
		sc.kicks["notify"] = true
		in := func(lang guard.Lang) guard.Message { return say.in(view, lang).Message(r, finding, sc.at.Wall) }
		if err := c.Judge.Tell(sc.tx, sc.at, r, s.Stage, in); err != nil {
			return err
		}
	}
	return nil
}

// saying is one thing that is said, in whatever language the scene has.
type saying func(release.Scene) release.Said

func (s saying) in(view release.Scene, lang guard.Lang) release.Said {
	view.Lang = lang
	return s(view)
}

// open opens or keeps a finding of the workflow; fresh reports that this stage
// was not told yet.
func (c Config) open(sc scope, r guard.Release, say saying, view release.Scene, stage string) (fresh bool, err error) {
	s := say(view)
	f, ok, err := sc.tx.Findings.Get(guard.Finding{Rule: s.Rule, Resource: r.Target}.Key())
	if err != nil {
		return false, err
	}
	if !ok {
		f = guard.Finding{Rule: s.Rule, Subject: r.Target.String(), Resource: r.Target,
			Lease: r.Lease, Since: sc.at.Wall, Opened: sc.at.Wall, Urgent: true}
		f.ID = policy.FindingID(f)
		f.Wastes, _ = sc.observed.Resource.BillingRate().Hourly()
	}
	for _, told := range f.Said {
		if told == stage {
			return false, nil
		}
	}
	f.Said, f.Title, f.Titles = append(append([]string{}, f.Said...), stage), s.Title, nil
	for _, a := range c.Audience {
		if title := say.in(view, a.Lang).Title; title != s.Title {
			if f.Titles == nil {
				f.Titles = map[guard.Lang]string{}
			}
			f.Titles[a.Lang] = title
		}
	}
	f.Facts = []guard.Fact{
		{Name: "due", Value: policy.Stamp(r.Due, c.Zone), Source: "rule " + string(r.Cause), At: r.PlannedAt},
		{Name: "attempts", Value: attempts(r), Source: "ledger", At: sc.at.Wall},
		{Name: "error", Value: r.LastError, Source: "provider", At: sc.at.Wall},
	}
	return true, sc.tx.Findings.Put(f)
}

// close ends a finding of the workflow, where it is open.
func (c Config) close(sc scope, r guard.Release, rule guard.Rule) error {
	f, ok, err := sc.tx.Findings.Get(guard.Finding{Rule: rule, Resource: r.Target}.Key())
	if err != nil || !ok {
		return err
	}
	f.Closed = sc.at.Wall
	return sc.tx.CloseFinding(f)
}
