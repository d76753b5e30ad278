package prices

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"guard"
)

// Egress is what traffic out of a region costs; false where the book does not say.
func (b *Book) Egress(scope string) (guard.EgressPrice, bool) {
	if b == nil {
		return guard.EgressPrice{}, false
	}
	p, ok := b.egress[scope]
	if !ok {
		p, ok = b.egress[AnyScope]
	}
	return p, ok
}

// mostFree bounds a free tier, in GB a month.
const mostFree = 1_000_000

func (r *reader) egress(n ast.Node) {
	m := r.fields(n, "egress", "scope", "amount", "currency", "free", "free_gb", "in")
	if m == nil {
		return
	}
	before, scope := len(r.problems), AnyScope
	if s := m["scope"]; s != nil {
		scope = r.text(s, "scope")
	}
	q := quote{rate: guard.Rate{Source: Source}}
	q.rate.Free = r.flag(m["free"], "free")
	r.amount(n, m, "egress", &q)
	p := guard.EgressPrice{PerGB: q.rate.Amount, Source: Source}
	if f := m["free_gb"]; f != nil {
		gb, err := strconv.ParseInt(f.GetToken().Value, 10, 64)
		if err != nil || gb < 0 || gb > mostFree {
			r.problem(line(f), "free_gb: %q is not a number of GB a month from 0 to %d", clip(f.GetToken().Value), mostFree)
		}
		p.FreeGB = gb
	}
	if in := m["in"]; in != nil {
		code := r.currency
		if c := m["currency"]; c != nil {
			code = r.text(c, "currency")
		}
		var err error
		if p.InPerGB, err = guard.NewMoney(r.text(in, "in"), code); err != nil || p.InPerGB.IsNegative() {
			r.problem(line(in), "in: %q is no price of a GB that comes in", clip(in.GetToken().Value))
		}
	}
	if _, twice := r.book.egress[scope]; twice {
		r.problem(line(n), "egress in %s has a price already: keep one of the two", scope)
	}
	if len(r.problems) > before {
		return
	}
	if r.book.egress == nil {
		r.book.egress = map[string]guard.EgressPrice{}
	}
	r.book.egress[scope] = p
}
