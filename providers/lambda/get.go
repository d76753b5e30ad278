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
	g := &getting{listing: listing{p: p}, done: map[string]guard.Lookup{}}
	instances := map[string]bool{}
	for _, id := range ids {
		if id.Kind == guard.Instance {
			instances[id.ID] = true
		}
	}
	if len(instances) > bySelf {
		g.many(ctx, instances)
	}
	out := make([]guard.Lookup, len(ids))
	for i, id := range ids {
		look, known := g.done[id.Key()]
		if !known {
			look = g.one(ctx, id)
			g.done[id.Key()] = look
		}
		look.ID = id
		out[i] = look
	}
	return out
}

// getting is one Get.
type getting struct {
	listing

	done map[string]guard.Lookup // by the key of the ID
	stop error                   // after which nothing is asked any more
	fs   *[]guard.Resource       // all file systems, once they have been read
}

// many answers for the instances that a listing has.
func (g *getting) many(ctx context.Context, ids map[string]bool) {
	all, err := g.instances(ctx)
	if err != nil && !errors.Is(err, guard.ErrBadReply) {
		g.stop = err // so many calls one by one would fail, too
	}
	for _, r := range all {
		if ids[r.ID.ID] {
			g.done[r.ID.Key()] = guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
		}
	}
}

// one reads one thing by its ID.
func (g *getting) one(ctx context.Context, id guard.ResourceID) guard.Lookup {
	err := g.stop
	var r guard.Resource
	if err == nil {
		r, err = g.find(ctx, id)
	}
	switch {
	case err == nil:
		return guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
	case isAbsent(err):
		return guard.Lookup{Verdict: guard.VerdictAbsent}
	case providers.EndsAll(err):
		g.stop = err
	}
	return guard.Lookup{Verdict: guard.VerdictUnknown, Err: providers.Says("read", id, err)}
}

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
