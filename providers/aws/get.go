package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
)

// idsPerCall is how many IDs one describe call asks for.
const idsPerCall = 200

// Get reads instances and what may outlive them by ID, one call for each kind, region
// and 200 IDs; of snapshots and images also what needs them.
//
// An ID with a scope is asked for there and nowhere else: a resource of EC2 never
// leaves its region. Without one every region is asked, and "absent" needs all of
// them to say so. A terminated instance is found, as guard.StateGone, for about
// an hour.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	ctx = providers.Read(ctx)
	c := &collector{found: map[string]guard.Lookup{}}
	type batch struct {
		kind   guard.Kind
		region string
	}
	ask := map[batch][]string{}
	var anywhere []guard.ResourceID
	for _, id := range ids {
		switch err := p.readable(id); {
		case err != nil:
			c.see(id, guard.Lookup{Verdict: guard.VerdictUnknown, Err: err})
		case id.Scope == "":
			anywhere = append(anywhere, id)
		default:
			b := batch{id.Kind, id.Scope}
			ask[b] = append(ask[b], id.ID)
		}
	}
	if len(anywhere) > 0 {
		regions, err := p.regions(ctx)
		for _, id := range anywhere {
			if err != nil {
				c.see(id, guard.Lookup{Verdict: guard.VerdictUnknown, Err: fmt.Errorf("find %s: %w", id, err)})
			}
			for _, region := range regions {
				b := batch{id.Kind, region}
				ask[b] = append(ask[b], id.ID)
			}
		}
	}
	var all errgroup.Group
	all.SetLimit(regionsAtOnce)
	for b, names := range ask {
		slices.Sort(names)
		for some := range slices.Chunk(slices.Compact(names), idsPerCall) {
			all.Go(func() error {
				p.getBatch(ctx, b.kind, b.region, some, c)
				return nil
			})
		}
	}
	_ = all.Wait() // each lookup has its own error
	return c.answers(ids)
}

// readable refuses what EC2 would refuse together with all others of its batch.
func (p *Provider) readable(id guard.ResourceID) error {
	form, example := instanceID, "i-0123456789abcdef0"
	switch id.Kind {
	case guard.Instance:
	case guard.Volume:
		form, example = volumeID, "vol-0123456789abcdef0"
	case guard.Snapshot:
		form, example = leftoverIDs[id.Kind], "snap-0123456789abcdef0"
	case guard.Image:
		form, example = leftoverIDs[id.Kind], "ami-0123456789abcdef0"
	case guard.Address:
		form, example = leftoverIDs[id.Kind], "eipalloc-0123456789abcdef0"
	default:
		return fmt.Errorf("%w: read %s: the aws adapter does not read a %s", guard.ErrUnsupported, id, id.Kind)
	}
	if id.Account != p.name {
		return fmt.Errorf("%w: read %s: this is account %s", guard.ErrInvalid, id, p.name)
	}
	if !form.MatchString(id.ID) {
		return fmt.Errorf("%w: read %s: not the ID of an EC2 %s, such as %s", guard.ErrInvalid, id, id.Kind, example)
	}
	return nil
}

// collector gathers what several regions say of each ID: found in one is found,
// absent needs all, and whatever is between is unknown.
type collector struct {
	mu    sync.Mutex
	found map[string]guard.Lookup
}

func (c *collector) see(id guard.ResourceID, l guard.Lookup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, seen := c.found[id.Key()]
	if !seen || rank(l.Verdict) > rank(was.Verdict) {
		c.found[id.Key()] = l
	}
}

func rank(v guard.Verdict) int {
	return slices.Index([]guard.Verdict{guard.VerdictAbsent, guard.VerdictUnknown, guard.VerdictFound}, v)
}

func (c *collector) answers(ids []guard.ResourceID) []guard.Lookup {
	out := make([]guard.Lookup, len(ids))
	for i, id := range ids {
		l, ok := c.found[id.Key()]
		if !ok { // no region was asked
			l = guard.Lookup{Verdict: guard.VerdictUnknown, Err: fmt.Errorf("%w: read %s: no region to ask", guard.ErrInvalid, id)}
		}
		l.ID = id
		out[i] = l
	}
	return out
}

