package vast

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"guard"
	"guard/providers"
)

// pageSize is the most instances that a page has (description).
const pageSize = 25

// List reads instances, of which 25 are a call, and volumes, which are one. For other kinds
// the result is guard.ErrUnsupported.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var clock providers.ServerTime
	l := &listing{p: p}
	ctx = providers.CollectServerTime(providers.Read(ctx), &clock)
	var inv providers.Inventory
	for _, kind := range q.Kinds {
		if len(q.Scopes) > 0 && !slices.Contains(q.Scopes, Scope) {
			break // there is no other
		}
		res := providers.ScopeResult{Scope: Scope, Kind: kind}
		switch kind {
		case guard.Instance:
			var all []instance
			all, res.Err = l.instances(ctx)
			for _, x := range all {
				res.Resources = append(res.Resources, p.instance(x))
			}
			settle(res.Resources)
		case guard.Volume:
			var all []volume
			all, res.Err = l.volumes(ctx)
			for _, x := range all {
				res.Resources = append(res.Resources, p.volume(x))
			}
		default:
			res.Err = guard.ErrUnsupported
		}
		if res.Err != nil {
			res.Err = fmt.Errorf("list the %ss of %s: %w", kind, p.name, res.Err)
		}
		inv.Results = append(inv.Results, res)
	}
	inv.ServerTime = clock.Time()
	return inv, nil
}

// listing is what one call to the adapter has read: each list once.
type listing struct {
	p      *Provider
	boxes  memo[instance]
	stores memo[volume]
}

// memo is a list that has been read, or what was read of it and the error.
type memo[T any] struct {
	done  bool
	items []T
	err   error
}

func (m *memo[T]) read(f func() ([]T, error)) ([]T, error) {
	if !m.done {
		m.items, m.err = f()
		m.done = true
	}
	return m.items, m.err
}

// instances reads all of them, in the order of their IDs: what comes meanwhile is on the
// last page, and what goes moves nothing from one page to another.
func (l *listing) instances(ctx context.Context) ([]instance, error) {
	return l.boxes.read(func() ([]instance, error) {
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
	return l.stores.read(func() ([]volume, error) {
		return list[volume](ctx, l.p, "volumes", "", url.Values{"type": {"all_volume"}}, "api", "v0", "volumes")
	})
}
