package autodl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"guard"
	"guard/providers"
)

// stopWait is how long what is being stopped is left alone: seconds are usual (users).
const stopWait = 15 * time.Second

// named is a request about one Pro instance.
type named struct {
	ID string `json:"instance_uuid"`
}

// Release ends a Pro instance with its disks, or a container of a deployment, which then has
// one less to keep up. An instance that is not off is stopped, and answered with a
// *guard.RetryError around guard.ErrConflict. AutoDL takes no token: what is gone is not found,
// and so nil.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	err := p.release(ctx, id)
	if isAbsent(err) {
		return nil
	}
	return providers.Says("release", id, err)
}

func (p *Provider) release(ctx context.Context, id guard.ResourceID) error {
	if id.Kind != guard.Instance {
		return fmt.Errorf("%w: AutoDL has no %s", guard.ErrUnsupported, id.Kind)
	}
	if deployment, container, ok := containerOf(id.ID); ok {
		return p.endContainer(ctx, deployment, container)
	}
	state, err := p.status(ctx, id.ID)
	if err != nil {
		return err
	}
	if state != guard.StateStopped && state != guard.StateStopping {
		err := p.order(ctx, http.MethodPost, named{id.ID}, offPath)
		switch {
		case state == guard.StateUnknown && cannot(err):
			state = guard.StateStopped // perhaps: a release of anything else is refused
		case state == guard.StateProvisioning && cannot(err):
			return &guard.RetryError{Err: fmt.Errorf("%w: it is starting, and cannot be stopped yet", guard.ErrConflict), After: stopWait}
		case err != nil:
			return fmt.Errorf("stop it first: %w", err)
		}
	}
	if state != guard.StateStopped {
		return &guard.RetryError{Err: fmt.Errorf("%w: it is being stopped, which has to come first", guard.ErrConflict), After: stopWait}
	}
	err = p.order(ctx, http.MethodPost, named{id.ID}, releasePath)
	if errors.Is(err, guard.ErrConflict) {
		return &guard.RetryError{Err: err, After: stopWait}
	}
	return err
}

// cannot reports whether an order was refused for what the instance is, or is doing: AutoDL
// says no more than that.
func cannot(err error) bool {
	return errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrConflict)
}

// Stop turns a Pro instance off and keeps its disks. A container of a deployment has no stop
// but its end: guard.ErrUnsupported.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	if _, _, ok := containerOf(id.ID); ok || id.Kind != guard.Instance {
		return providers.Says("stop", id, fmt.Errorf("%w: only Pro instances can be stopped and kept", guard.ErrUnsupported))
	}
	err := p.order(ctx, http.MethodPost, named{id.ID}, offPath)
	if cannot(err) {
		if state, failed := p.status(ctx, id.ID); failed == nil && (state == guard.StateStopped || state == guard.StateStopping) {
			return nil
		}
	}
	return providers.Says("stop", id, err)
}
