package decide

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/store"
)

// index is what the loop keeps of the ledger between its runs: what there is to
// judge, how it hangs together, and what is to be judged again when. The records
// themselves stay in the ledger.
type index struct {
	version store.Version // what it is up to date with
	stirred uint64        // what it is up to date with of activity
	records int           // how many were read for that
	read    guard.Instant // when it was begun
	judged  time.Time     // the time of the last run's judgement

	subjects map[string]*subject // by key
	stale    map[*subject]bool   // to be judged in the next run, whenever that is
	queue    queue               // to be judged when their time comes

	leases   map[string]leaseRef            // by lease
	found    map[string][]guard.Rule        // of open findings, in spoken's order, by the key of the subject
	accounts map[string]guard.AccountStatus // what resources' facts have of them, by name
	family   map[string][]string            // by an instance's key: its children's keys
	copies   map[string][]string            // by a disk's key: its snapshots' keys
	kin      map[string]map[string]bool     // by a name that instances started for each other share: their keys, and who is gone
	awaited  map[string]map[string]*subject // leases of what nobody has seen yet, by account and lease
	unlisted map[string]map[*subject]bool   // by a scope's key: what is judged again once that is listed
	live     map[string]int                 // live instances by account
	open     map[string]int                 // open leases by account
}

// subject is one thing that is judged: a resource, the lease of an instance that
// nobody has seen yet, an account or guard itself.
type subject struct {
	// key is the resource's, or ACCOUNT/LEASE, or the account's name, or "" for guard
	// itself. A resource's key has two slashes at least, and a lease's one.
	key     string
	account string // "" for guard itself
	lease   string // the ID of one that is waited for; "" for all others
	next    time.Time
	pos     int // in the queue; -1 outside

	observed bool
	live     bool     // it counts among the account's live instances
	parent   string   // the key of the instance it was last attached to
	kin      []string // the names in index.kin, of an instance
	source   string   // the key of the disk that it was made from
	listing  string   // the key in index.unlisted
	leases   int      // that name it

	threadless time.Time // when it was last looked for its threads, and there were none; see adopt
}

func (s *subject) resource() bool { return s.key != s.account && s.lease == "" }

// leaseRef is what is known of a lease.
type leaseRef struct {
	key, account string
	open, waits  bool
}

func newIndex(at guard.Instant) *index {
	x := &index{read: at, subjects: map[string]*subject{}, stale: map[*subject]bool{}, leases: map[string]leaseRef{},
		found: map[string][]guard.Rule{}, accounts: map[string]guard.AccountStatus{}, family: map[string][]string{}, copies: map[string][]string{}, kin: map[string]map[string]bool{},
		awaited: map[string]map[string]*subject{}, unlisted: map[string]map[*subject]bool{}, live: map[string]int{}, open: map[string]int{}}
	x.stale[x.add("", "")] = true
	return x
}

// fold brings the index up to date with a View. Whatever may be judged otherwise
// now is stale afterwards; where the ledger does not know any more what has
// changed, that is everything.
func (x *index) fold(v *store.View) error {
	if _, known := v.Observed.Changed(x.version); !known {
		*x = *newIndex(x.read)
	}
	for _, fold := range []func() error{
		func() error {
			return each(x, v.Accounts, x.account, func(a guard.AccountStatus) string { return a.Name })
		},
		func() error { return each(x, v.Observed, x.observe, observedKey) },
		func() error { return each(x, v.Leases, x.lease, func(l guard.Lease) string { return l.ID }) },
		func() error { return each(x, v.Findings, x.finding, guard.Finding.Key) },
		func() error { return each(x, v.Mutes, x.mute, guard.Mute.Key) },
		func() error { return changes(x, v.Wallets, x.touch) },
		func() error { return changes(x, v.Bills, x.touch) },
		func() error {
			return changes(x, v.Metered, func(key string) {
				x.touch(key)
				if s := x.subjects[key]; s != nil {
					x.touch(s.parent) // it bills to its family
				}
				if m, ok, err := v.Metered.Get(key); err == nil && ok {
					x.touch(x.leases[m.Lease].key) // and to its lease's
				}
			})
		},
		func() error { return changes(x, v.Plans, func(lease string) { x.touch(x.leases[lease].key) }) },
		func() error { return changes(x, v.Releases, x.touch) },
		func() error { return changes(x, v.Egress, x.touch) },
		func() error {
			return changes(x, v.Scopes, func(key string) {
				name, _, _ := strings.Cut(key, "/")
				x.touch(name)
				for s := range x.unlisted[key] {
					x.stale[s] = true
				} // to all other resources they tell only how fresh a fact is
			})
		},
	} {
		if err := fold(); err != nil {
			return err
		}
	}
	x.version = v.Version()
	return nil
}

func observedKey(o guard.Observed) string { return o.Resource.ID.Key() }

