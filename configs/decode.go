package configs

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"guard"
)

// decoder fills Go values from a syntax tree and collects what is wrong. It
// walks the tree itself because the YAML package's own decoder stops at the
// first mistake and forgets where each key stood.
type decoder struct {
	file     string
	env      func(string) (string, bool)
	problems []Problem
	lines    map[string]int  // where each key stood, by path
	unread   map[string]bool // the paths whose values could not be read

	// For configurations made of several files, see Rehearse.
	files    map[string]string // which file each key stood in, by path; nil: there is one
	merging  bool              // maps gain keys instead of being replaced
	rehearse bool              // no secret is read
}

// entry is a key with its value.
type entry struct {
	key   string
	line  int
	value ast.Node
}

func (d *decoder) problem(line int, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	d.problems = append(d.problems, Problem{d.file, line, text})
}

// refuse reports a value that cannot be read, so that what follows from its
// absence is not told as another mistake.
func (d *decoder) refuse(line int, path, format string, args ...any) {
	d.unread[path] = true
	d.problem(line, path, format, args...)
}

// read reports whether everything at and below a path could be read.
func (d *decoder) read(path string) bool {
	for p := range d.unread {
		if rest, ok := strings.CutPrefix(p, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return false
		}
	}
	return true
}

// at reports a problem at the line of a key, or of the nearest thing around it.
func (d *decoder) at(path, format string, args ...any) {
	d.problem(d.line(path), path, format, args...)
	if file, ok := d.files[d.nearby(path)]; ok {
		d.problems[len(d.problems)-1].File = file
	}
}

func (d *decoder) line(path string) int { return d.lines[d.nearby(path)] }

// nearby is the path itself or the nearest one around it that the file has.
func (d *decoder) nearby(path string) string {
	for p := path; p != ""; {
		if _, ok := d.lines[p]; ok {
			return p
		}
		p = p[:max(strings.LastIndexAny(p, ".["), 0)]
	}
	return ""
}

// mark remembers where a key stands.
func (d *decoder) mark(path string, line int) {
	d.lines[path] = line
	if d.files != nil {
		d.files[path] = d.file
	}
}

// has reports whether the file names the key.
func (d *decoder) has(path string) bool {
	_, ok := d.lines[path]
	return ok
}

// path resolves a path in the file: a relative one is relative to its folder.
func (d *decoder) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(d.file), p)
}

var (
	typeLater    = reflect.TypeFor[later]()
	typeSecret   = reflect.TypeFor[guard.Secret]()
	typeDuration = reflect.TypeFor[time.Duration]()
	typeRest     = reflect.TypeFor[map[string]entry]()
)

// value decodes e into v, which is settable.
func (d *decoder) value(e entry, v reflect.Value, path string) {
	if v.Type() == typeNode {
		v.Set(reflect.ValueOf(Node{d, e, path}))
		return
	}
	switch e.value.(type) {
	case *ast.AliasNode:
		d.refuse(e.line, path, "aliases are not read here (a value that begins with * must stand in quotes)")
		return
	case *ast.AnchorNode:
		d.refuse(e.line, path, "anchors are not read here (a value that begins with & must stand in quotes)")
		return
	case *ast.TagNode:
		d.refuse(e.line, path, "tags such as !!str are not read here (a value that begins with ! must stand in quotes)")
		return
	case nil, *ast.NullNode:
		if !empty(v) {
			d.refuse(e.line, path, "has no value (one that begins with # must stand in quotes)")
		}
		return
	}
	switch v.Type() {
	case typeSecret:
		d.secret(e, v, path)
		return
	case typeDuration:
		if s, ok := d.scalar(e, path, "a duration such as 90s, 15m or 2d"); ok {
			x, err := parseDuration(s)
			if err != nil {
				d.refuse(e.line, path, "%v", err)
			}
			v.SetInt(int64(x))
		}
		return
	}
	if t, ok := v.Addr().Interface().(NodeReader); ok {
		t.ReadNode(Node{d, e, path})
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(e, t, path)
		return
	}
	switch v.Kind() {
	case reflect.String:
		d.string(e, v, path)
	case reflect.Bool:
		if b, ok := e.value.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return
		}
		d.refuse(e.line, path, "is %s: write true or false", kindOf(e.value))
	case reflect.Int:
		d.int(e, v, path)
	case reflect.Pointer:
		x := reflect.New(v.Type().Elem())
		d.value(e, x.Elem(), path)
		v.Set(x)
	case reflect.Slice:
		d.list(e, v, path)
	case reflect.Map:
		d.strings(e, v, path)
	case reflect.Struct:
		d.fields(e, v, path)
	default:
		panic("configs: cannot decode into " + v.Type().String())
	}
}

