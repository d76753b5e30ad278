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
	l := &listing{p: p}
	return providers.GetMany(ids, bySelf, providers.IsInstance, func() ([]guard.Resource, error) {
		all, err := l.instances(ctx)
		return each(all, p.instance), err
	}, func(id guard.ResourceID) (guard.Resource, error) {
		return l.read(ctx, id)
	})
}

// read reads one thing by its ID.
func (l *listing) read(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	switch {
	case id.Kind != guard.Instance && id.Kind != guard.Volume:
		return guard.Resource{}, fmt.Errorf("%w: Vast has no %s", guard.ErrUnsupported, id.Kind)
	case !digits.MatchString(id.ID):
		return guard.Resource{}, fmt.Errorf("%w: an ID of Vast is a number", guard.ErrInvalid)
	case id.Kind == guard.Instance:
		x, err := l.instance(ctx, id.ID)
		return l.p.instance(x), err
	}
	all, err := l.volumes(ctx)
	if i := slices.IndexFunc(all, func(x volume) bool { return string(x.ID) == id.ID }); i >= 0 {
		return l.p.volume(all[i]), nil
	}
	if err == nil {
		err = guard.ErrNotFound
	}
	return guard.Resource{}, err
}

// instance reads one instance; guard.ErrNotFound where both it and a complete listing tell
// of none.
func (l *listing) instance(ctx context.Context, id string) (instance, error) {
	var reply struct {
		Success  providers.Field `json:"success"`
		Error    providers.Field `json:"error"`
		Instance providers.Field `json:"instances"` // it is one, all the same
	}
	if err := l.p.api.Get(ctx, &reply, nil, "api", "v0", "instances", id); err != nil {
		return instance{}, err
	}
	if err := refusal(reply.Success, reply.Error); err != nil {
		return instance{}, err
	}
	switch string(reply.Instance) {
	case "null", "{}", "[]":
		return l.unlessListed(ctx, id)
	}
	var x instance
	reply.Instance.Into(&x)
	got, ok := x.key()
	return x, providers.CheckAnswer(got, ok, id)
}

func (l *listing) unlessListed(ctx context.Context, id string) (instance, error) {
	all, err := l.instances(ctx)
	if i := slices.IndexFunc(all, func(x instance) bool { return string(x.ID) == id }); i >= 0 {
		return all[i], nil
	}
	if err != nil {
		return instance{}, fmt.Errorf("Vast answers with nothing, and whether it lists it is not known: %w", err)
	}
	return instance{}, guard.ErrNotFound
}
