package aws

import (
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// describeLeftover reads snapshots, images or addresses by their IDs, and what needs them
// now: it may be the last look before they are deleted.
func (p *Provider) describeLeftover(ctx context.Context, kind guard.Kind, region string, ids []string) ([]guard.Resource, error) {
	var found []guard.Resource
	switch kind {
	case guard.Snapshot:
		out, err := p.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: ids}, in(region))
		if err != nil {
			return nil, err
		}
		u := p.uses(ctx, region)
		for _, v := range out.Snapshots {
			found = append(found, p.snapshot(region, v, u))
		}
	case guard.Image:
		out, err := p.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: ids}, in(region))
		if err != nil {
			return nil, err
		}
		u := p.uses(ctx, region)
		err = p.startedNow(ctx, region, ids, u)
		u.untold = u.untold || err != nil || u.imagesErr != nil
		for _, v := range out.Images {
			found = append(found, p.image(region, v, u))
		}
	case guard.Address:
		out, err := p.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: ids}, in(region))
		if err != nil {
			return nil, err
		}
		for _, v := range out.Addresses {
			found = append(found, p.address(region, v))
		}
	}
	return slices.DeleteFunc(found, func(r guard.Resource) bool { return !slices.Contains(ids, r.ID.ID) }), nil
}

// startedNow adds the instances that were started from images since the last listing.
func (p *Provider) startedNow(ctx context.Context, region string, images []string, u uses) error {
	ask := &ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: sdk.String("image-id"), Values: images},
		{Name: sdk.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped", "shutting-down"}}}, MaxResults: sdk.Int32(instancePage)}
	return pages(func(token *string) (int, *string, error) {
		ask.NextToken = token
		out, err := p.ec2.DescribeInstances(ctx, ask, in(region))
		if err != nil {
			return 0, nil, err
		}
		got, err := instancesOf(out.Reservations)
		for _, i := range got {
			image, id := sdk.ToString(i.ImageId), sdk.ToString(i.InstanceId)
			if len(u.of[image]) < mostUsers && !slices.Contains(u.of[image], id) {
				u.of[image] = append(u.of[image], id)
			}
		}
		return len(got), out.NextToken, err
	})
}

// deleteLeftover deletes what outlived an instance.
func (p *Provider) deleteLeftover(ctx context.Context, id guard.ResourceID) error {
	ctx = providers.Write(ctx)
	switch id.Kind {
	case guard.Snapshot:
		_, err := p.ec2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: &id.ID}, in(id.Scope))
		return p.ended(err, "delete", id, "ec2:DeleteSnapshot")
	case guard.Image:
		_, err := p.ec2.DeregisterImage(ctx, &ec2.DeregisterImageInput{ImageId: &id.ID}, in(id.Scope))
		return p.ended(err, "deregister", id, "ec2:DeregisterImage")
	case guard.Address:
		_, err := p.ec2.ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: &id.ID}, in(id.Scope))
		return p.ended(err, "give back", id, "ec2:ReleaseAddress")
	}
	_, err := p.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &id.ID}, in(id.Scope))
	return p.ended(err, "delete", id, "ec2:DeleteVolume")
}

// stamped is a time that EC2 tells as text; zero where it is none.
func stamped(s *string) time.Time {
	t, err := time.Parse(time.RFC3339, sdk.ToString(s))
	if err != nil {
		return time.Time{}
	}
	return utc(&t)
}
