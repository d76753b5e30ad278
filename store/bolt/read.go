package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"slices"

	"go.etcd.io/bbolt"

	"guard"
)

// root is the one top-level bucket of a ledger's file; its buckets are the tables.
var root = []byte("guard")

// A value in the file is its checksum, then the value itself.
const sumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum covers where the value is, too: a page that ended up in the wrong place
// does not pass.
func sum(table, key string, value []byte) uint32 {
	s := crc32.Update(0, castagnoli, []byte(table))
	s = crc32.Update(s, castagnoli, []byte{0})
	s = crc32.Update(s, castagnoli, []byte(key))
	s = crc32.Update(s, castagnoli, []byte{0})
	return crc32.Update(s, castagnoli, value)
}

func seal(table, key string, value []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, sumSize+len(value)), sum(table, key, value))
	return append(out, value...)
}

// unseal gives a copy of the value.
func unseal(table, key string, stored []byte) ([]byte, error) {
	if len(stored) < sumSize || binary.BigEndian.Uint32(stored) != sum(table, key, stored[sumSize:]) {
		return nil, fmt.Errorf("%w: record %q in the ledger's table %s does not match its checksum", guard.ErrDamaged, key, table)
	}
	return append([]byte{}, stored[sumSize:]...), nil
}

// touch runs fn, which reads or writes the mapped file, and turns a panic of
// bbolt or a fault of the memory under the map into an error. After one of
// these nothing in the file is trusted any more.
func (b *Backend) touch(verb string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s the ledger %s: %v: nothing is read from or written to it any more; stop guard, keep the file, check the disk and go back to a backup", guard.ErrDamaged, verb, b.path, p)
			b.broken.CompareAndSwap(nil, &err)
		}
	}()
	if err := fn(); err != nil {
		if errors.Is(err, guard.ErrDamaged) {
			return err
		}
		return b.fail(verb, err)
	}
	return nil
}

func table(tx *bbolt.Tx, name string) *bbolt.Bucket {
	r := tx.Bucket(root)
	if r == nil {
		return nil
	}
	return r.Bucket([]byte(name))
}

// get reads one key; nil where there is none.
func (b *Backend) get(tx *bbolt.Tx, name, key string) (value []byte, err error) {
	err = b.touch("read", func() error {
		t := table(tx, name)
		if t == nil {
			return nil
		}
		stored := t.Get([]byte(key))
		if stored == nil {
			return nil
		}
		value, err = unseal(name, key, stored)
		return err
	})
	return value, err
}

// reader is a snapshot. All that it gives out is copied.
type reader struct {
	b   *Backend
	ctx context.Context
	tx  *bbolt.Tx
}

func (r *reader) Get(table, key string) ([]byte, error) { return r.b.get(r.tx, table, key) }

type pair struct {
	key   string
	value []byte
}

// scanMost is how many rows are copied out at a time.
const scanMost = 256

func (r *reader) Scan(name, prefix, after string, fn func(string, []byte) bool) error {
	for {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("ledger %s: %w", r.b.path, err)
		}
		pairs, bad := r.chunk(name, prefix, after)
		for _, p := range pairs {
			if !fn(p.key, p.value) {
				return nil
			}
			after = p.key
		}
		if bad != nil || len(pairs) < scanMost {
			return bad
		}
	}
}

func (r *reader) chunk(name, prefix, after string) (pairs []pair, err error) {
	err = r.b.touch("read", func() error {
		t := table(r.tx, name)
		if t == nil {
			return nil
		}
		c := t.Cursor()
		key, stored := c.Seek([]byte(max(prefix, after)))
		if after != "" && string(key) == after {
			key, stored = c.Next()
		}
		for ; key != nil && bytes.HasPrefix(key, []byte(prefix)) && len(pairs) < scanMost; key, stored = c.Next() {
			value, err := unseal(name, string(key), stored)
			if err != nil {
				return err
			}
			pairs = append(pairs, pair{string(key), value})
		}
		return nil
	})
	return pairs, err
}

func (r *reader) Last(name string) (key string, value []byte, err error) {
	err = r.b.touch("read", func() error {
		t := table(r.tx, name)
		if t == nil {
			return nil
		}
		k, stored := t.Cursor().Last()
		if k == nil {
			return nil
		}
		key = string(slices.Clone(k))
		value, err = unseal(name, key, stored)
		return err
	})
	return key, value, err
}
