package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"guard"
)

const (
	// copyMost is how many bytes one transaction of a compaction writes.
	copyMost = 8 << 20
	// catchUp is how many keys may be left to write over while updates wait, and rounds
	// how often it is tried to get down to that.
	catchUp = 256
	rounds  = 8
)

// Compact gives the disk back what the ledger's file no longer uses; see
// [Stats.Worth]. What lives is copied into a file beside it, proven, and takes the
// name. A disk without room for both is ErrNoRoom, a compaction under way
// guard.ErrConflict; nothing is changed then.
//
// Updates and views go on meanwhile. At the end updates wait for a few flushes of
// the disk, while what they changed last is written over and the name changes
// hands. The old file is let go when the last view of it is over.
//
// The ledger is never without a lock: that is on the file, not on its name, and the
// copy is locked before it takes the name. Cut off at any point, the name is that
// of a whole ledger with all that was acknowledged.
func (b *Backend) Compact(ctx context.Context) error {
	if !b.compacting.TryLock() {
		return fmt.Errorf("%w: compact the ledger %s: that is under way", guard.ErrConflict, b.path)
	}
	defer b.compacting.Unlock()
	if err := b.compact(ctx); err != nil {
		return fmt.Errorf("compact the ledger: %w", err)
	}
	return nil
}

func (b *Backend) compact(ctx context.Context) error {
	s, err := b.Stats(ctx)
	if err != nil {
		return err
	}
	if err := room(dirOf(b.path), s.Live); err != nil {
		return err
	}
	sweep(dirOf(b.path))
	next, err := b.successor(ctx)
	if err != nil {
		return err
	}
	defer next.drop()
	defer b.unfollow()
	if err := b.fill(ctx, next); err != nil {
		return err
	}
	old, err := b.succeed(ctx, next)
	if err != nil {
		return err
	}
	if err := old.Close(); err != nil { // waits for its views
		return pathError("close the old file of", b.path, err)
	}
	return nil
}

// successor is the file that is to become the ledger. It is a backend of its own
// until then, so that what goes wrong in it does not count against the ledger.
type successor struct {
	*Backend
	f *os.File
}

func (b *Backend) successor(ctx context.Context) (successor, error) {
	f, err := os.CreateTemp(dirOf(b.path), tempPattern(b.path))
	if err != nil {
		return successor{}, pathError("make a file beside", b.path, err)
	}
	next := successor{&Backend{path: f.Name(), maxSize: b.maxSize}, f}
	err = flock(ctx, f, unix.LOCK_EX, lockTimeout)
	if err == nil {
		err = sameOwner(f, b.path)
	}
	if err == nil {
		next.db, err = next.mapped(f)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(next.path)
		return successor{}, err
	}
	next.db.AllocSize, next.db.NoSync = copyMost, true // it is flushed once, as a whole
	return next, nil
}

// drop removes it where it has not become the ledger.
func (next successor) drop() {
	if next.db != nil {
		_ = next.db.Close()
		_ = os.Remove(next.path)
	}
}

// fill copies what lives and proves the copy while updates go on, and then what they
// have changed until little is left.
func (b *Backend) fill(ctx context.Context, next successor) error {
	tx, _, err := b.follow(ctx)
	if err != nil {
		return err
	}
	err = next.copyAll(ctx, tx)
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	if err := next.sync(); err != nil {
		return err
	}
	if err := verify(ctx, next.f, "the copy"); err != nil {
		return err
	}
	for range rounds {
		tx, changed, err := b.follow(ctx)
		if err != nil {
			return err
		}
		err = next.copySome(tx, changed)
		if err := errors.Join(err, tx.Rollback()); err != nil {
			return err
		}
		if len(changed) <= catchUp {
			break
		}
	}
	return next.sync()
}

// sync makes all that was copied durable.
func (next successor) sync() error { return next.touch("write the copy of", next.db.Sync) }

// follow opens a view of the ledger, and returns what was changed since the last
// one: from here on what updates change is noted.
func (b *Backend) follow(ctx context.Context) (*bbolt.Tx, map[place]struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled(ctx)
}

