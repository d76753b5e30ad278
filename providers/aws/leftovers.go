package aws

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// leftoverPage is the size of a page of snapshots, of images and of versions of launch
// templates; EC2 takes up to 1000, 1000 and 200.
const (
	leftoverPage = 1000
	templatePage = 200
)

// uses is what needs the snapshots and the images of a region, read once for a listing:
// snapshots are needed by images, and images by instances and launch templates. Whatever
// could not be read is untold, which is not that nothing needs them. What a launch
// configuration or another account needs is in no reply of EC2's.
type uses struct {
	images    []types.Image
	imagesErr error
	behind    map[string][]string // by snapshot: the images that need it
	of        map[string][]string // by image: what needs it
	untold    bool                // some of that could not be read
}

// sweep reads what several kinds of one listing have in common once.
type sweep struct {
	p  *Provider
	mu sync.Mutex
	of map[string]func() uses // by region
}

func (s *sweep) uses(ctx context.Context, region string) uses {
	s.mu.Lock()
	if s.of[region] == nil {
		s.of[region] = sync.OnceValue(func() uses { return s.p.uses(ctx, region) })
	}
	once := s.of[region]
	s.mu.Unlock()
	return once()
}

func (p *Provider) uses(ctx context.Context, region string) uses {
	u := uses{of: map[string][]string{}, behind: map[string][]string{}}
	u.imagesErr = pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"self"}, MaxResults: sdk.Int32(leftoverPage), NextToken: token,
			IncludeDeprecated: sdk.Bool(true), IncludeDisabled: sdk.Bool(true)}, in(region))
		if err != nil {
			return 0, nil, err
		}
		u.images = append(u.images, out.Images...)
		return len(out.Images), out.NextToken, nil
	})
	u.backing()
	if u.imagesErr != nil || len(u.images) == 0 {
		return u
	}
	p.mu.Lock()
	started, listed := p.started[region]
	for image, by := range started {
		u.of[image] = append(u.of[image], by...)
	}
	p.mu.Unlock()
	err := pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest", "$Default"},
			MaxResults: sdk.Int32(templatePage), NextToken: token}, in(region))
		if err != nil {
			return 0, nil, err
		}
		for _, v := range out.LaunchTemplateVersions {
			if d := v.LaunchTemplateData; d != nil && sdk.ToString(d.ImageId) != "" {
				name := sdk.ToString(v.LaunchTemplateId)
				if !slices.Contains(u.of[*d.ImageId], name) {
					u.of[*d.ImageId] = append(u.of[*d.ImageId], name)
				}
			}
		}
		return len(out.LaunchTemplateVersions), out.NextToken, nil
	})
	u.untold = !listed || err != nil
	return u
}

// backing notes which snapshots the images need.
func (u *uses) backing() {
	for _, image := range u.images {
		for _, m := range image.BlockDeviceMappings {
			if m.Ebs != nil && sdk.ToString(m.Ebs.SnapshotId) != "" {
				u.behind[*m.Ebs.SnapshotId] = append(u.behind[*m.Ebs.SnapshotId], sdk.ToString(image.ImageId))
			}
		}
	}
}

// startedFrom remembers, of a complete listing, which instances were started from which
// image: the listing of images has no call of its own for that.
func (p *Provider) startedFrom(region string, found []types.Instance) {
	by := map[string][]string{}
	for _, i := range found {
		ended := i.State != nil && i.State.Name == types.InstanceStateNameTerminated
		if image := sdk.ToString(i.ImageId); image != "" && !ended && len(by[image]) < mostUsers {
			by[image] = append(by[image], sdk.ToString(i.InstanceId))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started[region] = by
}

// mostUsers bounds how many of those that need a thing are named.
const mostUsers = 10

func (s *sweep) snapshots(ctx context.Context, region string) ([]guard.Resource, error) {
	var found []guard.Resource
	u := s.uses(ctx, region)
	err := pages(func(token *string) (int, *string, error) {
		out, err := s.p.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, MaxResults: sdk.Int32(leftoverPage), NextToken: token}, in(region))
		if err != nil {
			return 0, nil, err
		}
		if out.Snapshots == nil {
			return 0, nil, errNoList
		}
		for _, v := range out.Snapshots {
			if sdk.ToString(v.SnapshotId) == "" {
				return 0, nil, &oddReply{"a snapshot in it has no ID"}
			}
			found = append(found, s.p.snapshot(region, v, u))
		}
		return len(out.Snapshots), out.NextToken, nil
	})
	if err != nil {
		err = s.p.listFailed(err, "snapshots", region, "ec2:DescribeSnapshots")
	}
	return distinct(found), err
}

