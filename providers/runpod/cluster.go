package runpod

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// clusterPrefix stands before a cluster's ID.
const clusterPrefix = "cluster/"

// maxNodes is how many nodes of a cluster are named.
const maxNodes = 100

// cluster is what is read of a cluster beside its pods.
type cluster struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Compute providers.Field `json:"compute"`
	Created providers.Field `json:"createdAt"`
}

func (x cluster) key() (string, bool) { return x.ID.ID(maxID) }

// cluster makes an instance of a cluster and the pods that are its nodes. It costs what
// they do together, and is deleted with them: a node's lock keeps all of it.
func (p *Provider) cluster(id string, x cluster, nodes []pod) guard.Resource {
	r := guard.Resource{
		ID: p.id(guard.Instance, id), Name: x.Name.Text(maxName), Created: x.Created.Time(),
		Type: "cluster", HasGPU: guard.Yes, StopSaves: guard.StopUnsupported, ReleaseProtected: guard.No, Egress: traffic,
	}
	var shape struct {
		GPU   providers.Field `json:"gpuTypeId"`
		Each  providers.Field `json:"gpuCountPerPod"`
		Nodes providers.Field `json:"podCount"`
	}
	x.Compute.Into(&shape)
	r.GPUModel = shape.GPU.Text(maxName)
	each, _ := shape.Each.Count(maxGPUs)
	planned, _ := shape.Nodes.Count(maxGPUs)
	r.GPUs = int(min(each*planned, maxGPUs))

	var gpus int
	words := map[guard.State]int{}
	for _, n := range nodes {
		model, count, _ := n.gpus()
		gpus += count
		r.GPUModel = cmp.Or(r.GPUModel, model)
		words[n.state()]++
		switch n.Locked.Tri() {
		case guard.Yes:
			r.ReleaseProtected = guard.Yes
		case guard.Unknown:
			if r.ReleaseProtected == guard.No {
				r.ReleaseProtected = guard.Unknown
			}
		}
		if id, ok := n.key(); ok && len(r.Nodes) < maxNodes {
			r.Nodes = append(r.Nodes, id)
		}
		for _, v := range n.mounts().volumes {
			child := guard.Child{ID: p.id(guard.Filesystem, v), GoesWithInstance: guard.No}
			if !slices.Contains(r.Children, child) {
				r.Children = append(r.Children, child)
			}
		}
	}
	slices.Sort(r.Nodes) // listings have no order
	if gpus > 0 {
		r.GPUs = min(gpus, maxGPUs)
	}
	r.State = together(words, len(nodes))
	r.RawState = fmt.Sprintf("%d nodes, %d running", len(nodes), words[guard.StateRunning])
	r.Rate = p.sum(nodes)
	if r.Bills = bills(r); len(nodes) == 0 {
		r.Bills = guard.Unknown
	}
	return r
}

// together is the state of a cluster whose nodes are in so many of each: what bills most
// counts.
func together(nodes map[guard.State]int, all int) guard.State {
	for _, s := range []guard.State{guard.StateRunning, guard.StateUnknown, guard.StateProvisioning, guard.StateStopped} {
		if nodes[s] > 0 {
			return s
		}
	}
	if all == 0 {
		return guard.StateProvisioning // none is placed yet, or the last is gone
	}
	return guard.StateReleasing // all its pods are TERMINATED, and it is still told of
}

// sum is what pods cost together; unknown where one's cost is not known.
func (p *Provider) sum(nodes []pod) guard.Rate {
	total := new(big.Rat)
	for _, n := range nodes {
		if s := n.state(); s == guard.StateStopped || s == guard.StateGone {
			continue
		}
		r := guard.Resource{}
		r.GPUModel, r.GPUs, r.HasGPU = n.gpus()
		r.Type = r.GPUModel
		rate := p.price(n, r)
		if !rate.Known() || rate.Currency() != usd {
			return guard.Rate{}
		}
		total.Add(total, rate.Over(time.Hour))
	}
	m, err := guard.MoneyFromRat(total, usd)
	if err != nil {
		return guard.Rate{}
	}
	return providers.Hourly(m)
}
