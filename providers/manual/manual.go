// Package manual is for machines behind no API that guard could ask: ordinary AutoDL
// instances, 恒源云, MatPool, a borrowed server. One exists because a person registered
// it, at a price that they gave, and is there until a person says that it is gone. guard
// keeps its life, its cost and its reminders.
//
// What an account of it is made of, all of it there before:
//
//   - Reading a machine by its ID always finds it: an ID is as good as the person who typed
//     it. Nothing is told of it beside that it is there, and so bills, at the price that its
//     registration has.
//   - A listing is complete and empty, for nobody tells of machines there. What guard knows
//     of and does not find in a listing it reads by its ID, and there it is: so nothing is
//     ever absent here, and no machine is found that nobody has registered.
//   - A release is guard.ErrUnsupported with what a person has to do, on which guard's
//     release is blocked: it pages, again and again, and is never dropped. Once the person
//     says that the machine is gone (guard release ACCOUNT/ID --confirm-gone, which only
//     accounts with Truths.ByHand take), the release is done, and its proof is that person's
//     word. That is never called a terminal state, nor an absence that anybody saw.
//   - On the box itself the agent's dead-man fuse, and guard run, work as anywhere. An agent
//     with a fuse also ends the box once its release is due, for nobody else but a person
//     can; that it is gone is still a person's to say.
package manual

import (
	"context"
	"fmt"
	"strings"

	"guard"
	"guard/providers"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "manual"
	// Scope is the only one.
	Scope = "global"
	// maxID and maxHow bound what people type, in bytes and in characters.
	maxID, maxHow = 128, 300
)

// Config is the `manual:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// How is what a person has to do to end a machine there, for the pages that ask for it.
	How string `yaml:"how"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if providers.Text(c.How, maxHow) != c.How {
		report("how", fmt.Sprintf("write one line of at most %d characters", maxHow))
	}
}

// Provider is one account of machines that people tell of. It asks nobody.
type Provider struct {
	name string
	how  string
}

// New makes the adapter. Without a name it is guard.ErrInvalid.
func New(name string, c Config) (*Provider, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: a manual account needs a name", guard.ErrInvalid)
	}
	return &Provider{name, c.How}, nil
}

// Truths are a person's: what they end is ended, and when billing ends is theirs to see.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		HasGet: true, Stop: guard.StopUnsupported, PriceUnit: "machine", ByHand: true,
		ReclaimShows: "not at all: nobody tells but the people who use it",
	}
}

// Identity is the account's name.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	if err := ctx.Err(); err != nil {
		return guard.Identity{}, fmt.Errorf("%w: identity of %s: %w", guard.ErrUnavailable, p.name, err)
	}
	return guard.Identity{ID: Kind + ":" + p.name}, nil
}

// List is complete and empty for instances, and guard.ErrUnsupported for anything else.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	if err := ctx.Err(); err != nil {
		return providers.Inventory{}, fmt.Errorf("%w: list %s: %w", guard.ErrUnavailable, p.name, err)
	}
	return providers.ListScope(ctx, q, p.name, Scope, func(_ context.Context, kind guard.Kind) ([]guard.Resource, error) {
		if kind != guard.Instance {
			return nil, guard.ErrUnsupported
		}
		return nil, nil
	}), nil
}

// Get finds whatever can be the ID of an instance.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	return providers.GetEach(ids, nil, nil, func(id guard.ResourceID) (guard.Resource, error) {
		switch err := ctx.Err(); {
		case err != nil:
			return guard.Resource{}, fmt.Errorf("%w: %w", guard.ErrUnavailable, err)
		case id.Kind != guard.Instance:
			return guard.Resource{}, fmt.Errorf("%w: there are only instances here", guard.ErrUnsupported)
		case id.ID == "" || len(id.ID) > maxID || providers.Text(id.ID, maxID) != id.ID || strings.ContainsAny(id.ID, " \t"):
			return guard.Resource{}, fmt.Errorf("%w: an ID has no spaces and at most %d bytes", guard.ErrInvalid, maxID)
		}
		return p.resource(id), nil
	})
}

// resource is all that is known of a machine. That it has GPUs is what guard is for: one
// that has none is ended by the same person, so nothing is let in by that.
func (p *Provider) resource(id guard.ResourceID) guard.Resource {
	return guard.Resource{
		ID:    guard.ResourceID{Account: p.name, Kind: guard.Instance, Scope: Scope, ID: id.ID},
		State: guard.StateRunning, RawState: "as registered", HasGPU: guard.Yes, Bills: guard.Yes, StopSaves: guard.StopUnsupported,
	}
}

// Release asks for a person: it is guard.ErrUnsupported.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: release %s: %w", guard.ErrUnavailable, id, err)
	}
	how := p.how
	if how == "" {
		how = "end it where it was rented"
	}
	return fmt.Errorf("%w: guard has no way to end %s itself: %s", guard.ErrUnsupported, id, how)
}
