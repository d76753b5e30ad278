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
	w      Writer // nil: over
	pub    *publisher
	writes map[place]written
	undo   []before // what rollback puts back, last first
}

type place struct{ table, key string }

// written is a new value, or nil for none; packed is what a mirror keeps of it,
// with its mark, "" where it is to keep the value itself.
type written struct {
	value  []byte
	packed string
}

type before struct {
	place
	written
	had bool
}

// Get implements Getter.
func (o *overlay) Get(table, key string) ([]byte, error) {
	if o.w == nil {
		return nil, errOver
	}
	if w, ok := o.writes[place{table, key}]; ok {
		return w.value, nil
	}
	return o.w.Get(table, key)
}

// mirror is the table in memory as this update finds it; nil where the place must
// be read from the overlay.
func (o *overlay) mirror(at place) mirrored {
	if _, ok := o.writes[at]; ok || o.w == nil {
		return nil
	}
	return o.pub.before(at)
}

func (o *overlay) put(table, key string, w written) error {
	if o.w == nil {
		return errOver
	}
	if err := CheckKey(table, key); err != nil {
		return err
	}
	p := place{table, key}
	old, had := o.writes[p]
	o.undo = append(o.undo, before{p, old, had})
	o.writes[p] = w
	return nil
}

func (o *overlay) delete(table, key string) error { return o.put(table, key, written{}) }

// mark makes the point that rollback returns to.
func (o *overlay) mark() { o.undo = o.undo[:0] }

func (o *overlay) rollback() {
	for _, b := range slices.Backward(o.undo) {
		if b.had {
			o.writes[b.place] = b.written
		} else {
			delete(o.writes, b.place)
		}
	}
	o.mark()
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
		if value := o.writes[p].value; value == nil {
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

// mirrored are the writes to the tables that an image mirrors, as it keeps them: a
// mark and text, "" for none.
func (o *overlay) mirrored(i *image) map[place]string {
	out := map[place]string{}
	for p, w := range o.writes {
		switch {
		case i.tables[p.table] == nil:
		case w.value == nil, w.packed != "":
			out[p] = w.packed
		default:
			out[p] = asJSON + string(w.value)
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
