// Package aws is the adapter of Amazon EC2, on the official SDK.
//
// What it knows of EC2, and where its numbers come from:
//
//   - An instance bills while it runs, by the second and for at least a minute
//     (EC2 on-demand pricing, Linux). It does not while pending, stopped,
//     shutting down or terminated, nor while stopping unless it hibernates.
//   - A listing is complete when the page without a token has come. A terminated
//     instance stays visible for about an hour and is reported as gone until then.
//   - LaunchTime is the *last* launch: stopping and starting renews it. The
//     creation time is the attach time of what the instance was born with, see
//     [created].
//   - Prices are in no listing: they come from the price book, or stay unknown.
//   - DescribeInstances tells nothing of termination protection: a special call
//     does, see [Provider.Protection].
//   - An Auto Scaling group replaces a member that is terminated, and one that is
//     stopped it terminates, too ("Health checks for instances in an Auto Scaling
//     group"). So a member, which its tag tells, is released through its group,
//     which then wants one fewer, and is never stopped.
package aws

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwschemas "github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// Kind is the provider's name in a configuration.
const Kind = "aws"

// Options is what an adapter is made of. Without a Base the transport honours AWS_CA_BUNDLE and
// the proxy variables.
type Options = providers.Options[Config]

// Provider is one AWS account. What it remembers is only what never changes in
// EC2 (the GPUs of a type, the spot request of an instance), so that losing it
// costs calls and nothing else.
type Provider struct {
	name    string
	book    *prices.Book
	listed  []string // regions as configured; nil means all
	home    string   // the region that answers for the account
	ec2     *ec2.Client
	asg     *autoscaling.Client
	sts     *sts.Client
	cw      *cloudwatch.Client
	secrets []guard.Secret

	cloudwatch CloudWatch
	watched    watched

	mu       sync.Mutex
	gpus     map[string]gpu                    // by instance type
	requests map[string]types.SpotInstanceType // by spot request
	started  map[string]map[string][]string    // by region, and image: the instances of the last listing
	spot     map[string]string                 // spot request by instance; "" for on demand
}

// The caches are dropped when they grow past any account we know of.
const maxRemembered = 100_000

// The rate that one account keeps to over all regions. EC2 throttles each region
// by a bucket of 50 to 100 calls, refilled at 5 to 20 a second ("Request
// throttling for the Amazon EC2 API"); half of the slowest listing bucket leaves
// room for the people who share the account.
const (
	callsPerSecond = 10
	callsBurst     = 40
)

// New makes the adapter. It reads the SDK's usual files and variables, and calls
// nothing.
func New(ctx context.Context, o Options) (*Provider, error) {
	secrets := o.Config.secrets()
	metadata := imds.ClientDisabled
	if o.Config.IMDS {
		metadata = imds.ClientDefaultEnableState
	}
	load := []func(*config.LoadOptions) error{
		// Providers' transport retries, and knows reads from writes.
		config.WithRetryer(func() sdk.Retryer { return sdk.NopRetryer{} }),
		// Off AWS the look-up of an instance role hangs, and on it guard takes on
		// the machine's role only where somebody said so.
		config.WithEC2IMDSClientEnableState(metadata),
		config.WithLogger(logging.Nop{}), // guard's own log says what went wrong
	}
	if o.Config.Profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.Config.Profile))
	}
	if o.Config.AccessKeyID.IsSet() {
		load = append(load, config.WithCredentialsProvider(sdkcredentials.NewStaticCredentialsProvider(
			o.Config.AccessKeyID.Reveal(), o.Config.SecretAccessKey.Reveal(), o.Config.SessionToken.Reveal())))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("%w: account %s: load the AWS configuration: %w; check the profile and ~/.aws/config",
			guard.ErrInvalid, o.Name, providers.Redact(err, secrets...))
	}
	p := &Provider{
		name: o.Name, book: o.Book, secrets: secrets, listed: o.Config.listed(), cloudwatch: o.Config.CloudWatch,
		gpus: map[string]gpu{}, requests: map[string]types.SpotInstanceType{}, started: map[string]map[string][]string{}, spot: map[string]string{},
	}
	p.home = homeRegion(cfg.Region, p.listed)
	p.setUp(cfg, o)
	return p, nil
}

// String names the account and nothing else: a Provider holds credentials.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

