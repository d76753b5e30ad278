package runpod

import (
	"context"
	"math/big"
	"time"

	"guard"
	"guard/providers"
)

// What the API does not tell stands in the pages on billing and storage (docs.runpod.io,
// 2026).
const tariff = "tariff of 2026"

var (
	// diskStopped is what a GB of a stopped pod's volume disk costs, twice what it does
	// while the pod runs, where it is part of its cost. The container disk is free then.
	diskStopped = guard.Rate{Amount: guard.MustMoney("0.20USD"), Per: guard.Month, Source: tariff}
	// A network volume costs so much a GB up to a terabyte, and less for what is beyond.
	volumeGB     = guard.Rate{Amount: guard.MustMoney("0.07USD"), Per: guard.Month, Source: tariff}
	volumeBeyond = guard.MustMoney("0.05USD")
	free         = guard.Rate{Amount: guard.ZeroMoney(usd), Per: time.Hour, Free: true, Source: tariff}
	// traffic: no fees for data that goes in or out.
	traffic = guard.EgressPrice{PerGB: guard.ZeroMoney(usd), Source: tariff}
)

// terabyte is in GB as the API counts them: it bounds a volume at 4096.
const terabyte = 1024

// volumeRate is what a standard network volume costs; the zero rate where its size is not
// known.
func volumeRate(gb int64) guard.Rate {
	switch {
	case gb <= 0:
		return guard.Rate{}
	case gb <= terabyte:
		return volumeGB.PerGB(gb)
	}
	first := new(big.Rat).Mul(volumeGB.Amount.Rat(), big.NewRat(terabyte, 1))
	beyond := new(big.Rat).Mul(volumeBeyond.Rat(), big.NewRat(gb-terabyte, 1))
	m, err := guard.MoneyFromRat(first.Add(first, beyond), usd)
	if err != nil {
		return guard.Rate{}
	}
	return guard.Rate{Amount: m, Per: guard.Month, Source: tariff}
}

// catalogue is the GPUs that RunPod lists, by their ID.
type catalogue struct {
	asked time.Time
	good  time.Duration // for so long it is not asked again
	gpus  map[string]gpuType
}

// gpuType is what is read of a GPU in the catalogue.
type gpuType struct {
	ID     providers.Field `json:"id"`
	Memory providers.Field `json:"memory"`
	Price  providers.Field `json:"price"`
}

func (g gpuType) key() (string, bool) { return g.ID.ID(maxName) }

const (
	// catalogueFor is how long the catalogue is believed; after catalogueAgain one that
	// cannot be read is asked for again.
	catalogueFor   = 6 * time.Hour
	catalogueAgain = 10 * time.Minute
)

// learnFor learns where a pod needs the catalogue: the memory of GPUs that run, and the price
// of what is allocated and tells none.
func (p *Provider) learnFor(ctx context.Context, pods []pod) {
	for _, x := range pods {
		if s := x.state(); s != guard.StateStopped && s != guard.StateGone && !x.GPU.Null() {
			p.learn(ctx)
			return
		}
	}
}

// learnAll learns where an endpoint has workers.
func (p *Provider) learnAll(ctx context.Context, crews map[string]crew) {
	for _, c := range crews {
		if len(c.workers) > 0 {
			p.learn(ctx)
			return
		}
	}
}

// memory is how much a GPU has, in MiB.
func (p *Provider) memory(gpu string) guard.Gauge {
	p.mu.Lock()
	defer p.mu.Unlock()
	gb, ok := p.catalogue.gpus[gpu].Memory.Count(maxGB)
	if !ok || gb == 0 {
		return guard.Gauge{}
	}
	return guard.Known(float64(gb) * 1024)
}

// learn reads the catalogue where it is missing or old. Where it cannot be read the old
// one stands, and what is not in it has no price; where nobody waits any more it was not asked.
func (p *Provider) learn(ctx context.Context) {
	now := providers.Clock(ctx)
	p.mu.Lock()
	fresh := p.catalogue.good > 0 && now.Sub(p.catalogue.asked).Abs() < p.catalogue.good
	p.mu.Unlock()
	if fresh {
		return
	}
	all, _ := list[gpuType](ctx, p, "gpus", nil, "catalog", "gpus")
	if ctx.Err() != nil {
		return
	}
	c := catalogue{asked: now, good: catalogueFor, gpus: make(map[string]gpuType, len(all))}
	for _, g := range all {
		id, _ := g.key()
		c.gpus[id] = g
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(all) == 0 {
		c.good, c.gpus = catalogueAgain, p.catalogue.gpus
	}
	p.catalogue = c
}

// listed is the list price of one GPU: of a pod in a cloud, SECURE or COMMUNITY, or of a
// worker ("serverless"); the zero rate where there is none.
func (p *Provider) listed(gpu, of string) guard.Rate {
	p.mu.Lock()
	g := p.catalogue.gpus[gpu]
	p.mu.Unlock()
	var price struct {
		Secure     providers.Field `json:"secure"`
		Community  providers.Field `json:"community"`
		Serverless providers.Field `json:"serverless"`
	}
	g.Price.Into(&price)
	var r guard.Rate
	switch of {
	case "SECURE":
		r = price.Secure.Hourly(usd)
	case "COMMUNITY":
		r = price.Community.Hourly(usd)
	case serverless:
		r = price.Serverless.Hourly(usd)
	}
	if r.Known() {
		r.Source, r.Unit = "catalogue", "gpu"
	}
	return r
}
