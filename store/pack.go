package store

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A packed record is what a mirror keeps of one: a quarter of its JSON, without a
// pointer for the garbage collector to follow, and read several times as fast. It
// never leaves the process.
//
// A struct is a bit for each field that is not zero, and those fields; a string that
// stands in the record's key or earlier in the record is a reference. Strings of a
// record that is read are parts of the packed one and cost nothing.

// packer packs values of one type. pack is false for a value that JSON would not
// give back as it is (a time of another zone, text that is not UTF-8).
type packer struct {
	zero   func(v reflect.Value) bool // JSON would leave it out, or write what reads as zero
	pack   func(w *packed, v reflect.Value) bool
	unpack func(r *unpacked, v reflect.Value)
}

// known bounds the strings of a record that can be referred to.
const known = 48

type words struct {
	n    int
	word [known]string
}

// of adds those that a record begins with: the parts of its key.
func (w *words) of(key string) {
	for range 2 {
		part, rest, ok := strings.Cut(key, "/")
		if !ok {
			break
		}
		w.add(part)
		key = rest
	}
	w.add(key)
}

func (w *words) add(s string) {
	if w.n < known {
		w.word[w.n] = s
		w.n++
	}
}

// packed is a record under way.
type packed struct {
	b []byte
	words
}

func (w *packed) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *packed) string(s string) {
	if len(s) > 1 {
		for i, known := range w.word[:w.n] {
			if known == s {
				w.uint(uint64(i)<<1 | 1)
				return
			}
		}
		w.add(s)
	}
	w.uint(uint64(len(s)) << 1)
	w.b = append(w.b, s...)
}

// unpacked is what is left of a record that is read.
type unpacked struct {
	s string
	words
}

