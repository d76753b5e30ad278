package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

// bareOptions are those of the ledger's own file.
var bareOptions = bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: 1 << 30, NoStatistics: true}

// reopened closes the ledger, looks how many bytes its pages really hold and how
// large its file is, and starts the daemon on it again.
func (b *bench) reopened(ctx context.Context) (held, file int64, err error) {
	if err := b.shut(); err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return 0, 0, err
	}
	held, err = heldIn(b.path)
	if err != nil {
		return 0, 0, err
	}
	_, err = b.open(ctx, nil)
	return held, info.Size(), err
}

// heldIn is the bytes in use in the pages of a bbolt file that nobody has open.
func heldIn(path string) (held int64, err error) {
	o := bareOptions
	o.ReadOnly = true
	db, err := bbolt.Open(path, 0o600, &o)
	if err != nil {
		return 0, fmt.Errorf("%w: look at the ledger's pages: %v", guard.ErrUnavailable, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return held, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, t *bbolt.Bucket) error {
			s := t.Stats() // those of the buckets in it included
			held += int64(s.LeafInuse + s.BranchInuse)
			return nil
		})
	})
}

// writes measures updates of a ledger against bare transactions with the same keys
// and values, one after the other on files beside each other.
func (b *bench) writes(ctx context.Context, dir string) (err error) {
	file, err := bolt.Open(ctx, filepath.Join(dir, "writes.db"), bolt.Options{})
	if err != nil {
		return err
	}
	var last []record
	ledger, err := store.Open(ctx, recorder{file, &last}, b.now())
	if err != nil {
		return errors.Join(err, file.Close())
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	o := bareOptions
	bare, err := bbolt.Open(filepath.Join(dir, "bare.db"), 0o600, &o)
	if err != nil {
		return fmt.Errorf("%w: open a bare file: %v", guard.ErrUnavailable, err)
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	script, leases := b.Fleet.account(0)
	if len(leases) == 0 {
		return nil
	}
	const n = 50
	for _, records := range []int{1, 40} {
		w := Writes{Records: records, N: n}
		var ours, theirs time.Duration
		for i := range n {
			start := time.Now()
			err := ledger.Update(ctx, func(tx *store.Tx) error {
				for j := range records {
					l := leases[(i*records+j)%len(leases)]
					l.UpdatedAt = script.Start.Add(time.Duration(i) * time.Second)
					if err := tx.Leases.Put(l); err != nil {
						return err
					}
				}
				return tx.Journal(guard.JournalEntry{At: script.Start, Who: "guard", Verb: "observed", Subject: leases[i%len(leases)].Resource.String(), Text: "running"})
			})
			if err != nil {
				return err
			}
			ours += time.Since(start)
			start = time.Now()
			if err := putBare(bare, last); err != nil {
				return fmt.Errorf("%w: write to a bare file: %v", guard.ErrUnavailable, err)
			}
			theirs += time.Since(start)
			w.Bytes = 0
			for _, r := range last {
				w.Bytes += len(r.key) + len(r.value)
			}
		}
		w.Ours, w.Bare, w.XBare = ms(ours/n), ms(theirs/n), round(float64(ours)/float64(theirs))
		b.result.Writes = append(b.result.Writes, w)
	}
	return nil
}

func putBare(db *bbolt.DB, records []record) error {
	return db.Update(func(tx *bbolt.Tx) error {
		for _, r := range records {
			t, err := tx.CreateBucketIfNotExists([]byte(r.table))
			if err != nil {
				return err
			}
			if r.value == nil {
				err = t.Delete([]byte(r.key))
			} else {
				err = t.Put([]byte(r.key), r.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// record is one key that an update wrote; a nil value deletes it.
type record struct {
	table, key string
	value      []byte
}

// recorder keeps what the last update wrote.
type recorder struct {
	store.Backend
	last *[]record
}

// Update implements store.Backend.
func (r recorder) Update(ctx context.Context, fn func(store.Writer) error) error {
	return r.Backend.Update(ctx, func(w store.Writer) error {
		*r.last = (*r.last)[:0]
		return fn(gauged{w, func(table, key string, value []byte) {
			if value != nil {
				value = append([]byte{}, value...) // the caller's to use again; an empty one is no deletion
			}
			*r.last = append(*r.last, record{table, key, value})
		}})
	})
}
