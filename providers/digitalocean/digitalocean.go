// Package digitalocean is the adapter of DigitalOcean, on its API v2 through godo.
//
// godo knows the paths and the form of what is sent; what comes back is decoded here, field
// by field. Its own records would take a list that is missing for an empty one, lose a
// whole list for one odd number in it, and keep prices as floats.
//
// What it knows of DigitalOcean, and where its facts come from (the API's own description,
// 2026, "description"; its pages on billing of 2026, "pages"):
//
//   - A droplet is an instance. It bills the price of its size until it is destroyed, off
//     as well as on (pages); its record has the price, so the list of sizes is not asked.
//     Sizes by contract have none: a price book may. Beyond 672 hours a month droplets
//     cost no more, and backups cost a part of the droplet's price, which nothing tells
//     (pages).
//   - A droplet that is a node of Kubernetes has the tags k8s and k8s:CLUSTER; its pool starts
//     another in its place unless the node is deleted through it (description). A droplet of
//     an autoscale pool tells nothing of it.
//   - GPU droplets are in a listing of their own; the plain one hides them (description).
//   - An endpoint of Dedicated Inference is an instance as well, with inference/ before its
//     ID: GPUs that bill by the hour for as long as it is there. Its spec tells how many, the
//     list of sizes what a machine with them costs (description).
//   - A volume is a volume, a snapshot of one a snapshot. A droplet's snapshot is an image:
//     it is made of an instance; so are its backups and what people uploaded. A reserved IP
//     of either version is an address, free while a droplet has it (pages). All of these
//     outlive the droplet. What a GB of them costs no call tells.
//   - The bill is a month's invoice, or the preview of the running one. It is in dollars and
//     shows all things, whatever else the token may read (description).
//   - An NFS share is a file system, and a snapshot of one a snapshot, both with their region
//     before their ID: they are listed and read region by region (description). A share with
//     snapshots is not deleted (godo). What droplets mount it nothing tells.
//   - A tag is one word, which has a key up to its first colon, see [Provider.Tag].
//   - `locked` is DigitalOcean's own lock: of an action under way, or of its staff.
//   - GPUs are not watched. The monitoring of droplets tells rates of traffic, a call for
//     each droplet and direction, and no counters: an agent on the box tells more, for none.
package digitalocean

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/godo"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	// Kind is the provider's name in a configuration.
	Kind = "digitalocean"
	// Scope is that of nearly all: listings are of all regions.
	Scope = "global"
	// server is that of the description; its paths begin with v2.
	server = "https://api.digitalocean.com"
	usd    = "USD"
)

// The rate that one account keeps to. DigitalOcean allows 5000 calls an hour and 250 a
// minute (description, the ratelimit headers); people's own tools share them. A sweep of all
// regions is one burst.
const (
	callsPerSecond = 1
	callsBurst     = 60
)

// Options is what an adapter is made of. In its Book a droplet's type is the slug of its
// size, that of an endpoint's GPUs has inference/ before it; the others are volume,
// volume-snapshot, droplet-snapshot, backup, custom-image, reserved-ip and reserved-ipv6 (of
// one GB), nfs-standard and nfs-high by a share's tier, or nfs, and nfs-snapshot.
type Options = providers.Options[Config]

// Provider is one DigitalOcean account.
type Provider struct {
	name    string
	book    *prices.Book
	api     *godo.Client
	prepaid bool

	mu      sync.Mutex
	specs   map[string]endpoint // as endpoints were read last
	sizes   gpuPrices
	sizesAt time.Time
	slugs   []string // of regions
	slugsAt time.Time
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Tagger   = (*Provider)(nil)
	_ providers.Balancer = (*Provider)(nil)
	_ providers.Biller   = (*Provider)(nil)
)

// New makes the adapter. It calls nothing. Without a name or a token it is
// guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || !o.Config.Token.IsSet() {
		return nil, fmt.Errorf("%w: a DigitalOcean account needs a name and a token", guard.ErrInvalid)
	}
	base := providers.Endpoint(o.Config.Endpoint, server, "/v2")
	api, err := godo.New(strictly(o.Transport(callsPerSecond, callsBurst), o.Config.Token), godo.SetBaseURL(base+"/"), godo.SetUserAgent("guard"))
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is not a URL; write it as https://HOST", guard.ErrInvalid)
	}
	return &Provider{name: o.Name, book: o.Book, api: api, prepaid: o.Config.Prepaid}, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are DigitalOcean's.
func (p *Provider) Truths() guard.Truths {
	return guard.Truths{
		Granularity: time.Second, // pages: by the second, from 2026-01-01 on
		Minimum:     time.Minute, // pages: or a cent, whichever is more
		// The API accepts a deletion with nothing said of how long it takes: no source. A
		// minute covers a slow answer; measured releases lengthen it.
		ReleaseLead: time.Minute,
		// IDs are drawn by the server (description). An address's is the address, which may
		// be somebody else's later.
		ImmutableIDs: true,
		HasGet:       true,
		// A droplet that was destroyed is not found: there is no terminal state.
		TerminalBilling: false,
		Stop:            guard.StopSavesNothing, // pages: what is off keeps its CPUs, memory and disk, and bills
		// pages: invoices are sent afterwards; credit that is used up becomes debt.
		AtZero:    guard.ZeroNothing,
		PriceUnit: "machine", // description: the price of the size
		// description, "destroy_with_associated_resources": they stay unless asked for. Shares
		// are of a network, not of a droplet.
		DeleteLeaves:   []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem},
		ReclaimShows:   "never: there are no spot droplets", // description
		CallsPerSecond: callsPerSecond,
	}
}

// Identity is the team that the token is of, or where it names none, its user.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	fail := func(err error) (guard.Identity, error) {
		return guard.Identity{}, fmt.Errorf("ask %s whose token it has: %w", p.name, err)
	}
	reply, err := p.read(providers.Read(ctx), "v2/account", nil)
	if isAbsent(err) {
		err = fmt.Errorf("%w: there is no account", guard.ErrBadReply)
	}
	if err != nil {
		return fail(err)
	}
	var account struct {
		UUID providers.Field `json:"uuid"`
		Team providers.Field `json:"team"`
	}
	var team struct {
		UUID providers.Field `json:"uuid"`
	}
	reply["account"].Into(&account) // else it names nobody
	who := account.UUID
	if !account.Team.Null() {
		account.Team.Into(&team)
		who = team.UUID
	}
	id, ok := who.ID(maxID)
	if !ok {
		return fail(fmt.Errorf("%w: the answer names nobody", guard.ErrBadReply))
	}
	return guard.Identity{ID: id, Strong: true, Self: here(os.ReadFile)}, nil
}

// here is the ID of the droplet that this runs on; "" where it is none, or cannot be told.
// The board's serial number is the droplet's ID, and only root may read it; cloud-init
// keeps a copy.
func here(read func(string) ([]byte, error)) string {
	vendor, _ := read("/sys/class/dmi/id/sys_vendor")
	if strings.TrimSpace(string(vendor)) != "DigitalOcean" {
		return ""
	}
	for _, file := range []string{"/sys/class/dmi/id/product_serial", "/var/lib/cloud/data/instance-id"} {
		b, _ := read(file)
		if id := strings.TrimSpace(string(b)); numeric(id) {
			return id
		}
	}
	return ""
}

func (p *Provider) id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: p.name, Kind: kind, Scope: Scope, ID: id}
}
