package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// Release terminates an instance, deletes a volume or a snapshot, deregisters an image or
// gives an address back. EC2 treats all of them as idempotent by ID, so the token of the
// options is not needed.
//
// An instance of a persistent spot request would come back: the request is
// cancelled first, and where it cannot be read nothing is terminated. A member of an
// Auto Scaling group leaves that, so that no other comes; where the group does not
// give it up it is guard.ErrProtected. What something uses, a volume that is attached,
// is guard.ErrConflict.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	if err := p.actOn(ctx, "release", id); err != nil {
		return err
	}
	if id.Kind != guard.Instance {
		return p.deleteLeftover(ctx, id)
	}
	if opt.Parent.Kind == guard.SpotRequest {
		p.rememberSpot(guard.Resource{ID: id, Spot: true, Parent: opt.Parent})
	}
	if err := p.cancelSpot(ctx, id); err != nil {
		if errors.Is(err, guard.ErrNotFound) {
			return nil
		}
		return err
	}
	if opt.Group != "" {
		if left, err := p.leaveGroup(ctx, id, opt.Group); left || err != nil {
			return err
		}
	}
	out, err := p.ec2.TerminateInstances(providers.Write(ctx), &ec2.TerminateInstancesInput{InstanceIds: []string{id.ID}}, in(id.Scope))
	if err != nil {
		return p.ended(err, "terminate", id, "ec2:TerminateInstances")
	}
	if !changed(out.TerminatingInstances, id.ID) {
		return p.fail(&oddReply{"it does not name the instance"}, "terminate", id.String(), "ec2:TerminateInstances", writing)
	}
	return nil
}

// ended is the error of a release, nil where the thing is gone already.
func (p *Provider) ended(err error, verb string, id guard.ResourceID, call string) error {
	if err == nil {
		return nil
	}
	if err = p.fail(err, verb, id.String(), call, writing); errors.Is(err, guard.ErrNotFound) {
		return nil
	}
	return err
}

// Stop stops an instance and keeps its disks. What EC2 cannot stop (an instance
// store root, a one-time spot instance) is guard.ErrUnsupported.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	if err := p.actOn(ctx, "stop", id); err != nil {
		return err
	}
	if id.Kind != guard.Instance {
		return fmt.Errorf("%w: stop %s: a %s has no stop", guard.ErrUnsupported, id, id.Kind)
	}
	out, err := p.ec2.StopInstances(providers.Write(ctx), &ec2.StopInstancesInput{InstanceIds: []string{id.ID}}, in(id.Scope))
	if err == nil && !changed(out.StoppingInstances, id.ID) {
		err = &oddReply{"it does not name the instance"}
	}
	if err != nil {
		return p.fail(err, "stop", id.String(), "ec2:StopInstances", writing)
	}
	return nil
}

// actOn checks that the thing is one to act on, and the place where.
func (p *Provider) actOn(ctx context.Context, verb string, id guard.ResourceID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %s %s: nothing was sent: %w", guard.ErrUnavailable, verb, id, err)
	}
	if err := p.readable(id); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if id.Scope == "" {
		return fmt.Errorf("%w: %s %s: its region is not known; read it first", guard.ErrInvalid, verb, id)
	}
	return nil
}

func changed(all []types.InstanceStateChange, id string) bool {
	return slices.ContainsFunc(all, func(c types.InstanceStateChange) bool { return sdk.ToString(c.InstanceId) == id })
}

// cancelSpot cancels the persistent spot request behind an instance; nil where
// there is none or it is over. It is guard.ErrNotFound where the instance is.
func (p *Provider) cancelSpot(ctx context.Context, id guard.ResourceID) error {
	request, err := p.spotRequestOf(ctx, id)
	if err != nil || request == nil {
		return err
	}
	if request.Type != types.SpotInstanceTypePersistent ||
		request.State == types.SpotInstanceStateCancelled || request.State == types.SpotInstanceStateClosed {
		return nil
	}
	name := sdk.ToString(request.SpotInstanceRequestId)
	_, err = p.ec2.CancelSpotInstanceRequests(providers.Write(ctx), &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{name}}, in(id.Scope))
	if err != nil && code(err) != "InvalidSpotInstanceRequestID.NotFound" {
		return p.fail(err, "cancel the spot request "+name+" of", id.String(), "ec2:CancelSpotInstanceRequests", writing)
	}
	return nil
}

// spotRequestOf reads the spot request that an instance comes from; nil where it
// comes from none, or from one that EC2 has forgotten.
func (p *Provider) spotRequestOf(ctx context.Context, id guard.ResourceID) (*types.SpotInstanceRequest, error) {
	ctx = providers.Read(ctx)
	ask, err := p.askForRequestOf(ctx, id)
	if err != nil || ask == nil {
		return nil, err
	}
	const call = "ec2:DescribeSpotInstanceRequests"
	out, err := p.ec2.DescribeSpotInstanceRequests(ctx, ask, in(id.Scope))
	switch {
	case err != nil && code(err) == "InvalidSpotInstanceRequestID.NotFound":
		return nil, nil
	case err != nil:
		return nil, p.fail(err, "read the spot request of", id.String(), call, reading)
	case len(out.SpotInstanceRequests) > 0:
		return &out.SpotInstanceRequests[0], nil
	case ask.Filters != nil:
		return nil, nil // none names the instance
	}
	return nil, p.fail(&oddReply{"it leaves the request out"}, "read the spot request of", id.String(), call, reading)
}

// askForRequestOf is the question after the spot request of an instance; nil for
// one that is known to be on demand.
func (p *Provider) askForRequestOf(ctx context.Context, id guard.ResourceID) (*ec2.DescribeSpotInstanceRequestsInput, error) {
	p.mu.Lock()
	request, known := p.spot[id.ID]
	p.mu.Unlock()
	if !known {
		l := p.Get(ctx, id)[0]
		switch l.Verdict {
		case guard.VerdictFound:
		case guard.VerdictAbsent:
			return nil, fmt.Errorf("%w: %s", guard.ErrNotFound, id)
		default:
			return nil, fmt.Errorf("release %s: whether a spot request would bring it back cannot be read: %w", id, l.Err)
		}
		if l.Resource.Spot && l.Resource.Parent.IsZero() {
			return &ec2.DescribeSpotInstanceRequestsInput{
				Filters: []types.Filter{{Name: sdk.String("instance-id"), Values: []string{id.ID}}},
			}, nil
		}
		request = l.Resource.Parent.ID
	}
	if request == "" {
		return nil, nil
	}
	return &ec2.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{request}}, nil
}
