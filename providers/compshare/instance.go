package compshare

import (
	"cmp"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// instance is what is read of an instance, which has its password beside it.
type instance struct {
	ID      providers.Field `json:"UHostId"`
	Name    providers.Field `json:"Name"`
	State   providers.Field `json:"State"`
	Zone    providers.Field `json:"Zone"`
	Region  providers.Field `json:"Region"`
	Charge  providers.Field `json:"ChargeType"`
	Spot    providers.Field `json:"IsSpot"`
	GPU     providers.Field `json:"GpuType"`
	GPUs    providers.Field `json:"GPU"`
	CPUs    providers.Field `json:"CPU"`
	Memory  providers.Field `json:"GraphicsMemory"`
	Disks   providers.Field `json:"DiskSet"`
	Created providers.Field `json:"CreateTime"`
	Changed providers.Field `json:"UpdateTime"`
	Expires providers.Field `json:"ExpireTime"`
	Ends    providers.Field `json:"ReleaseTime"`
	Renews  providers.Field `json:"AutoRenew"`
	Made    providers.Field `json:"CompShareImageId"` // what it was made from

	Price      providers.Field `json:"InstancePrice"`
	Image      providers.Field `json:"CompShareImagePrice"`
	DiskPrices providers.Field `json:"DiskPriceInfo"`
	OffPrices  providers.Field `json:"PostPayPowerOffBillingResource"`
}

func (x instance) key() (string, bool) { return x.ID.ID(maxID) }

// states are the words of an instance's State (pages). "Install Fail" is none of them: nothing
// says that it does not bill.
var states = map[string]guard.State{
	"Initializing": guard.StateProvisioning,
	"Starting":     guard.StateProvisioning,
	"Running":      guard.StateRunning,
	"Rebooting":    guard.StateRunning,
	"Resizing":     guard.StateRunning,
	"Stopping":     guard.StateStopping,
	"Stopped":      guard.StateStopped,
}

func (x instance) state() guard.State {
	if s, ok := states[x.State.Text(maxWord)]; ok {
		return s
	}
	return guard.StateUnknown
}

func (x instance) spot() bool { return x.Spot.Tri() == guard.Yes || x.Charge.Text(maxWord) == "Spot" }

// place is where an instance is: calls that change something want both.
func (x instance) place() (region, zone string) {
	zone = x.Zone.Text(maxWord)
	return cmp.Or(x.Region.Text(maxWord), regionOf(zone)), zone
}

// yes is what the words Yes and No say.
func yes(f providers.Field) guard.Tri {
	switch f.Text(maxWord) {
	case "Yes":
		return guard.Yes
	case "No":
		return guard.No
	}
	return guard.Unknown
}

// data are the data disks of an instance, by the IDs that they have in the list of disks.
func (x instance) data() []string {
	var disks []struct {
		Listed providers.Field `json:"UDiskId"` // where it differs from the other (tool)
		ID     providers.Field `json:"DiskId"`
		Boot   providers.Field `json:"IsBoot"`
	}
	x.Disks.Into(&disks)
	var out []string
	for _, d := range disks {
		id, ok := d.Listed.ID(maxID)
		if !ok {
			id, ok = d.ID.ID(maxID)
		}
		if ok && (d.Boot.Text(maxWord) == "False" || d.Boot.Tri() == guard.No) {
			out = append(out, id)
		}
	}
	return out
}

// instance makes an instance of what a list tells, and its price, of what is told by ID.
func (p *Provider) instance(x instance, at time.Time) guard.Resource {
	id, _ := x.key()
	r := guard.Resource{
		ID: p.id(guard.Instance, id), Name: x.Name.Text(maxName), State: x.state(), RawState: x.State.Text(maxWord),
		Created: unix(x.Created), Changed: unix(x.Changed), Type: x.GPU.Text(maxName), GPUModel: x.GPU.Text(maxName),
		Spot: x.spot(), Bills: guard.Yes, ReleaseProtected: guard.No,
	}
	n, _ := x.GPUs.Count(maxGPUs)
	if r.GPUs = int(n); n > 0 || r.GPUModel != "" {
		r.HasGPU = guard.Yes // it keeps its model while it runs without
	}
	for _, d := range x.data() {
		r.Children = append(r.Children, guard.Child{ID: p.id(guard.Volume, d), GoesWithInstance: guard.No})
	}
	p.bill(&r, x, at)
	if r.State == guard.StateStopped && r.Spot {
		r.Ended = guard.ByReclaim
	}
	if ends := x.ends(r); !ends.IsZero() {
		r.PlatformEnds = guard.PlatformEnd{At: ends, Why: "stopped for 7 days"}
	}
	return r
}

// keptOff is how long what is paid afterwards is kept once it is stopped.
const keptOff = 7 * 24 * time.Hour

// ends is when what is stopped is deleted: as is told, else so long after it was stopped; zero
// where it is not.
func (x instance) ends(r guard.Resource) time.Time {
	at := unix(x.Ends)
	if at.IsZero() && r.StopSaves == guard.StopSavesCompute && !r.Changed.IsZero() {
		at = r.Changed.Add(keptOff)
	}
	if r.State != guard.StateStopped {
		return time.Time{}
	}
	return at
}

// bill fills in what an instance costs, by its mode.
func (p *Provider) bill(r *guard.Resource, x instance, at time.Time) {
	id, _ := x.key()
	q, charge := p.quoteOf(id), x.Charge.Text(maxWord)
	switch {
	case r.Spot:
		r.StopSaves = guard.StopUnsupported
		if r.State == guard.StateStopped {
			r.StopSaves = guard.StopSavesCompute // taken back
		}
		r.Rate, r.StoppedRate = providers.Hourly(q.price), q.off
	case charge == postpay:
		r.StopSaves, r.Rate, r.StoppedRate = guard.StopSavesCompute, providers.Hourly(q.price), q.off
	case periods[charge] != nil:
		r.StopSaves = guard.StopSavesNothing
		if r.Lump = ahead(charge, q.price, unix(x.Expires), yes(x.Renews), at); r.Lump.Amount.IsSet() {
			r.Rate = q.beside
		}
		r.PlatformEnds = lapse(charge, unix(x.Expires), yes(x.Renews))
	}
	want := prices.Want{Type: r.Type, Scope: Scope, Spot: r.Spot, GPUs: r.GPUs}
	if rate, ok := p.book.Instance(want); ok {
		r.Rate = rate
	}
	if rate, ok := p.book.Stopped(want); ok && r.StopSaves == guard.StopSavesCompute {
		r.StoppedRate = rate
	}
	if r.State == guard.StateStopped && r.StopSaves == guard.StopSavesCompute {
		r.Bills = guard.Unknown
		if r.StoppedRate.Known() {
			r.Bills = guard.TriOf(!r.StoppedRate.Free)
		}
	}
}
