package digitalocean

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"guard"
	"guard/providers"
)

// clustersPath is that of Kubernetes clusters.
const clustersPath = "v2/kubernetes/clusters"

// clusterTag is the tag that names the cluster of a node, beside "k8s" alone (description).
var clusterTag = regexp.MustCompile(`^k8s:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// groupOf is what starts another droplet in place of one that is a node of a Kubernetes
// cluster: the cluster's pools of its size. A droplet does not tell its pool.
func groupOf(tags providers.Field, size string) string {
	all, _ := words(tags)
	i := slices.IndexFunc(all, clusterTag.MatchString)
	if i < 0 || !slices.Contains(all, "k8s") {
		return ""
	}
	return all[i] + "/" + size
}

// pool is what is read of a cluster's pool of nodes.
type pool struct {
	ID    providers.Field `json:"id"`
	Nodes []struct {
		ID      providers.Field `json:"id"`
		Droplet providers.Field `json:"droplet_id"`
		Status  struct {
			State providers.Field `json:"state"`
		} `json:"status"`
	} `json:"nodes"`
}

// leavePool ends a droplet that is a node of a Kubernetes cluster through its pool, which
// from then on has one fewer (description); the droplet alone would come again. It is not
// drained: workloads could hold that up without end. It reports whether the droplet is seen
// to: false without an error is one that no pool has, to be ended as any other.
func (p *Provider) leavePool(ctx context.Context, id guard.ResourceID, group string) (bool, error) {
	tag, _, _ := strings.Cut(group, "/")
	of := clusterTag.FindStringSubmatch(tag)
	if of == nil || !isDroplet(id) {
		return false, nil
	}
	reply, err := p.read(providers.Read(ctx), clustersPath+"/"+of[1]+"/node_pools", nil)
	if isAbsent(err) {
		return false, nil // no more than a tag, or of a cluster that was
	}
	if err != nil {
		return false, fmt.Errorf("read the node pools of %s: %w", tag, scoped(err, "kubernetes:read"))
	}
	var pools []pool
	if !reply["node_pools"].Into(&pools) {
		return false, fmt.Errorf("%w: the reply has no list of node pools in it", guard.ErrBadReply)
	}
	for _, x := range pools {
		for _, n := range x.Nodes {
			if droplet, _ := n.Droplet.ID(maxID); droplet != id.ID {
				continue
			}
			if n.Status.State.Text(maxWord) == "deleting" {
				return true, nil
			}
			own, ok := name(x.ID)
			node, named := name(n.ID)
			if !ok || !named {
				return false, fmt.Errorf("%w: the pool of the node %s, or the node, has no usable ID", guard.ErrBadReply, id.ID)
			}
			_, err := p.api.Kubernetes.DeleteNode(providers.Write(ctx), of[1], own, node, &godo.KubernetesNodeDeleteRequest{SkipDrain: true})
			return true, scoped(written(err), "kubernetes:update")
		}
	}
	return false, nil
}
