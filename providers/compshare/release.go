package compshare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"guard"
	"guard/providers"
)

// stopWait is how long what is being stopped is left alone.
const stopWait = 30 * time.Second

// Release terminates an instance, which leaves its data disks, or deletes a data disk or an
// image. An instance that is not Stopped is stopped, and answered with a *guard.RetryError
// around guard.ErrConflict; a spot instance has no stop, and is terminated as it is. CompShare
// takes no token: what is gone is read as gone, and so nil.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	var err error
	switch id.Kind {
	case guard.Instance:
		err = p.terminate(ctx, id.ID)
	case guard.Volume:
		err = p.deleteDisk(ctx, id.ID)
	case guard.Image:
		err = p.deleteImage(ctx, id.ID)
	default:
		err = fmt.Errorf("%w: CompShare has no %s", guard.ErrUnsupported, id.Kind)
	}
	if errors.Is(err, guard.ErrNotFound) {
		return nil
	}
	return providers.Says("release", id, err)
}

// named are the parameters of a call about one instance.
func (x instance) named(more params) params {
	region, zone := x.place()
	id, _ := x.key()
	out := params{"Region": region, "Zone": zone, "UHostId": id}
	maps.Copy(out, more)
	return out
}

func (p *Provider) terminate(ctx context.Context, id string) error {
	x, err := p.one(ctx, id)
	if err != nil {
		return err
	}
	state := x.state()
	if state != guard.StateStopped && state != guard.StateStopping && !x.spot() {
		err := p.order(ctx, "StopCompShareInstance", x.named(nil))
		switch {
		case state == guard.StateUnknown && cannot(err):
			state = guard.StateStopped // perhaps it does not run: nothing that does is terminated
		case err != nil:
			return fmt.Errorf("stop it first: %w", err)
		}
	}
	if state != guard.StateStopped && !x.spot() {
		return &guard.RetryError{Err: fmt.Errorf("%w: it is being stopped, which has to come first", guard.ErrConflict), After: stopWait}
	}
	// Its data disks stay: they are ended by their own rule alone.
	return p.order(ctx, "TerminateCompShareInstance", x.named(params{"ReleaseUDisk": false}))
}

// cannot reports whether a stop was refused for a reason that CompShare does not explain: its
// codes for that are not known.
func cannot(err error) bool {
	_, wait := guard.RetryAfter(err)
	return !wait && !errors.Is(err, guard.ErrUncertain) && (errors.Is(err, guard.ErrInvalid) || errors.Is(err, guard.ErrUnavailable))
}

// Stop stops an instance and keeps its disks. A spot instance cannot be: guard.ErrUnsupported.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	if id.Kind != guard.Instance {
		return providers.Says("stop", id, fmt.Errorf("%w: only instances can be stopped", guard.ErrUnsupported))
	}
	x, err := p.one(ctx, id.ID)
	switch {
	case err != nil:
	case x.state() == guard.StateStopped, x.state() == guard.StateStopping:
	case x.spot():
		err = fmt.Errorf("%w: a spot instance can only be released", guard.ErrUnsupported)
	default:
		err = p.order(ctx, "StopCompShareInstance", x.named(nil))
	}
	return providers.Says("stop", id, err)
}

// deleteDisk deletes a data disk that no instance has mounted.
func (p *Provider) deleteDisk(ctx context.Context, id string) error {
	all, err := p.disks(ctx)
	for _, x := range all {
		if got, _ := x.key(); got != id {
			continue
		}
		switch on, ok := x.mounted(); {
		case !ok:
			return fmt.Errorf("%w: the answer does not tell what has it mounted", guard.ErrBadReply)
		case on != "":
			return fmt.Errorf("%w: %s has it mounted", guard.ErrConflict, on)
		}
		zone := x.Zone.Text(maxWord)
		return p.order(ctx, "DeleteCompshareDisk", params{"Region": regionOf(zone), "Zone": zone, "UDiskId": id})
	}
	if err != nil {
		return err
	}
	return guard.ErrNotFound
}
