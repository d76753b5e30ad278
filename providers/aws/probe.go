package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// addIt is what to do about a permission that is missing.
const addIt = "add %s to the policy of these credentials (README, Permissions on AWS)"

// triedOn bounds how many instances a dry run is tried on, one after the other,
// where EC2 does not know the first.
const triedOn = 3

// Probe asks EC2 for each permission in the policy of the README. Listings are
// read as in a poll; writes go out with DryRun and nothing else, and only where the
// endpoint has shown that it knows dry runs: one that ignores the flag would do
// what it was only asked about.
func (p *Provider) Probe(ctx context.Context, on ...guard.ResourceID) []providers.Check {
	var clock providers.ServerTime
	at, told := guard.InstantFrom(ctx)
	id, err := p.Identity(providers.CollectServerTime(ctx, &clock))
	who := providers.Check{Name: "sts:GetCallerIdentity", Outcome: providers.CheckOK, Text: "these credentials are of account " + id.ID}
	if err != nil {
		who = providers.CheckOf(who.Name, err)
		who.Do = "check the profile, the keys, and that the clock is right"
	}
	checks := []providers.Check{who}
	if told {
		checks = append(checks, providers.CheckClock(at.Wall, clock.Time()))
	}
	if err != nil {
		return checks // every other call would say the same
	}
	ctx = providers.Read(ctx)
	_, err = p.ec2.DescribeRegions(ctx, &ec2.DescribeRegionsInput{DryRun: sdk.Bool(true)})
	checks = append(checks, p.dryRead("ec2:DescribeRegions", err))
	listed, seen := p.probeLists(ctx)
	checks = append(checks, listed...)
	_, err = p.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{DryRun: sdk.Bool(true),
		Filters: []types.Filter{{Name: sdk.String("instance-type"), Values: []string{"g5.xlarge"}}}})
	checks = append(checks, p.dryRead("ec2:DescribeInstanceTypes", err))
	_, err = p.ec2.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{DryRun: sdk.Bool(true)})
	checks = append(checks, p.dryRead("ec2:DescribeSpotInstanceRequests", err))
	checks = append(checks, p.probeLeftovers(ctx)...)
	checks = append(checks, p.probeMetrics(ctx)...)
	checks = append(checks, p.probeGroups(ctx, seen)...)
	return append(checks, p.probeOn(ctx, p.subjects(on, seen), seen)...)
}

// probeLeftovers asks for what the listing of leftovers reads.
func (p *Provider) probeLeftovers(ctx context.Context) []providers.Check {
	dry := sdk.Bool(true)
	_, snapshots := p.ec2.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, DryRun: dry})
	_, images := p.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{Owners: []string{"self"}, DryRun: dry})
	_, addresses := p.ec2.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{DryRun: dry})
	_, templates := p.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}, DryRun: dry})
	return []providers.Check{p.dryRead("ec2:DescribeSnapshots", snapshots), p.dryRead("ec2:DescribeImages", images),
		p.dryRead("ec2:DescribeAddresses", addresses), p.dryRead("ec2:DescribeLaunchTemplateVersions", templates)}
}

// probeLists lists as a poll does, so that a region that is shut is told, too.
func (p *Provider) probeLists(ctx context.Context) (checks []providers.Check, instances []guard.Resource) {
	kinds := []guard.Kind{guard.Instance, guard.Volume}
	inv, err := p.List(ctx, providers.Query{Kinds: kinds})
	for _, kind := range kinds {
		call := describeCall[kind]
		if err != nil {
			checks = append(checks, problem(call, err))
			continue
		}
		shut := map[string]error{}
		n, regions := 0, 0
		for _, r := range inv.Results {
			if r.Kind != kind {
				continue
			}
			regions++
			n += len(r.Resources)
			if r.Err != nil {
				shut[r.Scope] = r.Err
			}
			if kind == guard.Instance {
				instances = append(instances, r.Resources...)
			}
		}
		c := providers.Check{Name: call, Outcome: providers.CheckOK, Text: fmt.Sprintf("%d %s in %d regions", n, kind.Plural(), regions)}
		if len(shut) > 0 {
			names := slices.Sorted(maps.Keys(shut))
			first := shut[names[0]]
			c = problem(call, first)
			c.Text = fmt.Sprintf("not in %d of %d regions (%s): %v", len(shut), regions, few(names), first)
		}
		checks = append(checks, c)
	}
	return checks, instances
}

