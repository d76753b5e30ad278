package fake

import (
	"slices"

	"guard"
)

// index finds things without a walk: an account may hold thousands. Nothing leaves
// it, for the ID, kind and scope of a thing never change.
type index struct {
	byID  map[string][]*thing // oldest first: an ID may be had twice
	lists map[listKey][]*thing
	hosts map[string][]*thing // by the ID of what they were scripted to have attached
}

type listKey struct {
	kind  guard.Kind
	scope string
}

func newIndex() index {
	return index{byID: map[string][]*thing{}, lists: map[listKey][]*thing{}, hosts: map[string][]*thing{}}
}

func (x *index) add(t *thing) {
	list := listKey{t.spec.Kind, t.spec.Scope}
	x.byID[t.spec.ID] = append(x.byID[t.spec.ID], t)
	x.lists[list] = append(x.lists[list], t)
	for _, id := range t.spec.Attached {
		x.hosts[id] = append(x.hosts[id], t)
	}
}

// listed is the things of a kind in a scope whose number is greater than after, in
// order.
func (x *index) listed(kind guard.Kind, scope string, after int) []*thing {
	all := x.lists[listKey{kind, scope}]
	i, _ := slices.BinarySearchFunc(all, after+1, func(t *thing, seq int) int { return t.seq - seq })
	return all[i:]
}

// hang attaches a thing to an instance, and to no other; nil detaches it.
func (t *thing) hang(host *thing) {
	if t.host != nil {
		t.host.attached = slices.DeleteFunc(t.host.attached, func(x *thing) bool { return x == t })
	}
	t.host = host
	if host == nil {
		return
	}
	i, _ := slices.BinarySearchFunc(host.attached, t.seq, func(x *thing, seq int) int { return x.seq - seq })
	host.attached = slices.Insert(host.attached, i, t)
}
