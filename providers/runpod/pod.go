package runpod

import (
	"slices"
	"strings"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// Limits beyond which a number is noise.
const (
	maxGPUs = 4096
	maxGB   = 1_000_000
)

// pod is what is read of a pod.
type pod struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Status  providers.Field `json:"status"`
	Actions providers.Field `json:"actions"`
	GPU     providers.Field `json:"gpu"`
	CPU     providers.Field `json:"cpu"`
	Cloud   providers.Field `json:"cloud"`
	Mounts  providers.Field `json:"mounts"`
	Cluster providers.Field `json:"cluster"`
	Cost    providers.Field `json:"cost"`
	Locked  providers.Field `json:"locked"`
	Runtime providers.Field `json:"runtime"`
	Created providers.Field `json:"createdAt"`
	Started providers.Field `json:"startedAt"`
}

// key is false for an ID with a slash in it, too: here it would name a cluster or an endpoint.
func (x pod) key() (string, bool) {
	id, ok := x.ID.ID(maxID)
	return id, ok && !strings.Contains(id, "/")
}

// clusterID is what the cluster is called here that the pod is a node of; "" for none.
func (x pod) clusterID() string {
	var c struct {
		ID providers.Field `json:"id"`
	}
	if !x.Cluster.Into(&c) {
		return ""
	}
	if id, ok := c.ID.ID(maxID); ok {
		return clusterPrefix + id
	}
	return ""
}

// states are the words of PodStatus. ERROR is an unrecoverable container, of which nothing
// says that it does not bill.
var states = map[string]guard.State{
	"PROVISIONING": guard.StateProvisioning,
	"STARTING":     guard.StateProvisioning,
	"RUNNING":      guard.StateRunning,
	"EXITED":       guard.StateStopped,
	"TERMINATED":   guard.StateGone,
}

func (x pod) state() guard.State {
	if s, ok := states[x.Status.Text(maxWord)]; ok {
		return s
	}
	return guard.StateUnknown
}

// gpus is the pod's GPU and how many it has. A pod that restarts after its host gave its
// GPUs away runs with none: it has 0 and stays a GPU pod, for guard may end those.
func (x pod) gpus() (model string, n int, has guard.Tri) {
	var g struct {
		ID    providers.Field `json:"id"`
		Count providers.Field `json:"count"`
	}
	switch {
	case x.GPU.Into(&g):
		count, _ := g.Count.Count(maxGPUs)
		if len(g.Count) == 0 {
			count = 1 // the description's default
		}
		return g.ID.Text(maxName), int(count), guard.Yes
	case x.GPU.Null() && !x.CPU.Null():
		return "", 0, guard.No
	}
	return "", 0, guard.Unknown
}

// flavor is what a CPU pod is made of.
func (x pod) flavor() string {
	var c struct {
		ID providers.Field `json:"id"`
	}
	x.CPU.Into(&c)
	return c.ID.Text(maxName)
}

// mounts is what is mounted in a pod.
type mounts struct {
	told    bool  // false: nobody knows
	disk    bool  // it has a volume disk, of its own
	diskGB  int64 // 0: not known
	volumes []string
}

func (x pod) mounts() mounts {
	var in struct {
		Persistent providers.Field `json:"persistent"`
		Network    providers.Field `json:"network"`
	}
	var disk struct {
		Size providers.Field `json:"size"`
	}
	var network []struct {
		VolumeID providers.Field `json:"volumeId"`
	}
	m := mounts{told: x.Mounts.Into(&in)}
	if !in.Persistent.Null() {
		m.disk, m.told = true, m.told && in.Persistent.Into(&disk)
		m.diskGB, _ = disk.Size.Count(maxGB)
	}
	if !in.Network.Null() {
		m.told = m.told && in.Network.Into(&network)
	}
	for _, n := range network {
		id, ok := n.VolumeID.ID(maxID)
		if m.told = m.told && ok; ok && !slices.Contains(m.volumes, id) {
			m.volumes = append(m.volumes, id)
		}
	}
	return m
}

// pod makes an instance of a pod that is no node of a cluster.
func (p *Provider) pod(x pod) guard.Resource {
	name, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, name), Name: x.Name.Text(maxName),
		State: x.state(), RawState: x.Status.Text(maxWord), Created: x.Created.Time(), Egress: traffic,
	}
	r.GPUModel, r.GPUs, r.HasGPU = x.gpus()
	if r.Type = r.GPUModel; r.Type == "" {
		r.Type = x.flavor()
	}
	m := x.mounts()
	switch {
	case !m.told:
	case m.disk:
		r.StopSaves, r.SizeGB = guard.StopSavesCompute, m.diskGB
		if m.diskGB > 0 {
			r.StoppedRate = diskStopped.PerGB(m.diskGB)
		}
	default:
		r.StopSaves, r.StoppedRate = guard.StopSavesAll, free
	}
	p.locks(&r, x)
	if r.State != guard.StateStopped && r.State != guard.StateGone {
		r.Rate = p.price(x, r)
	}
	r.Bills = bills(r)
	for _, v := range m.volumes {
		r.Children = append(r.Children, guard.Child{ID: p.id(guard.Filesystem, v), GoesWithInstance: guard.No})
	}
	return r
}

// locks is what keeps a pod from being ended. A locked one "cannot be stopped or reset"
// (description); of deleting it nothing is said, and guard takes the owner's lock to mean
// that too. The actions are those that its status allows: ERROR, say, no stop.
func (p *Provider) locks(r *guard.Resource, x pod) {
	locked := x.Locked.Tri()
	r.ReleaseProtected, r.StopProtected = locked, locked
	var actions []providers.Field
	if !x.Actions.Into(&actions) || r.State == guard.StateGone {
		return
	}
	can := func(action string) bool {
		return slices.ContainsFunc(actions, func(f providers.Field) bool { return f.Text(maxWord) == action })
	}
	if !can("terminate") {
		r.ReleaseProtected = guard.Yes
	}
	if !can("stop") && locked == guard.No && r.State != guard.StateStopped {
		r.StopSaves, r.StoppedRate = guard.StopUnsupported, guard.Rate{}
	}
}

// price is what a pod that is allocated costs: by the price book, as the API reports it, or
// where it reports none, by the catalogue that was last read, for so many GPUs.
func (p *Provider) price(x pod, r guard.Resource) guard.Rate {
	if rate, ok := p.book.Instance(prices.Want{Type: r.Type, Scope: Scope, GPUs: r.GPUs}); ok {
		return rate
	}
	if rate := x.Cost.Hourly(usd); rate.Known() {
		return rate
	}
	if r.GPUs == 0 {
		return guard.Rate{}
	}
	return p.listed(r.GPUModel, x.Cloud.Text(maxWord)).PerGPU(r.GPUs)
}

// bills is whether the meter of an instance runs.
func bills(r guard.Resource) guard.Tri {
	switch {
	case r.State == guard.StateGone:
		return guard.No
	case r.State != guard.StateStopped || r.StopSaves == guard.StopUnsupported:
		return guard.Yes
	case r.StopSaves == guard.StopUnknown:
		return guard.Unknown
	}
	return guard.TriOf(r.StopSaves != guard.StopSavesAll)
}

func (p *Provider) id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: Scope, ID: id}
}
