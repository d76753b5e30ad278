package bolt

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// page is one page of the file with its overflow.
type page struct {
	id           uint64
	flags, count uint16
	overflow     uint32
	data         []byte // from its header on
}

func pageOf(id uint64, b []byte) page {
	n := binary.NativeEndian
	return page{id: n.Uint64(b), flags: n.Uint16(b[8:]), count: n.Uint16(b[10:]), overflow: n.Uint32(b[12:])}
}

// bounds are the keys between which those of a page must be: from inclusive, to
// exclusive; nil is open.
type bounds struct{ from, to []byte }

// entry sees one key of a leaf; bucket tells that the value is a bucket's.
type entry func(key, value []byte, bucket bool, depth int) error

// tree walks a bucket's pages in order.
func (v *verifier) tree(id uint64, depth int, within bounds, fn entry) error {
	if depth > depthMost {
		return bad("is damaged: its pages are nested more than %d deep", depthMost)
	}
	p, err := v.load(id, depth)
	if err != nil {
		return err
	}
	switch p.flags {
	case flagBranch:
		return v.branch(p, depth, within, fn)
	case flagLeaf:
		return v.leaf(p, depth, within, fn)
	}
	return bad("is damaged: page %d has kind %#x where keys should be", id, p.flags)
}

func (v *verifier) branch(p page, depth int, within bounds, fn entry) error {
	if p.count == 0 {
		return bad("is damaged: page %d leads nowhere", p.id)
	}
	keys := make([][]byte, p.count)
	ids := make([]uint64, p.count)
	for i := range int(p.count) {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		n := binary.NativeEndian
		if keys[i], err = p.slice(i, uint64(n.Uint32(e)), uint64(n.Uint32(e[4:]))); err != nil {
			return err
		}
		ids[i] = n.Uint64(e[8:])
	}
	if err := p.ordered(keys, within); err != nil {
		return err
	}
	for i, id := range ids {
		b := bounds{from: keys[i], to: within.to}
		if i+1 < len(keys) {
			b.to = keys[i+1]
		}
		if err := v.tree(id, depth+1, b, fn); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) leaf(p page, depth int, within bounds, fn entry) error {
	keys := make([][]byte, p.count)
	values := make([][]byte, p.count)
	flags := make([]uint32, p.count)
	for i := range int(p.count) {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		n := binary.NativeEndian
		at, ksize, vsize := uint64(n.Uint32(e[4:])), uint64(n.Uint32(e[8:])), uint64(n.Uint32(e[12:]))
		if keys[i], err = p.slice(i, at, ksize); err != nil {
			return err
		}
		if values[i], err = p.slice(i, at+ksize, vsize); err != nil {
			return err
		}
		flags[i] = n.Uint32(e)
	}
	if err := p.ordered(keys, within); err != nil {
		return err
	}
	for i := range keys {
		if err := fn(keys[i], values[i], flags[i]&flagBucket != 0, depth); err != nil {
			return err
		}
	}
	return nil
}

// element is the i-th entry of the page's table.
func (p page) element(i int) ([]byte, error) {
	at := headerSize + i*elementSize
	if at+elementSize > len(p.data) {
		return nil, bad("is damaged: page %d has more entries than room", p.id)
	}
	return p.data[at : at+elementSize], nil
}

// slice is a stretch of the page, counted from its i-th entry.
func (p page) slice(i int, at, size uint64) ([]byte, error) {
	from := uint64(headerSize+i*elementSize) + at
	if from+size > uint64(len(p.data)) {
		return nil, bad("is damaged: an entry of page %d lies outside of it", p.id)
	}
	return p.data[from : from+size], nil
}

func (p page) ordered(keys [][]byte, within bounds) error {
	for i, k := range keys {
		if (i > 0 && bytes.Compare(keys[i-1], k) >= 0) ||
			(within.from != nil && bytes.Compare(k, within.from) < 0) ||
			(within.to != nil && bytes.Compare(k, within.to) >= 0) {
			return bad("is damaged: the keys of page %d are out of order", p.id)
		}
	}
	return nil
}

// bucket walks the tree behind a bucket's value.
func (v *verifier) bucket(value []byte, depth int, fn entry) error {
	if len(value) < bucketSize {
		return bad("is damaged: a table's root is cut off")
	}
	if id := binary.NativeEndian.Uint64(value); id != 0 {
		return v.tree(id, depth+1, bounds{}, fn)
	}
	// A small bucket's only page is in the value itself.
	inline := value[bucketSize:]
	if len(inline) < headerSize {
		return bad("is damaged: a small table is cut off")
	}
	p := pageOf(0, inline)
	p.data = inline
	if p.flags != flagLeaf {
		return bad("is damaged: a small table has kind %#x", p.flags)
	}
	return v.leaf(p, depth+1, bounds{}, fn)
}

// top, tables and record are what a ledger's file holds: one bucket, in it the
// tables, in these the sealed values.
func (v *verifier) top(key, value []byte, bucket bool, depth int) error {
	if !bucket || string(key) != string(root) {
		return bad("is a bbolt file of another program, not a ledger")
	}
	return v.bucket(value, depth, v.tables)
}

func (v *verifier) tables(name, value []byte, bucket bool, depth int) error {
	if !bucket {
		return bad("is damaged: a record lies outside of the tables")
	}
	v.found = append(v.found, found{string(name), bytes.Clone(value), depth})
	return nil
}

// found is a table: its name, and its bucket at a depth.
type found struct {
	name   string
	bucket []byte
	depth  int
}

// all looks into every table that was found.
func (v *verifier) all() error {
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range v.found {
		g.Go(func() error {
			own := &verifier{ctx: ctx, f: v.f, size: v.size, page: v.page, end: v.end, seen: v.seen}
			return own.table(t)
		})
	}
	return g.Wait()
}

func (v *verifier) table(t found) error {
	s := sealerOf(t.name)
	return v.bucket(t.bucket, t.depth, func(key, value []byte, bucket bool, _ int) error {
		if bucket {
			return bad("is damaged: table %s has a table inside", t.name)
		}
		if _, ok := s.open(key, value); !ok {
			return bad("is damaged: record %q in table %s does not match its checksum", key, t.name)
		}
		return nil
	})
}
