// Package compshare is the adapter of CompShare, the GPU cloud of UCloud.
//
// What it knows of CompShare, and where its facts come from (the pages of
// www.compshare.cn/docs, 2026, "pages"; the vendor's own command line tool, 2026, "tool"; what
// users of the API wrote down of its answers, 2026, "users"):
//
//   - An instance, machine or container, is an instance. What it costs is told only where it
//     is asked for by ID (users): the whole instance, in yuan, for the period of its
//     ChargeType (pages).
//   - Postpay is by the hour and stops with the instance: disks beyond what is free and a paid
//     image go on (pages). Dynamic, Day, Month and Year are paid ahead, and a stop saves
//     nothing (pages).
//   - A spot instance cannot be stopped, only deleted; taken back it is Stopped, and kept for
//     seven days (pages).
//   - Only what is Stopped is terminated. The system disk goes with it; data disks stay and
//     bill on, and are volumes here (pages; their list: tool).
//   - What an account's own images hold beyond 30 GB costs by the day (pages). They are read in
//     each region by itself (tool), and deleted where they are not published (pages).
//   - Shared bandwidth and cloud storage, which cost, too, are nothing that guard lists.
//   - An instance has one operation at a time; what it stands in the way of is refused with
//     InstanceOperationInProgress, for ten minutes at most (pages).
//   - An account is a project: without a name it is the default one (pages).
//   - Every answer has the status 200: what failed has a RetCode other than 0.
package compshare

import (
	"context"
	"fmt"
	"sync"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "compshare"
	// Scope is the only one: one listing has all regions.
	Scope = "global"

	endpoint = "https://api.compshare.cn"
	cny      = "CNY"
)

// The rate that one account keeps to. CompShare publishes none.
const (
	callsPerSecond = 5
	callsBurst     = 20
)

// Options is what an adapter is made of. In its Book an instance's type is its GpuType, a
// volume's data-disk, an image's custom-image.
type Options = providers.Options[Config]

// Provider is one project of a CompShare account. What it remembers may all be lost: it costs
// calls.
type Provider struct {
	name string
	book *prices.Book
	api  providers.API
	keys Config

	mu     sync.Mutex
	quotes map[string]quote // by the ID of an instance
	places places
}

var (
	_ providers.Provider     = (*Provider)(nil)
	_ providers.Stopper      = (*Provider)(nil)
	_ providers.SignalSource = (*Provider)(nil)
)

// New makes the adapter. It calls nothing. Without a name or keys it is guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.PublicKey.IsSet() || !o.Config.PrivateKey.IsSet() {
		return nil, fmt.Errorf("%w: a CompShare account needs a name, a public_key and a private_key", guard.ErrInvalid)
	}
	return &Provider{
		name: o.Name, book: o.Book, keys: o.Config, quotes: map[string]quote{},
		api: providers.API{
			Transport: o.Transport(callsPerSecond, callsBurst),
			Base:      providers.Endpoint(o.Config.Endpoint, endpoint, ""),
			Kind:      kindOf,
		},
	}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are CompShare's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Second, // pages: Postpay counts seconds, and writes a bill each hour
		// A running instance is stopped first and looked at again after stopWait; how long that
		// takes nobody says. Measured releases lengthen it.
		ReleaseLead: 3 * time.Minute,
		// IDs are drawn by the server, and no request can choose one (pages).
		ImmutableIDs: true,
		HasGet:       true,
		// A disk or an image is looked for in the list of all.
		ListedOnly: []guard.Kind{guard.Volume, guard.Image},
		// Of what is terminated nothing is told any more.
		TerminalBilling: false,
		Stop:            guard.StopSavesCompute,
		StopBy: map[string]guard.StopEffect{
			postpay: guard.StopSavesCompute, dynamic: guard.StopSavesNothing, day: guard.StopSavesNothing,
			month: guard.StopSavesNothing, year: guard.StopSavesNothing, "Spot": guard.StopUnsupported,
		},
		StopFirst:   true,    // pages
		StoppedEnds: keptOff, // pages: Postpay, at noon of the seventh day
		// pages: an hour after the first bill that is not paid it is stopped, after twelve it is
		// deleted.
		AtZero:         guard.ZeroDeletes,
		PriceUnit:      "machine", // pages: the price of CPU, memory and GPUs together
		DeleteLeaves:   []guard.Kind{guard.Volume, guard.Image},
		ReclaimShows:   "a spot instance is Stopped, which nobody else can do to it",
		Signals:        "utilisation and memory of each GPU in the last minute",
		CallsPerSecond: callsPerSecond,
	}
}

// Identity is the project that is listed: the one of the configuration, or the default.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	id, err := p.project(ctx)
	if err != nil {
		return guard.Identity{}, fmt.Errorf("read the projects of %s: %w", p.name, err)
	}
	return guard.Identity{ID: id, Strong: true}, nil
}

// project asks which projects the keys may see.
func (p *Provider) project(ctx context.Context) (string, error) {
	body, err := p.ask(ctx, "GetProjectList", nil)
	if err != nil {
		return "", err
	}
	var reply struct {
		Set providers.Field `json:"ProjectSet"`
	}
	var all []providers.Field
	if body.Into(&reply); !reply.Set.Into(&all) {
		return "", fmt.Errorf("%w: the answer has no list of projects in it", guard.ErrBadReply)
	}
	for _, f := range all {
		var x struct {
			ID      providers.Field `json:"ProjectId"`
			Default providers.Field `json:"IsDefault"`
		}
		if !f.Into(&x) {
			continue
		}
		id, ok := x.ID.ID(maxID)
		if ok && (id == p.keys.Project || p.keys.Project == "" && x.Default.Tri() == guard.Yes) {
			return id, nil
		}
	}
	if p.keys.Project != "" {
		return "", fmt.Errorf("%w: the keys do not see the project of the configuration", guard.ErrPermission)
	}
	return "", fmt.Errorf("%w: no project is the default one; name one in the configuration", guard.ErrBadReply)
}

func (p *Provider) id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: Scope, ID: id}
}
