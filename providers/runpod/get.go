package runpod

import (
	"context"
	"fmt"
	"strings"

	"guard"
	"guard/providers"
)

// bySelf is up to how many pods are read one by one; more are looked for in a listing
// first, for calls are counted, and what is not in it is read by ID.
const bySelf = 4

// Get implements providers.Provider. A pod is one call, up to four of them; more are one
// call and one for each that is not listed. A cluster and an endpoint are two calls each,
// a network volume one, and two for all of them: what mounts them.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	ctx = providers.Read(ctx)
	l := &listing{p: p}
	return providers.GetMany(ids, bySelf, isPod, func() ([]guard.Resource, error) {
		pods, err := l.allPods(ctx)
		p.learnFor(ctx, pods)
		var out []guard.Resource
		for _, x := range pods {
			if x.clusterID() == "" {
				out = append(out, p.pod(x))
			}
		}
		return out, err
	}, func(id guard.ResourceID) (guard.Resource, error) {
		return l.read(ctx, id)
	})
}

func isPod(id guard.ResourceID) bool {
	path, err := route(id)
	return err == nil && path[0] == podsPath
}

// read reads one thing by its ID.
func (l *listing) read(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	path, err := route(id)
	if err != nil {
		return guard.Resource{}, err
	}
	p, name := l.p, path[1]
	switch path[0] {
	case clustersPath:
		x, err := get[cluster](ctx, p, path...)
		if err = named(err, x, name); err != nil {
			return guard.Resource{}, err
		}
		nodes, err := list[pod](ctx, p, podsPath, nil, clustersPath, name, podsPath)
		if isAbsent(err) {
			err = fmt.Errorf("%w: it is there and its pods are not found", guard.ErrBadReply)
		}
		return p.cluster(id.ID, x, nodes), err
	case endpointsPath:
		x, err := get[serverlessEndpoint](ctx, p, path...)
		if err = named(err, x, name); err != nil {
			return guard.Resource{}, err
		}
		workers, err := list[worker](ctx, p, "workers", nil, endpointsPath, name, "workers")
		if isAbsent(err) {
			err = fmt.Errorf("%w: it is there and its workers are not found", guard.ErrBadReply)
		}
		c := crew{told: err == nil, workers: workers}
		p.learnAll(ctx, map[string]crew{name: c})
		return p.endpoint(x, c), err
	case volumesPath:
		x, err := get[volume](ctx, p, path...)
		if err = named(err, x, name); err != nil {
			return guard.Resource{}, err
		}
		users, err := l.users(ctx)
		if isAbsent(err) {
			err = fmt.Errorf("%w: what mounts it is not found", guard.ErrBadReply)
		}
		return p.volume(x, users), err
	}
	x, err := p.readPod(ctx, name)
	if err != nil {
		return guard.Resource{}, err
	}
	p.learnFor(ctx, []pod{x})
	return p.standalone(x)
}

// readPod reads one pod.
func (p *Provider) readPod(ctx context.Context, id string) (pod, error) {
	x, err := get[pod](ctx, p, podsPath, id)
	return x, named(err, x, id)
}

// standalone makes an instance of a pod; it is guard.ErrRefused for a node of a cluster,
// which is kept and ended with all of it.
func (p *Provider) standalone(x pod) (guard.Resource, error) {
	if c := x.clusterID(); c != "" {
		id, _ := x.key()
		return guard.Resource{ID: p.id(guard.Instance, id)},
			fmt.Errorf("%w: pod %s is a node of %s/%s, which is billed and ended as one: name that", guard.ErrRefused, id, p.name, c)
	}
	return p.pod(x), nil
}

// named sees that a reply is about what was asked for.
func named(err error, x interface{ key() (string, bool) }, id string) error {
	if err != nil {
		return err
	}
	got, ok := x.key()
	return providers.CheckAnswer(got, ok, id)
}

// route is where a thing is in the API: its collection and its ID there.
func route(id guard.ResourceID) ([]string, error) {
	switch id.Kind {
	case guard.Instance:
		if c, ok := strings.CutPrefix(id.ID, clusterPrefix); ok {
			return []string{clustersPath, c}, nil
		}
		if e, ok := strings.CutPrefix(id.ID, endpointPrefix); ok {
			return []string{endpointsPath, e}, nil
		}
		return []string{podsPath, id.ID}, nil
	case guard.Filesystem:
		return []string{volumesPath, id.ID}, nil
	}
	return nil, fmt.Errorf("%w: RunPod has no %s", guard.ErrUnsupported, id.Kind)
}