func (s *sweep) images(ctx context.Context, region string) ([]guard.Resource, error) {
	u := s.uses(ctx, region)
	if u.imagesErr != nil {
		return nil, s.p.listFailed(u.imagesErr, "images", region, "ec2:DescribeImages")
	}
	var found []guard.Resource
	for _, v := range u.images {
		if sdk.ToString(v.ImageId) == "" {
			return nil, s.p.listFailed(&oddReply{"an image in it has no ID"}, "images", region, "ec2:DescribeImages")
		}
		found = append(found, s.p.image(region, v, u))
	}
	return distinct(found), nil
}

func (s *sweep) addresses(ctx context.Context, region string) ([]guard.Resource, error) {
	out, err := s.p.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{}, in(region))
	if err == nil && out.Addresses == nil {
		err = errNoList
	}
	if err != nil {
		return nil, s.p.listFailed(err, "addresses", region, "ec2:DescribeAddresses")
	}
	var found []guard.Resource
	for _, v := range out.Addresses {
		if sdk.ToString(v.AllocationId) == "" {
			continue // of EC2-Classic, which is no more
		}
		found = append(found, s.p.address(region, v))
	}
	return distinct(found), nil
}

// copyID is the volume that EC2 tells of a snapshot which was copied or imported: none.
const copyID = "vol-ffffffff"

// snapshot is what EC2 says of a snapshot. It bills from when it is made until it is
// deleted, by what differs from the one before; the size that is told is the volume's,
// so that a price by it is the most that it can be.
func (p *Provider) snapshot(region string, v types.Snapshot, u uses) guard.Resource {
	r := p.leftover(guard.Snapshot, region, sdk.ToString(v.SnapshotId), v.Tags)
	r.RawState, r.Created = providers.Text(string(v.State), mostText), utc(v.StartTime)
	r.SizeGB = int64(max(sdk.ToInt32(v.VolumeSize), 0))
	if source := sdk.ToString(v.VolumeId); source != copyID {
		r.Source = source
	}
	if v.State == types.SnapshotStatePending {
		r.State = guard.StateProvisioning
	}
	r.UsedBy, r.UsesUntold = slices.Clone(u.behind[r.ID.ID]), u.imagesErr != nil
	r.Rate, _ = p.book.Volume(prices.Want{Type: "snapshot", Scope: region, SizeGB: r.SizeGB})
	return r
}

// image is what EC2 says of an image. It costs nothing itself: its snapshots do.
func (p *Provider) image(region string, v types.Image, u uses) guard.Resource {
	r := p.leftover(guard.Image, region, sdk.ToString(v.ImageId), v.Tags)
	r.Name, r.RawState = providers.Text(sdk.ToString(v.Name), mostText), providers.Text(string(v.State), mostText)
	r.Created, r.Source = stamped(v.CreationDate), sdk.ToString(v.SourceInstanceId)
	r.Bills = guard.No
	if v.State == types.ImageStateDeregistered {
		r.State = guard.StateGone
	}
	for _, m := range v.BlockDeviceMappings {
		if m.Ebs != nil && sdk.ToString(m.Ebs.SnapshotId) != "" {
			r.Children = append(r.Children, guard.Child{ID: p.id(guard.Snapshot, region, *m.Ebs.SnapshotId), GoesWithInstance: guard.No})
		}
	}
	r.UsedBy, r.UsesUntold = slices.Clone(u.of[r.ID.ID]), u.untold
	if sdk.ToString(v.DeregistrationProtection) != "" && *v.DeregistrationProtection != "disabled" {
		r.ReleaseProtected = guard.Yes
	}
	return r
}

// address is what EC2 says of an Elastic IP address. It bills whether it is used or not
// (VPC pricing, public IPv4 addresses).
func (p *Provider) address(region string, v types.Address) guard.Resource {
	r := p.leftover(guard.Address, region, sdk.ToString(v.AllocationId), v.Tags)
	r.Type = providers.Text(sdk.ToString(v.PublicIp), mostText)
	switch on := sdk.ToString(v.InstanceId); {
	case on != "":
		r.Parent = p.id(guard.Instance, region, on)
	case sdk.ToString(v.NetworkInterfaceId) != "":
		r.UsedBy = []string{*v.NetworkInterfaceId}
	case sdk.ToString(v.AssociationId) != "":
		r.UsedBy = []string{*v.AssociationId}
	}
	r.Rate, _ = p.book.Volume(prices.Want{Type: "address", Scope: region})
	return r
}

func (p *Provider) leftover(kind guard.Kind, region, id string, in []types.Tag) guard.Resource {
	r := guard.Resource{ID: p.id(kind, region, id), State: guard.StateRunning, Bills: guard.Yes, Tags: tags(in), HasGPU: guard.No,
		StopSaves: guard.StopUnsupported, ReleaseProtected: guard.No, StopProtected: guard.No}
	r.Name = r.Tags["Name"]
	return r
}
