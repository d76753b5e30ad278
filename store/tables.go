package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"sync"

	"guard"
)

// table says where records of one type live. key gives "" for a record that
// names nothing and cannot be kept. as is how a mirror keeps them; nil: there is none.
type table[T any] struct {
	name string
	key  func(T) string
	as   *packer
	// room is where records are packed and unpacked: reflection wants them on the
	// heap, and what is there is gone soon.
	room *sync.Pool
}

func archive[T any](name string, key func(T) string) table[T] {
	return table[T]{name: name, key: key, room: &sync.Pool{New: func() any { return new(T) }}}
}

func tableOf[T any](name string, key func(T) string) table[T] {
	t := archive(name, key)
	t.as = packerOf(reflect.TypeFor[T]())
	return t
}

// The tables. Their names are in files: never rename one without an upgrade.
var (
	leases         = tableOf("leases", func(l guard.Lease) string { return l.ID })
	leaseIndex     = tableOf("lease_of", func(r leaseRefs) string { return r.Resource })
	observed       = tableOf("observed", func(o guard.Observed) string { return resourceKey(o.Resource.ID) })
	metered        = tableOf("metered", func(m guard.Metered) string { return resourceKey(m.Resource) })
	plans          = tableOf("plans", func(p guard.Plan) string { return p.Lease })
	findings       = tableOf("findings", findingKey)
	closedFindings = archive("findings_closed", func(f guard.Finding) string { return f.ID })
	releases       = tableOf("releases", func(r guard.Release) string { return resourceKey(r.Target) })
	endedReleases  = archive("releases_ended", func(r guard.Release) string { return r.ID })
	outbox         = tableOf("outbox", func(m guard.Message) string { return m.ID })
	sentMessages   = archive("outbox_sent", func(m guard.Message) string { return m.ID })
	scopes         = tableOf("scopes", ScopeKey)
	accounts       = tableOf("accounts", func(a guard.AccountStatus) string { return a.Name })
	mutes          = tableOf("mutes", func(m guard.Mute) string {
		if m.Subject == "" || m.Kind == "" {
			return ""
		}
		return m.Key()
	})
	egress  = tableOf("egress", func(e guard.Egress) string { return resourceKey(e.Resource) })
	bills   = tableOf("bills", func(b guard.Bill) string { return resourceKey(b.Resource) })
	wallets = tableOf("wallets", func(w guard.Wallet) string { return w.Account })
	tokens  = tableOf("tokens", func(t guard.Token) string { return t.ID })
	journal = archive("journal", func(e guard.JournalEntry) string { return seqKey(e.Seq) })
)

// Tables without a record type of their own.
const (
	metaTable    = "meta"       // the schema, and the journal's counter
	valuesTable  = "values"     // small named values
	journalIndex = "journal_of" // subject or lease, newest first → nothing
)

// threadPrefix begins the names of all threads' values.
const threadPrefix = "thread/"

// ThreadName is the name of the value that says where a channel's messages about a
// resource (by ResourceID.Key) go. It goes with the record of the resource.
func ThreadName(channel, resource string) string { return threadPrefix + channel + "/" + resource }

// FirstName is the name of the value that says which message a thread began with. It goes
// with the thread's own value.
func FirstName(channel, resource string) string { return ThreadName(channel+":first", resource) }

// ScopeKey is the key of a scope's status: ACCOUNT/KIND/SCOPE.
func ScopeKey(s guard.ScopeStatus) string {
	if s.Account == "" || s.Kind == "" {
		return ""
	}
	return s.Account + "/" + string(s.Kind) + "/" + s.Scope
}

func resourceKey(id guard.ResourceID) string {
	if id.Account == "" || id.Kind == "" || id.ID == "" {
		return ""
	}
	return id.Key()
}

func findingKey(f guard.Finding) string {
	if f.Rule == "" {
		return ""
	}
	return f.Key()
}

// decode reads a record and proves that it is the one the key promises, so that
// "null" or a record in the wrong place never passes for a zero value.
func (t table[T]) decode(key string, b []byte) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("%w: record %q in the ledger's table %s cannot be read: %v", guard.ErrDamaged, key, t.name, err)
	}
	if got := t.key(v); got != key {
		return v, fmt.Errorf("%w: record %q in the ledger's table %s says that it is %q", guard.ErrDamaged, key, t.name, got)
	}
	return v, nil
}

// unpack reads a record that a mirror has packed.
func (t table[T]) unpack(key, text string) T {
	p := t.room.Get().(*T)
	defer t.leave(p)
	t.as.into(key, text, p)
	return *p
}

