package prices

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"guard"
)

// fields reads a mapping with no other than the given keys; nil, with a problem,
// where n is something else. A key that is there without a value is told of and
// is in the map as nil.
func (r *reader) fields(n ast.Node, name string, keys ...string) map[string]ast.Node {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		r.problem(line(n), "%s is written as keys and values (%s)", name, strings.Join(keys, ", "))
		return nil
	}
	m := make(map[string]ast.Node, len(pairs))
	for _, p := range pairs {
		k := p.Key.GetToken().Value
		switch _, twice := m[k]; {
		case !slices.Contains(keys, k):
			r.problem(line(p.Key), "%s has no key %q: it knows %s", name, clip(k), strings.Join(keys, ", "))
		case twice:
			r.problem(line(p.Key), "%s: key %q stands twice", name, k)
		case p.Value == nil || p.Value.Type() == ast.NullType:
			r.problem(line(p.Key), "%s: %s is empty", name, k)
			m[k] = nil
		default:
			m[k] = p.Value
		}
	}
	return m
}

func missing(m map[string]ast.Node, key string) bool {
	_, there := m[key]
	return !there
}

func (r *reader) items(n ast.Node, name string) []ast.Node {
	if n == nil {
		return nil
	}
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problem(line(n), "%s is a list", name)
		return nil
	}
	return s.Values
}

// text reads a scalar as it is written: `0.10` stays those four characters and
// never becomes a float.
func (r *reader) text(n ast.Node, name string) string {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
	default:
		r.problem(line(n), "%s is a plain value, not %s", name, strings.ToLower(n.Type().String()))
		return ""
	}
	v := strings.TrimSpace(n.GetToken().Value)
	if v == "" {
		r.problem(line(n), "%s is empty", name)
	}
	return v
}

func (r *reader) flag(n ast.Node, name string) bool {
	if n == nil {
		return false
	}
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.problem(line(n), "%s is true or false", name)
		return false
	}
	return b.Value
}

// line is where a node begins in the file. A mapping's own token is its first
// colon or brace, so the first key tells.
func line(n ast.Node) int {
	switch m := n.(type) {
	case nil:
		return 0
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return line(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return line(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// syntax takes line and message out of a parser's error, without the excerpt of
// the file that its text prints.
func syntax(err error) (int, string) {
	var e yaml.Error
	if !errors.As(err, &e) {
		return 0, clip(err.Error())
	}
	at := 0
	if t := e.GetToken(); t != nil && t.Position != nil {
		at = t.Position.Line
	}
	return at, clip(e.GetMessage())
}

func trimKind(err error) string {
	return strings.TrimPrefix(err.Error(), guard.ErrInvalid.Error()+": ")
}

// clip bounds what a message repeats of the file.
func clip(s string) string {
	const most = 80
	if c := []rune(s); len(c) > most {
		return string(c[:most]) + "…"
	}
	return s
}
