package lambda

import (
	"context"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// List reads instances or file systems; for other kinds the result is
// guard.ErrUnsupported. It is one call for instances, and for file systems, of which the
// instances tell what mounts them, two; or two for both.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var clock providers.ServerTime
	ctx = providers.CollectServerTime(providers.Read(ctx), &clock)
	l := &listing{p: p}
	var inv providers.Inventory
	for _, kind := range q.Kinds {
		if len(q.Scopes) > 0 && !slices.Contains(q.Scopes, Scope) {
			break // there is no other
		}
		res := providers.ScopeResult{Scope: Scope, Kind: kind}
		switch kind {
		case guard.Instance:
			res.Resources, res.Err = l.instances(ctx)
		case guard.Filesystem:
			res.Resources, res.Err = l.fileSystems(ctx)
		default:
			res.Err = guard.ErrUnsupported
		}
		if res.Err != nil {
			res.Err = fmt.Errorf("list the %ss of %s: %w", kind, p.name, res.Err)
		}
		inv.Results = append(inv.Results, res)
	}
	inv.ServerTime = clock.Time()
	return inv, nil
}

// listing is what one call to the adapter has read: the list of instances once.
type listing struct {
	p    *Provider
	done bool
	all  []instance
	err  error
}

func (l *listing) read(ctx context.Context) ([]instance, error) {
	if !l.done {
		l.all, l.err = list[instance](ctx, l.p, instancesPath...)
		l.done = true
	}
	return l.all, l.err
}

// instances gives what was read, and the error.
func (l *listing) instances(ctx context.Context) ([]guard.Resource, error) {
	all, err := l.read(ctx)
	var out []guard.Resource
	for _, x := range all {
		out = append(out, l.p.instance(x))
	}
	settle(out, usersOf(all))
	return out, err
}

// fileSystems reads the file systems, and what mounts them. Where that cannot be read,
// nothing is told: one that seems to hang on nothing is taken for left behind.
func (l *listing) fileSystems(ctx context.Context) ([]guard.Resource, error) {
	instances, err := l.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what mounts them: %w", err)
	}
	all, err := list[fileSystem](ctx, l.p, fileSystemsPath...)
	users := usersOf(instances)
	var out []guard.Resource
	for _, x := range all {
		id, _ := x.key()
		out = append(out, l.p.fileSystem(x, users[id]))
	}
	return out, err
}
