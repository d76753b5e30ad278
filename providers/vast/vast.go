// Package vast is the adapter of Vast.ai, on its REST API.
//
// What it knows of Vast, and where its facts come from (the API's own description of 2026,
// "description", the guides and the pages on billing of docs.vast.ai, "pages", and the
// vendor's own command line tool, "CLI"):
//
//   - An instance is a contract on a host's machine. It bills `instance.totalHour` an hour,
//     the whole machine with its disk; stopped, that is what the disk costs, until it is
//     destroyed. Traffic bills in and out, in every state, at the host's price. Deposits of
//     reserved instances are not read, and their discount is not deducted: Vast takes it back
//     where one ends early (pages). `storage_cost` is per hour (description) or per GB and
//     month (CLI), and so it is not read.
//   - Two sorts of words tell of an instance: of the contract (cur_state, next_state,
//     intended_status) and of the container (actual_status). The contract says what bills.
//   - A volume is a disk of one host, with a contract of its own. It stays when its
//     instances go, and cannot be deleted before.
//   - There is one label and there are no tags. The label is people's own: their tools find
//     instances by it, and writing it writes all of it. So guard does not keep a lease in it.
//   - There are no locks. Serverless endpoints bill nothing but their workers, which are
//     instances (pages), and seen where the listing has them.
package vast

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "vast"
	// Scope is the only one: a listing has the instances on all hosts.
	Scope = "global"
	// endpoint is the server of the description; its paths begin with api.
	endpoint = "https://console.vast.ai"
	usd      = "USD"
)

// callsPerSecond is the rate that one account keeps to. Vast wants a pause between two
// calls of one sort: two seconds for instances and volumes, without bursts (pages, rate
// limits; description, the examples of 429 name up to 5.5 seconds).
const callsPerSecond = 0.5

// Options is what an adapter is made of. In its Book an instance's type is the name of its
// GPU, the one of a volume is volume.
type Options = providers.Options[Config]

// Provider is one Vast account. What it remembers may all be lost: it costs calls.
type Provider struct {
	name string
	book *prices.Book
	api  providers.API
	held providers.Held
}

var (
	_ providers.Provider     = (*Provider)(nil)
	_ providers.Stopper      = (*Provider)(nil)
	_ providers.SignalSource = (*Provider)(nil)
	_ providers.Biller       = (*Provider)(nil)
	_ providers.Balancer     = (*Provider)(nil)
)

// New makes the adapter. It calls nothing. Without a name or a key it is guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.APIKey.IsSet() {
		return nil, fmt.Errorf("%w: a Vast account needs a name and an api_key", guard.ErrInvalid)
	}
	return &Provider{
		name: o.Name, book: o.Book,
		api: providers.API{
			Transport: o.Transport(callsPerSecond, 1),
			Base:      providers.Endpoint(o.Config.Endpoint, endpoint, "/api"),
			Kind:      kindOf,
			Sign:      providers.Bearer(o.Config.APIKey),
		},
	}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are Vast's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Second, // pages: billed by the second, for actual usage
		// The API accepts a destruction with nothing said of how long it takes: no source. A
		// minute covers a slow answer; measured releases lengthen it.
		ReleaseLead: time.Minute,
		// IDs are numbers that the server gives to contracts, one after the other
		// (description, new_contract).
		ImmutableIDs: true,
		HasGet:       true,
		// description: of volumes there is only the list of all.
		ListedOnly: []guard.Kind{guard.Volume},
		// What is destroyed is not shown any more (pages), so there is no last word.
		TerminalBilling: false,
		// pages: storage bills on while an instance is stopped, and the GPU does not; with an
		// SLA that is not sure.
		Stop:   guard.StopSavesCompute,
		StopBy: map[string]guard.StopEffect{"without an SLA": guard.StopSavesCompute, "with an SLA": guard.StopSavesNothing},
		// pages: at a balance of nothing instances are stopped, and their disks bill into
		// debt; without a card on file they are destroyed some time later.
		AtZero:    guard.ZeroStops,
		PriceUnit: "machine", // description: the prices of an instance are the contract's
		// pages: a volume outlives the instances that it is attached to.
		DeleteLeaves: []guard.Kind{guard.Volume},
		// pages: an instance that is outbid is paused; nothing tells it from one that
		// somebody stopped.
		ReclaimShows:   "an interruptible instance is stopped, all three words of its contract say so; its disk bills on",
		Signals:        "one utilisation for each instance, at the moment; of several GPUs, of which is not told",
		CallsPerSecond: callsPerSecond,
	}
}

// user is what is read of whose key it is. Its other fields are names, addresses and keys.
type user struct {
	Success providers.Field `json:"success"`
	Error   providers.Field `json:"error"`
	ID      providers.Field `json:"id"`
	Balance providers.Field `json:"balance"`
	Credit  providers.Field `json:"credit"`
}

func (p *Provider) user(ctx context.Context) (user, error) {
	var u user
	err := p.api.Get(providers.Read(ctx), &u, nil, "api", "v0", "users", "current")
	if err == nil {
		err = refusal(u.Success, u.Error)
	}
	if isAbsent(err) {
		err = fmt.Errorf("%w: the key's user is not found", guard.ErrBadReply)
	}
	return u, err
}

// Identity is the number of the user that the key is of.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	u, err := p.user(ctx)
	if err != nil {
		return guard.Identity{}, fmt.Errorf("read whose key that of %s is: %w", p.name, err)
	}
	id, ok := number(u.ID)
	if !ok {
		return guard.Identity{}, fmt.Errorf("%w: the reply does not say whose key that of %s is", guard.ErrBadReply, p.name)
	}
	return guard.Identity{ID: id, Strong: true, Self: here(providers.ContainerEnv(os.Getenv, os.ReadFile))}, nil
}

// Balance is what is left of the account. The description names `balance` alone; accounts
// that paid ahead are seen with that at nothing and what is left in `credit`, which the CLI
// shows, too. So the one that is not nothing counts, and of two the lesser.
func (p *Provider) Balance(ctx context.Context) (guard.Balance, error) {
	u, err := p.user(ctx)
	if err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w", p.name, err)
	}
	left, ok := u.Balance.Money(usd)
	if credit := u.Credit; ok && len(credit) > 0 {
		var paid guard.Money
		paid, ok = credit.Money(usd)
		if lesser, err := paid.Cmp(left); err == nil && !paid.IsZero() && (left.IsZero() || lesser < 0) {
			left = paid
		}
	}
	if !ok {
		return guard.Balance{}, fmt.Errorf("%w: the reply does not say what is left of the balance of %s", guard.ErrBadReply, p.name)
	}
	return guard.Balance{Amount: left}, nil
}

// The variables in which a container finds its instance's number: by itself, and as
// C.NUMBER.
const (
	idEnv    = "CONTAINER_ID"
	labelEnv = "VAST_CONTAINERLABEL"
)

// here is the ID of the instance that this runs in, by its container's variables; "" where it
// is none.
func here(env func(string) string) string {
	for _, k := range []string{labelEnv, idEnv} {
		id := strings.TrimPrefix(env(k), "C.")
		if id, ok := number(providers.Field(id)); ok {
			return id
		}
	}
	return ""
}

func (p *Provider) id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: Scope, ID: id}
}
