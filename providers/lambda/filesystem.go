package lambda

import (
	"slices"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// fileSystem is what is read of a file system.
type fileSystem struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Created providers.Field `json:"created"`
	InUse   providers.Field `json:"is_in_use"`
	Used    providers.Field `json:"bytes_used"`
}

func (x fileSystem) key() (string, bool) { return x.ID.ID(maxID) }

// fileSystemType is what a price book calls one.
const fileSystemType = "file-system"

// maxBytes is what no file system holds.
const maxBytes = 1 << 60

// fileSystem makes a resource of a file system. It always bills; its size is what it
// holds, of some hours ago (description). named are the names of those that something mounts
// which does not tell their IDs.
func (p *Provider) fileSystem(x fileSystem, users []string, named map[string]bool) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Filesystem, id), Name: x.Name.Text(maxName), State: guard.StateRunning, Type: fileSystemType,
		Created: x.Created.Time(), Bills: guard.Yes, ReleaseProtected: guard.No,
	}
	if n, ok := x.Used.Count(maxBytes); ok {
		r.SizeGB = (n + guard.GB - 1) / guard.GB
	}
	if rate, ok := p.book.Volume(prices.Want{Type: fileSystemType, Scope: Scope, SizeGB: r.SizeGB}); ok {
		r.Rate = rate
	}
	if len(users) > 0 {
		r.Parent, r.UsedBy = p.id(guard.Instance, users[0]), users[1:]
	}
	r.UsesUntold = len(users) == 0 && x.InUse.Tri() != guard.No || named[r.Name]
	return r
}

// usersOf are the instances that mount each file system, in the order of their IDs, for
// nothing tells which is the oldest. The file system counts to the first.
func usersOf(instances []instance) map[string][]string {
	out := map[string][]string{}
	for _, x := range instances {
		if x.state() == guard.StateGone {
			continue
		}
		id, _ := x.key()
		for _, fs := range x.fileSystems() {
			out[fs] = append(out[fs], id)
		}
	}
	for _, users := range out {
		slices.Sort(users)
	}
	return out
}

// namedBy are the names that instances tell of what they mount, without its IDs.
func namedBy(instances []instance) map[string]bool {
	out := map[string]bool{}
	for _, x := range instances {
		if x.state() != guard.StateGone {
			for _, name := range x.unidentified() {
				out[name] = true
			}
		}
	}
	return out
}

// settle takes a file system away from all instances that it does not count to.
func settle(instances []guard.Resource, users map[string][]string) {
	for i := range instances {
		r := &instances[i]
		r.Children = slices.DeleteFunc(r.Children, func(c guard.Child) bool {
			us := users[c.ID.ID]
			return len(us) > 0 && us[0] != r.ID.ID
		})
	}
}
