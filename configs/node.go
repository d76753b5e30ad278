package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Document is a YAML file that is not a guard.yaml (a scenario, say), read under
// the same rules: strict, every problem at once, each with its line.
type Document struct {
	d    *decoder
	root Node
}

// NewDocument parses a file; name stands in messages, and relative paths start
// from its folder. What is wrong is in Problems.
func NewDocument(data []byte, name string) *Document {
	d := &decoder{file: name, lines: map[string]int{}, unread: map[string]bool{}}
	doc := &Document{d: d}
	root, ok := d.parse(data)
	if !ok && len(d.problems) == 0 {
		d.problem(0, "", "the file is empty")
	}
	doc.root = Node{d: d, entry: entry{line: 1, value: root}}
	if !ok {
		doc.root.entry.value = nil
	}
	return doc
}

// Root is the whole file.
func (doc *Document) Root() Node { return doc.root }

// Problems is everything found wrong so far, in the order of the lines; nil
// where nothing is.
func (doc *Document) Problems() error {
	if len(doc.d.problems) == 0 {
		return nil
	}
	return inOrder(doc.d.problems, doc.d.file)
}

// Node is one value of a file, not decoded yet. A struct that is decoded may have
// fields of this type for what depends on other keys.
type Node struct {
	d     *decoder
	entry entry
	path  string
}

var typeNode = reflect.TypeFor[Node]()

// NodeReader is a value that reads its own node, and reports there what is wrong.
type NodeReader interface{ ReadNode(n Node) }

// Later is the type of a field whose key is known and whose feature is not built
// yet: a file that has the key is refused with "not supported yet".
type Later = later

// IsZero reports that the file has no such value.
func (n Node) IsZero() bool { return n.d == nil }

// Line is where the value's key stands.
func (n Node) Line() int { return n.entry.line }

// Path is the place in the file: accounts.lab.faults[2].
func (n Node) Path() string { return n.path }

// File is the file's path, as it was given.
func (n Node) File() string { return n.d.file }

// In resolves a path that stands in the file: a relative one starts from the
// file's folder.
func (n Node) In(path string) string { return n.d.path(path) }

// Problem reports that the value is wrong; the text says what would be right.
func (n Node) Problem(format string, args ...any) { n.d.refuse(n.entry.line, n.path, format, args...) }

// At reports a problem of a key below the value, at its line.
func (n Node) At(key, format string, args ...any) { n.d.at(n.child(key), format, args...) }

// Has reports whether the decoded struct's file names the key.
func (n Node) Has(key string) bool { return n.d.has(n.child(key)) }

func (n Node) child(key string) string { return strings.TrimPrefix(n.path+"."+key, ".") }

// Read reports whether all of the value, and below it, could be read so far.
func (n Node) Read() bool { return n.d.read(n.path) }

// Decode fills the struct, or other value, that into points to, and reports
// whether all of it could be read.
func (n Node) Decode(into any) bool {
	before := len(n.d.problems)
	v := reflect.ValueOf(into).Elem()
	if n.entry.value == nil {
		return true
	}
	n.d.value(n.entry, v, n.path)
	return len(n.d.problems) == before
}

// Text is the scalar as it is written; false where it is none.
func (n Node) Text() (string, bool) {
	switch x := n.entry.value.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return x.GetToken().Value, true
	}
	return "", false
}

// Bool is the value where it is true or false.
func (n Node) Bool() (value, ok bool) {
	b, ok := n.entry.value.(*ast.BoolNode)
	return ok && b.Value, ok
}

// IsList and IsGroup tell a list and a group of keys from plain values.
func (n Node) IsList() bool {
	_, ok := n.entry.value.(*ast.SequenceNode)
	return ok
}

// IsGroup reports a group of keys; see IsList.
func (n Node) IsGroup() bool {
	switch n.entry.value.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// IsNull reports a value that is written as null, or not at all.
func (n Node) IsNull() bool {
	_, null := n.entry.value.(*ast.NullNode)
	return null || n.entry.value == nil
}

// Shape is what the value is, in words: "a list", "text".
func (n Node) Shape() string { return kindOf(n.entry.value) }

// Field is a key of a group with its value.
type Field struct {
	Key   string
	Value Node
}

// Fields are the keys of a group in their order. A value that is no group is a
// problem.
func (n Node) Fields() []Field {
	if n.IsNull() {
		return nil
	}
	entries, _ := n.d.entries(n.entry, n.path, "keys and values")
	out := make([]Field, 0, len(entries))
	for _, e := range entries {
		p := n.child(segment(e.key))
		n.d.mark(p, e.line)
		out = append(out, Field{e.key, Node{n.d, e, p}})
	}
	return out
}

// Items are the values of a list.
func (n Node) Items() []Node {
	list, ok := n.entry.value.(*ast.SequenceNode)
	if !ok {
		n.Problem("is %s: write a list", kindOf(n.entry.value))
		return nil
	}
	out := make([]Node, 0, len(list.Values))
	for i, x := range list.Values {
		p := fmt.Sprintf("%s[%d]", n.path, i)
		line := lineOf(x)
		if line == 0 {
			line = n.entry.line
		}
		n.d.mark(p, line)
		out = append(out, Node{n.d, entry{line: line, value: x}, p})
	}
	return out
}

// Any is the value as encoding/json would give it, numbers as they are written.
func (n Node) Any() any {
	switch x := n.entry.value.(type) {
	case *ast.BoolNode:
		return x.Value
	case *ast.IntegerNode, *ast.FloatNode:
		text := x.GetToken().Value
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
		return text
	case *ast.SequenceNode:
		out := []any{}
		for _, i := range n.Items() {
			out = append(out, i.Any())
		}
		return out
	case *ast.MappingNode, *ast.MappingValueNode:
		out := map[string]any{}
		for _, f := range n.Fields() {
			out[f.Key] = f.Value.Any()
		}
		return out
	}
	if s, ok := n.Text(); ok {
		return s
	}
	return nil
}

// Unknown reports a word that is none of those known, and the nearest of them.
func (n Node) Unknown(word string, known []string) {
	if near := nearest(word, append([]string{}, known...)); near != "" {
		n.Problem("unknown %s: did you mean %s?", shown(word), near)
		return
	}
	n.Problem("unknown %s: known here are %s", shown(word), list(known))
}

func list(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += w
	}
	return out
}
