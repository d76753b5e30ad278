package runpod

import (
	"cmp"
	"slices"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// volume is what is read of a network volume.
type volume struct {
	ID     providers.Field `json:"id"`
	Name   providers.Field `json:"name"`
	Size   providers.Field `json:"size"`
	Type   providers.Field `json:"type"`
	Center providers.Field `json:"dataCenter"`
}

func (x volume) key() (string, bool) { return x.ID.ID(maxID) }

// The types of network volumes, as a price book names them.
const (
	standardVolume = "network-volume-standard"
	fastVolume     = "network-volume-high-performance"
)

// volume makes a file system of a network volume. It always bills; what a fast one costs
// is not published. users are those of all volumes.
func (p *Provider) volume(x volume, users users) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Filesystem, id), Name: x.Name.Text(maxName), State: guard.StateRunning, RawState: x.Center.Text(maxWord),
		Bills: guard.Yes, ReleaseProtected: guard.No, UsesUntold: users.untold,
	}
	r.SizeGB, _ = x.Size.Count(maxGB)
	switch x.Type.Text(maxWord) {
	case "STANDARD":
		r.Type, r.Rate = standardVolume, volumeRate(r.SizeGB)
	case "HIGH_PERFORMANCE":
		r.Type = fastVolume
	}
	if rate, ok := p.book.Volume(prices.Want{Type: r.Type, Scope: Scope, SizeGB: r.SizeGB}); ok {
		r.Rate = rate
	}
	for i, u := range users.of[id] {
		if i == 0 {
			r.Parent = p.id(guard.Instance, u.id)
			continue
		}
		r.UsedBy = append(r.UsedBy, u.id)
	}
	return r
}

// user is an instance that mounts network volumes.
type user struct {
	id    string
	since time.Time
}

// users are the instances that mount each network volume, the oldest first: that is the one
// which the volume counts to.
type users struct {
	of     map[string][]user
	untold bool // an instance does not tell all that it mounts, which may be any volume
}

func usersOf(pods []pod, endpoints []serverlessEndpoint) users {
	out := users{of: map[string][]user{}}
	mount := func(volumes []string, told bool, u user) {
		out.untold = out.untold || !told
		for _, v := range volumes {
			all := out.of[v]
			at := slices.IndexFunc(all, func(o user) bool { return o.id == u.id })
			switch {
			case at < 0:
				out.of[v] = append(all, u)
			case u.since.Before(all[at].since):
				all[at].since = u.since // an older node of the same cluster
			}
		}
	}
	for _, x := range pods {
		if x.state() != guard.StateGone {
			id, _ := x.key()
			m := x.mounts()
			mount(m.volumes, m.told, user{cmp.Or(x.clusterID(), id), x.Created.Time()})
		}
	}
	for _, x := range endpoints {
		id, _ := x.key()
		volumes, told := x.volumes()
		mount(volumes, told, user{endpointPrefix + id, x.Created.Time()})
	}
	for _, all := range out.of {
		slices.SortFunc(all, func(a, b user) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	}
	return out
}

// settle takes a volume away from all instances that it does not count to.
func settle(instances []guard.Resource, users users) {
	for i := range instances {
		r := &instances[i]
		r.Children = slices.DeleteFunc(r.Children, func(c guard.Child) bool {
			us := users.of[c.ID.ID]
			return len(us) > 0 && us[0].id != r.ID.ID
		})
	}
}
