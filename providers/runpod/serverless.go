package runpod

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers"
)

const (
	serverless = "serverless"
	// endpointPrefix stands before an endpoint's ID.
	endpointPrefix = serverless + "/"
	// crewsAtOnce bounds the endpoints whose workers are read for one listing: each is a
	// call, and 60 a minute are allowed. The others are as last read; the longest ago are
	// read first.
	crewsAtOnce = 10
)

// serverlessEndpoint is what is read of an endpoint.
type serverlessEndpoint struct {
	ID      providers.Field `json:"id"`
	Name    providers.Field `json:"name"`
	GPU     providers.Field `json:"gpu"`
	CPU     providers.Field `json:"cpu"`
	Workers providers.Field `json:"workers"`
	Volumes providers.Field `json:"networkVolumes"`
	Created providers.Field `json:"createdAt"`
}

func (x serverlessEndpoint) key() (string, bool) { return x.ID.ID(maxID) }

// most is how many workers the endpoint may have; false where that is not told.
func (x serverlessEndpoint) most() (int64, bool) {
	var w struct {
		Max providers.Field `json:"max"`
	}
	x.Workers.Into(&w)
	return w.Max.Count(1_000_000)
}

// volumes are the network volumes that its workers mount; false where it does not tell all of
// them.
func (x serverlessEndpoint) volumes() (ids []string, told bool) {
	var list []providers.Field
	told = x.Volumes.Into(&list)
	for _, f := range list {
		id, ok := f.ID(maxID)
		if told = told && ok; ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, told
}

// worker is what is read of a worker.
type worker struct {
	ID      providers.Field `json:"id"`
	Status  providers.Field `json:"status"`
	GPUs    providers.Field `json:"gpuCount"`
	GPU     providers.Field `json:"gpuTypeId"`
	Started providers.Field `json:"startedAt"`
}

func (w worker) key() (string, bool) { return w.ID.ID(maxID) }

// bills: from its start until it is fully stopped (pages). It does not while it waits for
// capacity, nor before it is placed on a machine, which only one that starts up can wait for.
func (w worker) bills() bool {
	switch w.Status.Text(maxWord) {
	case "THROTTLED":
		return false
	case "INITIALIZING":
		return !w.GPU.Null() || !w.Started.Null()
	}
	return true
}

// crew is the workers of an endpoint at a time.
type crew struct {
	round   int // of the listing that read it
	told    bool
	workers []worker
}

// endpoint makes an instance of an endpoint and its workers. Without a worker it is
// stopped, and costs nothing until a request comes. So when it was created says nothing of
// since when it bills, and is not told.
func (p *Provider) endpoint(x serverlessEndpoint, c crew) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, endpointPrefix+id), Name: x.Name.Text(maxName), Type: serverless,
		StopSaves: guard.StopSavesAll, StoppedRate: free, ReleaseProtected: guard.No, StopProtected: guard.No, Egress: traffic,
	}
	switch {
	case !x.GPU.Null():
		r.HasGPU = guard.Yes
	case !x.CPU.Null():
		r.HasGPU = guard.No
	}
	volumes, _ := x.volumes()
	for _, v := range volumes {
		r.Children = append(r.Children, guard.Child{ID: p.id(guard.Filesystem, v), GoesWithInstance: guard.No})
	}
	most, told := x.most()
	if !c.told && !(told && most == 0) {
		r.State, r.RawState, r.Bills = guard.StateUnknown, "workers not read yet", guard.Unknown
		return r
	}
	at := slices.DeleteFunc(slices.Clone(c.workers), func(w worker) bool { return !w.bills() })
	r.RawState = fmt.Sprintf("%d workers", len(at))
	switch {
	case len(at) == 0:
		r.State = guard.StateStopped
	case told && most == 0:
		r.State = guard.StateStopping
	default:
		r.State = guard.StateRunning
	}
	for _, w := range at {
		n, _ := w.GPUs.Count(maxGPUs)
		r.GPUs = min(r.GPUs+int(n), maxGPUs)
		if r.GPUModel == "" {
			r.GPUModel = w.GPU.Text(maxName)
		}
	}
	r.Rate = p.crewRate(at)
	r.Bills = guard.TriOf(len(at) > 0)
	return r
}

// crewRate is what workers cost by the catalogue, which knows no discounts; unknown where
// one is not in it. Of workers that are all alike it is quoted for one: their number changes
// with the load.
func (p *Provider) crewRate(workers []worker) guard.Rate {
	total, alike := new(big.Rat), true
	var each *big.Rat
	for _, w := range workers {
		n, ok := w.GPUs.Count(maxGPUs)
		one := p.listed(w.GPU.Text(maxName), serverless)
		if !ok || n == 0 || !one.Known() {
			return guard.Rate{}
		}
		price := one.PerGPU(int(n)).Over(time.Hour)
		alike = alike && (each == nil || each.Cmp(price) == 0)
		each = price
		total.Add(total, price)
	}
	rate := guard.Rate{Per: time.Hour, Unit: "machine", Source: "catalogue"}
	if alike && each != nil {
		rate.Unit, rate.Units, total = guard.UnitWorker, strconv.Itoa(len(workers)), each
	}
	var err error
	if rate.Amount, err = guard.MoneyFromRat(total, usd); err == nil && rate.Known() {
		return rate
	}
	return guard.Rate{}
}

// muster gives the workers of endpoints: read now where there can be any and it is their
// turn, else as they were read last. Of an endpoint that is not there any more none are kept,
// if these are all of them.
func (p *Provider) muster(ctx context.Context, endpoints []serverlessEndpoint, all bool) (map[string]crew, error) {
	p.mu.Lock()
	crews := maps.Clone(p.crews)
	p.mu.Unlock()
	round := 1
	var ids []string
	for _, c := range crews {
		round = max(round, c.round+1)
	}
	here := map[string]crew{}
	if !all {
		here = maps.Clone(crews)
	}
	for _, x := range endpoints {
		id, _ := x.key()
		if most, told := x.most(); told && most == 0 && len(crews[id].workers) == 0 {
			continue // it cannot have any
		}
		here[id] = crews[id]
		ids = append(ids, id)
	}
	slices.SortStableFunc(ids, func(a, b string) int { return here[a].round - here[b].round })
	var failed error
	for _, id := range ids[:min(len(ids), crewsAtOnce)] {
		workers, err := list[worker](ctx, p, "workers", nil, endpointsPath, id, "workers")
		switch {
		case err == nil:
			here[id] = crew{round: round, told: true, workers: workers}
		case isAbsent(err):
			delete(here, id) // deleted since it was listed
		default:
			failed = fmt.Errorf("read the workers of %s: %w", endpointPrefix+id, err)
		}
		if providers.EndsAll(failed) {
			break
		}
	}
	p.mu.Lock()
	p.crews = here
	p.mu.Unlock()
	return here, failed
}
