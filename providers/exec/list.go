package exec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// maxPages is how many pages a listing has at most.
const maxPages = 1000

// listArgs ask for a page of what there is of a kind in a scope.
type listArgs struct {
	Kind  guard.Kind `json:"kind"`
	Scope string     `json:"scope"`
	Page  string     `json:"page,omitzero"`
}

// List asks for each kind in each scope, a call a page. A kind that the program does not
// have is guard.ErrUnsupported. What ends the program, and a wait that it asks for, ends
// the round.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	s, err := p.can(ctx, callList)
	if err != nil {
		return providers.Inventory{}, p.says("list", err)
	}
	var inv providers.Inventory
	var stop error
	for _, kind := range q.Kinds {
		for _, scope := range s.scopes {
			if len(q.Scopes) > 0 && !slices.Contains(q.Scopes, scope) {
				continue
			}
			res := providers.ScopeResult{Scope: scope, Kind: kind, Err: stop}
			switch {
			case !slices.Contains(s.kinds, kind):
				res.Err = guard.ErrUnsupported
			case stop == nil:
				res.Resources, res.Err = p.list(ctx, kind, scope)
			}
			if res.Err != nil {
				res.Err = fmt.Errorf("list the %s in %s of %s: %w", kind.Plural(), scope, p.name, res.Err)
			}
			if over(res.Err) && stop == nil {
				stop = errors.Unwrap(res.Err)
			}
			inv.Results = append(inv.Results, res)
		}
	}
	return inv, ctx.Err()
}

// over reports whether an error ends a round: as everywhere, or as a program had to be ended.
func over(err error) bool {
	var f *failure
	return providers.EndsAll(err) || errors.As(err, &f) && f.broken
}

// list reads all pages of one kind in one scope. With an error it gives what it has.
func (p *Provider) list(ctx context.Context, kind guard.Kind, scope string) ([]guard.Resource, error) {
	var out []guard.Resource
	at := map[string]int{} // where each thing is: one may show on two pages
	wrong := 0
	err := p.pages(ctx, callList, "resources", func(page string) any { return listArgs{kind, scope, page} }, func(item providers.Field) error {
		r, ok := p.resource(item, kind, scope)
		if !ok {
			wrong++
			return nil
		}
		if i, twice := at[r.ID.ID]; twice {
			out[i] = r
			return nil
		}
		at[r.ID.ID] = len(out)
		out = append(out, r)
		return nil
	})
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%w: %d entries of the list have no usable id, so it does not count as complete", guard.ErrBadReply, wrong)
	}
	return out, err
}

// pages makes a call for each page of a list, and gives what is in them. The last page says
// that it is: one that says nothing is no end.
func (p *Provider) pages(ctx context.Context, call, list string, args func(page string) any, item func(providers.Field) error) error {
	page := ""
	seen := map[string]bool{}
	for {
		var in map[string]providers.Field
		if err := p.read(ctx, call, args(page), &in); err != nil {
			return err
		}
		var items []providers.Field
		if !in[list].Into(&items) {
			return fmt.Errorf("%w: the answer has no list of %s", guard.ErrBadReply, list)
		}
		for _, x := range items {
			if err := item(x); err != nil {
				return err
			}
		}
		next, complete := in["next"], in["complete"].Tri() == guard.Yes
		switch {
		case complete && next.Null():
			return nil
		case complete || next.Null():
			return fmt.Errorf("%w: a page says neither that the list is complete nor what comes next, or both", guard.ErrBadReply)
		case !next.Into(&page) || page == "" || len(page) > maxText || seen[page] || len(seen) >= maxPages:
			return fmt.Errorf("%w: the pages do not end", guard.ErrBadReply)
		}
		seen[page] = true
	}
}
