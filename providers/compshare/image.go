package compshare

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// image is what is read of an image that the account has made (docs.ucloud.cn, of its
// compshare API).
type image struct {
	ID        providers.Field `json:"CompShareImageId"`
	Name      providers.Field `json:"Name"`
	Status    providers.Field `json:"Status"`
	Size      providers.Field `json:"Size"` // MB
	Published providers.Field `json:"Visibility"`
	Created   providers.Field `json:"CreateTime"`

	region, zone string
}

func (x image) key() (string, bool) { return x.ID.ID(maxID) }

// home is the region that is asked for the list of all: each call has to name one (tool).
const home = "cn-wlcb"

// places are the regions, and of each a zone: calls about its images want one, and none tells
// whose an image is.
type places struct {
	asked   time.Time
	regions []string
	zone    map[string]string // by region
}

const (
	// placesFor is how long the regions are believed.
	placesFor = 6 * time.Hour
	// maxZones is how many zones are: each region is a call.
	maxZones = 100
)

// where gives the regions as they were told last, or asks.
func (p *Provider) where(ctx context.Context) (places, error) {
	now := providers.Clock(ctx)
	p.mu.Lock()
	known := p.places
	p.mu.Unlock()
	if !known.asked.IsZero() && now.Sub(known.asked).Abs() < placesFor {
		return known, nil
	}
	body, err := p.ask(ctx, "DescribeCompShareSupportZone", params{"Region": home})
	if err != nil {
		return places{}, err
	}
	told, err := placesOf(body)
	if err != nil {
		return places{}, err
	}
	told.asked = now
	p.mu.Lock()
	p.places = told
	p.mu.Unlock()
	return told, nil
}

// placesOf takes the answer apart; one that leaves a zone without a name is none.
func placesOf(body providers.Field) (places, error) {
	var reply struct {
		Zones providers.Field `json:"ZoneInfo"`
	}
	var all []struct {
		Region providers.Field `json:"Region"`
		Zone   providers.Field `json:"Zone"`
	}
	if body.Into(&reply); !reply.Zones.Into(&all) || len(all) == 0 || len(all) > maxZones {
		return places{}, fmt.Errorf("%w: the answer has no list of zones in it, or one without an end", guard.ErrBadReply)
	}
	out := places{zone: map[string]string{}}
	for _, x := range all {
		zone, ok := x.Zone.ID(maxWord)
		if !ok {
			return places{}, fmt.Errorf("%w: one of the zones has no name", guard.ErrBadReply)
		}
		region := cmp.Or(x.Region.Text(maxWord), regionOf(zone))
		if out.zone[region] == "" {
			out.regions = append(out.regions, region)
			out.zone[region] = zone
		}
	}
	return out, nil
}

// made reads the images of all regions, each once, and gives an error beside what was read
// where that is not all.
func (p *Provider) made(ctx context.Context) ([]image, error) {
	at, err := p.where(ctx)
	if err != nil {
		return nil, err
	}
	var out []image
	seen := map[string]bool{}
	for _, region := range at.regions {
		all, failed := list[image](ctx, p, "DescribeCompShareCustomImages", params{"Region": region}, "ImageSet")
		for _, x := range all {
			if id, _ := x.key(); !seen[id] {
				seen[id] = true
				x.region, x.zone = region, at.zone[region]
				out = append(out, x)
			}
		}
		if providers.EndsAll(failed) {
			return out, failed
		}
		err = cmp.Or(err, failed)
	}
	return out, err
}

// images gives what was read of images, and the first error. What was made from one is told by
// the instances, which are read where there is any image.
func (p *Provider) images(ctx context.Context) ([]guard.Resource, error) {
	all, err := p.made(ctx)
	if len(all) == 0 || providers.EndsAll(err) {
		return nil, err
	}
	rate := storage(all, err == nil)
	used := map[string][]string{}
	instances, failed := p.all(ctx)
	for _, x := range instances {
		id, _ := x.key()
		if of, ok := x.Made.ID(maxID); ok {
			used[of] = append(used[of], id)
		}
	}
	out := make([]guard.Resource, 0, len(all))
	for _, x := range all {
		r := p.image(x, rate)
		r.UsedBy, r.UsesUntold = used[r.ID.ID], failed != nil
		out = append(out, r)
	}
	return out, err
}

// What images hold costs (pages on billing, 2026): up to freeMB an account nothing.
const freeMB = 30 << 10

var imageTariff = guard.Rate{Amount: guard.MustMoney("0.008CNY"), Per: 24 * time.Hour, Source: "tariff of 2026"}

// storage is what a GB of these images costs, whole says that there are no others: free, where
// all together are within what is free. Beyond, that share is counted, too: 0.24 yuan a day.
func storage(all []image, whole bool) guard.Rate {
	var total int64
	for _, x := range all {
		mb, ok := x.Size.Count(maxGB)
		if total += mb; !ok {
			whole = false
		}
	}
	switch {
	case total > freeMB:
		return imageTariff
	case whole:
		return free
	}
	return guard.Rate{}
}

// customImage is what a price book calls an image.
const customImage = "custom-image"

// image makes an image of one, at a price of a GB.
func (p *Provider) image(x image, gb guard.Rate) guard.Resource {
	id, _ := x.key()
	mb, _ := x.Size.Count(maxGB)
	r := guard.Resource{
		ID: p.id(guard.Image, id), Name: x.Name.Text(maxName), State: guard.StateRunning, RawState: x.Status.Text(maxWord), Created: unix(x.Created),
		Type: customImage, SizeGB: (mb + 1023) / 1024, Bills: guard.Yes, ReleaseProtected: guard.No,
	}
	switch rate, ok := p.book.Volume(prices.Want{Type: customImage, Scope: Scope, SizeGB: r.SizeGB}); {
	case ok:
		r.Rate = rate
	case gb.Free:
		r.Rate, r.Bills = gb, guard.No
	case r.SizeGB > 0 && gb.Known():
		r.Rate = gb.PerGB(r.SizeGB)
	}
	return r
}

// deleteImage deletes an image that is not published.
func (p *Provider) deleteImage(ctx context.Context, id string) error {
	all, err := p.made(ctx)
	for _, x := range all {
		if got, _ := x.key(); got != id {
			continue
		}
		if n, ok := x.Published.Count(maxGB); ok && n != 0 {
			return fmt.Errorf("%w: it is published; take it out of the community first", guard.ErrConflict)
		}
		return p.order(ctx, "TerminateCompShareCustomImage", params{"Region": x.region, "Zone": x.zone, "CompShareImageId": id})
	}
	if err != nil {
		return err
	}
	return guard.ErrNotFound
}
