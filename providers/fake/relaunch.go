package fake

import (
	"slices"

	"guard"
)

// cancel ends what starts instances for a spot request that is no resource of the script;
// false where there is none.
func (c *Cloud) cancel(request string) bool {
	found := false
	for _, t := range c.things {
		if t.chain != nil && t.chain.relaunch.By == "spot_request" && t.chain.relaunch.Parent == request && t.spec.Identity == c.identity {
			t.chain.done = len(t.chain.relaunch.IDs)
			found = true
		}
	}
	return found
}

// users are what needs a thing: as scripted, but for what was there and is gone.
func (c *Cloud) users(t *thing) []string {
	return slices.DeleteFunc(slices.Clone(t.spec.UsedBy), func(id string) bool {
		all := c.index.byID[id]
		return len(all) > 0 && !slices.ContainsFunc(all, func(u *thing) bool { return u.last().word != stateGone })
	})
}

// behindImage are the snapshots that an image needs.
func (c *Cloud) behindImage(image *thing) []wireRef {
	var out []wireRef
	no := false
	for _, t := range c.things {
		if t.spec.Kind == guard.Snapshot && slices.Contains(t.spec.UsedBy, image.spec.ID) && c.visible(t) && t.last().word != stateGone {
			out = append(out, wireRef{guard.Snapshot, t.spec.ID, t.spec.Scope, &no})
		}
	}
	return out
}
