package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"guard"
	"guard/store"
)

// batchMost is the most updates that share one commit.
const batchMost = 64

// batch is one bbolt transaction, shared by the updates that came in while the
// disk was busy with the one before. Each ran on its own and put its writes in as
// a whole; they become durable together.
type batch struct {
	tx    *bbolt.Tx
	n     int
	wrote bool
	done  chan struct{} // closed when err is set
	err   error
}

// Update implements [store.Backend]. Updates that wait at the same time share
// one flush of the disk; an error in one leaves the others alone. fn runs in the
// caller's goroutine, one at a time.
func (b *Backend) Update(ctx context.Context, fn func(store.Writer) error) error {
	t, err := b.join(ctx, fn)
	if t == nil {
		return err
	}
	<-t.done
	if t.err != nil {
		// Whatever fn decided on may have been another's write that is lost now.
		return t.err
	}
	return err
}

// join runs fn in the open batch, and commits that unless the next update is
// already at the door. The batch is nil where fn could not run.
func (b *Backend) join(ctx context.Context, fn func(store.Writer) error) (t *batch, err error) {
	b.waiting.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Add(-1)
	// Whoever comes last commits, however fn leaves: by an error, a panic, or a
	// test's FailNow.
	defer func() {
		if b.batch != nil && (b.waiting.Load() == 0 || b.batch.n >= batchMost) {
			b.commit()
		}
	}()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if b.batch == nil {
		tx, err := b.begin(true)
		if err != nil {
			return nil, err
		}
		b.batch = &batch{tx: tx, done: make(chan struct{})}
	}
	t = b.batch
	t.n++
	w := &writer{b: b, tx: t.tx, writes: map[place][]byte{}}
	if err := fn(w); err != nil {
		return t, err
	}
	if w.failed != nil {
		return t, w.failed
	}
	if len(w.writes) == 0 {
		return t, nil
	}
	t.wrote = true
	if err := w.apply(); err != nil {
		// A part may be in: the whole batch goes.
		b.abort(err)
		return t, err
	}
	return t, nil
}

// commit ends the open batch; mu is held.
func (b *Backend) commit() {
	t := b.batch
	b.batch = nil
	defer close(t.done)
	if !t.wrote {
		t.err = b.touch("roll back", t.tx.Rollback) // nothing to flush for
		return
	}
	id := t.tx.ID()
	t.err = b.touch("write", t.tx.Commit)
	if b.commits++; b.commits%shedEvery == 0 {
		b.shed()
	}
	if t.err == nil || errors.Is(t.err, guard.ErrDamaged) {
		return
	}
	if _, kind := limit(t.err); kind != nil && !b.reached(id) {
		t.err = fmt.Errorf("%w; nothing of this update was kept: guard shows what it knows, does nothing that it cannot write down first, and goes on by itself", t.err)
		return
	}
	// The disk refused, and what it holds now nobody knows (a failed fsync may
	// drop pages and succeed the next time). Only a fresh start reads it again.
	t.err = fmt.Errorf("%w: the last update may or may not be kept; check the disk and start guard again", t.err)
	b.broken.CompareAndSwap(nil, &t.err)
}

// abort gives the open batch up; mu is held.
func (b *Backend) abort(err error) {
	t := b.batch
	b.batch = nil
	defer close(t.done)
	t.err = err
	_ = b.touch("roll back", t.tx.Rollback)
}

// reached reports that the file's header names a transaction, or a later one: the
// last flush, which may find the disk full as well, comes behind that. So does a
// file that cannot be looked at.
func (b *Backend) reached(id int) bool {
	tx, err := b.begin(false)
	if err != nil {
		return true
	}
	defer tx.Rollback() //nolint:errcheck // it only reads
	return tx.ID() >= id
}

type place struct{ table, key string }

// writer holds the writes of one function until it has returned without error.
type writer struct {
	b      *Backend
	tx     *bbolt.Tx
	writes map[place][]byte // sealed; nil: delete
	failed error            // stays, so that a caller who drops the error gets it anyway
}

func (w *writer) Get(table, key string) ([]byte, error) {
	if v, ok := w.writes[place{table, key}]; ok {
		if v == nil {
			return nil, nil
		}
		return append([]byte{}, v[sumSize:]...), nil
	}
	return w.b.get(w.tx, table, key)
}

func (w *writer) Put(table, key string, value []byte) error {
	return w.set(table, key, sealerOf(table).seal([]byte(key), value))
}

func (w *writer) Delete(table, key string) error { return w.set(table, key, nil) }

func (w *writer) set(table, key string, value []byte) error {
	if err := store.CheckKey(table, key); err != nil {
		w.failed = err
		return err
	}
	p := place{table, key}
	if _, ok := w.writes[p]; !ok && len(w.writes) == store.MaxWrites {
		w.failed = store.ErrTooManyWrites
		return w.failed
	}
	w.writes[p] = value
	return nil
}

func (w *writer) apply() error {
	return w.b.touch("write", func() error {
		for p, value := range w.writes {
			if w.b.changed != nil {
				w.b.changed[p] = struct{}{}
			}
			t, err := tableIn(w.tx, p.table)
			if err != nil {
				return err
			}
			if value == nil {
				err = t.Delete([]byte(p.key))
			} else {
				err = t.Put([]byte(p.key), value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
