package runpod

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"guard"
	"guard/providers"
)

// Release deletes a pod with its disks, a cluster with all its nodes, an endpoint with its
// workers and its template, or a network volume with its data. RunPod takes no token: the
// deletion of what is gone is "not found", and so nil.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	path, err := route(id)
	if err != nil {
		return providers.Says("release", id, err)
	}
	err = p.send(ctx, http.MethodDelete, nil, path...)
	if isAbsent(err) {
		return nil
	}
	switch refused := errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrRefused); {
	case errors.Is(err, guard.ErrConflict) && path[0] == podsPath:
		err = p.conflict(ctx, id, err, guard.StateGone)
	case refused && path[0] == volumesPath:
		err = p.inUse(ctx, id.ID, err)
	}
	return providers.Says("release", id, err)
}

// inUse says what the refusal to delete a network volume comes of, by two reads: the
// description has no word for one that is mounted. Where they fail, it is the refusal.
func (p *Provider) inUse(ctx context.Context, id string, refused error) error {
	users, err := (&listing{p: p}).users(providers.Read(ctx))
	if on := users.of[id]; err == nil && len(on) > 0 {
		return fmt.Errorf("%w: %s mounts it", guard.ErrConflict, on[0].id)
	}
	return refused
}

// Stop stops a pod, which keeps its volume disk, or takes an endpoint's workers down to
// none. A cluster has no stop: guard.ErrUnsupported.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	path, err := route(id)
	switch {
	case err != nil:
	case path[0] == podsPath:
		err = p.send(ctx, http.MethodPost, map[string]string{"action": "stop"}, podsPath, path[1], "action")
		if errors.Is(err, guard.ErrConflict) {
			err = p.conflict(ctx, id, err, guard.StateStopped)
		}
	case path[0] == endpointsPath:
		err = p.send(ctx, http.MethodPatch, map[string]any{"workers": map[string]int{"min": 0, "max": 0}}, path...)
	default:
		err = fmt.Errorf("%w: RunPod cannot stop it, only delete it", guard.ErrUnsupported)
	}
	return providers.Says("stop", id, err)
}

// conflict says what a refusal with no more than "conflict" comes of, by one read: the
// owner's lock, a cluster, or that the pod is in the wanted state already. Where the read
// fails, it is the conflict.
func (p *Provider) conflict(ctx context.Context, id guard.ResourceID, refused error, wanted guard.State) error {
	x, err := p.readPod(ctx, id.ID)
	switch {
	case err != nil:
		return refused
	case x.state() == wanted:
		return nil
	case x.Locked.Tri() == guard.Yes:
		return fmt.Errorf("%w: the pod is locked; unlock it at RunPod if this should go", guard.ErrProtected)
	case x.clusterID() != "":
		return fmt.Errorf("%w: it is a node of %s/%s, which is ended as one: name that", refused, p.name, x.clusterID())
	}
	return refused
}

// Protection implements providers.Protector: a pod's lock.
func (p *Provider) Protection(ctx context.Context, id guard.ResourceID) (providers.Protection, error) {
	look := p.Get(ctx, id)[0]
	switch look.Verdict {
	case guard.VerdictFound:
		return providers.Protection{Release: look.Resource.ReleaseProtected, Stop: look.Resource.StopProtected}, nil
	case guard.VerdictAbsent:
		return providers.Protection{}, providers.Says("read the protection of", id, guard.ErrNotFound)
	}
	return providers.Protection{}, look.Err
}

// Unprotect implements providers.Protector: it unlocks a pod.
func (p *Provider) Unprotect(ctx context.Context, id guard.ResourceID) error {
	path, err := route(id)
	switch {
	case err != nil:
	case path[0] == podsPath:
		err = p.send(ctx, http.MethodPatch, map[string]bool{"locked": false}, path...)
	default:
		err = fmt.Errorf("%w: only pods have a lock; those of a cluster are unlocked at RunPod", guard.ErrUnsupported)
	}
	return providers.Says("unprotect", id, err)
}
