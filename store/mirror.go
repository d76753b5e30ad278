package store

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
	"golang.org/x/sync/errgroup"
)

// Version counts the updates of a ledger's mirrored tables since it was opened.
// The zero value is before the first.
type Version uint64

// mostChanges is how many changed keys are remembered; who has not looked for so
// long reads everything.
const mostChanges = 1 << 17

// image is the mirrored tables after one update. A published one is never
// changed, but for records that are packed when they are first read.
type image struct {
	tables  map[string]mirrored // by table name
	version Version
	// changes are the keys written by the last updates, oldest first; before is
	// the version that they begin after.
	changes []changed
	before  Version
}

type changed struct {
	version    Version
	table, key string
}

// mirrored is one table in memory, whatever its records are.
type mirrored interface {
	copy() mirrored
	set(key, text string)
	delete(key string)
	differs(key string, value []byte) (string, bool)
	keys(prefix string) []string
}

// mirror is the records of one table, by key.
type mirror[T any] struct {
	t    table[T]
	rows btree.Map[string, *record]
}

// record is a mark and the record's text: JSON until it is first read, packed from
// then on.
type record struct{ text atomic.Pointer[string] }

const (
	asJSON   = "j"
	asPacked = "p"
)

func (m *mirror[T]) read(key string, r *record) (T, error) {
	text := *r.text.Load()
	mark, text := text[:1], text[1:]
	if mark == asPacked {
		return m.t.unpack(key, text), nil
	}
	v, err := m.t.decode(key, []byte(text))
	if err == nil {
		if s := m.t.as.of(key, &v); s != "" {
			r.text.Store(&s)
		}
	}
	return v, err
}

func (m *mirror[T]) copy() mirrored { return &mirror[T]{t: m.t, rows: *m.rows.Copy()} }

func (m *mirror[T]) set(key, text string) {
	r := &record{}
	r.text.Store(&text)
	m.rows.Set(key, r)
}

func (m *mirror[T]) delete(key string) { m.rows.Delete(key) }

func (m *mirror[T]) get(key string) (v T, ok bool, err error) {
	r, ok := m.rows.Get(key)
	if !ok {
		return v, false, nil
	}
	if v, err = m.read(key, r); err != nil {
		return v, false, err
	}
	return v, true, nil
}

func (m *mirror[T]) all(prefix string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m.rows.Ascend(prefix, func(key string, r *record) bool {
			if !strings.HasPrefix(key, prefix) {
				return false
			}
			return yield(m.read(key, r))
		})
	}
}

func (m *mirror[T]) keys(prefix string) []string {
	var keys []string
	m.rows.Ascend(prefix, func(key string, _ *record) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		keys = append(keys, key)
		return true
	})
	return keys
}

// differs tells what is wrong where the record of a key is not what the bytes in
// the backend make. Nil bytes are no record.
func (m *mirror[T]) differs(key string, value []byte) (string, bool) {
	v, ok, err := m.get(key)
	switch {
	case err != nil: // reported by whoever reads the table
		return "", false
	case ok != (value != nil):
		return "is in memory or in the backend, not in both", true
	case !ok:
		return "", false
	}
	if want, err := m.t.decode(key, value); err == nil && !reflect.DeepEqual(v, want) {
		return "is not in memory as it is in the backend: somebody wrote past the ledger", true
	}
	return "", false
}

func newImage() *image {
	i := &image{tables: map[string]mirrored{}, version: 1, before: 1}
	mirrorOf(i, leases)
	mirrorOf(i, leaseIndex)
	mirrorOf(i, observed)
	mirrorOf(i, metered)
	mirrorOf(i, plans)
	mirrorOf(i, findings)
	mirrorOf(i, releases)
	mirrorOf(i, outbox)
	mirrorOf(i, scopes)
	mirrorOf(i, accounts)
	mirrorOf(i, mutes)
	mirrorOf(i, tokens)
	mirrorOf(i, egress)
	mirrorOf(i, wallets)
	mirrorOf(i, bills)
	return i
}

func mirrorOf[T any](i *image, t table[T]) { i.tables[t.name] = &mirror[T]{t: t} }

// load reads the mirrored tables as they are in the backend, which nobody writes to yet,
// several at once.
func load(ctx context.Context, b Backend) (*image, error) {
	i := newImage()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range slices.Sorted(maps.Keys(i.tables)) {
		g.Go(func() error {
			return b.View(ctx, func(r Reader) error {
				return r.Scan(name, "", "", func(key string, value []byte) bool {
					i.tables[name].set(key, asJSON+string(value))
					return true
				})
			})
		})
	}
	return i, g.Wait()
}

// after is the image with one more update.
func (i *image) after(writes map[place]string) *image {
	next := &image{tables: maps.Clone(i.tables), version: i.version + 1, changes: i.changes, before: i.before}
	if len(next.changes) >= mostChanges {
		half := len(next.changes) / 2
		next.before = next.changes[half-1].version
		next.changes = slices.Clone(next.changes[half:])
		for len(next.changes) > 0 && next.changes[0].version == next.before {
			next.changes = next.changes[1:]
		}
	}
	copied := map[string]bool{}
	for p, text := range writes {
		m := next.tables[p.table]
		if !copied[p.table] {
			copied[p.table] = true
			m = m.copy()
			next.tables[p.table] = m
		}
		if text == "" {
			m.delete(p.key)
		} else {
			m.set(p.key, text)
		}
		next.changes = append(next.changes, changed{next.version, p.table, p.key})
	}
	return next
}

// since are the keys of a table written after a version, each once, in order;
// false where that is too long ago to tell.
func (i *image) since(table string, v Version) ([]string, bool) {
	if v < i.before {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(i.changes, v, func(c changed, v Version) int {
		if c.version <= v {
			return -1
		}
		return 1
	})
	var keys []string
	for _, c := range i.changes[at:] {
		if c.table == table {
			keys = append(keys, c.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), true
}
