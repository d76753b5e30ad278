package vast

import (
	"context"
	"net/url"
	"strconv"

	"guard"
	"guard/providers"
)

// pageSize is the most instances that a page has (description).
const pageSize = 25

// List reads instances, of which 25 are a call, and volumes, which are one. For other kinds
// the result is guard.ErrUnsupported.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	l := &listing{p: p}
	return providers.ListScope(ctx, q, p.name, Scope, func(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
		switch kind {
		case guard.Instance:
			all, err := l.instances(ctx)
			out := each(all, p.instance)
			settle(out)
			return out, err
		case guard.Volume:
			all, err := l.volumes(ctx)
			return each(all, p.volume), err
		}
		return nil, guard.ErrUnsupported
	}), nil
}

func each[T any](all []T, f func(T) guard.Resource) []guard.Resource {
	var out []guard.Resource
	for _, x := range all {
		out = append(out, f(x))
	}
	return out
}

// listing is what one call to the adapter has read: each list once.
type listing struct {
	p      *Provider
	boxes  providers.Memo[instance]
	stores providers.Memo[volume]
}

// instances reads all of them, in the order of their IDs: what comes meanwhile is on the
// last page, and what goes moves nothing from one page to another.
func (l *listing) instances(ctx context.Context) ([]instance, error) {
	return l.boxes.Read(func() ([]instance, error) {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}, "order_by": {`[{"col":"id","dir":"asc"}]`}}
		all, err := list[instance](ctx, l.p, "instances", "total_instances", query, "api", "v1", "instances")
		if err == nil {
			l.p.hold(ctx, all)
		}
		return all, err
	})
}

// volumes reads all of them, on hosts and in their networks: the latter come where they are
// asked for (CLI).
func (l *listing) volumes(ctx context.Context) ([]volume, error) {
	return l.stores.Read(func() ([]volume, error) {
		return list[volume](ctx, l.p, "volumes", "", url.Values{"type": {"all_volume"}}, "api", "v0", "volumes")
	})
}
