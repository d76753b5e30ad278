package exec

import (
	"context"
	"errors"

	"guard"
	"guard/providers"
)

// releaseArgs name what is to end. The token is the same for each try of one release.
type releaseArgs struct {
	idArgs

	Token string `json:"token,omitzero"`
}

// Release asks the program to end a thing for good. What it does not know is gone.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	err := p.change(ctx, callRelease, releaseArgs{argsOf(id), opt.Token})
	if errors.Is(err, guard.ErrNotFound) {
		return nil
	}
	return providers.Says("release", id, err)
}

// Stop implements providers.Stopper.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	return providers.Says("stop", id, p.change(ctx, callStop, argsOf(id)))
}

// tagArgs are the tags to be set; others stay.
type tagArgs struct {
	idArgs

	Tags map[string]string `json:"tags"`
}

// Tag implements providers.Tagger.
func (p *Provider) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	return providers.Says("tag", id, p.change(ctx, callTag, tagArgs{argsOf(id), tags}))
}

// change makes a call that changes something, where the program has it.
func (p *Provider) change(ctx context.Context, call string, args any) error {
	if _, err := p.can(ctx, call); err != nil {
		return err
	}
	return p.write(ctx, call, args)
}
