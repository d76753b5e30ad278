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

type rows map[string][]byte

// New returns an empty backend.
func New() *Backend { return &Backend{now: state{}} }

// Restore returns a backend with what [Backend.Backup] wrote.
func Restore(r io.Reader) (*Backend, error) {
	b := New()
	if err := gob.NewDecoder(r).Decode(&b.now); err != nil {
		return nil, fmt.Errorf("%w: read the copy of a memory ledger: %v", guard.ErrDamaged, err)
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
	if err := gob.NewEncoder(w).Encode(s); err != nil {
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
	return slices.Clone(r.s[table][key]), nil
}

func (r reader) Scan(table, prefix, after string, fn func(string, []byte) bool) error {
	for _, key := range slices.Sorted(maps.Keys(r.s[table])) {
		if !strings.HasPrefix(key, prefix) || (after != "" && key <= after) {
			continue
		}
		if !fn(key, slices.Clone(r.s[table][key])) {
			return nil
		}
	}
	return nil
}

func (r reader) Last(table string) (string, []byte, error) {
	var last string
	for key := range r.s[table] {
		last = max(last, key)
	}
	return last, slices.Clone(r.s[table][last]), nil
}

type writer struct {
	base   state
	writes map[string]rows // nil value: deleted
	count  int
	failed error // stays, so that a caller who drops the error gets it anyway
}

func newWriter(s state) *writer { return &writer{base: s, writes: map[string]rows{}} }

func (w *writer) Get(table, key string) ([]byte, error) {
	if v, ok := w.writes[table][key]; ok {
		return slices.Clone(v), nil
	}
	return slices.Clone(w.base[table][key]), nil
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
		w.writes[table] = rows{}
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

// apply makes the next snapshot; tables that were not written are shared.
func (w *writer) apply() state {
	next := maps.Clone(w.base)
	for table, changes := range w.writes {
		t := maps.Clone(next[table])
		if t == nil {
			t = rows{}
		}
		for key, value := range changes {
			if value == nil {
				delete(t, key)
			} else {
				t[key] = value
			}
		}
		next[table] = t
	}
	return next
}
