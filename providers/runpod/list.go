package runpod

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"guard"
	"guard/providers"
)

// List reads pods, clusters and serverless endpoints (instances), or network volumes
// (file systems). For other kinds the result is guard.ErrUnsupported.
//
// Instances are a call for all pods, one for all endpoints, one for all clusters where a
// pod is a node, and one for each endpoint's workers, of at most ten endpoints at a time.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	l := &listing{p: p}
	return providers.ListScope(ctx, q, p.name, Scope, func(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
		switch kind {
		case guard.Instance:
			return l.instances(ctx)
		case guard.Filesystem:
			return l.volumes(ctx)
		}
		return nil, guard.ErrUnsupported
	}), nil
}

// listing is what one call to the adapter has read: each list once.
type listing struct {
	p         *Provider
	pods      providers.Memo[pod]
	endpoints providers.Memo[serverlessEndpoint]
}

// allPods reads every pod, the nodes of clusters included.
func (l *listing) allPods(ctx context.Context) ([]pod, error) {
	return l.pods.Read(func() ([]pod, error) {
		return list[pod](ctx, l.p, podsPath, url.Values{"includeClusterPods": {"true"}}, podsPath)
	})
}

func (l *listing) allEndpoints(ctx context.Context) ([]serverlessEndpoint, error) {
	return l.endpoints.Read(func() ([]serverlessEndpoint, error) {
		return list[serverlessEndpoint](ctx, l.p, "endpoints", nil, endpointsPath)
	})
}

// instances gives what was read, and the worst error.
func (l *listing) instances(ctx context.Context) ([]guard.Resource, error) {
	p := l.p
	pods, err := l.allPods(ctx)
	if pods == nil {
		return nil, err
	}
	p.learnFor(ctx, pods)
	if err == nil {
		p.hold(ctx, pods)
	}
	var out []guard.Resource
	nodes := map[string][]pod{}
	for _, x := range pods {
		if id := x.clusterID(); id != "" {
			nodes[id] = append(nodes[id], x)
			continue
		}
		out = append(out, p.pod(x))
	}
	if len(nodes) > 0 { // a cluster without a node bills nothing
		clusters, failed := l.clusters(ctx, nodes, err == nil)
		out, err = append(out, clusters...), worse(err, failed)
	}
	if providers.EndsAll(err) {
		return out, err
	}
	endpoints, failed := l.allEndpoints(ctx)
	if err = worse(err, failed); providers.EndsAll(err) {
		return out, err
	}
	crews, failed := p.muster(ctx, endpoints, failed == nil)
	err = worse(err, failed)
	p.learnAll(ctx, crews)
	for _, x := range endpoints {
		id, _ := x.key()
		out = append(out, p.endpoint(x, crews[id]))
	}
	settle(out, usersOf(pods, endpoints))
	return out, err
}

// worse is which of two errors a listing gives: the first, but for one that ends all.
func worse(a, b error) error {
	if providers.EndsAll(b) {
		return b
	}
	return cmp.Or(a, b)
}

// clusters makes the clusters of nodes. One that is not told of by itself yet is made of
// its nodes alone; what they cost together is known where these are all the nodes.
func (l *listing) clusters(ctx context.Context, nodes map[string][]pod, all bool) ([]guard.Resource, error) {
	told, err := list[cluster](ctx, l.p, clustersPath, nil, clustersPath)
	var out []guard.Resource
	for _, x := range told {
		id, _ := x.key()
		out = append(out, l.p.cluster(clusterPrefix+id, x, nodes[clusterPrefix+id]))
		delete(nodes, clusterPrefix+id)
	}
	for id, of := range nodes {
		out = append(out, l.p.cluster(id, cluster{}, of))
	}
	if !all {
		for i := range out {
			out[i].Rate = guard.Rate{}
		}
	}
	return out, err
}

// volumes reads the network volumes, and what mounts them. Where that cannot be read,
// nothing is told: a volume that seems to hang on nothing is taken for left behind.
func (l *listing) volumes(ctx context.Context) ([]guard.Resource, error) {
	users, err := l.users(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what mounts them: %w", err)
	}
	all, err := list[volume](ctx, l.p, "networkVolumes", nil, volumesPath)
	var out []guard.Resource
	for _, x := range all {
		out = append(out, l.p.volume(x, users))
	}
	return out, err
}

func (l *listing) users(ctx context.Context) (users, error) {
	pods, err := l.allPods(ctx)
	if err != nil {
		return users{}, err
	}
	endpoints, err := l.allEndpoints(ctx)
	if err != nil {
		return users{}, err
	}
	return usersOf(pods, endpoints), nil
}
