package vast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// Limits beyond which a number is noise.
const (
	maxGPUs = 4096
	maxGB   = 10_000_000
)

// instance is what is read of an instance.
type instance struct {
	ID       providers.Field `json:"id"`
	Label    providers.Field `json:"label"`
	Actual   providers.Field `json:"actual_status"`
	Intended providers.Field `json:"intended_status"`
	Current  providers.Field `json:"cur_state"`
	Next     providers.Field `json:"next_state"`
	Bid      providers.Field `json:"is_bid"`
	Started  providers.Field `json:"start_date"`
	Ends     providers.Field `json:"end_date"`
	GPU      providers.Field `json:"gpu_name"`
	GPUs     providers.Field `json:"num_gpus"`
	Util     providers.Field `json:"gpu_util"`
	GPURAM   providers.Field `json:"gpu_ram"`
	Disk     providers.Field `json:"disk_space"`
	Price    providers.Field `json:"instance"`
	Base     providers.Field `json:"dph_base"`
	Total    providers.Field `json:"dph_total"`
	Storage  providers.Field `json:"storage_total_cost"`
	Up       providers.Field `json:"inet_up_cost"`
	Down     providers.Field `json:"inet_down_cost"`
	Volumes  providers.Field `json:"volume_info"`
	Target   providers.Field `json:"target_reliability"`
}

func (x instance) key() (string, bool) { return number(x.ID) }

// expired is how long after the end of its host's offer an instance is kept at least (pages).
const expired = 48 * time.Hour

// The words of a contract, and those of a container while its contract runs. A container
// that has exited, or whose host is not heard of (unknown, offline), never comes back by
// itself (description), and one that is frozen holds its GPUs (CLI). They count as billed:
// a host that is offline is not (pages), but nothing tells since when it is.
const (
	runs  = "running"
	halts = "stopped"
)

var containers = map[string]guard.State{
	"running":   guard.StateRunning,
	"rebooting": guard.StateRunning,
	"recycling": guard.StateRunning,
	"created":   guard.StateProvisioning,
	"loading":   guard.StateProvisioning,
}

// still are the words of a container that may stand beside a contract that is stopped.
var still = []string{"", "stopped", "exited", "created", "loading", "offline", "unknown"}

// state is the state of an instance, and the word that tells it.
func (x instance) state() (guard.State, string) {
	now, actual := x.Current.Text(maxWord), x.Actual.Text(maxWord)
	if now != runs && now != halts || actual == "" && !x.Actual.Null() {
		return guard.StateUnknown, cmp.Or(now, actual)
	}
	s, known := containers[actual]
	if actual == "" {
		s, known, actual = guard.StateProvisioning, true, "creating" // as the console calls it
	}
	switch {
	case now == halts && slices.Contains(still, x.Actual.Text(maxWord)):
		if x.wants(runs) {
			return guard.StateStopped, "scheduling" // it waits until its GPUs are free
		}
		return guard.StateStopped, halts
	case known && (now == halts || x.wants(halts)):
		return guard.StateStopping, actual
	case known:
		return s, actual
	}
	return guard.StateUnknown, actual
}

// wants reports whether a contract is to go over to a state.
func (x instance) wants(state string) bool {
	return x.Intended.Text(maxWord) == state || x.Next.Text(maxWord) == state
}

// outbid reports what a contract that lost its GPUs to a higher bid looks like: all its
// words say that it is stopped. One that somebody stopped looks the same.
func (x instance) outbid() bool {
	return x.Bid.Tri() == guard.Yes && x.Current.Text(maxWord) == halts && x.Intended.Text(maxWord) == halts && x.Next.Text(maxWord) == halts
}

// assured reports whether it was rented with a target of reliability: an SLA bills the GPUs
// through outages, and a stop is not sure to end that (pages).
func (x instance) assured() bool { return x.Target.Gauge().V > 0 }

// instance makes a resource of an instance.
func (p *Provider) instance(x instance) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, id), Name: x.Label.Text(maxName), Created: epoch(x.Started),
		Type: x.GPU.Text(maxName), GPUModel: x.GPU.Text(maxName), SizeGB: gigabytes(x.Disk),
		Spot: x.Bid.Tri() == guard.Yes, Egress: traffic(x.Up, x.Down), Bills: guard.Yes, StopSaves: guard.StopSavesCompute,
		ReleaseProtected: guard.No, StopProtected: guard.No,
	}
	if x.assured() {
		r.StopSaves = guard.StopSavesNothing
	}
	r.State, r.RawState = x.state()
	if r.State == guard.StateStopped && x.outbid() {
		r.Ended = guard.ByReclaim
	}
	if n, ok := x.GPUs.Count(maxGPUs); ok && (n > 0 || r.GPUModel == "") { // none of a model is no number
		r.GPUs, r.HasGPU = int(n), guard.TriOf(n > 0)
	}
	if ends := epoch(x.Ends); !ends.IsZero() {
		r.PlatformEnds = guard.PlatformEnd{At: ends.Add(expired), Why: "two days after its host's offer ends, which stops it"}
	}
	for _, v := range volumesOf(x.Volumes) {
		r.Children = append(r.Children, guard.Child{ID: p.id(guard.Volume, v), GoesWithInstance: guard.No})
	}
	p.price(&r, x)
	return r
}

