// Package lambda is the adapter of Lambda's cloud (cloud.lambda.ai), on its REST API v1.
//
// What it knows of Lambda, and where its facts come from (the API's own description,
// version 1.8.3 of 2026, "description"; where that is silent, "facts" collected from
// Lambda's pages in 2026):
//
//   - An instance bills the price of its type, the whole machine, by the minute, from its
//     launch until it is terminated (facts). There is no stop.
//   - A file system is network storage that instances mount. It is kept on purpose without
//     any, and bills all the time (facts). What a GB costs the API does not tell: a price
//     book may.
//   - Instances can be read one by one, file systems only as a list of all.
//   - No call tells whose a key is, when an instance was launched, how much it works, or
//     what is owed. The audit log has the time of each launch for as long as it is kept,
//     which nobody says: its earliest event of an instance need not be its launch, and a
//     creation time that changes would make another instance of it.
//   - Tags can be read and not written.
//   - Listings come in one reply, without pages.
package lambda

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "lambda"
	// Scope is the only one: listings are of all regions.
	Scope = "global"
	// endpoint is the server of the description; its paths begin with api/v1.
	endpoint = "https://cloud.lambda.ai"
	usd      = "USD"
)

// callsPerSecond is the rate that one account keeps to: "generally limited to one request
// per second" (description), less a tenth, for calls come closer together than they were
// sent.
const callsPerSecond = 0.9

// Options is what an adapter is made of. In its Book the type of a file system is
// file-system.
type Options = providers.Options[Config]

// Provider is one Lambda account.
type Provider struct {
	name     string
	book     *prices.Book
	api      providers.API
	identity guard.Identity
}

var _ providers.Provider = (*Provider)(nil)

// New makes the adapter. It calls nothing. Without a name or a key it is guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.APIKey.IsSet() {
		return nil, fmt.Errorf("%w: a Lambda account needs a name and an api_key", guard.ErrInvalid)
	}
	key := o.Config.APIKey
	return &Provider{
		name: o.Name, book: o.Book, identity: providers.KeyIdentity(Kind, key),
		api: providers.API{
			Transport: o.Transport(callsPerSecond, 1),
			Base:      providers.Endpoint(o.Config.Endpoint, endpoint, "/api/v1"),
			Kind:      kindOf,
			Sign:      providers.Bearer(key),
		},
	}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are Lambda's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Minute, // facts
		// A termination is accepted at once, with nothing said of how long it takes: no
		// source. Two minutes cover a slow answer and the minute that has begun; measured
		// releases lengthen it.
		ReleaseLead: 2 * time.Minute,
		// IDs are "unique identifiers" of 32 digits that the server draws; no request can
		// choose one (description).
		ImmutableIDs: true,
		HasGet:       true,
		// description: of file systems there is only the list of all.
		ListedOnly: []guard.Kind{guard.Filesystem},
		// An instance is billed until it is terminated (facts).
		TerminalBilling: true,
		Stop:            guard.StopUnsupported, // description: instances are launched, restarted and terminated
		PriceUnit:       "machine",             // description: the price of the instance type
		// description: a file system has its own life, and cannot be deleted while mounted.
		DeleteLeaves:   []guard.Kind{guard.Filesystem},
		ReclaimShows:   "the status preempted", // description, InstanceStatus
		CallsPerSecond: callsPerSecond,
	}
}

// Identity is the fingerprint of the key: no call tells whose it is. (The audit log names
// the owner of each event's resources, which is not the key's.)
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	if err := ctx.Err(); err != nil {
		return guard.Identity{}, err
	}
	return p.identity, nil
}

func (p *Provider) id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: Scope, ID: id}
}
