package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/providers"
	"guard/store"
)

const (
	// batch is how many things one read by ID asks for.
	batch = 100
	// patience bounds the calls of one run; a cloud that hangs is a cloud that
	// failed.
	patience = 2 * time.Minute
)

// round is one run: what was read, and what is to be written because of it.
type round struct {
	l        *Loop
	s        *snapshot
	at       guard.Instant
	identity string
	self     guard.Identity

	v      *store.View // inside look
	src    source      // of v
	damage error       // what could not be read there

	alive    map[string]*guard.Resource  // read alive in this run
	parents  map[string]guard.ResourceID // instance by child, as the instances tell
	complete map[string]bool             // scope key → listed completely
	kinds    map[guard.Kind]bool         // false: a scope of it failed or is held
	doubts   []guard.ResourceID          // to be read by ID
	unlisted []guard.ResourceID          // left out of a listing where nothing can be read by ID
	shown    []guard.Resource            // listed in a terminal state
	updates  []update
	scopes   []guard.ScopeStatus
	told     time.Time // by the provider's clock; zero: nothing
	asked    error     // the provider asks to wait
}

// update is one thing to write: exactly one of the first four is set.
type update struct {
	sight    *sighting
	look     *guard.Lookup
	unlisted guard.ResourceID
	shown    *guard.Resource
	last     time.Time
}

func newRound(l *Loop, s *snapshot, at guard.Instant, identity string) *round {
	return &round{l: l, s: s, at: at, identity: identity, alive: map[string]*guard.Resource{},
		complete: map[string]bool{}, kinds: map[guard.Kind]bool{}}
}

// parent is the instance that names a thing as its child.
func (r *round) parent(id guard.ResourceID) guard.ResourceID {
	if id.Kind == guard.Instance {
		return guard.ResourceID{}
	}
	if r.parents == nil {
		r.parents = map[string]guard.ResourceID{}
		for o, err := range r.v.Observed.All(r.l.account.Name + "/" + string(guard.Instance) + "/") {
			if err != nil {
				r.damage = err
			} else if o.Live() && r.alive[o.Resource.ID.Key()] == nil {
				r.family(o.Resource) // as it was; those read alive tell better
			}
		}
		for _, fresh := range r.alive {
			r.family(*fresh)
		}
	}
	return r.parents[id.Key()]
}

// origin is the instance that a thing hangs on, or that the disk was on which a snapshot
// or an image was made from; zero where that is not known.
func (r *round) origin(fresh *guard.Resource) guard.ResourceID {
	if on := r.parent(fresh.ID); !on.IsZero() || fresh.Parent.Kind == guard.Instance {
		return cmp.Or(on, fresh.Parent)
	}
	account := r.l.account.Name
	switch fresh.ID.Kind {
	case guard.Snapshot:
		if fresh.Source != "" {
			return r.lastOn(guard.ResourceID{Account: account, Kind: guard.Volume, ID: fresh.Source})
		}
	case guard.Image:
		if o, known := get(r, r.src.observed, guard.ResourceID{Account: account, Kind: guard.Instance, ID: fresh.Source}.Key()); known {
			return o.Resource.ID
		}
		for _, c := range fresh.Children {
			if on := r.lastOn(c.ID); !on.IsZero() {
				return on
			}
		}
	}
	return guard.ResourceID{}
}

// lastOn is the instance that a disk or a snapshot is of, by this run or by the ledger.
func (r *round) lastOn(id guard.ResourceID) guard.ResourceID {
	if fresh := r.alive[id.Key()]; fresh != nil {
		if on := r.origin(fresh); !on.IsZero() {
			return on
		}
	}
	o, _ := get(r, r.src.observed, id.Key())
	return o.Instance
}

// family notes whose children are whose.
func (r *round) family(instance guard.Resource) {
	if instance.ID.Kind != guard.Instance {
		return
	}
	for _, c := range instance.Children {
		r.parents[c.ID.Key()] = instance.ID
	}
}