// getBatch reads some IDs in one region. EC2 refuses a whole batch for one ID
// that it does not know and names it: the others are asked for again. Where it
// names none of ours, halves are asked for, down to a single one. Of that one a
// refusal that names only others proves nothing.
func (p *Provider) getBatch(ctx context.Context, kind guard.Kind, region string, ids []string, c *collector) {
	for len(ids) > 0 {
		found, err := p.describe(ctx, kind, region, ids)
		for _, r := range found {
			c.see(r.ID, guard.Lookup{Verdict: guard.VerdictFound, Resource: r})
		}
		if err == nil {
			p.unnamed(kind, region, ids, found, c)
			return
		}
		verdict := guard.VerdictUnknown
		switch {
		case strings.HasSuffix(code(err), ".NotFound"), code(err) == "InvalidAMIID.Unavailable":
			verdict = guard.VerdictAbsent
		case strings.HasSuffix(code(err), ".Malformed"):
		default:
			p.tell(kind, region, ids, guard.VerdictUnknown, err, c)
			return
		}
		names := namedIn(err)
		named := intersect(names, ids)
		switch {
		case len(named) == 0 && len(ids) > 1:
			half := len(ids) / 2
			p.getBatch(ctx, kind, region, ids[:half], c)
			ids = ids[half:]
			continue
		case len(named) == 0 && len(names) > 0:
			p.unnamed(kind, region, ids, found, c)
			return
		case len(named) == 0:
			named = ids
		}
		p.tell(kind, region, named, verdict, err, c)
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(named, id) })
	}
}

func (p *Provider) tell(kind guard.Kind, region string, ids []string, v guard.Verdict, err error, c *collector) {
	for _, name := range ids {
		id := p.id(kind, region, name)
		l := guard.Lookup{Verdict: v}
		if v == guard.VerdictUnknown {
			l.Err = p.fail(err, "read", id.String()+" in "+region, describeCall[kind], reading)
		}
		c.see(id, l)
	}
}

// unnamed marks what a reply left out without a word: EC2 answers for each ID or
// refuses it, so that this is no proof of anything. Images alone it leaves out once they
// are deregistered (DescribeImages, API reference).
func (p *Provider) unnamed(kind guard.Kind, region string, ids []string, found []guard.Resource, c *collector) {
	for _, name := range ids {
		if slices.ContainsFunc(found, func(r guard.Resource) bool { return r.ID.ID == name }) {
			continue
		}
		id := p.id(kind, region, name)
		if kind == guard.Image {
			c.see(id, guard.Lookup{Verdict: guard.VerdictAbsent})
			continue
		}
		err := fmt.Errorf("%w: read %s in %s: the answer to %s leaves it out", guard.ErrBadReply, id, region, describeCall[kind])
		c.see(id, guard.Lookup{Verdict: guard.VerdictUnknown, Err: err})
	}
}

var describeCall = map[guard.Kind]string{
	guard.Instance: "ec2:DescribeInstances",
	guard.Volume:   "ec2:DescribeVolumes",
	guard.Snapshot: "ec2:DescribeSnapshots",
	guard.Image:    "ec2:DescribeImages",
	guard.Address:  "ec2:DescribeAddresses",
}

func (p *Provider) describe(ctx context.Context, kind guard.Kind, region string, ids []string) ([]guard.Resource, error) {
	if kind == guard.Volume {
		out, err := p.ec2.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: ids}, in(region))
		if err != nil {
			return nil, err
		}
		var found []guard.Resource
		for _, v := range out.Volumes {
			if slices.Contains(ids, sdk.ToString(v.VolumeId)) {
				found = append(found, p.volume(region, v))
			}
		}
		return found, nil
	}
	if leftoverIDs[kind] != nil {
		return p.describeLeftover(ctx, kind, region, ids)
	}
	out, err := p.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids}, in(region))
	if err != nil {
		return nil, err
	}
	got, err := instancesOf(out.Reservations)
	if err != nil {
		return nil, err
	}
	found := p.complete(ctx, region, got)
	return slices.DeleteFunc(found, func(r guard.Resource) bool { return !slices.Contains(ids, r.ID.ID) }), nil
}

var idInText = regexp.MustCompile(`\b(?:i|vol|snap|ami|eipalloc)-[0-9a-f]{8,17}\b`)

// namedIn are the IDs in the text of an error: "The instance IDs 'i-0a, i-0b' do
// not exist".
func namedIn(err error) []string {
	var api interface{ ErrorMessage() string }
	if !errors.As(err, &api) {
		return nil
	}
	return idInText.FindAllString(api.ErrorMessage(), -1)
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
