package lambda

import (
	"context"
	"errors"
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
	g := &getting{listing: listing{p: p}}
	var listed []guard.Resource
	var stop error
	if providers.CountIDs(ids, providers.IsInstance) > bySelf {
		listed, stop = g.instances(ctx)
		if errors.Is(stop, guard.ErrBadReply) {
			stop = nil // else so many calls one by one would fail, too
		}
	}
	return providers.GetEach(ids, listed, stop, func(id guard.ResourceID) (guard.Resource, error) {
		return g.find(ctx, id)
	})
}

// getting is one Get.
type getting struct {
	listing

	fs *[]guard.Resource // all file systems, once they have been read
}

// find reads one thing by its ID.
func (g *getting) find(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	switch id.Kind {
	case guard.Instance:
		x, err := g.p.readInstance(ctx, id.ID)
		if err != nil {
			return guard.Resource{}, err
		}
		return g.p.instance(x), nil
	case guard.Filesystem:
		return g.fileSystem(ctx, id)
	}
	return guard.Resource{}, fmt.Errorf("%w: Lambda has no %s", guard.ErrUnsupported, id.Kind)
}

// fileSystem looks for one in the list of all. It is guard.ErrNotFound where the list is
// complete and has it not.
func (g *getting) fileSystem(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	if g.fs == nil {
		all, err := g.fileSystems(ctx)
		if isAbsent(err) {
			err = fmt.Errorf("%w: a list is not found", guard.ErrBadReply)
		}
		if err != nil {
			return guard.Resource{}, err
		}
		g.fs = &all
	}
	i := slices.IndexFunc(*g.fs, func(r guard.Resource) bool { return r.ID.ID == id.ID })
	if i < 0 {
		return guard.Resource{}, guard.ErrNotFound
	}
	return (*g.fs)[i], nil
}
