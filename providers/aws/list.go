package aws

import (
	"context"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
)

const (
	// pageSize is the most that EC2 gives in a page of instances; of volumes,
	// 500 is accepted everywhere.
	instancePage = 1000
	volumePage   = 500
	// most empty pages in a row, and pages in all, that are believed.
	maxEmpty = 25
	maxPages = 5000
	// regionsAtOnce bounds the parallel calls; there are some 35 regions.
	regionsAtOnce = 8
)

// List reads instances, volumes, snapshots, images and Elastic IP addresses of the
// account's own, all regions at the same time. For other kinds
// each region's result is guard.ErrUnsupported.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var st providers.ServerTime
	ctx = providers.CollectServerTime(providers.Read(ctx), &st)
	regions := q.Scopes
	if len(regions) == 0 {
		var err error
		if regions, err = p.regions(ctx); err != nil {
			return providers.Inventory{}, err
		}
	}
	var (
		mu  sync.Mutex
		inv providers.Inventory
		all errgroup.Group
	)
	all.SetLimit(regionsAtOnce)
	s := &sweep{p: p, of: map[string]func() uses{}}
	for _, kind := range q.Kinds {
		list := s.lister(kind)
		if list == nil {
			list = func(context.Context, string) ([]guard.Resource, error) {
				return nil, fmt.Errorf("%w: list %s in account %s", guard.ErrUnsupported, kind, p.name)
			}
		}
		for _, region := range regions {
			all.Go(func() error {
				found, err := list(ctx, region)
				mu.Lock()
				defer mu.Unlock()
				inv.Results = append(inv.Results, providers.ScopeResult{Scope: region, Kind: kind, Resources: found, Err: err})
				return nil
			})
		}
	}
	_ = all.Wait() // no goroutine returns an error: each scope keeps its own
	slices.SortFunc(inv.Results, func(a, b providers.ScopeResult) int {
		return slices.Compare([]string{string(a.Kind), a.Scope}, []string{string(b.Kind), b.Scope})
	})
	inv.ServerTime = st.Time()
	return inv, nil
}

func (s *sweep) lister(kind guard.Kind) func(context.Context, string) ([]guard.Resource, error) {
	switch kind {
	case guard.Instance:
		return s.p.instances
	case guard.Volume:
		return s.p.volumes
	case guard.Snapshot:
		return s.snapshots
	case guard.Image:
		return s.images
	case guard.Address:
		return s.addresses
	}
	return nil
}

// regions are those to look at now: the enabled ones, or of the configured ones
// those that the account has not left disabled. It is asked each time, for a
// region can be enabled at any moment.
func (p *Provider) regions(ctx context.Context) ([]string, error) {
	in := &ec2.DescribeRegionsInput{AllRegions: sdk.Bool(false)}
	if len(p.listed) > 0 {
		in = &ec2.DescribeRegionsInput{AllRegions: sdk.Bool(true), RegionNames: p.listed}
	}
	out, err := p.ec2.DescribeRegions(ctx, in)
	switch {
	case err != nil && len(p.listed) > 0:
		// The regions are known without it; one that cannot be read says so itself.
		return p.listed, nil
	case err != nil:
		return nil, p.fail(err, "list the regions of", "account "+p.name, "ec2:DescribeRegions", reading)
	}
	var names []string
	for _, r := range out.Regions {
		if name := sdk.ToString(r.RegionName); name != "" && sdk.ToString(r.OptInStatus) != "not-opted-in" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: list the regions of account %s: none is enabled, which cannot be; check `regions` and the endpoint", guard.ErrBadReply, p.name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// pages asks for page after page until one comes without a token. It gives up
// where the tokens lead nowhere, for a listing that never ends is not complete.
func pages(ask func(token *string) (items int, next *string, err error)) error {
	var token *string
	seen := map[string]bool{}
	empty := 0
	for range maxPages {
		n, next, err := ask(token)
		if err != nil {
			return err
		}
		if sdk.ToString(next) == "" {
			return nil
		}
		if seen[*next] {
			return &oddReply{"it gave the same page token twice"}
		}
		if empty++; n > 0 {
			empty = 0
		}
		if empty > maxEmpty {
			return &oddReply{fmt.Sprintf("it gave %d empty pages in a row and still no end", empty)}
		}
		seen[*next] = true
		token = next
	}
	return &oddReply{fmt.Sprintf("it has no end after %d pages", maxPages)}
}

func (p *Provider) instances(ctx context.Context, region string) ([]guard.Resource, error) {
	var found []types.Instance
	err := pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{
			MaxResults: sdk.Int32(instancePage), NextToken: token, IncludeManagedResources: sdk.Bool(true),
		}, in(region))
		if err != nil {
			return 0, nil, err
		}
		if out.Reservations == nil {
			return 0, nil, errNoList
		}
		got, err := instancesOf(out.Reservations)
		found = append(found, got...)
		return len(got), out.NextToken, err
	})
	if err != nil {
		err = p.listFailed(err, "instances", region, "ec2:DescribeInstances")
	}
	if err == nil {
		p.startedFrom(region, found)
	}
	return p.complete(ctx, region, found), err
}

