// Package memory is a ledger backend that keeps everything in memory, for tests
// and rehearsals. It is strict where others only may be: it runs every update
// function twice and throws the first run away, so that a function with side
// effects, or one that decides on something it read outside, shows.
package memory

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"guard"
	"guard/store"
)

// Backend is a [store.Backend] in memory. The zero value is not usable.
type Backend struct {
	updating sync.Mutex // one update at a time
	mu       sync.RWMutex
	now      state
	closed   bool
}

// state is a snapshot: it is never changed, only replaced.
type state map[string]rows

// dump is what a backup holds.
type dump map[string]map[string][]byte

// New returns an empty backend.
func New() *Backend { return &Backend{now: state{}} }

// Restore returns a backend with what [Backend.Backup] wrote.
func Restore(r io.Reader) (*Backend, error) {
	var d dump
	if err := gob.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("%w: read the copy of a memory ledger: %v", guard.ErrDamaged, err)
	}
	b := New()
	for table, values := range d {
		for key, value := range values {
			b.now[table] = b.now[table].with(key, append([]byte{}, value...))
		}
	}
	return b, nil
}

func (b *Backend) snapshot(ctx context.Context) (state, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return nil, store.ErrClosed
	}
	return b.now, nil
}

// View implements [store.Backend].
func (b *Backend) View(ctx context.Context, fn func(store.Reader) error) error {
	s, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	return fn(reader{s})
}

// Update implements [store.Backend]. fn runs twice.
func (b *Backend) Update(ctx context.Context, fn func(store.Writer) error) error {
	b.updating.Lock()
	defer b.updating.Unlock()
	s, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	if err := fn(newWriter(s)); err != nil {
		return err
	}
	w := newWriter(s)
	if err := fn(w); err != nil {
		return err
	}
	if w.failed != nil {
		return w.failed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = w.apply()
	return nil
}

// Backup implements [store.Backend]; [Restore] reads it.
func (b *Backend) Backup(ctx context.Context, w io.Writer) error {
	s, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	d := dump{}
	for table, r := range s {
		d[table] = map[string][]byte{}
		r.from("", func(w row) bool { d[table][w.key] = w.value; return true })
	}
	if err := gob.NewEncoder(w).Encode(d); err != nil {
		return fmt.Errorf("back up the memory ledger: %w", err)
	}
	return nil
}

// Close implements [store.Backend].
func (b *Backend) Close() error {
	b.updating.Lock()
	defer b.updating.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return store.ErrClosed
	}
	b.closed = true
	return nil
}

type reader struct{ s state }

func (r reader) Get(table, key string) ([]byte, error) {
	return slices.Clone(r.s[table].get(key)), nil
}

func (r reader) Scan(table, prefix, after string, fn func(string, []byte) bool) error {
	r.s[table].from(max(prefix, after), func(w row) bool {
		switch {
		case w.key <= after && after != "":
			return true
		case !strings.HasPrefix(w.key, prefix):
			return false // the first key that is not below the prefix is past it
		}
		return fn(w.key, slices.Clone(w.value))
	})
	return nil
}

func (r reader) Last(table string) (string, []byte, error) {
	w := r.s[table].last()
	return w.key, slices.Clone(w.value), nil
}

type writer struct {
	base   state
	writes map[string]map[string][]byte // nil value: deleted
	count  int
	failed error // stays, so that a caller who drops the error gets it anyway
}

func newWriter(s state) *writer { return &writer{base: s, writes: map[string]map[string][]byte{}} }

func (w *writer) Get(table, key string) ([]byte, error) {
	if v, ok := w.writes[table][key]; ok {
		return slices.Clone(v), nil
	}
	return slices.Clone(w.base[table].get(key)), nil
}

func (w *writer) Put(table, key string, value []byte) error {
	return w.set(table, key, append([]byte{}, value...))
}

func (w *writer) Delete(table, key string) error { return w.set(table, key, nil) }

func (w *writer) set(table, key string, value []byte) error {
	if err := store.CheckKey(table, key); err != nil {
		w.failed = err
		return err
	}
	if w.writes[table] == nil {
		w.writes[table] = map[string][]byte{}
	}
	if _, ok := w.writes[table][key]; !ok {
		if w.count == store.MaxWrites {
			w.failed = store.ErrTooManyWrites
			return w.failed
		}
		w.count++
	}
	w.writes[table][key] = value
	return nil
}

// apply makes the next snapshot.
func (w *writer) apply() state {
	next := maps.Clone(w.base)
	for table, changes := range w.writes {
		t := next[table]
		for key, value := range changes {
			if value == nil {
				t = t.without(key)
			} else {
				t = t.with(key, value)
			}
		}
		next[table] = t
	}
	return next
}
