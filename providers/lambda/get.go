package lambda

import (
	"context"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// bySelf is up to how many instances are read one by one; more are looked for in a listing
// first, for a call takes a second, and what is not in it is read by ID.
const bySelf = 2

// Get implements providers.Provider. An instance is one call, up to two of them; more are
// one call and one for each that is not listed. File systems are two calls for all: they
// are absent where a list of all has them not.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	ctx = providers.Read(ctx)
	l := &listing{p: p}
	return providers.GetMany(ids, bySelf, providers.IsInstance, func() ([]guard.Resource, error) {
		return l.instances(ctx)
	}, func(id guard.ResourceID) (guard.Resource, error) {
		return l.find(ctx, id)
	})
}

// find reads one thing by its ID.
func (l *listing) find(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	switch id.Kind {
	case guard.Instance:
		x, err := l.p.readInstance(ctx, id.ID)
		return l.p.instance(x), err
	case guard.Filesystem:
		return l.fileSystem(ctx, id)
	}
	return guard.Resource{}, fmt.Errorf("%w: Lambda has no %s", guard.ErrUnsupported, id.Kind)
}

// fileSystem looks for one in the list of all. It is guard.ErrNotFound where the list is
// complete and has it not.
func (l *listing) fileSystem(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	all, err := l.fileSystems(ctx)
	i := slices.IndexFunc(all, func(r guard.Resource) bool { return r.ID.ID == id.ID })
	switch {
	case i >= 0:
		return all[i], nil
	case isAbsent(err):
		return guard.Resource{}, fmt.Errorf("%w: a list is not found", guard.ErrBadReply)
	case err != nil:
		return guard.Resource{}, err
	}
	return guard.Resource{}, guard.ErrNotFound
}
