package aws

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// gpu is what EC2 says of the GPUs of an instance type, and of its processors. The
// zero value is not known.
type gpu struct {
	has   guard.Tri
	count int
	model string
	cores int
}

// filterValues is the most that EC2 takes in one filter.
const filterValues = 200

// gpusOf tells the GPUs of the types of some instances. A type that cannot be
// read now is not known, and asked for again next time.
func (p *Provider) gpusOf(ctx context.Context, region string, found []types.Instance) map[string]gpu {
	out := map[string]gpu{}
	var ask []string
	p.mu.Lock()
	for _, in := range found {
		typ := string(in.InstanceType)
		g, known := p.gpus[typ]
		if !known && !slices.Contains(ask, typ) {
			ask = append(ask, typ)
		}
		out[typ] = g
	}
	p.mu.Unlock()
	for some := range slices.Chunk(ask, filterValues) {
		p.readTypes(ctx, region, some, out)
	}
	return out
}

// readTypes asks through a filter: a list of types fails as a whole where one of
// them is not offered in the region.
func (p *Provider) readTypes(ctx context.Context, region string, ask []string, into map[string]gpu) {
	_ = pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{
			Filters:   []types.Filter{{Name: sdk.String("instance-type"), Values: ask}},
			NextToken: token,
		}, in(region))
		if err != nil {
			return 0, nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, t := range out.InstanceTypes {
			g := gpuOf(t)
			into[string(t.InstanceType)], p.gpus[string(t.InstanceType)] = g, g
		}
		return len(out.InstanceTypes), out.NextToken, nil
	})
}

// mostGPUs of one sort is more than any machine has.
const mostGPUs = 1024

func gpuOf(t types.InstanceTypeInfo) gpu {
	g := gpu{has: guard.No}
	if t.VCpuInfo != nil {
		g.cores = int(max(sdk.ToInt32(t.VCpuInfo.DefaultVCpus), 0))
	}
	if t.GpuInfo == nil {
		return g
	}
	for _, d := range t.GpuInfo.Gpus {
		g.has = guard.Yes
		g.count += int(min(max(sdk.ToInt32(d.Count), 0), mostGPUs))
		if name := strings.TrimSpace(sdk.ToString(d.Manufacturer) + " " + sdk.ToString(d.Name)); g.model == "" {
			g.model = providers.Text(name, mostText)
		}
	}
	return g
}

// stopOfSpot tells what a stop of spot instances saves, by their request: a
// persistent one lets them be stopped, a one-time one does not ("Stop Spot
// Instances"). Where the request cannot be read it is not known.
func (p *Provider) stopOfSpot(ctx context.Context, region string, found []types.Instance) map[string]guard.StopEffect {
	out := map[string]guard.StopEffect{}
	var ask []string
	p.mu.Lock()
	for _, in := range found {
		id := sdk.ToString(in.SpotInstanceRequestId)
		if id == "" {
			continue
		}
		typ, known := p.requests[id]
		if !known && !slices.Contains(ask, id) {
			ask = append(ask, id)
		}
		out[id] = stopOf(typ)
	}
	p.mu.Unlock()
	for some := range slices.Chunk(ask, filterValues) {
		p.readRequests(ctx, region, some, out)
	}
	return out
}

func (p *Provider) readRequests(ctx context.Context, region string, ask []string, into map[string]guard.StopEffect) {
	_ = pages(func(token *string) (int, *string, error) {
		out, err := p.ec2.DescribeSpotInstanceRequests(ctx, &ec2.DescribeSpotInstanceRequestsInput{
			Filters:   []types.Filter{{Name: sdk.String("spot-instance-request-id"), Values: ask}},
			NextToken: token,
		}, in(region))
		if err != nil {
			return 0, nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.requests) > maxRemembered {
			clear(p.requests)
		}
		for _, r := range out.SpotInstanceRequests {
			id := sdk.ToString(r.SpotInstanceRequestId)
			into[id], p.requests[id] = stopOf(r.Type), r.Type
		}
		return len(out.SpotInstanceRequests), out.NextToken, nil
	})
}

func stopOf(t types.SpotInstanceType) guard.StopEffect {
	switch t {
	case types.SpotInstanceTypePersistent:
		return guard.StopSavesCompute
	case types.SpotInstanceTypeOneTime:
		return guard.StopUnsupported
	}
	return guard.StopUnknown
}

// rememberSpot keeps which spot request an instance comes from, which never
// changes, so that a release needs no read for it.
func (p *Provider) rememberSpot(r guard.Resource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spot) > maxRemembered {
		clear(p.spot)
	}
	if r.Spot == r.Parent.IsZero() {
		return // a spot instance whose request is not told: ask again
	}
	p.spot[r.ID.ID] = r.Parent.ID
}
