package lambda

import (
	"context"
	"fmt"

	"guard"
	"guard/providers"
)

// List reads instances or file systems; for other kinds the result is
// guard.ErrUnsupported. It is one call for instances, and for file systems, of which the
// instances tell what mounts them, two; or two for both.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	l := &listing{p: p}
	return providers.ListScope(ctx, q, p.name, Scope, func(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
		switch kind {
		case guard.Instance:
			return l.instances(ctx)
		case guard.Filesystem:
			return l.fileSystems(ctx)
		}
		return nil, guard.ErrUnsupported
	}), nil
}

// listing is what one call to the adapter has read: each list once.
type listing struct {
	p      *Provider
	boxes  providers.Memo[instance]
	stores providers.Memo[guard.Resource]
}

func (l *listing) read(ctx context.Context) ([]instance, error) {
	return l.boxes.Read(func() ([]instance, error) {
		return list[instance](ctx, l.p, instancesPath...)
	})
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
	return l.stores.Read(func() ([]guard.Resource, error) {
		instances, err := l.read(ctx)
		if err != nil {
			return nil, fmt.Errorf("read what mounts them: %w", err)
		}
		all, err := list[fileSystem](ctx, l.p, fileSystemsPath...)
		users, named := usersOf(instances), namedBy(instances)
		var out []guard.Resource
		for _, x := range all {
			id, _ := x.key()
			out = append(out, l.p.fileSystem(x, users[id], named))
		}
		return out, err
	})
}
