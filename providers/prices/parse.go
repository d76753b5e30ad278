package prices

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"guard"
)

// Problem is one mistake in a book.
type Problem struct {
	Line int // 1 is the first; 0 concerns the file as a whole
	Text string
}

// Error is every mistake in a book at once. It wraps guard.ErrInvalid.
type Error struct {
	Name     string // of the file
	Problems []Problem
}

// Error has a line "NAME:LINE: what is wrong" for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d: %s", e.Name, p.Line, p.Text)
		if p.Line == 0 {
			lines[i] = e.Name + ": " + p.Text
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes it guard.ErrInvalid.
func (e *Error) Unwrap() error { return guard.ErrInvalid }

// Warning is something in a book that may be right and looks wrong.
type Warning struct {
	Line int
	Text string
}

// Parse reads a book; name stands in its messages. All mistakes are reported at
// once as an *Error with their lines; warnings come with a book that is usable.
func Parse(name string, data []byte) (*Book, []Warning, error) {
	r := &reader{book: &Book{rates: map[key]quote{}}, lines: map[key]int{}}
	r.file(data)
	if len(r.problems) > 0 {
		return nil, nil, &Error{Name: name, Problems: r.problems}
	}
	return r.book, r.suspicious(), nil
}

// reader walks the syntax tree itself, for the decoder of the YAML package stops
// at the first mistake and would pass amounts through floating point.
type reader struct {
	book     *Book
	lines    map[key]int
	order    []key
	problems []Problem
	currency string
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...)})
}

func (r *reader) file(data []byte) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, text := syntax(err)
		r.problem(line, "not YAML: %s", text)
		return
	}
	var docs []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	if len(docs) != 1 {
		r.problem(0, "a price book is one YAML document with instances: and volumes:, this has %d", len(docs))
		return
	}
	top := r.fields(docs[0], "a price book", "currency", "instances", "volumes", "egress")
	if n := top["currency"]; n != nil {
		r.currency = r.text(n, "currency")
		if _, err := guard.NewMoney("1", r.currency); err != nil && r.currency != "" {
			r.problem(line(n), "currency: %q is not an ISO 4217 code, such as USD or CNY", r.currency)
		}
	}
	for _, n := range r.items(top["instances"], "instances") {
		r.instance(n)
	}
	for _, n := range r.items(top["volumes"], "volumes") {
		r.volume(n)
	}
	for _, n := range r.items(top["egress"], "egress") {
		r.egress(n)
	}
}

func (r *reader) instance(n ast.Node) {
	m := r.fields(n, "an instance", "type", "scope", "spot", "rate", "stopped")
	if m == nil {
		return
	}
	k := r.key(n, m, "instance")
	k.spot = r.flag(m["spot"], "spot")
	if missing(m, "rate") {
		r.problem(line(n), "instance %s: rate is missing: write rate: {amount: \"2.50\", per: hour}", k.typ)
	}
	if q, ok := r.rate(m["rate"], "rate", false); ok {
		r.add(k, q, line(n))
	}
	if q, ok := r.rate(m["stopped"], "stopped", false); ok {
		k.what = stopped
		r.add(k, q, line(n))
	}
}

func (r *reader) volume(n ast.Node) {
	m := r.fields(n, "a volume", "type", "scope", "rate")
	if m == nil {
		return
	}
	k := r.key(n, m, "volume")
	k.what = volume
	if missing(m, "rate") {
		r.problem(line(n), "volume %s: rate is missing: write rate: {amount: \"0.08\", per: gb_month}", k.typ)
	}
	if q, ok := r.rate(m["rate"], "rate", true); ok {
		r.add(k, q, line(n))
	}
}

func (r *reader) key(n ast.Node, m map[string]ast.Node, kind string) key {
	k := key{scope: AnyScope}
	if t := m["type"]; missing(m, "type") {
		r.problem(line(n), "%s without a type: write the provider's own name for it", kind)
	} else if t == nil {
		return k
	} else if k.typ = r.text(t, "type"); k.typ == AnyScope {
		r.problem(line(t), "type: a price for every type is a guess, not a price: name the type")
	}
	if s := m["scope"]; s != nil {
		k.scope = r.text(s, "scope")
	}
	return k
}

func (r *reader) add(k key, q quote, line int) {
	if at, twice := r.lines[k]; twice {
		r.problem(line, "%s in %s has a price already in line %d: keep one of the two", k.typ, k.scope, at)
		return
	}
	r.lines[k] = line
	r.order = append(r.order, k)
	r.book.rates[k] = q
}

func (r *reader) rate(n ast.Node, name string, forVolume bool) (quote, bool) {
	if n == nil {
		return quote{}, false
	}
	before := len(r.problems)
	m := r.fields(n, name, "amount", "currency", "per", "per_gpu", "free")
	if m == nil {
		return quote{}, false
	}
	q := quote{rate: guard.Rate{Unit: "machine", Source: Source}}
	q.rate.Free = r.flag(m["free"], "free")
	q.perGPU = r.flag(m["per_gpu"], "per_gpu")

	if p := m["per"]; missing(m, "per") {
		r.problem(line(n), "%s: per is missing: write hour, month, second or gb_month", name)
	} else if p != nil {
		word := r.text(p, "per")
		d, ok := periods[word]
		if !ok && word != "" {
			r.problem(line(p), "per: %q is not a period: write hour, month, second or gb_month", clip(word))
		}
		q.rate.Per, q.perGB = d, word == "gb_month"
	}
	switch {
	case q.perGB && !forVolume:
		r.problem(line(n), "%s: gb_month is for volumes, an instance has no price per GB", name)
	case q.perGPU && forVolume:
		r.problem(line(n), "%s: per_gpu is for instances, a volume has no GPUs", name)
	}
	r.amount(n, m, name, &q)
	if len(r.problems) > before {
		return quote{}, false
	}
	// Whatever it multiplies by later, one unit must already be a price.
	if !q.rate.Known() {
		r.problem(line(n), "%s: %s per %s is out of bounds: no machine costs a billion an hour", name, q.rate.Amount, m["per"].GetToken().Value)
		return quote{}, false
	}
	return q, true
}

func (r *reader) amount(n ast.Node, m map[string]ast.Node, name string, q *quote) {
	code := r.currency
	if c := m["currency"]; c != nil {
		code = r.text(c, "currency")
	}
	a := m["amount"]
	if missing(m, "amount") {
		r.problem(line(n), "%s: amount is missing", name)
	}
	if a == nil {
		return
	}
	number := r.text(a, "amount")
	if number == "" {
		return
	}
	if code == "" {
		r.problem(line(n), "%s: no currency: write currency: USD here or once at the top of the file", name)
		return
	}
	var err error
	if q.rate.Amount, err = guard.NewMoney(number, code); err != nil {
		r.problem(line(a), "amount: %s", trimKind(err))
		return
	}
	switch {
	case q.rate.Amount.IsNegative():
		r.problem(line(a), "amount: %s is below zero", q.rate.Amount)
	case q.rate.Amount.IsZero() && !q.rate.Free:
		r.problem(line(a), "amount: 0 mostly means that nobody knows the price; if it is really free, say so: {amount: \"0\", free: true}")
	case !q.rate.Amount.IsZero() && q.rate.Free:
		r.problem(line(a), "free: true contradicts the amount %s", q.rate.Amount)
	}
}