// few names regions, up to five of them.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// subjects are the instances to try a write on, the likeliest to be allowed first: a
// policy may ask for guard's own tag.
func (p *Provider) subjects(on []guard.ResourceID, seen []guard.Resource) []guard.Resource {
	var out []guard.Resource
	for _, id := range on {
		known := slices.IndexFunc(seen, func(r guard.Resource) bool { return r.ID.Key() == id.Key() })
		switch {
		case known >= 0:
			out = append(out, seen[known])
		case p.readable(id) == nil && id.Kind == guard.Instance && id.Scope != "":
			out = append(out, guard.Resource{ID: id, State: guard.StateUnknown})
		}
	}
	for _, r := range seen {
		if !slices.ContainsFunc(out, func(o guard.Resource) bool { return o.ID.Key() == r.ID.Key() }) {
			out = append(out, r)
		}
	}
	out = slices.DeleteFunc(out, func(r guard.Resource) bool { return r.State == guard.StateGone })
	slices.SortStableFunc(out, func(a, b guard.Resource) int { return rankSubject(a) - rankSubject(b) })
	return out[:min(len(out), triedOn)]
}

func rankSubject(r guard.Resource) int {
	switch {
	case r.Tags[guard.TagLease] != "":
		return 0
	case r.State != guard.StateUnknown:
		return 1
	}
	return 2
}

// need is what guard needs a call for.
type need int

const (
	toSee need = iota // a read: an answer is as good as a word that there would be one
	toTag
	toAct // only a release makes it
)

// dryCalls are the calls that a probe tries on an instance, each with DryRun set.
var dryCalls = []struct {
	call string
	need need
	try  func(context.Context, *ec2.Client, guard.ResourceID) error
}{
	{"ec2:DescribeInstanceAttribute", toSee, func(ctx context.Context, c *ec2.Client, id guard.ResourceID) error {
		_, err := c.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{DryRun: sdk.Bool(true),
			InstanceId: &id.ID, Attribute: types.InstanceAttributeNameDisableApiTermination}, in(id.Scope))
		return err
	}},
	{"ec2:CreateTags", toTag, func(ctx context.Context, c *ec2.Client, id guard.ResourceID) error {
		_, err := c.CreateTags(ctx, &ec2.CreateTagsInput{DryRun: sdk.Bool(true),
			Resources: []string{id.ID}, Tags: []types.Tag{{Key: sdk.String(guard.TagLease), Value: sdk.String("dry-run")}}}, in(id.Scope))
		return err
	}},
	{"ec2:StopInstances", toAct, func(ctx context.Context, c *ec2.Client, id guard.ResourceID) error {
		_, err := c.StopInstances(ctx, &ec2.StopInstancesInput{DryRun: sdk.Bool(true), InstanceIds: []string{id.ID}}, in(id.Scope))
		return err
	}},
	{"ec2:TerminateInstances", toAct, func(ctx context.Context, c *ec2.Client, id guard.ResourceID) error {
		_, err := c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{DryRun: sdk.Bool(true), InstanceIds: []string{id.ID}}, in(id.Scope))
		return err
	}},
}

