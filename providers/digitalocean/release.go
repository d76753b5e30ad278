package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"guard"
	"guard/providers"
)

// Release destroys a droplet with its disk, or deletes an endpoint, a volume, a snapshot, an image, a
// reserved IP or a share. DigitalOcean takes no token: the deletion of what is gone is "not found",
// and so nil. A reserved IP is read first, for nothing says that one which a droplet has is
// not deleted. A node of a Kubernetes cluster is deleted through its pool.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	err := p.release(ctx, id, opt.Group)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

func (p *Provider) release(ctx context.Context, id guard.ResourceID, group string) error {
	if !shaped(id) {
		return odd(id)
	}
	if left, err := p.leavePool(ctx, id, group); left || err != nil {
		return err
	}
	if id.Kind == guard.Address {
		r, err := p.one(providers.Read(ctx), id)
		if err != nil {
			return err
		}
		if err := inUse(r); err != nil {
			return err
		}
	}
	err := p.end(providers.Write(ctx), id)
	if errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrConflict) {
		err = p.explain(ctx, id, err)
	}
	return err
}

// end makes the one call.
func (p *Provider) end(ctx context.Context, id guard.ResourceID) (err error) {
	if own, ok := endpointID(id); ok {
		_, err = p.api.DedicatedInference.Delete(ctx, own)
		return written(err)
	}
	region, own, regional := inRegion(id.ID)
	n, _ := strconv.Atoi(id.ID) // of a droplet or an image: it is shaped so
	switch id.Kind {
	case guard.Instance:
		_, err = p.api.Droplets.Delete(ctx, n)
	case guard.Volume:
		_, err = p.api.Storage.DeleteVolume(ctx, id.ID)
	case guard.Filesystem:
		_, err = p.api.Nfs.Delete(ctx, own, region)
	case guard.Snapshot:
		if regional {
			_, err = p.api.Nfs.DeleteSnapshot(ctx, own, region)
			break
		}
		_, err = p.api.Snapshots.Delete(ctx, id.ID)
	case guard.Image:
		_, err = p.api.Images.Delete(ctx, n)
	case guard.Address:
		if isIPv6(id.ID) {
			_, err = p.api.ReservedIPV6s.Delete(ctx, id.ID)
			break
		}
		_, err = p.api.ReservedIPs.Delete(ctx, id.ID)
	default:
		return fmt.Errorf("%w: DigitalOcean has no %s", guard.ErrUnsupported, id.Kind)
	}
	return written(err)
}

// explain says what a refusal comes of, by one read: DigitalOcean's lock, a droplet that uses
// the thing, or a release that is under way and so none. Where the read fails, it is the refusal.
func (p *Provider) explain(ctx context.Context, id guard.ResourceID, refused error) error {
	r, err := p.one(providers.Read(ctx), id)
	switch {
	case err != nil:
		return refused
	case r.State == guard.StateReleasing:
		return nil
	case id.Kind == guard.Filesystem && errors.Is(refused, guard.ErrConflict):
		return fmt.Errorf("%w; a share goes only after its snapshots", refused)
	case r.ReleaseProtected == guard.Yes:
		return fmt.Errorf("%w: DigitalOcean has locked it, for an action under way or of its own; look there if that stays", guard.ErrProtected)
	}
	if err := inUse(r); err != nil {
		return err
	}
	return refused
}

// inUse is the conflict of a thing that a droplet has, or may have.
func inUse(r guard.Resource) error {
	switch {
	case !r.Parent.IsZero():
		return fmt.Errorf("%w: droplet %s has it", guard.ErrConflict, r.Parent.ID)
	case r.UsesUntold:
		return fmt.Errorf("%w: whether a droplet has it cannot be read", guard.ErrConflict)
	}
	return nil
}