// leave gives a record's room back, empty.
func (t table[T]) leave(p *T) {
	*p = *new(T)
	t.room.Put(p)
}

func (t table[T]) get(g Getter, key string) (T, bool, error) {
	var none T
	if key == "" {
		return none, false, nil
	}
	b, err := g.Get(t.name, key)
	if err != nil || b == nil {
		return none, false, err
	}
	v, err := t.decode(key, b)
	if err != nil {
		return none, false, err
	}
	return v, true, nil
}

// now reads a record as an update sees it, from memory where that can be told.
func (t table[T]) now(o *overlay, key string) (T, bool, error) {
	if m, ok := o.mirror(place{t.name, key}).(*mirror[T]); ok {
		return m.get(key)
	}
	return t.get(o, key)
}

func (t table[T]) put(o *overlay, v T) error {
	key := t.key(v)
	if key == "" {
		return fmt.Errorf("%w: a record without an ID for the ledger's table %s", guard.ErrInvalid, t.name)
	}
	p := t.room.Get().(*T)
	defer t.leave(p)
	*p = v
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("%w: record %q for the ledger's table %s: %v", guard.ErrInvalid, key, t.name, err)
	}
	w := written{value: b}
	if t.as != nil {
		w.packed = t.as.of(key, p)
	}
	return o.put(t.name, key, w)
}

func (t table[T]) all(r Reader, prefix, after string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		stopped := false
		err := r.Scan(t.name, prefix, after, func(key string, b []byte) bool {
			v, err := t.decode(key, b)
			stopped = !yield(v, err)
			return !stopped
		})
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

// Table reads the records of one type in a [View].
type Table[T any] struct {
	t table[T]
	s *snapshot
}

// Get returns the record of a key, and whether there is one.
func (t Table[T]) Get(key string) (T, bool, error) {
	if m := t.mirror(); m != nil {
		return m.get(key)
	}
	return t.t.get(t.s, key)
}

// All yields the records whose key has the prefix, in byte order of their keys.
// A record that cannot be read yields an error that names table and key, and the
// next ones follow: whoever goes on past it knows that something is missing.
func (t Table[T]) All(prefix string) iter.Seq2[T, error] {
	if m := t.mirror(); m != nil {
		return m.all(prefix)
	}
	return t.t.all(t.s, prefix, "")
}

// Keys are the keys that have the prefix, in byte order, whether their records can
// be read or not.
func (t Table[T]) Keys(prefix string) ([]string, error) {
	if m := t.mirror(); m != nil {
		return m.keys(prefix), nil
	}
	var keys []string
	err := t.s.Scan(t.t.name, prefix, "", func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	return keys, err
}

// Changed are the keys that were put or deleted after an earlier View's Version,
// each once, in byte order. False means that this is not known, as of version 0:
// read All. Archives always answer false.
func (t Table[T]) Changed(since Version) (keys []string, known bool) {
	if t.mirror() == nil {
		return nil, false
	}
	return t.s.i.since(t.t.name, since)
}

// mirror is the table in memory, where the View is not over and has it there.
func (t Table[T]) mirror() *mirror[T] {
	if t.s.r == nil || t.s.i == nil {
		return nil
	}
	m, _ := t.s.i.tables[t.t.name].(*mirror[T])
	return m
}

// Rows reads and writes the records of one type in a [Tx].
type Rows[T any] struct {
	t table[T]
	o *overlay
	// change runs before a write: old and new are nil where there is none.
	change func(old, new *T) error
}

// Get returns the record of a key, and whether there is one; it sees what this
// update has put.
func (r Rows[T]) Get(key string) (T, bool, error) { return r.t.now(r.o, key) }

// Put writes a record under the key that it carries. A record without one is
// guard.ErrInvalid.
func (r Rows[T]) Put(v T) error {
	if r.change != nil {
		return r.replace(v)
	}
	return r.t.put(r.o, v)
}

func (r Rows[T]) replace(v T) error {
	old, ok, err := r.Get(r.t.key(v))
	if err != nil {
		return err
	}
	if err := r.change(pointer(old, ok), &v); err != nil {
		return err
	}
	return r.t.put(r.o, v)
}

// Delete removes a record; that there is none is no error.
func (r Rows[T]) Delete(key string) error {
	if r.change != nil {
		old, ok, err := r.Get(key)
		if err != nil || !ok {
			return err
		}
		if err := r.change(&old, nil); err != nil {
			return err
		}
	}
	return r.o.delete(r.t.name, key)
}

func pointer[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}
