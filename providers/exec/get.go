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
// is looked for in the list of its scope: that it is not there proves nothing.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	out := make([]guard.Lookup, 0, len(ids))
	if len(ids) == 0 {
		return out
	}
	_, err := p.can(ctx, callGet)
	one := p.get
	if errors.Is(err, guard.ErrUnsupported) {
		one, err = p.lookThrough(), nil
	}
	for _, id := range ids {
		look := guard.Lookup{ID: id, Verdict: guard.VerdictUnknown}
		if err == nil {
			var r guard.Resource
			var failed error
			switch r, failed = one(ctx, id); {
			case failed == nil:
				look.Verdict, look.Resource = guard.VerdictFound, r
			case errors.Is(failed, guard.ErrNotFound):
				look.Verdict = guard.VerdictAbsent
			case over(failed):
				err = failed
			default:
				look.Err = p.says("read", id.String(), failed)
			}
		}
		if err != nil {
			look.Err = p.says("read", id.String(), err)
		}
		out = append(out, look)
	}
	return out
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
	switch {
	case !ok:
		return r, fmt.Errorf("%w: the answer names nothing, neither there nor absent", guard.ErrBadReply)
	case r.ID.ID != id.ID:
		return r, fmt.Errorf("%w: the answer is about another thing", guard.ErrBadReply)
	}
	return r, nil
}

// lookThrough reads one thing after the other out of lists, each read once.
func (p *Provider) lookThrough() func(context.Context, guard.ResourceID) (guard.Resource, error) {
	type where struct {
		kind  guard.Kind
		scope string
	}
	type list struct {
		things []guard.Resource
		err    error
	}
	lists := map[where]list{}
	return func(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
		at := where{id.Kind, id.Scope}
		l, done := lists[at]
		if !done {
			l.things, l.err = p.list(ctx, id.Kind, id.Scope)
			lists[at] = l
		}
		for _, r := range l.things {
			if r.ID.ID == id.ID {
				return r, nil
			}
		}
		if l.err != nil {
			return guard.Resource{}, l.err
		}
		return guard.Resource{}, fmt.Errorf("%w: %s cannot read it by its ID, and the list does not have it", guard.ErrUnavailable, p.program)
	}
}