// each hands on the records that were put or deleted since the index was brought
// up to date, or all of them; ok is false for one that is gone.
func each[T any](x *index, t store.Table[T], take func(key string, v T, ok bool), keyOf func(T) string) error {
	keys, known := t.Changed(x.version)
	if !known {
		for v, err := range t.All("") {
			if err != nil {
				return err
			}
			x.records++
			take(keyOf(v), v, true)
		}
		return nil
	}
	for _, key := range keys {
		v, ok, err := t.Get(key)
		if err != nil {
			return err
		}
		x.records++
		take(key, v, ok)
	}
	return nil
}

// changes hands on the keys of changed records. Where they are not known, each
// has made every subject stale already.
func changes[T any](x *index, t store.Table[T], take func(key string)) error {
	keys, _ := t.Changed(x.version)
	for _, key := range keys {
		take(key)
	}
	return nil
}

func (x *index) observe(key string, o guard.Observed, ok bool) {
	account, _, _ := strings.Cut(key, "/")
	s := x.add(key, account)
	s.observed = ok
	if live := ok && o.Live() && o.Resource.ID.Kind == guard.Instance; live != s.live {
		s.live = live
		x.live[account] += one(live)
	}
	parent := ""
	if ok && !o.Instance.IsZero() {
		parent = o.Instance.Key()
	}
	if parent != s.parent {
		x.touch(s.parent)
		x.leave(s)
		s.parent = parent
		if parent != "" {
			x.family[parent] = append(x.family[parent], key)
		}
		x.touch(parent)
	}
	source := ""
	if ok {
		source = madeFrom(o)
	}
	if source != s.source {
		if left := slices.DeleteFunc(x.copies[s.source], func(k string) bool { return k == key }); len(left) > 0 {
			x.copies[s.source] = left
		} else {
			delete(x.copies, s.source)
		}
		if s.source = source; source != "" {
			x.copies[source] = append(x.copies[source], key)
		}
	}
	x.related(s, o, ok)
	x.touch(key)
	for _, of := range slices.Concat(x.family[key], x.copies[key]) {
		x.touch(of) // they are judged by what became of it
	}
	x.look(account)
	x.drop(s)
}

// stir has judged anew what works otherwise than it did, by key, or everything.
func (x *index) stir(keys []string, all bool, now uint64) {
	if all {
		for key := range x.subjects {
			x.touch(key)
		}
	}
	for _, key := range keys {
		x.touch(key)
	}
	x.stirred = now
}

// look has the leases judged that wait for an instance of an account.
func (x *index) look(account string) {
	for _, s := range x.awaited[account] {
		x.stale[s] = true
	}
}

// mute touches what is muted: of whatever kind that is, which people do not say.
func (x *index) mute(key string, _ guard.Mute, _ bool) {
	about := mutedBy(key)
	x.touch(about)
	if account, id, ok := guard.ParseID(about); ok {
		for _, kind := range guard.Kinds {
			x.touch(guard.ResourceID{Account: account, Kind: kind, ID: id}.Key())
		}
	}
}

// mutedBy is the subject of a mute, by its key.
func mutedBy(key string) string {
	_, rest, _ := strings.Cut(key, "|")
	return rest[:max(strings.LastIndex(rest, "|"), 0)]
}

// leave takes a child out of its family.
func (x *index) leave(s *subject) {
	f := x.family[s.parent]
	if i := slices.Index(f, s.key); i >= 0 {
		f = slices.Delete(f, i, i+1)
	}
	if x.family[s.parent] = f; len(f) == 0 {
		delete(x.family, s.parent)
	}
}

func (x *index) lease(id string, l guard.Lease, ok bool) {
	var now leaseRef
	if ok {
		now = leaseRef{key: l.Resource.Key(), account: l.Resource.Account, open: l.Status.Open()}
		if now.waits = l.Resource.IsZero(); now.waits {
			now.key = l.Resource.Account + "/" + l.ID
		}
	}
	was := x.leases[id]
	x.leases[id] = now
	if !ok {
		delete(x.leases, id)
	}
	if was.open {
		x.open[was.account]--
	}
	if now.open {
		x.open[now.account]++
	}
	if was.open != now.open || was.account != now.account {
		x.touch(was.account)
		x.touch(now.account)
	}
	if now.key != was.key {
		if ok {
			x.add(now.key, now.account).leases++
		}
		if s := x.subjects[was.key]; s != nil && s.key != s.account {
			s.leases--
			x.touch(was.key)
			if s.lease == "" {
				x.drop(s)
			} // else what is open about it is judged first
		}
	}
	if was.waits {
		delete(x.awaited[was.account], id)
	}
	x.await(id, now)
	x.touch(now.key)
	for _, child := range slices.Concat(x.family[now.key], x.family[was.key]) {
		x.touch(child) // it is told whose it was
	}
	if !now.waits && (was.open != now.open || was.key != now.key) {
		x.look(now.account) // what it was of, or is of now, may be what another waits for
	}
}

// await keeps the leases that wait for an instance.
func (x *index) await(id string, now leaseRef) {
	if !now.waits {
		return
	}
	s := x.subjects[now.key]
	if s.lease = id; !now.open {
		return
	}
	if x.awaited[now.account] == nil {
		x.awaited[now.account] = map[string]*subject{}
	}
	x.awaited[now.account][id] = s
	x.look(now.account) // two may wait for the same
}