func (p *Provider) setUp(cfg sdk.Config, o Options) {
	if o.Base == nil {
		// The SDK's own client carries AWS_CA_BUNDLE. It is taken out here, after
		// loading: handing ours to the loader makes it refuse that variable.
		if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
			o.Base = b.GetTransport()
		}
	}
	o.Base = calmly{o.Base}
	cfg.HTTPClient = strictly{o.Transport(callsPerSecond, callsBurst)}
	cfg.Region = p.home
	cfg.ClientLogMode = 0
	if cfg.Credentials != nil {
		cfg.Credentials = sdk.NewCredentialsCache(credentials{cfg.Credentials})
	}
	var endpoint *string
	if o.Config.Endpoint != "" {
		endpoint = &o.Config.Endpoint
	}
	p.ec2 = ec2.NewFromConfig(cfg, func(e *ec2.Options) {
		if endpoint != nil {
			e.BaseEndpoint = endpoint
		}
	})
	p.asg = autoscaling.NewFromConfig(cfg, func(a *autoscaling.Options) {
		if endpoint != nil {
			a.BaseEndpoint = endpoint
		}
	})
	p.cw = cloudwatch.NewFromConfig(cfg, func(c *cloudwatch.Options) {
		// The form of EC2's and of STS's replies, so that the same checks hold.
		c.Protocol = awsquery.New(cwschemas.GraniteServiceVersion20100801)
		if endpoint != nil {
			c.BaseEndpoint = endpoint
		}
	})
	p.sts = sts.NewFromConfig(cfg, func(s *sts.Options) {
		if endpoint != nil {
			s.BaseEndpoint = endpoint
		}
	})
}

func homeRegion(configured string, listed []string) string {
	switch {
	case configured != "":
		return configured
	case len(listed) > 0:
		return listed[0]
	}
	return "us-east-1"
}

// Truths are EC2's: one second and a minute of Linux billing, IDs never used
// again, tombstones that end the billing. A terminate call ends the billing when
// the instance leaves `running`, within seconds; a minute covers a slow answer.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity:     time.Second,
		Minimum:         time.Minute,
		ReleaseLead:     time.Minute,
		ImmutableIDs:    true,
		HasGet:          true,
		TerminalBilling: true,
		Stop:            guard.StopSavesCompute,
		PriceUnit:       "machine",
		DeleteLeaves:    []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address},
		ReclaimShows:    "terminated or stopped with the reason Server.SpotInstanceTermination or Server.SpotInstanceShutdown, listed for about an hour",
		Signals:         "only where the CloudWatch agent runs; processors, disks and network without it",
		CallsPerSecond:  callsPerSecond,
	}
}

// Identity is the account number that STS tells for the credentials.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	out, err := p.sts.GetCallerIdentity(providers.Read(ctx), &sts.GetCallerIdentityInput{})
	if err != nil {
		return guard.Identity{}, p.fail(err, "identify", "account "+p.name, "sts:GetCallerIdentity", reading)
	}
	id := sdk.ToString(out.Account)
	if !accountNumber.MatchString(id) {
		return guard.Identity{}, fmt.Errorf("%w: identify account %s: STS names no account number; check the endpoint", guard.ErrBadReply, p.name)
	}
	return guard.Identity{ID: id, Strong: true, Self: self(assetTag)}, nil
}

var (
	accountNumber = regexp.MustCompile(`^\d{12}$`)
	instanceID    = regexp.MustCompile(`^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$`)
	leftoverIDs   = map[guard.Kind]*regexp.Regexp{
		guard.Snapshot: regexp.MustCompile(`^snap-(?:[0-9a-f]{8}|[0-9a-f]{17})$`),
		guard.Image:    regexp.MustCompile(`^ami-(?:[0-9a-f]{8}|[0-9a-f]{17})$`),
		guard.Address:  regexp.MustCompile(`^eipalloc-(?:[0-9a-f]{8}|[0-9a-f]{17})$`),
	}
	volumeID = regexp.MustCompile(`^vol-(?:[0-9a-f]{8}|[0-9a-f]{17})$`)
)

// assetTag is where a Nitro instance finds its own ID without asking the
// metadata service ("Identify EC2 Linux instances", DMI).
const assetTag = "/sys/class/dmi/id/board_asset_tag"

// self is the ID of the EC2 instance this runs on; "" where it is none, or an
// older one that does not tell.
func self(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	id := strings.TrimSpace(string(b))
	if !instanceID.MatchString(id) {
		return ""
	}
	return id
}

// in directs one call to a region.
func in(region string) func(*ec2.Options) {
	return func(o *ec2.Options) { o.Region = region }
}

func (p *Provider) id(kind guard.Kind, region, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: region, ID: id}
}