func (p *Provider) volumes(ctx context.Context, region string) ([]guard.Resource, error) {
	var found []guard.Resource
	err := pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
			MaxResults: sdk.Int32(volumePage), NextToken: token, IncludeManagedResources: sdk.Bool(true),
		}, in(region))
		if err != nil {
			return 0, nil, err
		}
		if out.Volumes == nil {
			return 0, nil, errNoList
		}
		for _, v := range out.Volumes {
			if sdk.ToString(v.VolumeId) == "" {
				return 0, nil, &oddReply{"a volume in it has no ID"}
			}
			found = append(found, p.volume(region, v))
		}
		return len(out.Volumes), out.NextToken, nil
	})
	if err != nil {
		err = p.listFailed(err, "volumes", region, "ec2:DescribeVolumes")
	}
	return distinct(found), err
}

func (p *Provider) listFailed(err error, what, region, call string) error {
	return p.fail(err, "list", fmt.Sprintf("%s of account %s in %s", what, p.name, region), call, reading)
}

// errNoList is a page that is not empty but lacks its list: EC2 sends an empty one
// where there is nothing.
var errNoList = &oddReply{"there is no list in it"}

// instancesOf takes the instances out of their reservations. One without an ID
// cannot be told from another: a reply with such a one is no listing, and neither
// is one with a reservation of nothing.
func instancesOf(reservations []types.Reservation) ([]types.Instance, error) {
	var out []types.Instance
	for _, r := range reservations {
		if r.Instances == nil {
			return out, &oddReply{"a reservation in it has no instances"}
		}
		for _, in := range r.Instances {
			if sdk.ToString(in.InstanceId) == "" {
				return out, &oddReply{"an instance in it has no ID"}
			}
			out = append(out, in)
		}
	}
	return out, nil
}

// complete translates instances and adds what their own reply leaves out.
func (p *Provider) complete(ctx context.Context, region string, found []types.Instance) []guard.Resource {
	gpus := p.gpusOf(ctx, region, found)
	saves := p.stopOfSpot(ctx, region, found)
	out := make([]guard.Resource, 0, len(found))
	for _, in := range found {
		r := p.instance(region, in)
		g := gpus[r.Type]
		r.GPUs, r.HasGPU, r.GPUModel = g.count, g.has, g.model
		if r.Spot && r.StopSaves == guard.StopUnknown {
			r.StopSaves = saves[sdk.ToString(in.SpotInstanceRequestId)]
		}
		p.price(&r, in.InstanceLifecycle)
		p.rememberSpot(r)
		p.watched.remember(r.ID.ID, watch{cores: g.cores, detailed: in.Monitoring != nil && in.Monitoring.State == types.MonitoringStateEnabled})
		out = append(out, r)
	}
	return distinct(out)
}

// distinct keeps the last of what came twice: a thing that moved between two
// pages while they were read.
func distinct(in []guard.Resource) []guard.Resource {
	at := make(map[string]int, len(in))
	out := in[:0]
	for _, r := range in {
		if i, twice := at[r.ID.ID]; twice {
			out[i] = r
			continue
		}
		at[r.ID.ID] = len(out)
		out = append(out, r)
	}
	return out
}