// poll reads the account once.
func (l *Loop) poll(ctx context.Context, at guard.Instant) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := l.snapshot(ctx)
	if err != nil {
		return err
	}
	id, ok, err := l.identify(ctx, at, s)
	if err != nil {
		return l.failed(ctx, at, s, err)
	}
	if !ok {
		return nil
	}
	r := newRound(l, s, at, id.ID)
	r.self = id
	if err := r.list(ctx, guard.Instance); err != nil {
		return l.failed(ctx, at, s, fmt.Errorf("list the instances of %s: %w", l.account.Name, err))
	}
	swept := r.sweep(ctx)
	if free, all := r.freed(append(sweepKinds(l.account.Provider.Truths()), guard.Instance)...); all && l.pollAt.Before(free) {
		l.pollAt = free // until then there is nothing that may be listed
	}
	if err := r.look(ctx, r.judgeAbsence); err != nil {
		return err
	}
	if err := r.read(ctx, r.doubts); err != nil {
		return err
	}
	return errors.Join(r.finish(ctx), r.tag(ctx), r.timers(ctx), r.term(ctx), r.balance(ctx), r.charges(ctx), swept, r.asked)
}

// list reads kinds in every scope that may be listed.
func (r *round) list(ctx context.Context, kinds ...guard.Kind) error {
	var results []providers.ScopeResult
	for _, q := range r.queries(kinds) {
		inv, err := r.l.account.Provider.List(ctx, q)
		if err != nil {
			return err
		}
		if !inv.ServerTime.IsZero() {
			r.told = inv.ServerTime
		}
		if len(q.Scopes) == 0 {
			r.l.holds.learn(q.Kinds, inv.Results)
			r.unnamed(inv.Results)
		}
		results = append(results, inv.Results...)
	}
	return r.look(ctx, func() { r.take(results) })
}

// sweep lists the other kinds when that is due or asked for.
func (r *round) sweep(ctx context.Context) error {
	l := r.l
	asked := l.sweepAsked.Swap(false)
	if !asked && !l.sweepAt.IsZero() && r.at.Before(l.sweepAt) {
		return nil
	}
	kinds := sweepKinds(l.account.Provider.Truths())
	free, _ := r.freed(kinds...)
	if err := r.list(ctx, kinds...); err != nil {
		l.sweepAt = r.at.Add(l.account.Poll)
		for _, st := range r.s.scopes {
			if st.Kind != guard.Instance {
				r.scopes = append(r.scopes, failing(st, r.at, err))
			}
		}
		return fmt.Errorf("list what hangs on the instances of %s: %w", l.account.Name, err)
	}
	// What was left out now comes when it may be asked for.
	l.sweepAt = guard.Earliest(recur(r.at, l.account.Sweep, l.account.SweepAt), free)
	return nil
}

// children asks for a sweep where an instance names a child that has to be listed to
// tell whose it is: one that the ledger has elsewhere, or does not know and was not
// looked for yet.
func (r *round) children(instance guard.Resource) {
	for _, c := range instance.Children {
		key := c.ID.Key()
		o, known := get(r, r.src.observed, key)
		if known && o.Instance.Key() != instance.ID.Key() || !known && !r.l.sought[key] {
			r.l.RequestSweep()
		}
		if !known {
			r.l.sought[key] = true
		}
	}
}

