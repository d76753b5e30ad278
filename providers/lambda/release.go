package lambda

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"guard"
	"guard/providers"
)

// Release terminates an instance with its disks, or deletes a file system with its data.
// Lambda takes no token: the end of what is gone is "not found", and so nil.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	ctx = providers.Write(ctx)
	var err error
	switch id.Kind {
	case guard.Instance:
		in := map[string][]string{"instance_ids": {id.ID}}
		err = p.end(ctx, http.MethodPost, in, "terminated_instances", id.ID, terminatePath)
		if errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrConflict) {
			err = p.explain(ctx, id, err)
		}
	case guard.Filesystem:
		err = p.end(ctx, http.MethodDelete, nil, "deleted_ids", id.ID, append(slices.Clone(deletePath), id.ID))
	default:
		err = fmt.Errorf("%w: Lambda has no %s", guard.ErrUnsupported, id.Kind)
	}
	if isAbsent(err) {
		return nil
	}
	return providers.Says("release", id, err)
}

// end makes a call that ends one thing. The reply has to name it among what is ended: by
// its ID, or a record with that.
func (p *Provider) end(ctx context.Context, method string, in any, name, id string, path []string) error {
	var reply struct {
		Data map[string]providers.Field `json:"data"`
	}
	if err := p.api.Call(ctx, method, nil, in, &reply, path...); err != nil {
		return err
	}
	var ended []providers.Field
	reply.Data[name].Into(&ended) // else it names nothing
	for _, f := range ended {
		var record struct {
			ID providers.Field `json:"id"`
		}
		if f.Into(&record) {
			f = record.ID
		}
		if got, ok := f.ID(maxID); ok && got == id {
			return nil
		}
	}
	return fmt.Errorf("%w: the reply does not name it among what is ended", guard.ErrUncertain)
}

// explain says what a refusal to terminate comes of, by one read: the instance ends
// already, or Lambda keeps it. Where the read fails, it is the refusal.
func (p *Provider) explain(ctx context.Context, id guard.ResourceID, refused error) error {
	x, err := p.readInstance(providers.Read(ctx), id.ID)
	switch {
	case err != nil:
		return refused
	case x.state() == guard.StateReleasing, x.state() == guard.StateGone:
		return nil
	case x.protected() == guard.Yes:
		return fmt.Errorf("%w: Lambda does not allow that it is terminated; ask there why", guard.ErrProtected)
	}
	return refused
}
