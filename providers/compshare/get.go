package compshare

import (
	"context"
	"fmt"
	"slices"

	"guard"
	"guard/providers"
)

// Get implements providers.Provider. Instances are a call for each hundred of them; a volume or
// an image is looked for in the list of all.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	found := map[string]guard.Lookup{} // by nameOf
	var instances []string
	listed := map[guard.Kind][]string{}
	for _, id := range ids {
		switch {
		case id.ID == "" || len(id.ID) > maxID:
			found[nameOf(id)] = p.unknown(id, fmt.Errorf("%w: it cannot be an ID", guard.ErrInvalid))
		case id.Kind == guard.Instance && !slices.Contains(instances, id.ID):
			instances = append(instances, id.ID)
		case id.Kind == guard.Volume, id.Kind == guard.Image:
			listed[id.Kind] = append(listed[id.Kind], id.ID)
		case id.Kind != guard.Instance:
			found[nameOf(id)] = p.unknown(id, fmt.Errorf("%w: CompShare has no %s", guard.ErrUnsupported, id.Kind))
		}
	}
	var stop error
	for batch := range slices.Chunk(instances, pageSize) {
		told, whole, err := map[string]instance(nil), false, stop
		if err == nil {
			told, whole, err = p.byID(ctx, batch)
		}
		if providers.EndsAll(err) {
			stop = err
		}
		for _, id := range batch {
			look := p.look(p.id(guard.Instance, id), whole, err)
			if x, ok := told[id]; ok {
				p.keep(x, providers.Clock(ctx))
				look = guard.Lookup{Verdict: guard.VerdictFound, Resource: p.instance(x, providers.Clock(ctx))}
			}
			found[nameOf(p.id(guard.Instance, id))] = look
		}
	}
	for _, kind := range []guard.Kind{guard.Volume, guard.Image} {
		if len(listed[kind]) == 0 {
			continue
		}
		all, err := []guard.Resource(nil), stop
		if err == nil {
			all, err = p.things(ctx, kind)
		}
		if providers.EndsAll(err) {
			stop = err
		}
		for _, id := range listed[kind] {
			found[nameOf(p.id(kind, id))] = p.look(p.id(kind, id), err == nil, err)
		}
		for _, r := range all {
			found[nameOf(r.ID)] = guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
		}
	}
	out := make([]guard.Lookup, len(ids))
	for i, id := range ids {
		out[i] = found[nameOf(id)]
		out[i].ID = id
	}
	return out
}

// nameOf tells one thing from another in this account.
func nameOf(id guard.ResourceID) string { return string(id.Kind) + "/" + id.ID }

// look is the answer about what was asked for and is not in the answer: absent where that is
// whole, and says so.
func (p *Provider) look(id guard.ResourceID, whole bool, err error) guard.Lookup {
	switch {
	case err != nil:
		return p.unknown(id, err)
	case !whole:
		return p.unknown(id, fmt.Errorf("%w: the answer is about other instances, or not about all that it counts", guard.ErrBadReply))
	}
	return guard.Lookup{Verdict: guard.VerdictAbsent}
}

func (p *Provider) unknown(id guard.ResourceID, err error) guard.Lookup {
	return guard.Lookup{Verdict: guard.VerdictUnknown, Err: providers.Says("read", id, err)}
}

// byID reads up to a hundred instances. Whole tells that each entry of the answer is another
// one of those that were asked for, and that there are as many as it counts: only then is what
// it leaves out not there.
func (p *Provider) byID(ctx context.Context, ids []string) (told map[string]instance, whole bool, err error) {
	body, err := p.ask(ctx, describe, params{"UHostIds": ids, "Offset": 0, "Limit": pageSize})
	if err != nil {
		return nil, false, err
	}
	entries, total, err := pageOf(body, hosts)
	if err != nil {
		return nil, false, err
	}
	told = map[string]instance{}
	for _, f := range entries {
		var x instance
		if !f.Into(&x) {
			continue
		}
		if id, ok := x.key(); ok && slices.Contains(ids, id) {
			told[id] = x
		}
	}
	return told, len(told) == len(entries) && total == int64(len(entries)), nil
}

// one reads one instance; guard.ErrNotFound where there is none.
func (p *Provider) one(ctx context.Context, id string) (instance, error) {
	told, whole, err := p.byID(ctx, []string{id})
	if err != nil {
		return instance{}, err
	}
	x, ok := told[id]
	switch {
	case ok:
		return x, nil
	case !whole:
		return instance{}, fmt.Errorf("%w: the answer is about another instance", guard.ErrBadReply)
	}
	return instance{}, guard.ErrNotFound
}
