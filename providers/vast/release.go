package vast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"guard"
	"guard/providers"
)

// Release destroys an instance with its disk, or deletes a volume with its data. Vast takes
// no token: the destruction of what is gone is "not found", and so nil.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	err := p.end(ctx, id)
	if isAbsent(err) {
		return nil
	}
	return providers.Says("release", id, err)
}

func (p *Provider) end(ctx context.Context, id guard.ResourceID) error {
	switch {
	case id.Kind != guard.Instance && id.Kind != guard.Volume:
		return fmt.Errorf("%w: Vast has no %s", guard.ErrUnsupported, id.Kind)
	case !digits.MatchString(id.ID):
		return fmt.Errorf("%w: an ID of Vast is a number", guard.ErrInvalid)
	case id.Kind == guard.Instance:
		return p.send(ctx, http.MethodDelete, nil, "api", "v0", "instances", id.ID)
	}
	err := p.send(ctx, http.MethodDelete, map[string]json.Number{"id": json.Number(id.ID)}, "api", "v0", "volumes")
	if errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrRefused) || errors.Is(err, guard.ErrConflict) {
		err = p.inUse(ctx, id.ID, err)
	}
	return err
}

// inUse says what the refusal to delete a volume comes of, by one read: the API has no word
// for one that is attached. Where the read fails, it is the refusal.
func (p *Provider) inUse(ctx context.Context, id string, refused error) error {
	all, err := (&listing{p: p}).volumes(providers.Read(ctx))
	i := slices.IndexFunc(all, func(x volume) bool { return string(x.ID) == id })
	switch {
	case i < 0 && err == nil:
		return guard.ErrNotFound
	case i < 0:
		return refused
	}
	if users, _ := all[i].users(); len(users) > 0 {
		return fmt.Errorf("%w: it is attached to %s, which has to be destroyed before", guard.ErrConflict, strings.Join(users[:min(len(users), 8)], ", "))
	}
	return refused
}

// Stop stops an instance, which keeps its disk. Whether its GPUs are free when it is to
// start again nobody can say.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	var err error
	switch {
	case id.Kind != guard.Instance:
		err = fmt.Errorf("%w: only instances can be stopped", guard.ErrUnsupported)
	case !digits.MatchString(id.ID):
		err = fmt.Errorf("%w: an ID of Vast is a number", guard.ErrInvalid)
	default:
		err = p.send(ctx, http.MethodPut, map[string]string{"state": halts}, "api", "v0", "instances", id.ID)
	}
	return providers.Says("stop", id, err)
}