// probeOn tries what needs an instance to be tried on.
func (p *Provider) probeOn(ctx context.Context, subjects, seen []guard.Resource) []providers.Check {
	ctx = providers.Write(ctx)
	var checks []providers.Check
	knows := map[string]error{} // by region: nil where dry runs are known to be such
	for _, w := range dryCalls {
		c := providers.Check{Name: w.call, Outcome: providers.CheckUntried, Text: "not tried: no instance to try it on"}
		for _, r := range subjects {
			why, asked := knows[r.ID.Scope]
			if !asked {
				why = p.knowsDryRuns(ctx, r.ID.Scope)
				knows[r.ID.Scope] = why
			}
			if why != nil {
				c = providers.Check{Name: w.call, Outcome: providers.CheckUnknown, Text: "not tried: " + why.Error(),
					Do: "nothing, if the endpoint is not Amazon's own; otherwise look again later"}
				continue
			}
			err := w.try(ctx, p.ec2, r.ID)
			c = p.dry(w.call, w.need, r, err)
			if code(err) != notFoundInstance {
				break
			}
		}
		c.Acts = w.need == toAct
		checks = append(checks, c)
	}
	// An instance of a persistent spot request comes back unless that is cancelled.
	i := slices.IndexFunc(seen, func(r guard.Resource) bool { return r.Parent.Kind == guard.SpotRequest && r.Parent.ID != "" })
	if i < 0 || p.knowsDryRuns(ctx, seen[i].ID.Scope) != nil {
		return checks
	}
	_, err := p.ec2.CancelSpotInstanceRequests(ctx, &ec2.CancelSpotInstanceRequestsInput{DryRun: sdk.Bool(true),
		SpotInstanceRequestIds: []string{seen[i].Parent.ID}}, in(seen[i].ID.Scope))
	c := p.dry("ec2:CancelSpotInstanceRequests", toAct, seen[i], err)
	c.Acts = true
	return append(checks, c)
}

// What EC2 answers to a dry run that would have been allowed, and to an instance ID
// that it does not know.
const (
	dryRunOperation  = "DryRunOperation"
	notFoundInstance = "InvalidInstanceID.NotFound"
)

var errNoDryRuns = errors.New("this endpoint answers a dry run as if it were none, so that trying would be doing")

// knowsDryRuns proves with a read that the endpoint takes DryRun for what it is.
func (p *Provider) knowsDryRuns(ctx context.Context, region string) error {
	_, err := p.ec2.DescribeInstances(providers.Read(ctx), &ec2.DescribeInstancesInput{DryRun: sdk.Bool(true), MaxResults: sdk.Int32(5)}, in(region))
	switch {
	case code(err) == dryRunOperation:
		return nil
	case err == nil:
		return errNoDryRuns
	}
	return p.fail(err, "try a dry run in", region, "ec2:DescribeInstances", reading)
}

// dryRead judges the dry run of a read, which may be answered all the same.
func (p *Provider) dryRead(call string, err error) providers.Check {
	if err == nil || code(err) == dryRunOperation {
		return providers.Check{Name: call, Outcome: providers.CheckOK}
	}
	return problem(call, p.fail(err, "try", "account "+p.name, call, reading))
}

// dry judges a dry run on an instance.
func (p *Provider) dry(call string, needed need, r guard.Resource, err error) providers.Check {
	switch {
	case code(err) == dryRunOperation, err == nil && needed == toSee:
		return providers.Check{Name: call, Outcome: providers.CheckOK, Text: "tried by dry run on " + r.ID.String()}
	case err == nil:
		err = &oddReply{"a dry run was answered as if it were none"}
	case code(err) == "OperationNotPermitted":
		return providers.Check{Name: call, Outcome: providers.CheckUnknown, Text: r.ID.String() + " is protected at EC2, so its dry run tells nothing",
			Do: "nothing; it is tried again on another instance when there is one"}
	case code(err) == notFoundInstance:
		return providers.Check{Name: call, Outcome: providers.CheckUntried, Text: "not tried: EC2 does not know " + r.ID.String() + " any more"}
	}
	c := problem(call, p.fail(err, "try", r.ID.String()+" by dry run", call, reading))
	if c.Outcome == providers.CheckRefused && needed == toAct && r.Tags[guard.TagLease] == "" {
		c.Outcome = providers.CheckUnknown
		c.Text = "refused on " + r.ID.String() + ", which does not carry guard's tag yet; a policy that asks for the tag is right to refuse that"
		c.Do = "register an instance, let guard tag it, and look again"
	}
	return c
}

// problem is a check that did not end well, with its remedy.
func problem(call string, err error) providers.Check {
	c := providers.CheckOf(call, err)
	if c.Outcome == providers.CheckRefused {
		c.Do = fmt.Sprintf(addIt, call)
	}
	return c
}

var _ providers.Prober = (*Provider)(nil)
