package autodl

import (
	"context"
	"fmt"

	"guard"
	"guard/providers"
)

// bySelf is up to how many Pro instances are each read by ID before they are looked for in a
// listing; of more, only those are that no listing has.
const bySelf = 4

// Get implements providers.Provider. A Pro instance is known by ID as little more than a word:
// what it is stands in the listing, one call for each hundred. That it is not there is for the
// read by ID alone to say. A container is one call, and two where it is gone.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	g := &getting{p: p, ids: ids, many: providers.CountIDs(ids, isPro) > bySelf}
	return providers.GetEach(ids, nil, nil, func(id guard.ResourceID) (guard.Resource, error) {
		return g.read(ctx, id)
	})
}

func isPro(id guard.ResourceID) bool {
	_, _, ok := containerOf(id.ID)
	return id.Kind == guard.Instance && !ok
}

// getting is one Get.
type getting struct {
	p    *Provider
	ids  []guard.ResourceID
	many bool

	listed  bool
	all     map[string]instance
	listErr error
}

// read reads one thing by its ID.
func (g *getting) read(ctx context.Context, id guard.ResourceID) (guard.Resource, error) {
	if id.Kind != guard.Instance {
		return guard.Resource{}, fmt.Errorf("%w: AutoDL has no %s", guard.ErrUnsupported, id.Kind)
	}
	if deployment, container, ok := containerOf(id.ID); ok {
		return g.p.readContainer(ctx, deployment, container)
	}
	if g.many {
		g.list(ctx)
		if x, ok := g.all[id.ID]; ok {
			return g.p.instance(x), nil
		}
	}
	if _, err := g.p.status(ctx, id.ID); err != nil {
		return guard.Resource{}, err
	}
	g.list(ctx)
	if x, ok := g.all[id.ID]; ok {
		return g.p.instance(x), nil
	}
	if g.listErr != nil {
		return guard.Resource{}, g.listErr
	}
	return guard.Resource{}, fmt.Errorf("%w: it has a status, and is in no list", guard.ErrBadReply)
}

// list reads the listing, once, and what those of it that are asked for cost. What it has
// counts, however it ends.
func (g *getting) list(ctx context.Context) {
	if g.listed {
		return
	}
	g.listed, g.all = true, map[string]instance{}
	all, err := g.p.all(ctx)
	for _, x := range all {
		id, _ := x.key()
		g.all[id] = x
	}
	g.listErr = err
	if providers.EndsAll(err) {
		return
	}
	var asked []instance
	for _, id := range g.ids {
		if x, ok := g.all[id.ID]; ok {
			asked = append(asked, x)
		}
	}
	g.p.learn(ctx, asked)
}

// status reads the state of one Pro instance.
func (p *Provider) status(ctx context.Context, id string) (guard.State, error) {
	if id == "" {
		return "", fmt.Errorf("%w: an instance has an ID", guard.ErrInvalid)
	}
	data, err := p.about(ctx, id, statusPath)
	if err != nil {
		return "", err
	}
	if data.Text(maxWord) == "" {
		return "", fmt.Errorf("%w: the answer has no status in it", guard.ErrBadReply)
	}
	return stateOf(data), nil
}