func (r *unpacked) uint() uint64 {
	var n uint64
	for i := 0; ; i++ {
		c := r.s[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
	}
}

func (r *unpacked) string() string {
	n := r.uint()
	if n&1 == 1 {
		return r.word[n>>1]
	}
	s := r.s[:n>>1]
	r.s = r.s[n>>1:]
	if len(s) > 1 {
		r.add(s)
	}
	return s
}

// of packs the value behind the pointer v, its mark included; "" where JSON would not
// give it back as it is.
func (p *packer) of(key string, v any) string {
	w := packing.Get().(*packed)
	defer packing.Put(w)
	w.b, w.n = append(w.b[:0], asPacked...), 0
	w.of(key)
	if !p.pack(w, reflect.ValueOf(v).Elem()) {
		return ""
	}
	return string(w.b)
}

// into unpacks into the zero value behind the pointer v.
func (p *packer) into(key, s string, v any) {
	r := unpacking.Get().(*unpacked)
	defer unpacking.Put(r)
	r.s, r.n = s, 0
	r.of(key)
	p.unpack(r, reflect.ValueOf(v).Elem())
}

var (
	packing   = sync.Pool{New: func() any { return &packed{} }}
	unpacking = sync.Pool{New: func() any { return &unpacked{} }}
)

var (
	timeType = reflect.TypeFor[time.Time]()
	tagsType = reflect.TypeFor[map[string]string]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	jsonType = reflect.TypeFor[json.Marshaler]()
	readType = reflect.TypeFor[json.Unmarshaler]()
	zeroType = reflect.TypeFor[interface{ IsZero() bool }]()
)

// packerOf makes the packer of a type; it panics on one that no record has had yet.
func packerOf(t reflect.Type) *packer {
	switch {
	case t == timeType:
		return timePacker
	case t == tagsType:
		return tagsPacker
	case t.Implements(textType):
		return textPacker(t)
	case t.Implements(jsonType) && reflect.PointerTo(t).Implements(readType):
		return ownPacker
	case t.Implements(jsonType), t.Kind() == reflect.Map:
		return jsonPacker
	}
	switch t.Kind() {
	case reflect.String:
		return stringPacker
	case reflect.Bool:
		return boolPacker
	case reflect.Int, reflect.Int64:
		return intPacker
	case reflect.Uint64:
		return uintPacker
	case reflect.Pointer:
		return pointerPacker(t)
	case reflect.Slice:
		return slicePacker(t)
	case reflect.Struct:
		return structPacker(t)
	}
	panic(fmt.Sprintf("store: a record with a %s: say how it is packed", t))
}

var stringPacker = &packer{
	zero: func(v reflect.Value) bool { return v.Len() == 0 },
	pack: func(w *packed, v reflect.Value) bool {
		w.string(v.String())
		return utf8.ValidString(v.String())
	},
	unpack: func(r *unpacked, v reflect.Value) { v.SetString(r.string()) },
}

var boolPacker = &packer{
	zero:   func(v reflect.Value) bool { return !v.Bool() },
	pack:   func(w *packed, v reflect.Value) bool { w.uint(map[bool]uint64{true: 1}[v.Bool()]); return true },
	unpack: func(r *unpacked, v reflect.Value) { v.SetBool(r.uint() == 1) },
}

// zigzag makes small numbers of either sign small ones.
func zigzag(n int64) uint64   { return uint64(n)<<1 ^ uint64(n>>63) }
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

var intPacker = &packer{
	zero:   func(v reflect.Value) bool { return v.Int() == 0 },
	pack:   func(w *packed, v reflect.Value) bool { w.uint(zigzag(v.Int())); return true },
	unpack: func(r *unpacked, v reflect.Value) { v.SetInt(unzigzag(r.uint())) },
}

var uintPacker = &packer{
	zero:   func(v reflect.Value) bool { return v.Uint() == 0 },
	pack:   func(w *packed, v reflect.Value) bool { w.uint(v.Uint()); return true },
	unpack: func(r *unpacked, v reflect.Value) { v.SetUint(r.uint()) },
}

func timeOf(v reflect.Value) *time.Time { return v.Addr().Interface().(*time.Time) }

var timePacker = &packer{
	zero: func(v reflect.Value) bool { t := timeOf(v); return t.IsZero() && t.Location() == time.UTC },
	pack: func(w *packed, v reflect.Value) bool {
		t := timeOf(v)
		w.uint(zigzag(t.Unix()))
		w.uint(uint64(t.Nanosecond()))
		return t.Location() == time.UTC
	},
	unpack: func(r *unpacked, v reflect.Value) {
		s := unzigzag(r.uint())
		*timeOf(v) = time.Unix(s, int64(r.uint())).UTC()
	},
}

func tagsOf(v reflect.Value) *map[string]string { return v.Addr().Interface().(*map[string]string) }

var tagsPacker = &packer{
	zero: reflect.Value.IsNil,
	pack: func(w *packed, v reflect.Value) bool {
		tags, valid := *tagsOf(v), true
		w.uint(uint64(len(tags)))
		for k, text := range tags {
			w.string(k)
			w.string(text)
			valid = valid && utf8.ValidString(k) && utf8.ValidString(text)
		}
		return valid
	},
	unpack: func(r *unpacked, v reflect.Value) {
		n := r.uint()
		tags := make(map[string]string, n)
		for range n {
			k := r.string()
			tags[k] = r.string()
		}
		*tagsOf(v) = tags
	},
}

// textPacker packs what JSON holds as text: an amount of money. The same ones come
// over and over and are read once.
func textPacker(t reflect.Type) *packer {
	const most = 4096
	var mu sync.RWMutex
	known := map[string]reflect.Value{}
	value := func(text string) (reflect.Value, error) {
		mu.RLock()
		v, ok := known[text]
		mu.RUnlock()
		if ok {
			return v, nil
		}
		v = reflect.New(t)
		if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return v, err
		}
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= most {
			clear(known)
		}
		known[strings.Clone(text)] = v.Elem()
		return v.Elem(), nil
	}
	text := func(v reflect.Value) (string, error) {
		b, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		return string(b), err
	}
	return &packer{
		zero: reflect.Value.IsZero,
		pack: func(w *packed, v reflect.Value) bool {
			s, err := text(v)
			if err == nil {
				_, err = value(s)
			}
			w.string(s)
			return err == nil
		},
		unpack: func(r *unpacked, v reflect.Value) {
			old, err := value(r.string())
			if err != nil {
				panic(fmt.Sprintf("store: %s of a packed record: %v", t, err)) // it was read before
			}
			v.Set(old)
		},
	}
}

