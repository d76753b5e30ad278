package vast

import (
	"context"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// bySelf is up to how many instances are read one by one; more are looked for in a listing
// first, for Vast wants two seconds between two calls.
const bySelf = 4

// Get implements providers.Provider. An instance is one call, up to four of them; more are
// a listing and one call for each that is not in it. To what is not there Vast answers with
// nothing, which is a proof only together with a listing that does not have it. Volumes are
// one call for all: they cannot be read by themselves.
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
}

// many answers for the instances that a listing has.
func (g *getting) many(ctx context.Context, ids map[string]bool) {
	all, err := g.instances(ctx)
	if providers.EndsAll(err) {
		g.stop = err
	}
	for _, x := range all {
		if id, _ := x.key(); ids[id] {
			g.done[g.p.id(guard.Instance, id).Key()] = guard.Lookup{Verdict: guard.VerdictFound, Resource: g.p.instance(x)}
		}
	}
}

// one reads one thing.
func (g *getting) one(ctx context.Context, id guard.ResourceID) guard.Lookup {
	err := g.stop
	if err == nil {
		var r guard.Resource
		if r, err = g.read(ctx, id); err == nil {
			return guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
		}
		if isAbsent(err) {
			return guard.Lookup{Verdict: guard.VerdictAbsent}
		}
		if providers.EndsAll(err) {
			g.stop = err
		}
	}
	return guard.Lookup{Verdict: guard.VerdictUnknown, Err: providers.Says("read", id, err)}
}

func (g *getting) read(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	switch {
	case id.Kind != guard.Instance && id.Kind != guard.Volume:
		return guard.Resource{}, fmt.Errorf("%w: Vast has no %s", guard.ErrUnsupported, id.Kind)
	case !digits.MatchString(id.ID):
		return guard.Resource{}, fmt.Errorf("%w: an ID of Vast is a number", guard.ErrInvalid)
	case id.Kind == guard.Instance:
		x, err := g.instance(ctx, id.ID)
		return g.p.instance(x), err
	}
	all, err := g.volumes(ctx)
	if i := slices.IndexFunc(all, func(x volume) bool { return string(x.ID) == id.ID }); i >= 0 {
		return g.p.volume(all[i]), nil
	}
	if err == nil {
		err = guard.ErrNotFound
	}
	return guard.Resource{}, err
}

// instance reads one instance; guard.ErrNotFound where both it and a complete listing tell
// of none.
func (g *getting) instance(ctx context.Context, id string) (instance, error) {
	var reply struct {
		Success  providers.Field `json:"success"`
		Error    providers.Field `json:"error"`
		Instance providers.Field `json:"instances"` // it is one, all the same
	}
	if err := g.p.api.Get(ctx, &reply, nil, "api", "v0", "instances", id); err != nil {
		return instance{}, err
	}
	if err := refusal(reply.Success, reply.Error); err != nil {
		return instance{}, err
	}
	switch string(reply.Instance) {
	case "null", "{}", "[]":
		return g.unlessListed(ctx, id)
	}
	var x instance
	reply.Instance.Into(&x)
	switch got, ok := x.key(); {
	case !ok:
		return x, fmt.Errorf("%w: the answer names nothing, neither there nor absent", guard.ErrBadReply)
	case got != id:
		return x, fmt.Errorf("%w: the answer is about another thing", guard.ErrBadReply)
	}
	return x, nil
}

func (g *getting) unlessListed(ctx context.Context, id string) (instance, error) {
	all, err := g.instances(ctx)
	if i := slices.IndexFunc(all, func(x instance) bool { return string(x.ID) == id }); i >= 0 {
		return all[i], nil
	}
	if err != nil {
		return instance{}, fmt.Errorf("Vast answers with nothing, and whether it lists it is not known: %w", err)
	}
	return instance{}, guard.ErrNotFound
}