// sweepKinds are volumes and whatever else the provider may leave behind.
func sweepKinds(t guard.Truths) []guard.Kind {
	kinds := []guard.Kind{guard.Volume}
	for _, k := range t.DeleteLeaves {
		if k != guard.Instance && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// take goes through a listing. Only a scope whose every result is without error
// and without an entry that names nothing is complete.
func (r *round) take(results []providers.ScopeResult) {
	type scope struct {
		status guard.ScopeStatus
		err    error
	}
	var order []string
	scopes := map[string]*scope{}
	things := 0
	for _, res := range results {
		things += len(res.Resources)
	}
	listed := make(map[string]*guard.Resource, things)
	for _, res := range results {
		if errors.Is(res.Err, guard.ErrUnsupported) {
			continue
		}
		st := guard.ScopeStatus{Account: r.l.account.Name, Kind: res.Kind, Scope: res.Scope}
		key := store.ScopeKey(st)
		if scopes[key] == nil {
			if old, ok := r.s.scopes[key]; ok {
				st = old
			}
			scopes[key] = &scope{status: st}
			order = append(order, key)
		}
		err := res.Err
		for i := range res.Resources {
			fresh := &res.Resources[i]
			fresh.ID.Account = r.l.account.Name
			if fresh.ID.ID == "" || fresh.ID.Kind != res.Kind {
				err = cmp.Or(err, fmt.Errorf("%w: an entry of the list names no %s; nothing is taken for gone because of this list", guard.ErrBadReply, res.Kind))
				continue
			}
			k := fresh.ID.Key()
			if twin, ok := listed[k]; ok {
				fresh = r.pick(twin, fresh)
			}
			listed[k] = fresh
		}
		scopes[key].err = cmp.Or(scopes[key].err, err)
	}
	for _, key := range order {
		sc := scopes[key]
		kind := sc.status.Kind
		if _, ok := r.kinds[kind]; !ok {
			r.kinds[kind] = true
		}
		r.hold(key, sc.err)
		if sc.err != nil {
			r.kinds[kind] = false
			r.scopes = append(r.scopes, failing(sc.status, r.at, sc.err))
			continue
		}
		r.complete[key] = true
		r.scopes = append(r.scopes, whole(sc.status, r.at))
	}
	keys := slices.AppendSeq(make([]string, 0, len(listed)), maps.Keys(listed))
	slices.Sort(keys)
	for _, key := range keys {
		if fresh := listed[key]; fresh.Live() {
			r.alive[key] = fresh
		}
	}
	for _, key := range keys {
		r.see(key, listed[key], false)
	}
	r.l.looked = true
}

// pick chooses between two entries of one ID in one listing: the thing that the
// ledger knows, else the one that bills.
func (r *round) pick(a, b *guard.Resource) *guard.Resource {
	if o, ok := get(r, r.src.observed, a.ID.Key()); ok {
		sameA, sameB := presence.Same(o.Resource, *a), presence.Same(o.Resource, *b)
		if sameA != sameB {
			if sameB {
				return b
			}
			return a
		}
	}
	if !a.Live() || (a.State == guard.StateStopped && b.Live()) {
		return b
	}
	return a
}

// see takes in one thing as it was read.
func (r *round) see(key string, fresh *guard.Resource, byID bool) {
	o, known, recorded := r.record(key)
	if !fresh.Live() {
		// A tombstone in a listing is a reason to read it by ID; of something
		// that was never seen alive it is history.
		if known && o.Live() && !byID {
			r.alive[key] = fresh // listed: not missing
			r.doubt(fresh.ID)
			if r.complete[scopeOf(fresh.ID)] {
				r.shown = append(r.shown, *fresh)
			}
		}
		return
	}
	r.alive[key] = fresh
	if known && o.Gone != nil && !byID && presence.Same(o.Resource, *fresh) {
		r.doubts = append(r.doubts, fresh.ID) // proven gone, and listed: look
		return
	}
	s := sighting{fresh: *fresh, at: r.at.Wall, identity: r.identity, byID: byID, last: r.s.completed(fresh.ID),
		claimed: r.claimed(key), parent: r.origin(fresh)}
	_, told := merge(o, recorded, s)
	// What a register has written down was not looked at here yet.
	if fresh.ID.Kind == guard.Instance && (told != newsNone || !r.l.looked || o.FirstSeen.After(s.last)) {
		r.children(*fresh)
	}
	if told != newsNone {
		kept := s // of the many that say nothing new none is
		r.updates = append(r.updates, update{sight: &kept, last: s.last})
	}
}

// judgeAbsence collects what is known to live and was not in a complete list.
func (r *round) judgeAbsence() {
	truths := r.l.account.Provider.Truths()
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		keys, err := r.v.Observed.Keys(r.l.account.Name + "/" + string(kind) + "/")
		if err != nil {
			r.damage = err
		}
		for _, key := range keys {
			if r.alive[key] != nil {
				continue // nearly all of them: their records need not be read
			}
			o, known := get(r, r.src.observed, key)
			if !known || !o.Live() {
				continue
			}
			id := o.Resource.ID
			// A scope that is not listed any more proves nothing, but a read by ID may.
			if r.complete[scopeOf(id)] || (truths.ReadsByID(kind) && r.kinds[kind]) {
				r.doubt(id)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.l.leased)) {
		if r.alive[key] != nil {
			continue
		}
		if _, recorded := get(r, r.src.observed, key); recorded {
			continue
		}
		if lease, ok := r.lease(key); ok && truths.ReadsByID(lease.Resource.Kind) {
			r.doubts = append(r.doubts, lease.Resource)
		}
	}
}

// doubt has a thing read by ID, or, where that cannot be, counts the listing.
func (r *round) doubt(id guard.ResourceID) {
	if r.l.account.Provider.Truths().ReadsByID(id.Kind) {
		r.doubts = append(r.doubts, id)
		return
	}
	r.unlisted = append(r.unlisted, id)
}

// read asks for things by ID and folds the answers. What speaks for an absence
// counts only if the credentials are still the same afterwards.
func (r *round) read(ctx context.Context, ids []guard.ResourceID) error {
	for _, id := range ids {
		delete(r.l.checks, id.Key())
	}
	var looks []guard.Lookup
	for part := range slices.Chunk(ids, batch) {
		looks = append(looks, r.l.account.Provider.Get(ctx, part...)...)
	}
	speaks := slices.ContainsFunc(looks, func(l guard.Lookup) bool {
		return l.Verdict == guard.VerdictAbsent || (l.Verdict == guard.VerdictFound && !l.Resource.Live())
	})
	identity := r.identity
	if speaks || len(r.unlisted) > 0 || len(r.shown) > 0 {
		id, err := r.l.account.Provider.Identity(ctx)
		if err != nil || id.ID != r.identity {
			identity = "" // whoever that was, it was not us
		} else if err := r.vouch(ctx, id, looks); err != nil {
			return r.l.failed(ctx, r.at, r.s, err)
		}
	}
	return r.look(ctx, func() {
		if identity != "" {
			for i := range r.shown {
				r.show(&r.shown[i])
			}
		}
		for _, look := range looks {
			if _, wait := guard.RetryAfter(look.Err); wait {
				r.asked = look.Err
			}
			r.fold(look, identity)
		}
		for _, id := range r.unlisted {
			o, _, _ := r.record(id.Key())
			next, j := presence.Unlisted(o, identity, r.at, r.given(o))
			r.await(id, next, j)
			if identity != "" {
				r.updates = append(r.updates, update{unlisted: id, last: r.s.completed(id)})
			}
		}
	})
}

// show keeps that a listing shows a thing in a terminal state, the first time.
func (r *round) show(fresh *guard.Resource) {
	o, known, _ := r.record(fresh.ID.Key())
	if !known || o.Gone != nil {
		return
	}
	if next, _ := presence.Shown(o, *fresh, r.identity, r.at, r.given(o)); len(next.Absent) != len(o.Absent) {
		r.updates = append(r.updates, update{shown: fresh, last: r.s.completed(fresh.ID)})
	}
}

// fold judges one answer on what the ledger has: a thing that lives is seen;
// anything else may be a step of a proof.
func (r *round) fold(look guard.Lookup, identity string) {
	look.ID.Account = r.l.account.Name
	key := look.ID.Key()
	o, known, _ := r.record(key)
	if look.Verdict == guard.VerdictFound && look.Resource.Live() {
		look.Resource.ID.Account = r.l.account.Name
		if look.Resource.ID.Key() == key {
			r.see(key, &look.Resource, true)
		}
		return
	}
	if !known || o.Gone != nil {
		return
	}
	next, j := presence.Look(o, look, identity, r.at, r.given(o))
	r.await(look.ID, next, j)
	if len(next.Absent) != len(o.Absent) || next.Gone != nil || j.Verdict == presence.VerdictMissing ||
		j.Verdict == presence.VerdictEnding || j.Verdict == presence.VerdictTooYoung || j.Verdict == presence.VerdictUnlisted {
		r.updates = append(r.updates, update{look: &look, last: r.s.completed(look.ID)})
	}
}

// given is circumstances inside look.
func (r *round) given(o guard.Observed) presence.Case {
	c, err := r.circumstances(r.src, o)
	if err != nil {
		r.damage = err
	}
	return c
}

// await remembers when the next reading of a thing is due.
func (r *round) await(id guard.ResourceID, o guard.Observed, j presence.Judgement) {
	if o.Gone == nil && !j.NextAt.IsZero() {
		r.l.checks[id.Key()] = check{id: id, at: j.NextAt}
	}
}
