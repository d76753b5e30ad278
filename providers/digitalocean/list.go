package digitalocean

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"guard"
	"guard/providers"
)

// The paths of the collections.
const (
	dropletsPath  = "v2/droplets"
	volumesPath   = "v2/volumes"
	snapshotsPath = "v2/snapshots"
	imagesPath    = "v2/images"
	addressesPath = "v2/reserved_ips"
	ipv6Path      = "v2/reserved_ipv6"
)

// List reads droplets (instances), volumes, snapshots of volumes, images, reserved IPs
// (addresses) and NFS shares (file systems), and in scopes of their own the endpoints of
// Dedicated Inference (instances) and the snapshots of shares; for other kinds the result is
// guard.ErrUnsupported. Droplets, images and addresses are two lists each, shares and their snapshots one
// for each region, the others one, and each list a call for every 200 entries.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	inv := providers.ListScope(ctx, q, p.name, Scope, p.all)
	kinds := q.Kinds
	if slices.Contains(kinds, guard.Instance) {
		q.Kinds = []guard.Kind{guard.Instance}
		p.beside(ctx, &inv, q, Inference, p.endpoints)
	}
	if slices.Contains(kinds, guard.Snapshot) {
		q.Kinds = []guard.Kind{guard.Snapshot}
		p.beside(ctx, &inv, q, NFS, func(ctx context.Context) ([]guard.Resource, error) {
			all, err := regional[shareSnapshot](ctx, p, "snapshots", shareSnapPath)
			return each(all, p.shareSnapshot), err
		})
	}
	return inv, nil
}

// beside adds what one more scope has, unless what was read before ends all.
func (p *Provider) beside(ctx context.Context, inv *providers.Inventory, q providers.Query, scope string, read func(context.Context) ([]guard.Resource, error)) {
	more := providers.ListScope(ctx, q, p.name, scope, func(ctx context.Context, _ guard.Kind) ([]guard.Resource, error) {
		for _, res := range inv.Results {
			if providers.EndsAll(res.Err) {
				return nil, res.Err
			}
		}
		return read(ctx)
	})
	inv.Results = append(inv.Results, more.Results...)
	if inv.ServerTime.IsZero() {
		inv.ServerTime = more.ServerTime
	}
}

func (p *Provider) all(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
	switch kind {
	case guard.Instance:
		return p.droplets(ctx)
	case guard.Volume:
		all, err := list[volume](ctx, p, "volumes", volumesPath, nil)
		return each(all, p.volume), err
	case guard.Snapshot:
		all, err := list[snapshot](ctx, p, "snapshots", snapshotsPath, url.Values{"resource_type": {"volume"}})
		return each(all, p.snapshot), err
	case guard.Image:
		return p.images(ctx)
	case guard.Address:
		return p.addresses(ctx)
	case guard.Filesystem:
		all, err := regional[share](ctx, p, "shares", sharesPath)
		return each(all, p.share), err
	}
	return nil, guard.ErrUnsupported
}

func each[T any](all []T, f func(T) guard.Resource) []guard.Resource {
	var out []guard.Resource
	for _, x := range all {
		out = append(out, f(x))
	}
	return out
}

// droplets reads both listings: the plain one hides GPU droplets (description). A droplet
// that stands in both is a GPU droplet.
func (p *Provider) droplets(ctx context.Context) ([]guard.Resource, error) {
	gpu, err := list[droplet](ctx, p, "droplets", dropletsPath, url.Values{"type": {"gpus"}})
	out := each(gpu, func(x droplet) guard.Resource { return p.droplet(x, true) })
	if err != nil && !errors.Is(err, guard.ErrBadReply) {
		return out, err // the other would fail, too
	}
	plain, failed := list[droplet](ctx, p, "droplets", dropletsPath, nil)
	if err == nil {
		err = failed
	}
	known := map[string]bool{}
	for _, r := range out {
		known[r.ID.ID] = true
	}
	for _, x := range plain {
		if id, _ := x.key(); !known[id] {
			out = append(out, p.droplet(x, false))
		}
	}
	return out, err
}

// addresses reads the reserved IPs of both versions. The description's example of the list
// of version 6 has more entries than it counts: with no further page that is all of it.
func (p *Provider) addresses(ctx context.Context) ([]guard.Resource, error) {
	all, err := list[address](ctx, p, "reserved_ips", addressesPath, nil)
	if err != nil && !errors.Is(err, guard.ErrBadReply) {
		return each(all, p.address), err // the other would fail, too
	}
	six, failed := list[address](ctx, p, "reserved_ipv6s", ipv6Path, nil)
	if errors.Is(failed, errSurplus) {
		failed = nil
	}
	if err == nil {
		err = failed
	}
	return each(append(all, six...), p.address), err
}

// images reads the account's own images, and of what droplet a snapshot is.
func (p *Provider) images(ctx context.Context) ([]guard.Resource, error) {
	all, err := list[image](ctx, p, "images", imagesPath, url.Values{"private": {"true"}})
	sources := map[string]string{}
	if err == nil || errors.Is(err, guard.ErrBadReply) {
		of, failed := list[snapshot](ctx, p, "snapshots", snapshotsPath, url.Values{"resource_type": {"droplet"}})
		if err == nil {
			err = failed
		}
		for _, x := range of {
			id, _ := x.key()
			sources[id] = x.source()
		}
	}
	return each(all, func(x image) guard.Resource {
		id, _ := x.key()
		return p.image(x, sources[id])
	}), err
}
