// Package autodl is the adapter of AutoDL: its container instances Pro and, of companies,
// the containers of elastic deployments.
//
// What it knows of AutoDL, and where its facts come from (the pages on the APIs of Pro
// instances and of elastic deployments and on the balance, www.autodl.com/docs, 2026,
// "pages"; what users of the API wrote down of its answers, 2026, "users"):
//
//   - A Pro instance is an instance. Its price stands only in the detail of each one, in
//     thousandths of a yuan an hour (pages). Whether that is for all of its GPUs is not
//     said, and the example has one: it is taken for the whole instance.
//   - Off, it costs no compute; a disk beyond the one that it is created with may go on, at a
//     price that is not told. After 15 days off it is deleted with its data (pages).
//   - Only what is off can be released (pages).
//   - A container of a deployment is an instance, named "deployment/DEPLOYMENT/CONTAINER".
//     It is only stopped, and ends with that; its deployment would start another.
//   - The API tells no utilisation, tags, locks, charges or reclaims, and not whose a token is.
//   - Every answer has the status 200: what failed has a code other than Success. There is no
//     list of the codes (pages); those known here are users'.
//   - Ordinary instances, those that are no Pro, have no API.
package autodl

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "autodl"
	// Scope is that of Pro instances, of all regions: one listing has them.
	Scope = "global"
	// Deployments is that of elastic deployments, another API with other permissions: an
	// account that may not have any does not have this scope.
	Deployments = "deployments"

	endpoint = "https://api.autodl.com"
	cny      = "CNY"
)

// The rate that one account keeps to. AutoDL publishes none.
const (
	callsPerSecond = 5
	callsBurst     = 20
)

// Options is what an adapter is made of. In its Book a Pro instance's type is its
// gpu_spec_uuid, a container's its GPU; it also says what a stopped instance's disk does.
type Options = providers.Options[Config]

// Provider is one AutoDL account. What it remembers may all be lost: it costs calls.
type Provider struct {
	name     string
	book     *prices.Book
	api      providers.API
	identity guard.Identity

	mu      sync.Mutex
	details map[string]detail // by the ID of a Pro instance
	refused time.Time         // when the account was last told that it has no deployments
	company bool              // it was told of deployments once
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Stopper  = (*Provider)(nil)
	_ providers.Balancer = (*Provider)(nil)
)

// New makes the adapter. It calls nothing. Without a name or a token it is guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.Token.IsSet() {
		return nil, fmt.Errorf("%w: an AutoDL account needs a name and a token", guard.ErrInvalid)
	}
	token := o.Config.Token
	return &Provider{
		name: o.Name, book: o.Book, identity: providers.KeyIdentity(Kind, token), details: map[string]detail{},
		api: providers.API{
			Transport: o.Transport(callsPerSecond, callsBurst),
			Base:      providers.Endpoint(o.Config.Endpoint, endpoint, ""),
			Kind:      kindOf,
			Sign: func(r *http.Request) error {
				r.Header.Set("Authorization", token.Reveal()) // as it is: "Bearer" before it is refused
				return nil
			},
		},
	}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// keptOff is how long an instance that is off is kept.
const keptOff = 15 * 24 * time.Hour

// Truths are AutoDL's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Second, // pages: by the second, from on to off
		// A running instance is stopped first, which takes seconds (users), and looked at again
		// after stopWait; measured releases lengthen it.
		ReleaseLead: time.Minute,
		// IDs are drawn by the server, and no request can choose one (pages).
		ImmutableIDs: true,
		HasGet:       true,
		// Of what is released nothing is told any more, and of containers a terminal state only
		// where somebody asks for those that are gone.
		TerminalBilling: false,
		Stop:            guard.StopSavesCompute, // pages: off ends the billing of the GPU
		StopBy: map[string]guard.StopEffect{
			payg:                           guard.StopSavesCompute,
			"payg, without a further disk": guard.StopSavesAll,
			"any other charge_type":        guard.StopSavesNothing, // paid ahead
			"container of a deployment":    guard.StopUnsupported,  // its stop is its end
		},
		StopFirst:      true,    // pages: power off before a release; users: it is refused otherwise
		StoppedEnds:    keptOff, // pages
		PriceUnit:      "machine",
		DeleteLeaves:   []guard.Kind{},
		ReclaimShows:   "not told: there are no spot instances; what the platform takes away is not found",
		CallsPerSecond: callsPerSecond,
	}
}

// Identity is the fingerprint of the token, for no call tells whose it is. It asks nobody.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	if err := ctx.Err(); err != nil {
		return guard.Identity{}, fmt.Errorf("identify %s: %w", p.name, err)
	}
	id := p.identity
	id.Self = here(providers.ContainerEnv(os.Getenv, os.ReadFile))
	return id, nil
}

// Variables in which a container finds its own ID and that of its deployment (pages).
const (
	containerEnv  = "AutoDLContainerUUID"
	deploymentEnv = "AutoDLDeploymentUUID"
)

// here is the ID of the instance that this runs on, by its container's variables; "" where it
// is none.
func here(env func(string) string) string {
	id := env(containerEnv)
	if d := env(deploymentEnv); d != "" && id != "" {
		id = containerID(d, id)
	}
	if len(id) > 2*maxID || providers.Text(id, 2*maxID) != id {
		return ""
	}
	return id
}

func (p *Provider) id(scope, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: guard.Instance, Scope: scope, ID: id}
}
