package vast

import (
	"slices"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// volumeType is what a price book calls a volume.
const volumeType = "volume"

// volume is what is read of a volume.
type volume struct {
	ID        providers.Field `json:"id"`
	Label     providers.Field `json:"label"`
	Status    providers.Field `json:"status"`
	Disk      providers.Field `json:"disk_space"`
	Storage   providers.Field `json:"storage_total_cost"`
	Started   providers.Field `json:"start_date"`
	Instances providers.Field `json:"instances"`
}

func (x volume) key() (string, bool) { return number(x.ID) }

// users are the instances that a volume is attached to, the oldest first; false where it
// does not tell all of them.
func (x volume) users() (ids []string, told bool) {
	var entries []providers.Field
	told = x.Instances.Into(&entries)
	for _, e := range entries {
		id, ok := reference(e, "instance_id", "id")
		if told = told && ok; ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, older)
	return ids, told
}

// older compares the IDs of contracts, which are counted up.
func older(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}

// volume makes a resource of a volume. storage_total_cost is per hour: the example of an
// offer in the description comes to 4 cents a GB and month so. It counts to the oldest
// instance that it is attached to.
func (p *Provider) volume(x volume) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Volume, id), Name: x.Label.Text(maxName), State: guard.StateRunning, RawState: x.Status.Text(maxWord),
		Created: epoch(x.Started), Type: volumeType, SizeGB: gigabytes(x.Disk), Rate: x.Storage.Hourly(usd), Bills: guard.Yes, ReleaseProtected: guard.No,
	}
	if rate, ok := p.book.Volume(prices.Want{Type: r.Type, Scope: Scope, SizeGB: r.SizeGB}); ok {
		r.Rate = rate
	}
	users, told := x.users()
	r.UsesUntold = !told
	for i, u := range users {
		if i == 0 {
			r.Parent = p.id(guard.Instance, u)
			continue
		}
		r.UsedBy = append(r.UsedBy, u)
	}
	return r
}

// settle takes a volume away from all instances but the oldest that tells of it.
func settle(instances []guard.Resource) {
	oldest := map[string]string{}
	for _, r := range instances {
		for _, c := range r.Children {
			if id := oldest[c.ID.ID]; id == "" || older(r.ID.ID, id) < 0 {
				oldest[c.ID.ID] = r.ID.ID
			}
		}
	}
	for i := range instances {
		r := &instances[i]
		r.Children = slices.DeleteFunc(r.Children, func(c guard.Child) bool { return oldest[c.ID.ID] != r.ID.ID })
	}
}
