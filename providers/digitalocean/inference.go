package digitalocean

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

const (
	inferencePath = "v2/dedicated-inferences"
	// Inference is the scope of the endpoints of Dedicated Inference: a token that may read
	// droplets need not be allowed to read them.
	Inference = "inference"
	// endpointPrefix stands before an endpoint's ID, and before the slug of its GPUs in a
	// price book.
	endpointPrefix = Inference + "/"
	// specsAtOnce bounds the endpoints whose specs are read for one listing.
	specsAtOnce = 10
	// pricesFor is how long the prices of GPUs are good for.
	pricesFor = time.Hour
	// maxScale is the number of GPUs' machines beyond which it is noise.
	maxScale = 10_000
)

// endpoint is what is read of an endpoint of Dedicated Inference.
type endpoint struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	Status  providers.Field `json:"status"`
	Region  providers.Field `json:"region"`
	Created providers.Field `json:"created_at"`
	Updated providers.Field `json:"updated_at"`
	Spec    providers.Field `json:"spec"`
	Pending providers.Field `json:"pending_deployment_spec"`
}

func (x endpoint) key() (string, bool) { return name(x.ID) }

// same reports whether nothing tells that an endpoint changed since it was read before.
func (x endpoint) same(before endpoint) bool {
	return !x.Updated.Null() && string(x.Updated) == string(before.Updated) && string(x.Status) == string(before.Status)
}

// with is an endpoint with what another reading of it tells and this one does not.
func (x endpoint) with(other endpoint) endpoint {
	if x.Spec.Null() && x.Pending.Null() {
		x.Spec, x.Pending = other.Spec, other.Pending
	}
	if x.Name.Null() {
		x.Name = other.Name
	}
	return x
}

// accelerators are so many machines with GPUs of one size.
type accelerators struct {
	slug  string
	scale int64
}

// spec is the part of a spec that is read.
type spec struct {
	Name        providers.Field `json:"name"`
	Deployments []struct {
		Accelerators []struct {
			Slug  providers.Field `json:"accelerator_slug"`
			Scale providers.Field `json:"scale"`
		} `json:"accelerators"`
	} `json:"model_deployments"`
}

// spec is what runs, or before anything does what is to; false where that is not told.
func (x endpoint) spec() (s spec, all []accelerators, ok bool) {
	if !x.Spec.Into(&s) && !x.Pending.Into(&s) {
		return spec{}, nil, false
	}
	for _, d := range s.Deployments {
		for _, a := range d.Accelerators {
			slug, named := a.Slug.ID(maxName)
			n, counted := a.Scale.Count(maxScale)
			if !named || !counted || n == 0 {
				return s, nil, false
			}
			all = append(all, accelerators{slug, n})
		}
	}
	return s, all, len(all) > 0
}

// endpointStates are the words of an endpoint's status. One in error may have its GPUs still.
var endpointStates = map[string]guard.State{
	"new":          guard.StateProvisioning,
	"provisioning": guard.StateProvisioning,
	"active":       guard.StateRunning,
	"updating":     guard.StateRunning,
	"deleting":     guard.StateReleasing,
}

// endpoint makes an instance of an endpoint. It has GPUs whatever it is asked, and no page
// says of any state that it does not bill.
func (p *Provider) endpoint(x endpoint, at gpuPrices) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID:   guard.ResourceID{Account: p.name, Kind: guard.Instance, Scope: Inference, ID: endpointPrefix + id},
		Name: x.Name.Text(maxName), Type: Inference, State: guard.StateUnknown, RawState: x.Status.Text(maxWord), Created: x.Created.Time(),
		HasGPU: guard.Yes, Bills: guard.Yes, StopSaves: guard.StopUnsupported, ReleaseProtected: guard.No,
	}
	if s, ok := endpointStates[r.RawState]; ok {
		r.State = s
	}
	s, all, ok := x.spec()
	if r.Name == "" {
		r.Name = s.Name.Text(maxName)
	}
	if !ok {
		return r
	}
	alike, counted := true, true
	for _, a := range all {
		model, n, ok := gpusIn(a.slug)
		alike, counted = alike && a.slug == all[0].slug, counted && ok
		if r.GPUModel == "" {
			r.GPUModel = model
		}
		r.GPUs = int(min(int64(r.GPUs)+int64(n)*a.scale, maxGPUs))
	}
	if !counted {
		r.GPUs = 0
	}
	if alike {
		r.Type = endpointPrefix + all[0].slug
	}
	r.Rate = p.endpointRate(x.Region.Text(maxWord), all, alike, at)
	return r
}

// gpuSize is a size with GPUs, as in gpu-h100x8-640gb (description, examples).
var gpuSize = regexp.MustCompile(`^gpu-([a-z0-9]+)x([1-9][0-9]{0,2})-[0-9]+gb`)

// gpusIn is what the name of a size tells of its GPUs.
func gpusIn(slug string) (model string, n int, ok bool) {
	m := gpuSize.FindStringSubmatch(slug)
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(m[2])
	return m[1], n, err == nil
}

// gpuPrices are what one machine of a size costs an hour in a region.
type gpuPrices map[[2]string]guard.Money

