package digitalocean

import (
	"math"
	"net/netip"
	"strings"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// What a price book calls what is left of a droplet.
const (
	volumeType   = "volume"
	snapshotType = "volume-snapshot"
	addressType  = "reserved-ip"
	address6Type = "reserved-ipv6"
)

// imageTypes are those by the API's word for an image's type.
var imageTypes = map[string]string{"snapshot": "droplet-snapshot", "backup": "backup", "custom": "custom-image"}

// existing is a thing that is there and bills for so many GB, by the price book.
func (p *Provider) existing(kind guard.Kind, id, typ string, gb int64) guard.Resource {
	r := guard.Resource{ID: p.id(kind, id), State: guard.StateRunning, Type: typ, SizeGB: gb, Bills: guard.Yes}
	if rate, ok := p.book.Volume(prices.Want{Type: typ, Scope: Scope, SizeGB: gb}); ok {
		r.Rate = rate
	}
	return r
}

// gigabytes is a size that may be a fraction, rounded up.
func gigabytes(f providers.Field) int64 {
	g := f.Gauge()
	if !g.OK || g.V < 0 || g.V > maxGB {
		return 0
	}
	return int64(math.Ceil(g.V))
}

// volume is what is read of a volume.
type volume struct {
	ID       providers.Field `json:"id"`
	Name     providers.Field `json:"name"`
	Droplets providers.Field `json:"droplet_ids"`
	Size     providers.Field `json:"size_gigabytes"`
	Created  providers.Field `json:"created_at"`
	Tags     providers.Field `json:"tags"`
}

func (x volume) key() (string, bool) { return name(x.ID) }

func (p *Provider) volume(x volume) guard.Resource {
	id, _ := x.key()
	gb, _ := x.Size.Count(maxGB)
	r := p.existing(guard.Volume, id, volumeType, gb)
	r.Name, r.Created = x.Name.Text(maxName), x.Created.Time()
	r.Tags, r.TagsUntold = tagsOf(x.Tags)
	var on []providers.Field
	if !x.Droplets.Into(&on) {
		r.UsesUntold = string(x.Droplets) != "null" // which is none (description)
	}
	for _, f := range on {
		switch d, ok := number(f); {
		case !ok:
			r.UsesUntold = true
		case r.Parent.IsZero():
			r.Parent = p.id(guard.Instance, d)
		default:
			r.UsedBy = append(r.UsedBy, d)
		}
	}
	return r
}

// snapshot is what is read of a snapshot, of a volume or a droplet.
type snapshot struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Of      providers.Field `json:"resource_id"`
	What    providers.Field `json:"resource_type"`
	Size    providers.Field `json:"size_gigabytes"`
	Created providers.Field `json:"created_at"`
	Tags    providers.Field `json:"tags"`
}

func (x snapshot) key() (string, bool) { return name(x.ID) }

// source is the ID of what it was made of; "" where that is not told.
func (x snapshot) source() string {
	id, _ := x.Of.ID(maxID)
	return id
}

func (p *Provider) snapshot(x snapshot) guard.Resource {
	id, _ := x.key()
	r := p.existing(guard.Snapshot, id, snapshotType, gigabytes(x.Size))
	r.Name, r.Created, r.Source = x.Name.Text(maxName), x.Created.Time(), x.source()
	r.Tags, r.TagsUntold = tagsOf(x.Tags)
	return r
}

// image is what is read of an image.
type image struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Type    providers.Field `json:"type"`
	Status  providers.Field `json:"status"`
	Size    providers.Field `json:"size_gigabytes"`
	Created providers.Field `json:"created_at"`
	Tags    providers.Field `json:"tags"`
}

func (x image) key() (string, bool) { return number(x.ID) }

// image makes an image of one; source is the droplet of a snapshot of one.
func (p *Provider) image(x image, source string) guard.Resource {
	id, _ := x.key()
	r := p.existing(guard.Image, id, imageTypes[x.Type.Text(maxWord)], gigabytes(x.Size))
	r.Name, r.Created, r.Source, r.RawState = x.Name.Text(maxName), x.Created.Time(), source, x.Status.Text(maxWord)
	r.Tags, r.TagsUntold = tagsOf(x.Tags)
	if r.RawState == "deleted" {
		r.State, r.Bills, r.Rate = guard.StateGone, guard.No, guard.Rate{}
	}
	return r
}

// address is what is read of a reserved IP, or a reserved IPv6, which tells since when.
type address struct {
	IP       providers.Field `json:"ip"`
	Droplet  providers.Field `json:"droplet"`
	Reserved providers.Field `json:"reserved_at"`
}

// key is the address as everybody writes it.
func (x address) key() (string, bool) {
	id, ok := x.IP.ID(maxID)
	at, err := netip.ParseAddr(id)
	return at.String(), ok && err == nil && !at.Is4In6() && at.Zone() == ""
}

// isIPv6 reports whether the ID of an address is of version 6.
func isIPv6(id string) bool { return strings.Contains(id, ":") }

// address makes an address of a reserved IP, which is free while a droplet has it. Whether a
// reserved IPv6 costs anything otherwise no page says.
func (p *Provider) address(x address) guard.Resource {
	id, _ := x.key()
	r := p.existing(guard.Address, id, addressType, 1)
	if isIPv6(id) {
		r = p.existing(guard.Address, id, address6Type, 1)
		r.Bills, r.Created = guard.Unknown, x.Reserved.Time()
	}
	var on struct {
		ID providers.Field `json:"id"`
	}
	x.Droplet.Into(&on)
	switch d, ok := number(on.ID); {
	case ok:
		r.Parent, r.Bills, r.Rate = p.id(guard.Instance, d), guard.No, guard.Rate{}
	case string(x.Droplet) != "null": // whose droplet is left out, or cannot be read
		r.UsesUntold, r.Bills = true, guard.Unknown
	}
	return r
}