// ownPacker keeps what has a JSON of its own as that. It is asked of the value itself:
// encoding/json would go through all of it twice more to see that it is JSON.
var ownPacker = &packer{
	zero: reflect.Value.IsZero,
	pack: func(w *packed, v reflect.Value) bool {
		b, err := v.Interface().(json.Marshaler).MarshalJSON()
		w.string(string(b))
		return err == nil
	},
	unpack: func(r *unpacked, v reflect.Value) {
		if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte(r.string())); err != nil {
			panic(fmt.Sprintf("store: %s of a packed record: %v", v.Type(), err)) // it was written so
		}
	},
}

// jsonPacker keeps what is rare as its JSON.
var jsonPacker = &packer{
	zero: reflect.Value.IsZero,
	pack: func(w *packed, v reflect.Value) bool {
		b, err := json.Marshal(v.Interface())
		w.string(string(b))
		return err == nil
	},
	unpack: func(r *unpacked, v reflect.Value) {
		if err := json.Unmarshal([]byte(r.string()), v.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("store: %s of a packed record: %v", v.Type(), err)) // it was written so
		}
	},
}

func pointerPacker(t reflect.Type) *packer {
	elem := packerOf(t.Elem())
	return &packer{
		zero: reflect.Value.IsNil,
		pack: func(w *packed, v reflect.Value) bool { return elem.pack(w, v.Elem()) },
		unpack: func(r *unpacked, v reflect.Value) {
			v.Set(reflect.New(t.Elem()))
			elem.unpack(r, v.Elem())
		},
	}
}

func slicePacker(t reflect.Type) *packer {
	elem := packerOf(t.Elem())
	return &packer{
		zero: reflect.Value.IsNil,
		pack: func(w *packed, v reflect.Value) bool {
			w.uint(uint64(v.Len()))
			for i := range v.Len() {
				if !elem.pack(w, v.Index(i)) {
					return false
				}
			}
			return true
		},
		unpack: func(r *unpacked, v reflect.Value) {
			n := int(r.uint())
			v.Set(reflect.MakeSlice(t, n, n))
			for i := range n {
				elem.unpack(r, v.Index(i))
			}
		},
	}
}

func structPacker(t reflect.Type) *packer {
	fields := make([]*packer, t.NumField())
	for i := range fields {
		f := t.Field(i)
		if f.PkgPath != "" || f.Anonymous || f.Tag.Get("json") == "-" {
			panic(fmt.Sprintf("store: field %s of %s is not in its JSON", f.Name, t))
		}
		p := *packerOf(f.Type)
		if strings.HasSuffix(f.Tag.Get("json"), ",omitzero") && f.Type.Implements(zeroType) {
			p.zero = func(v reflect.Value) bool { return v.Addr().Interface().(interface{ IsZero() bool }).IsZero() }
		}
		fields[i] = &p
	}
	if len(fields) > 64 {
		panic(fmt.Sprintf("store: %s has more than 64 fields", t))
	}
	return &packer{
		zero: reflect.Value.IsZero,
		pack: func(w *packed, v reflect.Value) bool {
			var set uint64
			for i, f := range fields {
				if !f.zero(v.Field(i)) {
					set |= 1 << i
				}
			}
			w.uint(set)
			for i, f := range fields {
				if set>>i&1 == 1 && !f.pack(w, v.Field(i)) {
					return false
				}
			}
			return true
		},
		unpack: func(r *unpacked, v reflect.Value) {
			set := r.uint()
			for i := 0; set != 0; i, set = i+1, set>>1 {
				if set&1 == 1 {
					fields[i].unpack(r, v.Field(i))
				}
			}
		},
	}
}