// endpointRate is what accelerators cost; unknown where the price of one is. Where they are
// all alike it is quoted for one: people scale them.
func (p *Provider) endpointRate(region string, all []accelerators, alike bool, at gpuPrices) guard.Rate {
	total, machines := new(big.Rat), int64(0)
	rate := guard.Rate{Per: time.Hour, Unit: "machine", Source: "api"}
	var currency string
	for _, a := range all {
		one := guard.Rate{Amount: at[[2]string{a.slug, region}], Per: time.Hour}
		_, n, _ := gpusIn(a.slug)
		if booked, ok := p.book.Instance(prices.Want{Type: endpointPrefix + a.slug, Scope: Inference, GPUs: n}); ok {
			one, rate.Source = booked, booked.Source
		}
		if !one.Known() || currency != "" && one.Currency() != currency {
			return guard.Rate{}
		}
		currency = one.Currency()
		hour := one.Over(time.Hour)
		if machines += a.scale; alike {
			total = hour
		} else {
			total.Add(total, hour.Mul(hour, big.NewRat(a.scale, 1)))
		}
	}
	if alike {
		rate.Unit, rate.Units = guard.UnitWorker, strconv.FormatInt(machines, 10)
	}
	var err error
	if rate.Amount, err = guard.MoneyFromRat(total, currency); err != nil || !rate.Known() {
		return guard.Rate{}
	}
	return rate
}

// endpoints reads the endpoints of all regions. The list need not tell their specs
// (description, example): those of the new and the changed are read one by one.
func (p *Provider) endpoints(ctx context.Context) ([]guard.Resource, error) {
	all, err := list[endpoint](ctx, p, "dedicated_inferences", inferencePath, nil)
	if err != nil {
		return each(all, func(x endpoint) guard.Resource { return p.endpoint(x, nil) }), scoped(err, "dedicated_inference:read")
	}
	if len(all) == 0 {
		return nil, nil
	}
	p.mu.Lock()
	before := maps.Clone(p.specs)
	p.mu.Unlock()
	now, asked := map[string]endpoint{}, 0
	for i, x := range all {
		id, _ := x.key()
		was, known := before[id]
		if known { // as it was read last
			all[i] = x.with(was)
			now[id] = was
		}
		if !x.Spec.Null() || known && x.same(was) || asked == specsAtOnce || providers.EndsAll(err) {
			continue
		}
		asked++
		one, failed := get[endpoint](ctx, p, "dedicated_inference", inferencePath, id)
		switch _, _, told := one.spec(); {
		case failed == nil:
			if all[i] = one.with(x); told {
				now[id] = one
			}
		case !isAbsent(failed): // else it was deleted since it was listed
			err = fmt.Errorf("read the spec of %s%s: %w", endpointPrefix, id, failed)
		}
	}
	p.mu.Lock()
	p.specs = now
	p.mu.Unlock()
	at := p.gpuPrices(ctx)
	return each(all, func(x endpoint) guard.Resource { return p.endpoint(x, at) }), err
}

// oneEndpoint reads an endpoint by its own ID.
func (p *Provider) oneEndpoint(ctx context.Context, id string) (guard.Resource, error) {
	x, err := get[endpoint](ctx, p, "dedicated_inference", inferencePath, id)
	if err != nil {
		return guard.Resource{}, scoped(err, "dedicated_inference:read")
	}
	return p.endpoint(x, p.gpuPrices(ctx)), nil
}

// gpuPrices are the prices of GPUs, read once an hour; where they cannot be, the last ones.
func (p *Provider) gpuPrices(ctx context.Context) gpuPrices {
	now := providers.Clock(ctx)
	p.mu.Lock()
	at, age := p.sizes, now.Sub(p.sizesAt)
	p.mu.Unlock()
	if at != nil && age >= 0 && age < pricesFor {
		return at
	}
	reply, err := p.read(ctx, inferencePath+"/sizes", nil)
	var all []struct {
		Slug     providers.Field `json:"gpu_slug"`
		Region   providers.Field `json:"region"`
		Price    providers.Field `json:"price_per_hour"`
		Currency providers.Field `json:"currency"`
	}
	if err != nil || !reply["sizes"].Into(&all) {
		return at
	}
	fresh := gpuPrices{}
	for _, x := range all {
		if m, err := guard.NewMoney(x.Price.Text(maxWord), x.Currency.Text(maxWord)); err == nil {
			fresh[[2]string{x.Slug.Text(maxName), x.Region.Text(maxWord)}] = m
		}
	}
	p.mu.Lock()
	p.sizes, p.sizesAt = fresh, now
	p.mu.Unlock()
	return fresh
}

// endpointID is the API's ID of an endpoint; false where an ID is none of one.
func endpointID(id guard.ResourceID) (string, bool) {
	own, ok := strings.CutPrefix(id.ID, endpointPrefix)
	return own, ok && id.Kind == guard.Instance
}

// isDroplet reports whether an ID is a droplet's.
func isDroplet(id guard.ResourceID) bool {
	_, ok := endpointID(id)
	return id.Kind == guard.Instance && !ok
}