// price is what an instance costs: by the price book, or as the API tells it. dph_total is
// what it costs while it runs, whether it does or not (description, the example of one that
// is stopped); it is the whole only where the part without the disk stands beside it. Of one
// that is stopped a total with a GPU in it is that of the same sort, and its disk bills.
func (p *Provider) price(r *guard.Resource, x instance) {
	var now struct {
		Total providers.Field `json:"totalHour"`
		Disk  providers.Field `json:"diskHour"`
		GPU   providers.Field `json:"gpuCostPerHour"`
	}
	x.Price.Into(&now)
	total, running := now.Total.Hourly(usd), guard.Rate{}
	if x.Base.Hourly(usd).Known() {
		running = x.Total.Hourly(usd)
	}
	r.StoppedRate = firstKnown(now.Disk.Hourly(usd), x.Storage.Hourly(usd))
	if r.State == guard.StateStopped && !now.GPU.Hourly(usd).Known() {
		r.StoppedRate = firstKnown(total, r.StoppedRate)
	}
	full := r.State != guard.StateStopped || r.StopSaves == guard.StopSavesNothing
	if full {
		r.Rate = total
		// While it runs both say the same. What loads is billed for its disk alone, and a
		// moment later for all.
		if !total.Known() || dearer(running, total) {
			r.Rate = running
		}
	}
	want := prices.Want{Type: r.Type, Scope: Scope, GPUs: r.GPUs, Spot: r.Spot}
	if rate, ok := p.book.Instance(want); ok && full {
		r.Rate = rate
	}
	if rate, ok := p.book.Stopped(want); ok {
		r.StoppedRate = rate
	}
	if price, ok := p.book.Egress(Scope); ok {
		r.Egress = price
	}
}

// firstKnown is a rate, or another one where it is not known.
func firstKnown(a, b guard.Rate) guard.Rate {
	if a.Known() {
		return a
	}
	return b
}

// dearer reports a price above another; both are per hour and in dollars.
func dearer(a, b guard.Rate) bool {
	c, err := a.Amount.Cmp(b.Amount)
	return err == nil && c > 0
}

// mostPerGB is the price of a GB of traffic from which on a number is noise.
var mostPerGB = guard.MustMoney("100USD")

// traffic is what a GB costs that goes out, and one that comes in, by what the host asks.
// Many ask nothing: that is a price.
func traffic(up, down providers.Field) guard.EgressPrice {
	out, ok := perGB(up)
	if !ok {
		return guard.EgressPrice{}
	}
	in, _ := perGB(down)
	return guard.EgressPrice{PerGB: out, InPerGB: in, Source: "api"}
}

func perGB(f providers.Field) (guard.Money, bool) {
	m, ok := f.Money(usd)
	if c, err := m.Cmp(mostPerGB); !ok || err != nil || c > 0 || m.IsNegative() {
		return guard.Money{}, false
	}
	return m, true
}

// gigabytes is a size, rounded up; 0 where it is not known.
func gigabytes(f providers.Field) int64 {
	g := f.Gauge()
	if !g.OK || g.V <= 0 || g.V > maxGB {
		return 0
	}
	return int64(math.Ceil(g.V))
}

// volumesOf are the volumes that an instance tells of. The description leaves open what
// such an entry is; one without a number tells nothing.
func volumesOf(f providers.Field) []string {
	var entries []providers.Field
	f.Into(&entries)
	var out []string
	for _, e := range entries {
		if id, ok := reference(e, "volume_id", "id"); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// reference is the ID of what an entry of a list is about: a number, or an object with one
// of these names.
func reference(entry providers.Field, names ...string) (string, bool) {
	if id, ok := number(entry); ok {
		return id, true
	}
	var object map[string]providers.Field
	entry.Into(&object)
	for _, name := range names {
		if id, ok := number(object[name]); ok {
			return id, true
		}
	}
	return "", false
}
