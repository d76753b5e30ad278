package digitalocean

import (
	"context"
	"fmt"

	"guard"
	"guard/providers"
)

// bySelf is up to how many droplets are read one by one; more are looked for in the
// listings first, and what is not in those is read by ID.
const bySelf = 4

// Get implements providers.Provider. Up to four droplets are a call each; more are a call
// for every 200 in each of the two listings, and one for each that is not listed. Other
// things are a call each, an image that is a droplet's snapshot two.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	ctx = providers.Read(ctx)
	return providers.GetMany(ids, bySelf, isDroplet, func() ([]guard.Resource, error) {
		return p.droplets(ctx)
	}, func(id guard.ResourceID) (guard.Resource, error) {
		return p.one(ctx, id)
	})
}

// one reads one thing by its ID.
func (p *Provider) one(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	if !shaped(id) {
		return guard.Resource{}, odd(id)
	}
	if own, ok := endpointID(id); ok {
		return p.oneEndpoint(ctx, own)
	}
	switch id.Kind {
	case guard.Instance:
		x, err := get[droplet](ctx, p, "droplet", dropletsPath, id.ID)
		return p.droplet(x, false), err
	case guard.Volume:
		x, err := get[volume](ctx, p, "volume", volumesPath, id.ID)
		return p.volume(x), err
	case guard.Snapshot:
		if _, _, ok := inRegion(id.ID); ok {
			x, err := oneInRegion[shareSnapshot](ctx, p, "snapshot", shareSnapPath, id.ID)
			return p.shareSnapshot(x), err
		}
		x, err := get[snapshot](ctx, p, "snapshot", snapshotsPath, id.ID)
		if err == nil && x.What.Text(maxWord) == "droplet" {
			err = fmt.Errorf("%w: it is a droplet's, and an image here: name that", guard.ErrRefused)
		}
		return p.snapshot(x), err
	case guard.Image:
		return p.oneImage(ctx, id.ID)
	case guard.Address:
		name, path := "reserved_ip", addressesPath
		if isIPv6(id.ID) {
			name, path = "reserved_ipv6", ipv6Path
		}
		x, err := get[address](ctx, p, name, path, id.ID)
		return p.address(x), err
	case guard.Filesystem:
		x, err := oneInRegion[share](ctx, p, "share", sharesPath, id.ID)
		return p.share(x), err
	}
	return guard.Resource{}, fmt.Errorf("%w: DigitalOcean has no %s", guard.ErrUnsupported, id.Kind)
}

// oneImage reads an image, and of what droplet it is where it is a snapshot of one.
func (p *Provider) oneImage(ctx context.Context, id string) (guard.Resource, error) {
	x, err := get[image](ctx, p, "image", imagesPath, id)
	if err != nil {
		return guard.Resource{}, err
	}
	source := ""
	if x.Type.Text(maxWord) == "snapshot" {
		of, err := get[snapshot](ctx, p, "snapshot", snapshotsPath, id)
		if isAbsent(err) {
			err = fmt.Errorf("%w: it is there as an image and not as a snapshot", guard.ErrBadReply)
		}
		if err != nil {
			return guard.Resource{}, err
		}
		source = of.source()
	}
	return p.image(x, source), nil
}
