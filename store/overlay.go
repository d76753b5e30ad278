package store

import (
	"cmp"
	"fmt"
	"slices"

	"guard"
)

// errOver is a Tx or a View used after its function has returned.
var errOver = fmt.Errorf("%w: the ledger's transaction is over", guard.ErrInvalid)

// overlay holds the writes of one Update until its function has returned, so that
// UpdateEach can take back those of the one item that did not fit.
type overlay struct {
	w      Writer           // nil: over
	writes map[place][]byte // nil value: delete
	undo   map[place]before // what rollback puts back
}

type place struct{ table, key string }

type before struct {
	value []byte
	had   bool
}

// Get implements Getter.
func (o *overlay) Get(table, key string) ([]byte, error) {
	if o.w == nil {
		return nil, errOver
	}
	if b, ok := o.writes[place{table, key}]; ok {
		return b, nil
	}
	return o.w.Get(table, key)
}

func (o *overlay) put(table, key string, value []byte) error {
	if o.w == nil {
		return errOver
	}
	if err := CheckKey(table, key); err != nil {
		return err
	}
	p := place{table, key}
	if o.undo != nil {
		if _, ok := o.undo[p]; !ok {
			old, had := o.writes[p]
			o.undo[p] = before{old, had}
		}
	}
	o.writes[p] = value
	return nil
}

func (o *overlay) delete(table, key string) error { return o.put(table, key, nil) }

// mark makes the point that rollback returns to.
func (o *overlay) mark() { o.undo = map[place]before{} }

func (o *overlay) rollback() {
	for p, b := range o.undo {
		if b.had {
			o.writes[p] = b.value
		} else {
			delete(o.writes, p)
		}
	}
	o.undo = nil
}

// flush hands the writes over, in the order of their keys.
func (o *overlay) flush() error {
	places := make([]place, 0, len(o.writes))
	for p := range o.writes {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.key, b.key))
	})
	for _, p := range places {
		var err error
		if value := o.writes[p]; value == nil {
			err = o.w.Delete(p.table, p.key)
		} else {
			err = o.w.Put(p.table, p.key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mirrored are the writes to the tables that an image mirrors.
func (o *overlay) mirrored(i *image) map[place][]byte {
	out := map[place][]byte{}
	for p, value := range o.writes {
		if i.tables[p.table] != nil {
			out[p] = value
		}
	}
	return out
}

// end makes every later use an error.
func (o *overlay) end() { o.w = nil }

// snapshot is a Reader that knows when it is over, and the image that goes with
// it, if any.
type snapshot struct {
	r Reader
	i *image
}

func (s *snapshot) Get(table, key string) ([]byte, error) {
	if s.r == nil {
		return nil, errOver
	}
	return s.r.Get(table, key)
}

func (s *snapshot) Scan(table, prefix, after string, fn func(key string, value []byte) bool) error {
	if s.r == nil {
		return errOver
	}
	return s.r.Scan(table, prefix, after, fn)
}

func (s *snapshot) Last(table string) (string, []byte, error) {
	if s.r == nil {
		return "", nil, errOver
	}
	return s.r.Last(table)
}

func (s *snapshot) end() { s.r = nil }
