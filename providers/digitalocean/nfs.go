package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

const (
	regionsPath   = "v2/regions"
	sharesPath    = "v2/nfs"
	shareSnapPath = "v2/nfs/snapshots"
	// NFS is the scope of the snapshots of shares: a token that may read those of volumes
	// need not be allowed to read them.
	NFS = "nfs"
	// shareSnapType is what a price book calls a snapshot of a share.
	shareSnapType = "nfs-snapshot"
	// regionsFor is how long the list of regions is good for.
	regionsFor = time.Hour
)

// shareTypes are what a price book calls a share, by its performance tier; "nfs" is one of
// another.
var shareTypes = map[string]string{"standard": "nfs-standard", "high": "nfs-high"}

// share is what is read of an NFS share.
type share struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Size    providers.Field `json:"size_gib"`
	Region  providers.Field `json:"region"`
	Status  providers.Field `json:"status"`
	Created providers.Field `json:"created_at"`
	Tier    providers.Field `json:"performance_tier"`
}

func (x share) key() (string, bool) { return regionalID(x.Region, x.ID) }

// share makes a file system of a share. Droplets mount it over their network, which no call
// tells of.
func (p *Provider) share(x share) guard.Resource {
	id, _ := x.key()
	gb, _ := x.Size.Count(maxGB)
	tier := strings.ToLower(strings.TrimPrefix(x.Tier.Text(maxWord), "PERFORMANCE_TIER_"))
	typ, ok := shareTypes[tier]
	if !ok {
		typ = NFS
	}
	r := p.existing(guard.Filesystem, id, typ, gb)
	r.Name, r.Created, r.UsesUntold = x.Name.Text(maxName), x.Created.Time(), true
	return stated(r, x.Status)
}

// shareSnapshot is what is read of a snapshot of a share.
type shareSnapshot struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Size    providers.Field `json:"size_gib"`
	Region  providers.Field `json:"region"`
	Status  providers.Field `json:"status"`
	Created providers.Field `json:"created_at"`
	Of      providers.Field `json:"share_id"`
}

func (x shareSnapshot) key() (string, bool) { return regionalID(x.Region, x.ID) }

func (p *Provider) shareSnapshot(x shareSnapshot) guard.Resource {
	id, _ := x.key()
	gb, _ := x.Size.Count(maxGB)
	r := p.existing(guard.Snapshot, id, shareSnapType, gb)
	r.ID.Scope, r.Name, r.Created = NFS, x.Name.Text(maxName), x.Created.Time()
	r.Source, _ = regionalID(x.Region, x.Of)
	return stated(r, x.Status)
}

// stated is a share or a snapshot of one in its status. What failed may be there and bill.
func stated(r guard.Resource, status providers.Field) guard.Resource {
	switch r.RawState = status.Text(maxWord); r.RawState {
	case "CREATING":
		r.State = guard.StateProvisioning
	case "FAILED":
		r.State, r.Bills = guard.StateUnknown, guard.Unknown
	case "DELETED":
		r.State, r.Bills, r.Rate = guard.StateGone, guard.No, guard.Rate{}
	}
	return r
}

// regionalID is the ID of what is found only with its region: REGION/ID.
func regionalID(region, id providers.Field) (string, bool) {
	slug, ok := name(region)
	own, named := name(id)
	if !ok || !named {
		return "", false
	}
	return slug + "/" + own, true
}

// inRegion takes such an ID apart; false for another.
func inRegion(id string) (region, own string, ok bool) {
	region, own, _ = strings.Cut(id, "/")
	return region, own, opaque(region) && opaque(own)
}

// region is what is read of one.
type region struct {
	Slug providers.Field `json:"slug"`
}

func (x region) key() (string, bool) { return name(x.Slug) }

// regions are the names of all, read once an hour.
func (p *Provider) regions(ctx context.Context) ([]string, error) {
	now := providers.Clock(ctx)
	p.mu.Lock()
	slugs, age := p.slugs, now.Sub(p.slugsAt)
	p.mu.Unlock()
	if len(slugs) > 0 && age >= 0 && age < regionsFor {
		return slugs, nil
	}
	all, err := list[region](ctx, p, "regions", regionsPath, nil)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%w: there is none", guard.ErrBadReply)
	}
	if err != nil {
		return nil, fmt.Errorf("list the regions: %w", scoped(err, "regions:read"))
	}
	slugs = nil
	for _, x := range all {
		slug, _ := x.key()
		slugs = append(slugs, slug)
	}
	p.mu.Lock()
	p.slugs, p.slugsAt = slugs, now
	p.mu.Unlock()
	return slugs, nil
}

// regional reads a list that is told by region: the description does not say that one call
// lists them all. A region that the API knows nothing of in this respect has none, as long as
// another has answered; one that fails otherwise makes the list incomplete.
func regional[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, path string) (out []T, err error) {
	slugs, err := p.regions(ctx)
	if err != nil {
		return nil, err
	}
	at := map[string]bool{}
	var refused, failed error
	answered := false
	for _, slug := range slugs {
		some, err := inOneRegion[T](ctx, p, name, path, slug)
		for _, x := range some {
			if id, _ := x.key(); !at[id] {
				at[id] = true
				out = append(out, x)
			}
		}
		switch {
		case err == nil:
			answered = true
		case isAbsent(err), errors.Is(err, guard.ErrInvalid):
			refused = fmt.Errorf("%w: no region has a list of %s: %s: %w", guard.ErrBadReply, name, slug, err)
		case failed == nil:
			failed = fmt.Errorf("region %s: %w", slug, scoped(err, "nfs:list"))
		}
		if providers.EndsAll(err) || errors.Is(err, guard.ErrPermission) {
			break // the others would fail, too
		}
	}
	if failed == nil && !answered {
		failed = refused
	}
	return out, failed
}

// inOneRegion reads the list of one region. Its pages need not tell how many entries there
// are (description): then they end with one that has nothing new.
func inOneRegion[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, path, slug string) ([]T, error) {
	out, at := []T{}, map[string]bool{}
	for n := 1; n <= maxPages; n++ {
		reply, err := p.read(ctx, path, url.Values{"region": {slug}, "per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(n)}})
		if err != nil {
			return out, err
		}
		var entries []providers.Field
		if !reply[name].Into(&entries) {
			return out, fmt.Errorf("%w: the reply has no list of %s in it", guard.ErrBadReply, name)
		}
		before := len(out)
		for _, f := range entries {
			var x T
			f.Into(&x) // else it has no ID
			id, ok := x.key()
			if !ok {
				return out, fmt.Errorf("%w: an entry of the list of %s has no usable ID", guard.ErrBadReply, name)
			}
			if !at[id] {
				at[id] = true
				out = append(out, x)
			}
		}
		if len(out) == before {
			return out, nil
		}
	}
	return out, fmt.Errorf("%w: the list of %s does not end", guard.ErrBadReply, name)
}

// oneInRegion reads one thing by its ID with its region.
func oneInRegion[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, path, id string) (T, error) {
	var x T
	slug, own, _ := inRegion(id)
	reply, err := p.read(ctx, path+"/"+own, url.Values{"region": {slug}})
	if err != nil {
		return x, scoped(err, "nfs:read")
	}
	reply[name].Into(&x) // else it has no ID
	got, ok := x.key()
	return x, providers.CheckAnswer(got, ok, id)
}
