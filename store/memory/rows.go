package memory

import (
	"slices"
	"sort"
)

// rows is one table: keys in byte order, cut into chunks. It is never changed in
// place: with and without return another one that shares the chunks they did not
// touch, so that a snapshot costs nothing and an update little.
type rows [][]row

type row struct {
	key   string
	value []byte
}

// chunkMost is the most rows of one chunk; a fuller one is cut in two.
const chunkMost = 128

// find returns the place of the first key that is not below key, and whether it
// is that key.
func (r rows) find(key string) (chunk, at int, ok bool) {
	chunk = sort.Search(len(r), func(i int) bool { return r[i][len(r[i])-1].key >= key })
	if chunk == len(r) {
		return chunk, 0, false
	}
	c := r[chunk]
	at = sort.Search(len(c), func(i int) bool { return c[i].key >= key })
	return chunk, at, c[at].key == key
}

func (r rows) get(key string) []byte {
	chunk, at, ok := r.find(key)
	if !ok {
		return nil
	}
	return r[chunk][at].value
}

func (r rows) with(key string, value []byte) rows {
	chunk, at, ok := r.find(key)
	next := slices.Clone(r)
	switch {
	case ok:
		c := slices.Clone(r[chunk])
		c[at].value = value
		next[chunk] = c
		return next
	case len(r) == 0:
		return rows{{{key, value}}}
	case chunk == len(r): // greater than every key
		chunk, at = chunk-1, len(r[chunk-1])
	}
	c := slices.Insert(slices.Clone(r[chunk]), at, row{key, value})
	next[chunk] = c
	if len(c) > chunkMost {
		half := len(c) / 2
		next[chunk] = c[:half]
		next = slices.Insert(next, chunk+1, c[half:])
	}
	return next
}

func (r rows) without(key string) rows {
	chunk, at, ok := r.find(key)
	if !ok {
		return r
	}
	next := slices.Clone(r)
	if len(r[chunk]) == 1 {
		return slices.Delete(next, chunk, chunk+1)
	}
	next[chunk] = slices.Delete(slices.Clone(r[chunk]), at, at+1)
	return next
}

// from calls fn for each row whose key is not below key, in order, until fn
// returns false.
func (r rows) from(key string, fn func(row) bool) {
	chunk, at, _ := r.find(key)
	for ; chunk < len(r); chunk, at = chunk+1, 0 {
		for _, w := range r[chunk][at:] {
			if !fn(w) {
				return
			}
		}
	}
}

// last returns the greatest row, or an empty one.
func (r rows) last() row {
	if len(r) == 0 {
		return row{}
	}
	c := r[len(r)-1]
	return c[len(c)-1]
}