// settled commits what is under way and is as follow; mu is held.
func (b *Backend) settled(ctx context.Context) (*bbolt.Tx, map[place]struct{}, error) {
	if b.batch != nil {
		b.commit()
	}
	if err := b.usable(ctx); err != nil {
		return nil, nil, err
	}
	changed := b.changed
	b.changed = map[place]struct{}{}
	tx, err := b.begin(false)
	return tx, changed, err
}

func (b *Backend) unfollow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = nil
}

// succeed gives the name of the ledger to the copy, and returns the file that had it.
func (b *Backend) succeed(ctx context.Context, next successor) (old *bbolt.DB, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tx, changed, err := b.settled(ctx)
	if err != nil {
		return nil, err
	}
	err = next.copySome(tx, changed)
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return nil, err
	}
	if err := next.sync(); err != nil {
		return nil, err
	}
	if err := sameFile(b.file, b.path); err != nil {
		return nil, err
	}
	if err := os.Rename(next.path, b.path); err != nil {
		return nil, pathError("name the copy", b.path, err)
	}
	b.swap.Lock()
	old = b.db
	b.db, b.file = next.db, next.f
	b.swap.Unlock()
	b.db.AllocSize, b.db.NoSync = allocSize, false
	next.Backend.db = nil
	if err := syncDir(dirOf(b.path)); err != nil {
		// After a loss of power the name may be that of either file. No update goes into
		// one that may be gone then.
		err = fmt.Errorf("%w: check the disk and start guard again", err)
		b.broken.CompareAndSwap(nil, &err)
		return nil, errors.Join(err, old.Close())
	}
	return old, nil
}

// copyAll copies every row of the ledger that tx sees.
func (next successor) copyAll(ctx context.Context, tx *bbolt.Tx) error {
	var tables [][]byte
	err := next.touch("read", func() error {
		r := tx.Bucket(root)
		if r == nil {
			return nil
		}
		return r.ForEachBucket(func(name []byte) error {
			tables = append(tables, append([]byte{}, name...))
			return nil
		})
	})
	for _, name := range tables {
		for after := []byte(nil); err == nil; {
			if err = ctx.Err(); err == nil {
				after, err = next.copyRows(tx, name, after)
			}
			if after == nil {
				break
			}
		}
	}
	return err
}

// copyRows copies some of a table's rows behind a key, as they are, and returns the
// last one's; nil behind the end.
func (next successor) copyRows(tx *bbolt.Tx, name, after []byte) (last []byte, err error) {
	err = next.touch("copy into", func() error {
		return next.db.Update(func(to *bbolt.Tx) error {
			t, err := tableIn(to, string(name))
			if err != nil {
				return err
			}
			t.FillPercent = 1 // rows come in order
			c := table(tx, string(name)).Cursor()
			key, stored := c.Seek(after)
			if after != nil && string(key) == string(after) {
				key, stored = c.Next()
			}
			for n := 0; key != nil; key, stored = c.Next() {
				if n >= copyMost {
					return nil
				}
				if err := t.Put(key, stored); err != nil {
					return err
				}
				n += len(key) + len(stored)
				last = append(last[:0], key...)
			}
			last = nil
			return nil
		})
	})
	return last, err
}

// copySome copies some rows as tx sees them, or that they are not there.
func (next successor) copySome(tx *bbolt.Tx, changed map[place]struct{}) error {
	if len(changed) == 0 {
		return nil
	}
	return next.touch("copy into", func() error {
		return next.db.Update(func(to *bbolt.Tx) error {
			for p := range changed {
				t, err := tableIn(to, p.table)
				if err != nil {
					return err
				}
				var stored []byte
				if from := table(tx, p.table); from != nil {
					stored = from.Get([]byte(p.key))
				}
				if stored == nil {
					err = t.Delete([]byte(p.key))
				} else {
					err = t.Put([]byte(p.key), stored)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// tableIn is the bucket of a table, made where there is none.
func tableIn(tx *bbolt.Tx, name string) (*bbolt.Bucket, error) {
	r, err := tx.CreateBucketIfNotExists(root)
	if err != nil {
		return nil, err
	}
	return r.CreateBucketIfNotExists([]byte(name))
}
