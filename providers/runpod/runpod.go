// Package runpod is the adapter of RunPod, on its REST API v2.
//
// What it knows of RunPod, and where its facts come from (the API's own description of
// 2026, "description", and the billing and storage pages of docs.runpod.io, "pages"):
//
//   - A pod is an instance. It bills `cost` an hour, the whole pod, while it is allocated;
//     stopped it costs nothing but its volume disk, at twice the running price (pages).
//     Its container disk and its volume disk end with it; a network volume stays.
//   - What is created, billed and deleted as one is one instance: an Instant Cluster with
//     all its nodes (their pods cannot be deleted one by one), and a serverless endpoint
//     with all its workers. They are named "cluster/ID" and "serverless/ID", since IDs
//     themselves do not tell what they are of.
//   - A network volume is a file system: many pods and endpoints mount it at a time, and
//     it is kept on purpose without any. It counts to the oldest instance that mounts it.
//   - No call tells whose a key is, what is left of the balance, tags, a reclaim, or what was
//     paid ahead for a savings plan. Sandboxes and tags came after that description (pages):
//     they are not read.
//   - Listings come in one reply, without pages.
package runpod

import (
	"cmp"
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
	Kind = "runpod"
	// Scope is the only one: keys see all data centres in one listing.
	Scope = "global"
	// endpoint is the server of the description; its paths begin with v2.
	endpoint = "https://api.runpod.io"
	usd      = "USD"
)

// The rate that one account keeps to. RunPod counts by user: 60 calls a minute, 3000 an
// hour and 50 000 a day (description, the RateLimit headers). This is at most 50 in a
// minute and 43 220 in a day, so that people's own tools go on working.
const (
	callsPerSecond = 0.5
	callsBurst     = 20
)

// Options is what an adapter is made of. In its Book a pod's type is its GPU's ID, the one of
// a network volume is network-volume-high-performance or network-volume-standard.
type Options = providers.Options[Config]

// Provider is one RunPod account. What it remembers may all be lost: it costs calls.
type Provider struct {
	name     string
	book     *prices.Book
	api      providers.API
	identity guard.Identity

	mu        sync.Mutex
	self      string // the instance that guard runs on, once that is known
	catalogue catalogue
	crews     map[string]crew // the workers of each endpoint, as last read
	held      providers.Held
}

var (
	_ providers.Provider     = (*Provider)(nil)
	_ providers.Stopper      = (*Provider)(nil)
	_ providers.Protector    = (*Provider)(nil)
	_ providers.SignalSource = (*Provider)(nil)
	_ providers.Biller       = (*Provider)(nil)
)

// New makes the adapter. It calls nothing. Without a name or a key it is guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.APIKey.IsSet() {
		return nil, fmt.Errorf("%w: a RunPod account needs a name and an api_key", guard.ErrInvalid)
	}
	key := o.Config.APIKey
	return &Provider{
		name: o.Name, book: o.Book, identity: providers.KeyIdentity(Kind, key), crews: map[string]crew{},
		api: providers.API{
			Transport: o.Transport(callsPerSecond, callsBurst),
			Base:      providers.Endpoint(o.Config.Endpoint, endpoint, "/v2"),
			Kind:      kindOf,
			Sign: func(r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+key.Reveal())
				r.Header.Set("Accept", "application/json, application/problem+json") // refusals are the latter
				return nil
			},
		},
	}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are RunPod's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Second, // pages: all compute and storage is billed by the second
		// The API accepts a deletion with nothing said of how long it takes: no source. A
		// minute covers a slow answer; measured releases lengthen it.
		ReleaseLead: time.Minute,
		// IDs are drawn at random by the server, and no request can choose one (description).
		ImmutableIDs: true,
		HasGet:       true,
		// TERMINATED is "permanently deleted", at a cost of 0.0 (description).
		TerminalBilling: true,
		// pages: a stop releases the GPUs and the container disk; the volume disk bills on.
		Stop: guard.StopSavesCompute,
		StopBy: map[string]guard.StopEffect{
			"pod with a volume disk":    guard.StopSavesCompute,
			"pod without a volume disk": guard.StopSavesAll,
			"serverless endpoint":       guard.StopSavesAll,
			"cluster":                   guard.StopUnsupported,
		},
		// pages: at a balance of 0 pods are stopped, and those without a network volume
		// are terminated with their data.
		AtZero:    guard.ZeroDeletes,
		PriceUnit: "machine", // description: `cost` is the pod's; only the catalogue's is a GPU's
		// description: deleting a pod detaches its network volume and leaves it.
		DeleteLeaves: []guard.Kind{guard.Filesystem},
		// v2 has no word for spot pods or their end (description).
		ReclaimShows:   "not told: a pod that was taken back is EXITED or not found, as any other",
		Signals:        "utilisation and memory of each GPU, at the moment",
		CallsPerSecond: callsPerSecond,
	}
}

// Identity is the fingerprint of the key, for no call of API v2 tells whose it is. It asks
// only where guard runs in a pod, once, whether that is a node of a cluster or a worker.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	id := p.identity
	env := providers.ContainerEnv(os.Getenv, os.ReadFile)
	pod := here(env, podEnv)
	if pod == "" {
		return id, nil
	}
	p.mu.Lock()
	id.Self = p.self
	p.mu.Unlock()
	if id.Self != "" {
		return id, nil
	}
	x, err := p.readPod(ctx, pod)
	switch {
	case err == nil:
		id.Self = cmp.Or(x.clusterID(), pod)
	case isAbsent(err):
		id.Self = pod // another account's
		if e := here(env, endpointEnv); e != "" {
			id.Self = endpointPrefix + e // or a worker, which is no pod
		}
	default:
		return guard.Identity{}, fmt.Errorf("read what pod %s, on which guard runs, is of: %w", pod, err)
	}
	p.mu.Lock()
	p.self = id.Self
	p.mu.Unlock()
	return id, nil
}

// The variables in which a pod finds its own ID, and a serverless worker, which has both, that
// of its endpoint (pages). People set the latter elsewhere, too, to call an endpoint.
const (
	podEnv      = "RUNPOD_POD_ID"
	endpointEnv = "RUNPOD_ENDPOINT_ID"
)

// here is the ID that a variable of the container has that this runs in; "" where it has none.
func here(env func(string) string, variable string) string {
	id := env(variable)
	if len(id) > maxID || providers.Text(id, maxID) != id {
		return ""
	}
	return id
}
