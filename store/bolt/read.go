package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"guard"
)

// root is the one top-level bucket of a ledger's file; its buckets are the tables.
var root = []byte("guard")

// A value in the file is its checksum, then the value itself.
const sumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealer makes the checksums of one table. They cover where the value is, too: a page
// that ended up in the wrong place does not pass.
type sealer uint32

func sealerOf(table string) sealer {
	return sealer(crc32.Update(0, castagnoli, append([]byte(table), 0)))
}

var nul = []byte{0}

func (s sealer) sum(key, value []byte) uint32 {
	c := crc32.Update(uint32(s), castagnoli, key)
	c = crc32.Update(c, castagnoli, nul)
	return crc32.Update(c, castagnoli, value)
}

func (s sealer) seal(key, value []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, sumSize+len(value)), s.sum(key, value))
	return append(out, value...)
}

// open gives the value, which is a part of what is stored; false where that does not
// match its checksum.
func (s sealer) open(key, stored []byte) ([]byte, bool) {
	if len(stored) < sumSize || binary.BigEndian.Uint32(stored) != s.sum(key, stored[sumSize:]) {
		return nil, false
	}
	return stored[sumSize:], true
}

func unsealed(table string, key []byte) error {
	return fmt.Errorf("%w: record %q in the ledger's table %s does not match its checksum", guard.ErrDamaged, key, table)
}

// unseal gives a copy of the value.
func unseal(table string, key, stored []byte) ([]byte, error) {
	value, ok := sealerOf(table).open(key, stored)
	if !ok {
		return nil, unsealed(table, key)
	}
	return append([]byte{}, value...), nil
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
		value, err = unseal(name, []byte(key), stored)
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

// rows are some of a table's, copied out of the map.
type rows struct {
	b   []byte // their keys and values, one after the other
	end []int  // of each key and each value in it
}

func (r *rows) add(b []byte) {
	r.b = append(r.b, b...)
	r.end = append(r.end, len(r.b))
}

func (r *rows) len() int { return len(r.end) / 2 }

func (r *rows) row(i int) (key string, value []byte) {
	from := 0
	if i > 0 {
		from = r.end[2*i-1]
	}
	return string(r.b[from:r.end[2*i]]), r.b[r.end[2*i]:r.end[2*i+1]:r.end[2*i+1]]
}

// scanMost is how many rows are copied out at a time.
const scanMost = 256

func (r *reader) Scan(name, prefix, after string, fn func(string, []byte) bool) error {
	var some rows
	for {
		if err := r.ctx.Err(); err != nil {
			return fmt.Errorf("ledger %s: %w", r.b.path, err)
		}
		bad := r.chunk(&some, name, prefix, after)
		for i := range some.len() {
			key, value := some.row(i)
			if !fn(key, value) {
				return nil
			}
			after = key
		}
		if bad != nil || some.len() < scanMost {
			return bad
		}
	}
}

func (r *reader) chunk(some *rows, name, prefix, after string) error {
	some.b, some.end = some.b[:0], some.end[:0]
	return r.b.touch("read", func() error {
		t := table(r.tx, name)
		if t == nil {
			return nil
		}
		c, s := t.Cursor(), sealerOf(name)
		key, stored := c.Seek([]byte(max(prefix, after)))
		if after != "" && string(key) == after {
			key, stored = c.Next()
		}
		for ; key != nil && bytes.HasPrefix(key, []byte(prefix)) && some.len() < scanMost; key, stored = c.Next() {
			value, ok := s.open(key, stored)
			if !ok {
				return unsealed(name, key)
			}
			some.add(key)
			some.add(value)
		}
		return nil
	})
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
		key = string(k)
		value, err = unseal(name, k, stored)
		return err
	})
	return key, value, err
}
