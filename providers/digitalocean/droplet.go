package digitalocean

import (
	"math"
	"strconv"
	"strings"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// Limits beyond which a number is noise.
const (
	maxGPUs = 4096
	maxGB   = 10_000_000
)

// droplet is what is read of a droplet.
type droplet struct {
	ID        providers.Field `json:"id"`
	Name      providers.Field `json:"name"`
	Status    providers.Field `json:"status"`
	Locked    providers.Field `json:"locked"`
	Created   providers.Field `json:"created_at"`
	Size      providers.Field `json:"size"`
	Slug      providers.Field `json:"size_slug"`
	GPU       providers.Field `json:"gpu_info"`
	Disk      providers.Field `json:"disk"`
	Volumes   providers.Field `json:"volume_ids"`
	Backups   providers.Field `json:"backup_ids"`
	Snapshots providers.Field `json:"snapshot_ids"`
	Tags      providers.Field `json:"tags"`
}

func (x droplet) key() (string, bool) { return number(x.ID) }

// states are the words of a droplet's status. What is archived exists and does not run.
var states = map[string]guard.State{
	"new":     guard.StateProvisioning,
	"active":  guard.StateRunning,
	"off":     guard.StateStopped,
	"archive": guard.StateStopped,
}

// size is what a droplet's size tells.
type size struct {
	Slug  providers.Field `json:"slug"`
	Price providers.Field `json:"price_hourly"`
	GPU   providers.Field `json:"gpu_info"`
}

// droplet makes an instance of a droplet. It bills in every state.
func (p *Provider) droplet(x droplet, gpuList bool) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, id), Name: x.Name.Text(maxName), State: guard.StateUnknown, RawState: x.Status.Text(maxWord),
		Created: x.Created.Time(), Bills: guard.Yes, StopSaves: guard.StopSavesNothing, ReleaseProtected: x.Locked.Tri(),
	}
	if s, ok := states[r.RawState]; ok {
		r.State = s
	}
	r.SizeGB, _ = x.Disk.Count(maxGB)
	r.Tags, r.TagsUntold = tagsOf(x.Tags)
	var s size
	x.Size.Into(&s) // what is of another shape tells nothing
	if s.Slug.Text(maxName) == "" {
		s.Slug = x.Slug
	}
	r.Type = s.Slug.Text(maxName)
	r.Group = groupOf(x.Tags, r.Type)
	r.GPUModel, r.GPUs, r.HasGPU = gpus(x.GPU, s, gpuList)
	rate, ok := p.book.Instance(prices.Want{Type: r.Type, Scope: Scope, GPUs: r.GPUs})
	if !ok {
		rate = hourly(s.Price)
	}
	r.Rate = rate
	for _, c := range []struct {
		kind guard.Kind
		ids  providers.Field
		goes guard.Tri
	}{{guard.Volume, x.Volumes, guard.No}, {guard.Image, x.Snapshots, guard.No}, {guard.Image, x.Backups, guard.Unknown}} {
		var ids []providers.Field
		c.ids.Into(&ids)
		for _, f := range ids {
			child := p.id(c.kind, string(f))
			if c.kind == guard.Volume {
				child.ID, _ = f.ID(maxID)
			}
			if shaped(child) {
				r.Children = append(r.Children, guard.Child{ID: child, GoesWithInstance: c.goes})
			}
		}
	}
	return r
}

// gpuSlug begins the names of the sizes with GPUs (description, examples).
const gpuSlug = "gpu-"

// gpus is what a droplet or its size tells of its GPUs. One that stands in the listing of
// GPU droplets, or whose size is named so, has some, even where it does not tell how many.
func gpus(own providers.Field, s size, listed bool) (model string, n int, has guard.Tri) {
	var g struct {
		Count providers.Field `json:"count"`
		Model providers.Field `json:"model"`
	}
	listed = listed || strings.HasPrefix(s.Slug.Text(maxName), gpuSlug)
	told := own.Into(&g) || s.GPU.Into(&g)
	count, counted := g.Count.Count(maxGPUs)
	switch {
	case listed || count > 0:
		has = guard.Yes
	case counted, !told && len(own) == 0 && len(s.GPU) == 0 && s.Slug.Text(maxName) != "":
		has = guard.No
	}
	return g.Model.Text(maxName), int(count), has
}

// hourly is a price per hour that the API tells. It writes some of its 32-bit floats with
// the digits of 64 (0.00743999984115362 for 0.00744): those are taken for the shortest
// number that they stand for.
func hourly(f providers.Field) guard.Rate {
	if g := f.Gauge(); g.OK {
		short := float32(g.V)
		text := strconv.FormatFloat(float64(short), 'f', -1, 32)
		if math.Abs(float64(short)-g.V) <= 1e-14*math.Abs(g.V) && len(text) < len(f) {
			f = providers.Field(text)
		}
	}
	return f.Hourly(usd)
}