// empty reports whether a key without a value is as good as no key: people
// comment out all that is below one.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return true
	case reflect.Struct:
		_, text := v.Addr().Interface().(encoding.TextUnmarshaler)
		return v.Type() != typeSecret && !text
	}
	return false
}

// lister is a value that may one day be a list.
type lister interface{ list() string }

func (d *decoder) text(e entry, t encoding.TextUnmarshaler, path string) {
	if l, ok := t.(lister); ok {
		if _, ok := e.value.(*ast.SequenceNode); ok {
			d.refuse(e.line, path, "%s", l.list())
			return
		}
	}
	s, ok := d.scalar(e, path, "a plain value")
	if !ok {
		return
	}
	if err := t.UnmarshalText([]byte(s)); err != nil {
		d.refuse(e.line, path, "%s", strings.TrimPrefix(err.Error(), guard.ErrInvalid.Error()+": "))
	}
}

// scalar is the text of a scalar as it is written, whatever YAML takes it for.
func (d *decoder) scalar(e entry, path, want string) (string, bool) {
	switch n := e.value.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	d.refuse(e.line, path, "is %s: write %s", kindOf(e.value), want)
	return "", false
}

func (d *decoder) string(e entry, v reflect.Value, path string) {
	switch n := e.value.(type) {
	case *ast.StringNode:
		v.SetString(n.Value)
	case *ast.LiteralNode:
		v.SetString(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		d.refuse(e.line, path, "is %s: put it in quotes, for it is meant as text", kindOf(n))
	default:
		d.refuse(e.line, path, "is %s: write text", kindOf(n))
	}
}

func (d *decoder) int(e entry, v reflect.Value, path string) {
	if n, ok := e.value.(*ast.IntegerNode); ok {
		if x, err := strconv.ParseInt(n.GetToken().Value, 10, 32); err == nil {
			v.SetInt(x)
			return
		}
		d.refuse(e.line, path, "write a plain number between %d and %d", math.MinInt32, math.MaxInt32)
		return
	}
	d.refuse(e.line, path, "is %s: write a whole number", kindOf(e.value))
}

func (d *decoder) list(e entry, v reflect.Value, path string) {
	n, ok := e.value.(*ast.SequenceNode)
	if !ok {
		d.refuse(e.line, path, "is %s: write a list", kindOf(e.value))
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values))
	for i, x := range n.Values {
		p := fmt.Sprintf("%s[%d]", path, i)
		line := lineOf(x)
		if line == 0 {
			line = e.line
		}
		d.mark(p, line)
		if _, null := x.(*ast.NullNode); null || x == nil {
			d.refuse(line, p, "is empty")
			continue
		}
		d.value(entry{value: x, line: line}, s.Index(i), p)
	}
	v.Set(s)
}

// strings decodes a map with string keys; what was in v before is replaced.
func (d *decoder) strings(e entry, v reflect.Value, path string) {
	entries, ok := d.entries(e, path, "keys and values")
	if !ok {
		return
	}
	m := reflect.MakeMap(v.Type())
	if d.merging {
		for old := v.MapRange(); old.Next(); {
			m.SetMapIndex(old.Key(), old.Value())
		}
	}
	for _, x := range entries {
		p := path + "." + segment(x.key)
		d.mark(p, x.line)
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(x, elem, p)
		m.SetMapIndex(reflect.ValueOf(x.key), elem)
	}
	v.Set(m)
}

