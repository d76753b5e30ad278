package digitalocean

import (
	"context"
	"errors"
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
	g := &getting{p: p, done: map[string]guard.Lookup{}}
	droplets := map[string]bool{}
	for _, id := range ids {
		if id.Kind == guard.Instance {
			droplets[id.ID] = true
		}
	}
	if len(droplets) > bySelf {
		g.many(ctx, droplets)
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
	p    *Provider
	done map[string]guard.Lookup // by the key of the ID
	stop error                   // after which nothing is asked any more
}

// many answers for the droplets that the listings have.
func (g *getting) many(ctx context.Context, ids map[string]bool) {
	all, err := g.p.droplets(ctx)
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
		r, err = g.p.one(ctx, id)
	}
	switch {
	case err == nil:
		return guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
	case isAbsent(err):
		return guard.Lookup{Verdict: guard.VerdictAbsent}
	case providers.EndsAll(err):
		g.stop = err
	}
	return guard.Lookup{Verdict: guard.VerdictUnknown, Err: fmt.Errorf("read %s: %w", id, err)}
}

func (p *Provider) one(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	if !shaped(id) {
		return guard.Resource{}, odd(id)
	}
	switch id.Kind {
	case guard.Instance:
		x, err := get[droplet](ctx, p, "droplet", dropletsPath, id.ID)
		return p.droplet(x, false), err
	case guard.Volume:
		x, err := get[volume](ctx, p, "volume", volumesPath, id.ID)
		return p.volume(x), err
	case guard.Snapshot:
		x, err := get[snapshot](ctx, p, "snapshot", snapshotsPath, id.ID)
		if err == nil && x.What.Text(maxWord) == "droplet" {
			err = fmt.Errorf("%w: it is a droplet's, and an image here", guard.ErrNotFound)
		}
		return p.snapshot(x), err
	case guard.Image:
		return p.oneImage(ctx, id.ID)
	case guard.Address:
		x, err := get[address](ctx, p, "reserved_ip", addressesPath, id.ID)
		return p.address(x), err
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