func (x *index) account(name string, a guard.AccountStatus, ok bool) {
	s := x.add(name, name)
	s.observed = ok
	x.touch(name)
	if seen := seen(a); !reflect.DeepEqual(x.accounts[name], seen) {
		x.accounts[name] = seen
		for key, s := range x.subjects {
			if s.account == name {
				x.touch(key)
			}
		}
	}
	x.drop(s)
}

func (x *index) finding(key string, f guard.Finding, ok bool) {
	if account, lease, waited := guard.ParseID(f.Subject); ok && waited && f.Resource.IsZero() {
		x.add(f.Subject, account).lease = lease // whatever has become of that since
	}
	// Its key is its rule's name, and what it is about.
	name, about, _ := strings.Cut(key, "|")
	rule := guard.Rule(name)
	rules := slices.DeleteFunc(x.found[about], func(r guard.Rule) bool { return r == rule })
	if ok && slices.Contains(spoken, rule) {
		rules = append(rules, rule)
		slices.SortFunc(rules, func(a, b guard.Rule) int { return cmp.Compare(slices.Index(spoken, a), slices.Index(spoken, b)) })
	}
	if x.found[about] = rules; len(rules) == 0 {
		delete(x.found, about)
	}
	x.touch(about)
}

// add returns the subject of a key, a new one where there is none.
func (x *index) add(key, account string) *subject {
	s := x.subjects[key]
	if s == nil {
		s = &subject{key: key, account: account, pos: -1}
		x.subjects[key] = s
	}
	return s
}

// touch makes a resource or an account stale, where there is one of the key.
func (x *index) touch(key string) {
	if s := x.subjects[key]; s != nil && key != "" {
		x.stale[s] = true
	}
}

// drop forgets a subject of which the ledger has nothing any more.
func (x *index) drop(s *subject) {
	if s.observed || s.leases > 0 {
		return
	}
	x.wait(s, time.Time{})
	x.heed(s, guard.ResourceID{}, "")
	delete(x.stale, s)
	delete(x.subjects, s.key)
	delete(x.awaited[s.account], s.lease)
}

// wait sets when a subject is judged again by itself; zero: never.
func (x *index) wait(s *subject, next time.Time) {
	s.next = next
	switch {
	case next.IsZero() && s.pos >= 0:
		heap.Remove(&x.queue, s.pos)
	case next.IsZero():
	case s.pos >= 0:
		heap.Fix(&x.queue, s.pos)
	default:
		heap.Push(&x.queue, s)
	}
}

// heed sets the kind of which a listing of its scope has a resource judged again; "": none
// does.
func (x *index) heed(s *subject, id guard.ResourceID, kind guard.Kind) {
	key := ""
	if kind != "" {
		key = store.ScopeKey(guard.ScopeStatus{Account: id.Account, Kind: kind, Scope: id.Scope})
	}
	if key == s.listing {
		return
	}
	delete(x.unlisted[s.listing], s)
	if len(x.unlisted[s.listing]) == 0 {
		delete(x.unlisted, s.listing)
	}
	if s.listing = key; key == "" {
		return
	}
	if x.unlisted[key] == nil {
		x.unlisted[key] = map[*subject]bool{}
	}
	x.unlisted[key][s] = true
}

// turn is when a subject is judged next whatever happens: once in each stretch of anyway,
// in a minute of its own.
func (x *index) turn(s *subject, now time.Time) time.Time {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.key))
	minute := time.Duration(h.Sum32()%uint32(anyway/time.Minute)) * time.Minute
	past := (now.Sub(x.read.Wall) - minute) % anyway // since its last
	if past < 0 {
		past += anyway
	}
	return now.Add(anyway - past)
}

// due is what is to be judged at a time: resources by key, then what is waited for,
// then accounts, then guard itself.
func (x *index) due(now time.Time) []*subject {
	for len(x.queue) > 0 && !x.queue[0].next.After(now) {
		x.stale[x.queue[0]] = true
		x.wait(x.queue[0], time.Time{})
	}
	out := make([]*subject, 0, len(x.stale))
	for s := range x.stale {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *subject) int { return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(a.key, b.key)) })
	return out
}

func (s *subject) class() int {
	switch {
	case s.resource():
		return 0
	case s.lease != "":
		return 1
	case s.account != "":
		return 2
	}
	return 3
}

// next is when the first subject is judged again by itself; zero: none.
func (x *index) next() time.Time {
	if len(x.queue) == 0 {
		return time.Time{}
	}
	return x.queue[0].next
}

func one(up bool) int {
	if up {
		return 1
	}
	return -1
}

// queue is a heap of subjects by when they are judged again.
type queue []*subject

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].next.Before(q[j].next) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].pos, q[j].pos = i, j
}
func (q *queue) Push(x any) {
	s := x.(*subject)
	s.pos = len(*q)
	*q = append(*q, s)
}
func (q *queue) Pop() any {
	old := *q
	s := old[len(old)-1]
	s.pos = -1
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return s
}
