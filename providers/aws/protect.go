package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"guard"
	"guard/providers"
)

// Protection reads an instance's termination and stop protection, which no
// listing shows. A volume has none.
func (p *Provider) Protection(ctx context.Context, id guard.ResourceID) (providers.Protection, error) {
	if err := p.actOn(ctx, "read the protection of", id); err != nil {
		return providers.Protection{}, err
	}
	if id.Kind == guard.Volume {
		return providers.Protection{Release: guard.No, Stop: guard.No}, nil
	}
	var out providers.Protection
	got, err := p.attribute(ctx, id, types.InstanceAttributeNameDisableApiTermination)
	if err != nil {
		return out, err
	}
	out.Release = flag(got.DisableApiTermination)
	// Stop protection is younger than termination protection and not known
	// everywhere: without it the other answer still counts.
	if got, err = p.attribute(ctx, id, types.InstanceAttributeNameDisableApiStop); err == nil {
		out.Stop = flag(got.DisableApiStop)
	} else if !errors.Is(err, guard.ErrUnsupported) && !errors.Is(err, guard.ErrInvalid) {
		return out, err
	}
	return out, nil
}

func (p *Provider) attribute(ctx context.Context, id guard.ResourceID, name types.InstanceAttributeName) (*ec2.DescribeInstanceAttributeOutput, error) {
	out, err := p.ec2.DescribeInstanceAttribute(providers.Read(ctx), &ec2.DescribeInstanceAttributeInput{
		InstanceId: &id.ID, Attribute: name,
	}, in(id.Scope))
	if err != nil {
		return nil, p.fail(err, "read the protection of", id.String(), "ec2:DescribeInstanceAttribute", reading)
	}
	return out, nil
}

func flag(v *types.AttributeBooleanValue) guard.Tri {
	if v == nil || v.Value == nil {
		return guard.Unknown
	}
	return guard.TriOf(*v.Value)
}

// Unprotect takes termination protection off an instance; what has none, a
// volume say, stays as it is. Whether guard may is the caller's to know.
func (p *Provider) Unprotect(ctx context.Context, id guard.ResourceID) error {
	if err := p.actOn(ctx, "unprotect", id); err != nil {
		return err
	}
	if id.Kind == guard.Volume {
		return nil
	}
	_, err := p.ec2.ModifyInstanceAttribute(providers.Write(ctx), &ec2.ModifyInstanceAttributeInput{
		InstanceId:            &id.ID,
		DisableApiTermination: &types.AttributeBooleanValue{Value: sdk.Bool(false)},
	}, in(id.Scope))
	if err != nil {
		return p.fail(err, "unprotect", id.String(), "ec2:ModifyInstanceAttribute", writing)
	}
	return nil
}

// The longest key and value of a tag that EC2 takes ("Tag restrictions").
const (
	mostTagKey   = 128
	mostTagValue = 256
)

// Tag writes the given tags and leaves the others. A value longer than EC2 takes
// is cut, a key longer than that or in EC2's own name space is guard.ErrInvalid.
func (p *Provider) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	if err := p.actOn(ctx, "tag", id); err != nil {
		return err
	}
	if len(tags) == 0 {
		return nil
	}
	req := &ec2.CreateTagsInput{Resources: []string{id.ID}}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if k == "" || len([]rune(k)) > mostTagKey || len(k) >= 4 && k[:4] == "aws:" {
			return fmt.Errorf("%w: tag %s: EC2 takes no tag named %q", guard.ErrInvalid, id, providers.Text(k, mostTagKey))
		}
		req.Tags = append(req.Tags, types.Tag{Key: sdk.String(k), Value: sdk.String(providers.Text(tags[k], mostTagValue))})
	}
	if _, err := p.ec2.CreateTags(providers.Write(ctx), req, in(id.Scope)); err != nil {
		return p.fail(err, "tag", id.String(), "ec2:CreateTags", writing)
	}
	return nil
}

// The adapter has these capabilities.
var (
	_ providers.Provider  = (*Provider)(nil)
	_ providers.Stopper   = (*Provider)(nil)
	_ providers.Tagger    = (*Provider)(nil)
	_ providers.Protector = (*Provider)(nil)
)
