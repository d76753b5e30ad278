package aws

import (
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// The longest that EC2 itself allows of a name or a tag's value; a reply that
// has more is cut, not believed.
const (
	mostText = 256
	mostTags = 100
)

// groupTag is what Auto Scaling writes on the members of a group; nobody else may.
const groupTag = "aws:autoscaling:groupName"

// instance is what EC2 says of an instance, in our words. GPUs, prices and what
// a stop of a spot instance saves are added by others.
func (p *Provider) instance(region string, in types.Instance) guard.Resource {
	r := guard.Resource{
		ID:      p.id(guard.Instance, region, sdk.ToString(in.InstanceId)),
		Created: created(in),
		Type:    providers.Text(string(in.InstanceType), mostText),
		Tags:    tags(in.Tags),
		Spot:    in.InstanceLifecycle == types.InstanceLifecycleTypeSpot,
	}
	r.Name = r.Tags["Name"]
	if in.State != nil {
		r.RawState = providers.Text(string(in.State.Name), mostText)
	}
	reason, at := transition(in)
	r.State, r.Bills = instanceState(r.RawState, reason)
	switch r.State {
	case guard.StateRunning, guard.StateProvisioning:
		r.Changed = utc(in.LaunchTime)
	case guard.StateStopping, guard.StateStopped, guard.StateReleasing, guard.StateGone:
		r.Changed = at
		r.Ended = endedBy(reason)
	}
	if request := sdk.ToString(in.SpotInstanceRequestId); request != "" {
		r.Parent = p.id(guard.SpotRequest, region, request)
	}
	if name := r.Tags[groupTag]; name != "" {
		r.Group = region + "/" + name // names are of a region
	}
	if in.RootDeviceType == types.DeviceTypeInstanceStore || r.Group != "" {
		r.StopSaves = guard.StopUnsupported // a group terminates what does not run
	} else if !r.Spot {
		r.StopSaves = guard.StopSavesCompute
	}
	for _, m := range in.BlockDeviceMappings {
		if m.Ebs == nil || sdk.ToString(m.Ebs.VolumeId) == "" {
			continue
		}
		c := guard.Child{ID: p.id(guard.Volume, region, *m.Ebs.VolumeId)}
		if m.Ebs.DeleteOnTermination != nil {
			c.GoesWithInstance = guard.TriOf(*m.Ebs.DeleteOnTermination)
		}
		r.Children = append(r.Children, c)
	}
	slices.SortFunc(r.Children, func(a, b guard.Child) int { return strings.Compare(a.ID.ID, b.ID.ID) })
	return r
}

// created is when the instance was made, the same for its whole life.
//
// LaunchTime is not that: each start renews it. The primary network interface is
// attached at the first launch and can never be detached, the root volume
// within a second of it; the earliest of the three is the first launch, also
// after the root volume was exchanged. A terminated instance has lost both and
// keeps only its last launch, so that there the creation time is not told.
func created(in types.Instance) time.Time {
	first := time.Time{}
	see := func(t *time.Time) {
		if at := utc(t); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, n := range in.NetworkInterfaces {
		if n.Attachment != nil && sdk.ToInt32(n.Attachment.DeviceIndex) == 0 && sdk.ToInt32(n.Attachment.NetworkCardIndex) == 0 {
			see(n.Attachment.AttachTime)
		}
	}
	for _, m := range in.BlockDeviceMappings {
		if m.Ebs != nil && sdk.ToString(m.DeviceName) == sdk.ToString(in.RootDeviceName) {
			see(m.Ebs.AttachTime)
		}
	}
	ended := in.State != nil && (in.State.Name == types.InstanceStateNameTerminated || in.State.Name == types.InstanceStateNameShuttingDown)
	if first.IsZero() && ended {
		return time.Time{}
	}
	see(in.LaunchTime)
	return first
}

// instanceState puts EC2's word into ours and says whether the instance's own
// meter runs: only while `running`, and while it writes its memory to disk to
// hibernate ("Instance lifecycle", billing table). What a word that we do not
// know costs is not known.
func instanceState(raw, reason string) (guard.State, guard.Tri) {
	switch types.InstanceStateName(raw) {
	case types.InstanceStateNamePending:
		return guard.StateProvisioning, guard.No
	case types.InstanceStateNameRunning:
		return guard.StateRunning, guard.Yes
	case types.InstanceStateNameStopping:
		return guard.StateStopping, guard.TriOf(strings.HasSuffix(reason, "Hibernate"))
	case types.InstanceStateNameStopped:
		return guard.StateStopped, guard.No
	case types.InstanceStateNameShuttingDown:
		return guard.StateReleasing, guard.No
	case types.InstanceStateNameTerminated:
		return guard.StateGone, guard.No
	}
	return guard.StateUnknown, guard.Unknown
}

// transitionTime finds the moment in "User initiated (2020-02-14 22:03:45 GMT)".
var transitionTime = regexp.MustCompile(`\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)`)

// transition is the code of the last change of state and when it came; either
// may be empty. The code is in StateReason, or where that is missing in front of
// the text of StateTransitionReason.
func transition(in types.Instance) (reason string, at time.Time) {
	text := sdk.ToString(in.StateTransitionReason)
	if m := transitionTime.FindStringSubmatch(text); m != nil {
		if t, err := time.Parse(time.DateTime, m[1]); err == nil {
			at = utc(&t)
		}
	}
	if in.StateReason != nil {
		reason = sdk.ToString(in.StateReason.Code)
	}
	if reason == "" {
		reason, _, _ = strings.Cut(text, ":")
	}
	return reason, at
}

// endedBy sorts EC2's state reason codes (StateReason, API reference). A release
// of guard's own reads as one by a user here: the ledger knows which it was.
func endedBy(reason string) guard.How {
	switch {
	case strings.HasPrefix(reason, "Server.Spot"):
		return guard.ByReclaim
	case strings.HasPrefix(reason, "Server."), reason == "Client.InternalError":
		return guard.ByPlatform
	case strings.HasPrefix(reason, "Client."), strings.HasPrefix(reason, "User initiated"):
		return guard.ByOutside
	}
	return ""
}

// volume is what EC2 says of a volume. It bills from when it is made until it is
// deleted, attached or not.
func (p *Provider) volume(region string, v types.Volume) guard.Resource {
	r := guard.Resource{
		ID:       p.id(guard.Volume, region, sdk.ToString(v.VolumeId)),
		RawState: providers.Text(string(v.State), mostText),
		Created:  utc(v.CreateTime),
		Type:     providers.Text(string(v.VolumeType), mostText),
		Tags:     tags(v.Tags),
		SizeGB:   int64(max(sdk.ToInt32(v.Size), 0)),
		HasGPU:   guard.No,
		// A volume has neither a stop nor protection.
		StopSaves: guard.StopUnsupported, ReleaseProtected: guard.No, StopProtected: guard.No,
	}
	r.Name = r.Tags["Name"]
	switch v.State {
	case types.VolumeStateAvailable, types.VolumeStateInUse:
		r.State, r.Bills = guard.StateRunning, guard.Yes
	case types.VolumeStateCreating:
		r.State, r.Bills = guard.StateProvisioning, guard.Yes
	case types.VolumeStateDeleting:
		r.State, r.Bills = guard.StateReleasing, guard.No
	case types.VolumeStateDeleted:
		r.State, r.Bills = guard.StateGone, guard.No
	default: // error, and words that come later
		r.State = guard.StateUnknown
	}
	if on := attachedTo(v.Attachments); on != "" {
		r.Parent = p.id(guard.Instance, region, on)
	}
	r.Rate, _ = p.book.Volume(prices.Want{Type: r.Type, Scope: region, SizeGB: r.SizeGB})
	return r
}

// attachedTo is the instance that a volume hangs on, of several (Multi-Attach)
// the first in the order of their IDs, so that it stays the same one.
func attachedTo(attachments []types.VolumeAttachment) string {
	var on []string
	for _, a := range attachments {
		if id := sdk.ToString(a.InstanceId); id != "" && a.State != types.VolumeAttachmentStateDetached {
			on = append(on, id)
		}
	}
	if len(on) == 0 {
		return ""
	}
	return slices.Min(on)
}

// price puts the price book's rates on an instance. A capacity block is paid in
// advance: no price per hour is true of it.
func (p *Provider) price(r *guard.Resource, lifecycle types.InstanceLifecycleType) {
	want := prices.Want{Type: r.Type, Scope: r.ID.Scope, Spot: r.Spot, GPUs: r.GPUs}
	if lifecycle != types.InstanceLifecycleTypeCapacityBlock {
		r.Rate, _ = p.book.Instance(want)
	}
	stopped, ok := p.book.Stopped(want)
	if !ok {
		code := r.Rate.Currency()
		if code == "" {
			code = "USD" // of nothing
		}
		stopped = guard.Rate{Amount: guard.ZeroMoney(code), Per: time.Hour, Unit: "machine", Free: true, Source: Kind}
	}
	r.StoppedRate = stopped
	if r.Egress, ok = p.book.Egress(r.ID.Scope); !ok {
		r.Egress = traffic(r.ID.Scope)
	}
}

// traffic is what is known without a price book: what CloudWatch counts as sent holds
// what stays within the VPC, too, so how much of it is billed, and at what, nobody tells.
// It can be no more than AWS's list price of the first 10 TB to the internet. The 100 GB
// a month that are free are left out: they are for everything in the account, much of
// which guard does not see. China bills by lists of its own.
func traffic(region string) guard.EgressPrice {
	most := guard.EgressPrice{UpTo: elsewhere, Source: Kind}
	if strings.HasPrefix(region, "cn-") {
		most.UpTo = guard.Money{}
	}
	for _, near := range []string{"us-east-", "us-west-", "ca-", "eu-"} {
		if strings.HasPrefix(region, near) {
			most.UpTo = usual
		}
	}
	return most
}

// A GB to the internet in North America and Europe, and, rounded up, where it is dearest:
// what MongoDB's documentation of Atlas Stream Processing tells of AWS's regions is 0.09 to
// 0.155 USD. Which regions have the lower one is widely told, and not AWS's own word.
var (
	usual     = guard.MustMoney("0.09 USD")
	elsewhere = guard.MustMoney("0.16 USD")
)

func tags(in []types.Tag) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for _, t := range in[:min(len(in), mostTags)] {
		if k := sdk.ToString(t.Key); k != "" {
			out[providers.Text(k, mostText)] = providers.Text(sdk.ToString(t.Value), mostText)
		}
	}
	return out
}

// utc is a time that EC2 told; zero where it told none, or one at which there
// was no EC2 yet or will be none of us.
func utc(t *time.Time) time.Time {
	if t == nil || t.Year() < 2006 || t.Year() > 2200 {
		return time.Time{}
	}
	return t.UTC()
}
