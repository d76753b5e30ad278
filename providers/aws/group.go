package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// The calls of Auto Scaling, by their names in a policy.
const (
	readMember = "autoscaling:DescribeAutoScalingInstances"
	endMember  = "autoscaling:TerminateInstanceInAutoScalingGroup"
)

// leaveGroup ends a member of an Auto Scaling group through the group, which from then
// on wants one fewer, so that none comes in its place. It reports whether the instance
// is seen to: false without an error is one that no group counts, to be ended as any
// other.
//
// Where the group cannot do without it, at its minimum size say, it is
// guard.ErrProtected and nothing was ended: another would come.
func (p *Provider) leaveGroup(ctx context.Context, id guard.ResourceID, group string) (bool, error) {
	counted, err := p.counted(ctx, id)
	if err != nil || !counted {
		return false, err
	}
	// Auto Scaling ends what EC2's termination protection holds; guard does not.
	locked, err := p.attribute(ctx, id, types.InstanceAttributeNameDisableApiTermination)
	switch {
	case errors.Is(err, guard.ErrNotFound):
		return true, nil // gone already
	case err != nil:
		return false, err
	case flag(locked.DisableApiTermination) == guard.Unknown:
		return false, p.fail(&oddReply{"it leaves the attribute out"}, "read the protection of", id.String(), "ec2:DescribeInstanceAttribute", reading)
	case flag(locked.DisableApiTermination) == guard.Yes:
		return false, fmt.Errorf("terminate %s: %w: %s", id, guard.ErrProtected, say(guard.ErrProtected, "ec2:TerminateInstances"))
	}
	out, err := p.asg.TerminateInstanceInAutoScalingGroup(providers.Write(ctx), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &id.ID, ShouldDecrementDesiredCapacity: sdk.Bool(true),
	}, scaling(id.Scope))
	switch {
	case code(err) == "ValidationError":
		// A counted instance, and a call that is always the same: what is not valid
		// is a group without it.
		var reply *awshttp.ResponseError
		errors.As(err, &reply)
		return false, fmt.Errorf("terminate %s: %w: its Auto Scaling group %s does not give it up, as one at its minimum size or with a warm pool does not; "+
			"lower the group's minimum size, or delete the group (ValidationError%s)", id, guard.ErrProtected, group, requestID(reply))
	case err == nil && (out.Activity == nil || sdk.ToString(out.Activity.ActivityId) == ""):
		err = &oddReply{"it names no activity"}
	}
	if err != nil {
		return false, p.fail(err, "terminate", id.String()+" in its Auto Scaling group", endMember, writing)
	}
	return true, nil
}

// counted reports whether an Auto Scaling group would start another in place of an
// instance. One in standby is outside the group's desired capacity, and one that
// leaves has been counted out, maybe by guard's own earlier call: a lifecycle hook can
// hold it for hours, which ending it as any other cuts short.
func (p *Provider) counted(ctx context.Context, id guard.ResourceID) (bool, error) {
	out, err := p.asg.DescribeAutoScalingInstances(providers.Read(ctx), &autoscaling.DescribeAutoScalingInstancesInput{
		InstanceIds: []string{id.ID},
	}, scaling(id.Scope))
	if err != nil {
		return false, p.fail(err, "read the Auto Scaling group of", id.String(), readMember, reading)
	}
	for _, m := range out.AutoScalingInstances {
		if sdk.ToString(m.InstanceId) == id.ID {
			state := strings.TrimPrefix(sdk.ToString(m.LifecycleState), "Warmed:")
			return state != "Standby" && !strings.HasPrefix(state, "Terminat") && !strings.HasPrefix(state, "Detach"), nil
		}
	}
	return false, nil
}

// scaling directs one call to Auto Scaling to a region.
func scaling(region string) func(*autoscaling.Options) {
	return func(o *autoscaling.Options) { o.Region = region }
}

// probeGroups asks for what ends members of Auto Scaling groups, where there are any.
func (p *Provider) probeGroups(ctx context.Context, seen []guard.Resource) []providers.Check {
	i := slices.IndexFunc(seen, func(r guard.Resource) bool { return r.Group != "" })
	if i < 0 {
		return nil
	}
	_, err := p.counted(ctx, seen[i].ID)
	read := problem(readMember, err)
	read.Acts = true
	return []providers.Check{read, {Name: endMember, Outcome: providers.CheckUntried, Acts: true,
		Text: "not tried: Auto Scaling has no dry runs, and guard needs it for members of groups such as " + seen[i].ID.String()}}
}
