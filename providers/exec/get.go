package exec

import (
	"context"
	"errors"
	"fmt"

	"guard"
	"guard/providers"
)

// idArgs name one thing.
type idArgs struct {
	Kind  guard.Kind `json:"kind"`
	Scope string     `json:"scope"`
	ID    string     `json:"id"`
}

func argsOf(id guard.ResourceID) idArgs { return idArgs{id.Kind, id.Scope, id.ID} }

// Get asks for each thing by its ID. Where the program has no such call, what is asked for
// is looked for in the list of its scope: that it is not there proves nothing. What ends a
// round (over) leaves the rest unasked.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	if len(ids) == 0 {
		return nil
	}
	_, stop := p.can(ctx, callGet)
	one := p.get
	if errors.Is(stop, guard.ErrUnsupported) {
		one, stop = p.lookThrough(), nil
	}
	return providers.GetEach(ids, nil, nil, func(id guard.ResourceID) (guard.Resource, error) {
		if stop != nil {
			return guard.Resource{}, stop
		}
		r, err := one(ctx, id)
		if over(err) {
			stop = err
		}
		return r, err
	})
}

// get reads one thing; guard.ErrNotFound is the program's own word.
func (p *Provider) get(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	var in struct {
		Resource providers.Field `json:"resource"`
	}
	if err := p.read(ctx, callGet, argsOf(id), &in); err != nil {
		return guard.Resource{}, err
	}
	r, ok := p.resource(in.Resource, id.Kind, id.Scope)
	return r, providers.CheckAnswer(r.ID.ID, ok, id.ID)
}

// lookThrough reads one thing after the other out of lists, each read once.
func (p *Provider) lookThrough() func(context.Context, guard.ResourceID) (guard.Resource, error) {
	type where struct {
		kind  guard.Kind
		scope string
	}
	lists := map[where]*providers.Memo[guard.Resource]{}
	return func(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
		at := where{id.Kind, id.Scope}
		if lists[at] == nil {
			lists[at] = &providers.Memo[guard.Resource]{}
		}
		things, err := lists[at].Read(func() ([]guard.Resource, error) { return p.list(ctx, id.Kind, id.Scope) })
		for _, r := range things {
			if r.ID.ID == id.ID {
				return r, nil
			}
		}
		if err != nil {
			return guard.Resource{}, err
		}
		return guard.Resource{}, fmt.Errorf("%w: %s cannot read it by its ID, and the list does not have it", guard.ErrUnavailable, p.program)
	}
}
