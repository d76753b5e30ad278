package lambda

import (
	"fmt"
	"slices"
	"strings"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// Limits beyond which a number is noise.
const (
	maxGPUs  = 4096
	maxCents = 100_000_000 // a million dollars an hour
)

// gpuTypes is how the names of types with GPUs begin, gpu_8x_h100_sxm5 (description): of none
// of those 0 GPUs are believed.
const gpuTypes = "gpu_"

// instance is what is read of an instance.
type instance struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Status  providers.Field `json:"status"`
	Type    providers.Field `json:"instance_type"`
	Mounts  providers.Field `json:"file_system_mounts"`
	Stores  providers.Field `json:"file_system_names"`
	Tags    providers.Field `json:"tags"`
	Actions providers.Field `json:"actions"`
}

func (x instance) key() (string, bool) { return x.ID.ID(maxID) }

// states are the words of InstanceStatus. An unhealthy instance does not answer, and is
// there.
var states = map[string]guard.State{
	"booting":     guard.StateProvisioning,
	"active":      guard.StateRunning,
	"unhealthy":   guard.StateRunning,
	"terminating": guard.StateReleasing,
	"terminated":  guard.StateGone,
	preempted:     guard.StateGone,
}

const preempted = "preempted"

func (x instance) state() guard.State {
	if s, ok := states[x.Status.Text(maxWord)]; ok {
		return s
	}
	return guard.StateUnknown
}

// instance makes a resource of an instance.
func (p *Provider) instance(x instance) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, id), Name: x.Name.Text(maxName), State: x.state(), RawState: x.Status.Text(maxWord),
		Bills: guard.Yes, StopSaves: guard.StopUnsupported, ReleaseProtected: x.protected(),
	}
	if r.State == guard.StateGone {
		r.Bills = guard.No
	}
	if r.RawState == preempted {
		r.Ended = guard.ByReclaim
	}
	r.Tags, r.TagsUntold = x.tags()
	p.typed(&r, x)
	for _, fs := range x.fileSystems() {
		r.Children = append(r.Children, guard.Child{ID: p.id(guard.Filesystem, fs), GoesWithInstance: guard.No})
	}
	return r
}

// typed fills in what the instance type tells: GPUs and the price.
func (p *Provider) typed(r *guard.Resource, x instance) {
	var t struct {
		Name  providers.Field `json:"name"`
		GPU   providers.Field `json:"gpu_description"`
		Price providers.Field `json:"price_cents_per_hour"`
		Specs providers.Field `json:"specs"`
	}
	var specs struct {
		GPUs providers.Field `json:"gpus"`
	}
	x.Type.Into(&t) // what is of another shape tells nothing
	t.Specs.Into(&specs)
	r.Type = t.Name.Text(maxName)
	if n, ok := specs.GPUs.Count(maxGPUs); ok && (n > 0 || !strings.HasPrefix(r.Type, gpuTypes)) {
		r.GPUs, r.HasGPU = int(n), guard.TriOf(n > 0)
	}
	if r.HasGPU != guard.No {
		r.GPUModel = t.GPU.Text(maxName)
	}
	if r.State == guard.StateGone {
		return
	}
	rate, ok := p.book.Instance(prices.Want{Type: r.Type, Scope: Scope, GPUs: r.GPUs})
	if !ok {
		rate = hourly(t.Price)
	}
	r.Rate = rate
}

// hourly is a price in whole US cents an hour, of the whole machine (description); a price
// of nothing is none.
func hourly(cents providers.Field) guard.Rate {
	n, ok := cents.Count(maxCents)
	if !ok {
		return guard.Rate{}
	}
	m, _ := guard.NewMoney(fmt.Sprintf("%d.%02d", n/100, n%100), usd) // it is of digits
	return providers.Hourly(m)
}

// protected is whether Lambda keeps the instance from being terminated. What has not
// launched, or ends already, is not ready for it, which is no protection.
func (x instance) protected() guard.Tri {
	var actions struct {
		Terminate struct {
			Available providers.Field `json:"available"`
			Reason    providers.Field `json:"reason_code"`
		} `json:"terminate"`
	}
	if !x.Actions.Into(&actions) {
		return guard.Unknown
	}
	passing := []string{"vm-has-not-launched", "vm-is-terminating"}
	switch can := actions.Terminate.Available.Tri(); {
	case can == guard.Unknown:
		return guard.Unknown
	case can == guard.Yes, slices.Contains(passing, actions.Terminate.Reason.Text(maxWord)):
		return guard.No
	}
	return guard.Yes
}

// tags are the instance's. Where they are left out there are none (description: they are
// not required); what cannot be read may be the one that forbids guard to act.
func (x instance) tags() (tags map[string]string, untold bool) {
	var entries []struct {
		Key   providers.Field `json:"key"`
		Value providers.Field `json:"value"`
	}
	if len(x.Tags) == 0 {
		return nil, false
	}
	if !x.Tags.Into(&entries) {
		return nil, true
	}
	for _, e := range entries {
		key, ok := e.Key.ID(maxName)
		var value string
		if !ok || !e.Value.Into(&value) {
			untold = true
			continue
		}
		if tags == nil {
			tags = map[string]string{}
		}
		tags[key] = providers.Text(value, maxName)
	}
	return tags, untold
}

// fileSystems are the IDs of what it mounts.
func (x instance) fileSystems() []string {
	var mounts []struct {
		ID providers.Field `json:"file_system_id"`
	}
	x.Mounts.Into(&mounts) // left out where there are none (description)
	var out []string
	for _, m := range mounts {
		if id, ok := m.ID.ID(maxID); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// unidentified are the names of what it mounts, where it tells more of these than IDs.
func (x instance) unidentified() []string {
	var names []providers.Field
	x.Stores.Into(&names)
	if len(names) <= len(x.fileSystems()) {
		return nil
	}
	var out []string
	for _, n := range names {
		out = append(out, n.Text(maxName))
	}
	return out
}
