package meter

import (
	"maps"
	"slices"
	"time"

	"guard"
	"guard/store"
)

const (
	// wholly is how often everything is looked at, whether it changed or not: nothing
	// should need that, and it bounds the harm where something does.
	wholly = 6 * time.Hour
	// step is how far the wall clock may leave the elapsed time between two runs
	// before what rests on either is looked at again.
	step = time.Second
)

// book is what the meter remembers between runs. It has no records, which the
// ledger keeps in memory, but what depends on what, and what time alone can move.
// A set may name more than is true and never less: what is in it for nothing is
// looked at for nothing.
type book struct {
	last, whole guard.Instant // the last run, and the last that looked at everything
	// seen is how much of the ledger is known but for what is metered, and counted
	// how much of that.
	seen, counted store.Version

	members  map[string][]string // by lease: the resources with segments of it, sorted
	attached map[string][]string // by an instance's key: what last hung on it, sorted
	doubtful map[string]bool     // resources with a price that was read once
	restless map[string]bool     // leases whose plan can change by time alone
	again    map[string]bool     // resources that were folded: the next run looks whether that was all
	sent     map[month]*tally    // for the free tier, which is the whole account's
}

func newBook(at guard.Instant, v store.Version) *book {
	return &book{last: at, whole: at, seen: v, counted: v, members: map[string][]string{}, attached: map[string][]string{},
		doubtful: map[string]bool{}, restless: map[string]bool{}, again: map[string]bool{}, sent: map[month]*tally{}}
}

// stale reports whether everything must be looked at.
func (b *book) stale(at guard.Instant) bool {
	if b == nil || at.Before(b.last) || at.Sub(b.whole) >= wholly {
		return true
	}
	return (at.Wall.Sub(b.last.Wall) - at.Sub(b.last)).Abs() > step
}

// observe notes what a resource hangs on.
func (b *book) observe(key string, o guard.Observed) {
	if !o.Instance.IsZero() {
		insert(b.attached, o.Instance.Key(), key)
	}
}

// count notes whose money a resource is, and returns those leases.
func (b *book) count(key string, m guard.Metered) []string {
	if doubtful(m) {
		b.doubtful[key] = true
	}
	b.tally(key, m)
	leases := leasesOf(m)
	for _, id := range leases {
		insert(b.members, id, key)
	}
	return leases
}

func insert(sets map[string][]string, name, key string) {
	set := sets[name]
	if i, ok := slices.BinarySearch(set, key); !ok {
		sets[name] = slices.Insert(set, i, key)
	}
}

// refresh brings the book up to date with the ledger. It returns the resources to
// fold, sorted, and adds the leases to solve.
func (r *run) refresh(v *store.View) ([]string, error) {
	r.complete = map[string]time.Time{}
	for s, err := range v.Scopes.All("") {
		if err != nil {
			return nil, err
		}
		r.complete[store.ScopeKey(s)] = s.Complete
	}
	if r.book.stale(r.at) {
		return r.everything(v)
	}
	b := r.book
	observed, known := v.Observed.Changed(b.seen)
	leases, alsoKnown := v.Leases.Changed(b.seen)
	sent, knownToo := v.Egress.Changed(b.seen)
	billed, allKnown := v.Bills.Changed(b.seen)
	if !known || !alsoKnown || !knownToo || !allKnown {
		return r.everything(v)
	}
	longer, err := r.ended.update(v)
	if err != nil {
		return nil, err
	}
	fold := slices.Concat(observed, sent, billed)
	for key := range b.doubtful {
		fold = append(fold, key)
	}
	fold = slices.AppendSeq(fold, maps.Keys(b.again))
	clear(b.again)
	for _, key := range observed {
		o, ok, err := v.Observed.Get(key)
		if err != nil {
			return nil, err
		}
		if ok {
			b.observe(key, o)
		}
		fold = append(fold, b.attached[key]...) // from when on they count rests on it
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return nil, err
		}
		r.solve = append(r.solve, leasesOf(m)...) // what it will owe is not in m
	}
	r.solve = append(r.solve, leases...)
	for _, id := range leases {
		l, ok, err := v.Leases.Get(id)
		if err != nil {
			return nil, err
		}
		if ok {
			key := l.Resource.Key()
			fold = append(append(fold, key), b.attached[key]...)
		}
	}
	if len(longer) > 0 {
		for l, err := range v.Leases.All("") {
			if err != nil {
				return nil, err
			}
			if slices.Contains(longer, l.Resource.Account) {
				r.solve = append(r.solve, l.ID)
			}
		}
	}
	b.last, b.seen = r.at, v.Version()
	return unique(fold), nil
}

// everything makes the book anew.
func (r *run) everything(v *store.View) ([]string, error) {
	b := newBook(r.at, v.Version())
	r.book = b
	var fold []string
	for o, err := range v.Observed.All("") {
		if err != nil {
			return nil, err
		}
		key := o.Resource.ID.Key()
		b.observe(key, o)
		fold = append(fold, key)
	}
	for m, err := range v.Metered.All("") {
		if err != nil {
			return nil, err
		}
		b.count(m.Resource.Key(), m)
	}
	for l, err := range v.Leases.All("") {
		if err != nil {
			return nil, err
		}
		if l.Status.Open() {
			r.solve = append(r.solve, l.ID)
		}
	}
	for p, err := range v.Plans.All("") {
		if err != nil {
			return nil, err
		}
		r.solve = append(r.solve, p.Lease) // its lease may have ended
	}
	_, err := r.ended.update(v)
	return unique(fold), err
}

// recount adds the leases whose segments changed to those to solve.
func (r *run) recount(v *store.View) error {
	b := r.book
	keys, known := v.Metered.Changed(b.counted)
	for _, key := range keys {
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return err
		}
		r.solve = append(r.solve, b.count(key, m)...)
	}
	if !known {
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			r.solve = append(r.solve, b.count(m.Resource.Key(), m)...)
		}
	}
	b.counted = v.Version()
	for id := range b.restless {
		r.solve = append(r.solve, id)
	}
	r.solve = unique(r.solve)
	return nil
}

func unique(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}
