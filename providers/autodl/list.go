package autodl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// List reads Pro instances, and the containers of elastic deployments in a scope of their own.
// For other kinds the result is guard.ErrUnsupported.
//
// Pro instances are a call for each hundred, and one for each whose price is not known yet, 50
// at a time; a price is asked for again after six hours, five at a time. Deployments are a call
// for each hundred and one for each that has containers; an account that may have none is
// asked once in six hours, and does not have the scope.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var clock providers.ServerTime
	ctx = providers.CollectServerTime(ctx, &clock)
	var inv providers.Inventory
	wanted := func(scope string) bool { return len(q.Scopes) == 0 || slices.Contains(q.Scopes, scope) }
	add := func(scope string, kind guard.Kind, found []guard.Resource, err error) {
		if err != nil {
			err = fmt.Errorf("list the %s of %s in %s: %w", kind.Plural(), p.name, scope, err)
		}
		inv.Results = append(inv.Results, providers.ScopeResult{Scope: scope, Kind: kind, Resources: found, Err: err})
	}
	for _, kind := range q.Kinds {
		if kind != guard.Instance {
			if wanted(Scope) {
				add(Scope, kind, nil, guard.ErrUnsupported)
			}
			continue
		}
		var failed error
		if wanted(Scope) {
			var found []guard.Resource
			found, failed = p.instances(ctx)
			add(Scope, kind, found, failed)
		}
		if !wanted(Deployments) || p.hasNone(ctx) {
			continue
		}
		if providers.EndsAll(failed) {
			add(Deployments, kind, nil, failed)
			continue
		}
		found, err := p.containers(ctx)
		if errors.Is(err, errNone) {
			p.noDeployments(ctx)
			continue
		}
		add(Deployments, kind, found, err)
	}
	inv.ServerTime = clock.Time()
	return inv, nil
}

// instances gives what was read of Pro instances, and the first error.
func (p *Provider) instances(ctx context.Context) ([]guard.Resource, error) {
	all, err := p.all(ctx)
	if err == nil {
		p.forget(all)
	}
	if !providers.EndsAll(err) {
		p.learn(ctx, all)
	}
	out := make([]guard.Resource, 0, len(all))
	for _, x := range all {
		out = append(out, p.instance(x))
	}
	return out, err
}

// all are the Pro instances as they are told of.
func (p *Provider) all(ctx context.Context) ([]instance, error) {
	all, err := list[instance](ctx, p, nil, listPath)
	return all, always(err)
}