// segment is a key of a map in a path; a long one may be anything.
func segment(key string) string {
	if len(key) > 60 {
		return "…"
	}
	return key
}

// fields decodes a struct: each key goes into the field of its tag, and what
// fits none into the field of type map[string]entry, or is a problem.
func (d *decoder) fields(e entry, v reflect.Value, path string) {
	entries, ok := d.entries(e, path, "keys and values")
	if !ok {
		return
	}
	fields := map[string]reflect.Value{}
	rest := collect(v, fields)
	before := len(d.problems)
	for _, x := range entries {
		p := strings.TrimPrefix(path+"."+x.key, ".")
		f, known := fields[x.key]
		switch {
		case known && f.Type() == typeLater:
			d.problem(x.line, p, "%s", notYet(p))
		case known:
			d.mark(p, x.line)
			d.value(x, f, p)
		case rest.IsValid():
			rest.SetMapIndex(reflect.ValueOf(x.key), reflect.ValueOf(x))
		default:
			d.unknown(x, path, slices.Collect(maps.Keys(fields)))
		}
	}
	if c, ok := v.Addr().Interface().(checker); ok && len(d.problems) == before {
		c.Check(func(key, problem string) {
			p := path
			if key != "" {
				p += "." + key
			}
			d.at(p, "%s", problem)
		})
	}
}

// checker is what a decoded struct may offer; see [SectionOf].
type checker interface {
	Check(report func(key, problem string))
}

// collect maps the keys of a struct, those of embedded ones included, to its
// fields, and returns the field for all other keys.
func collect(v reflect.Value, fields map[string]reflect.Value) (rest reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Type == typeRest:
			rest = v.Field(i)
			rest.Set(reflect.MakeMap(typeRest))
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			collect(v.Field(i), fields)
		case name != "" && name != "-":
			fields[name] = v.Field(i)
		}
	}
	return rest
}

func (d *decoder) unknown(x entry, path string, known []string) {
	key := shown(x.key)
	if near := nearest(x.key, known); near != "" {
		d.problem(x.line, path, "unknown key %s: did you mean %s?", key, near)
		return
	}
	slices.Sort(known)
	if len(known) > 12 {
		d.problem(x.line, path, "unknown key %s", key)
		return
	}
	d.problem(x.line, path, "unknown key %s: known here are %s", key, strings.Join(known, ", "))
}

// entries are the keys of a mapping in their order. One that stands twice is a
// problem and counts the first time.
func (d *decoder) entries(e entry, path, want string) ([]entry, bool) {
	var pairs []*ast.MappingValueNode
	switch n := e.value.(type) {
	case nil:
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		d.refuse(e.line, path, "is %s: write %s", kindOf(n), want)
		return nil, false
	}
	entries := make([]entry, 0, len(pairs))
	first := make(map[string]int, len(pairs))
	for _, p := range pairs {
		line := lineOf(p.Key)
		if p.Key.IsMergeKey() {
			d.problem(line, path, "merge keys (<<) are not read here")
			continue
		}
		switch p.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		default:
			d.problem(line, path, "a key is plain text here")
			continue
		}
		key := p.Key.GetToken().Value
		if at, twice := first[key]; twice {
			d.problem(line, path, "key %s stands twice, the first time in line %d", shown(key), at)
			continue
		}
		first[key] = line
		entries = append(entries, entry{key, line, p.Value})
	}
	return entries, true
}

// lineOf is where a node begins. The token of a mapping is its first colon or
// brace, so its first key tells.
func lineOf(n ast.Node) int {
	switch m := n.(type) {
	case nil:
		return 0
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return lineOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return lineOf(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// kindOf names what a node is, never what it holds.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a group of keys"
	}
	return "something else"
}
