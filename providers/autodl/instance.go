package autodl

import (
	"math/big"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// instance is what is read of a Pro instance in a list.
type instance struct {
	ID      providers.Field `json:"uuid"`
	Name    providers.Field `json:"name"`
	Status  providers.Field `json:"status"`
	Since   providers.Field `json:"status_at"`
	Mode    providers.Field `json:"start_mode"`
	Charge  providers.Field `json:"charge_type"`
	GPUs    providers.Field `json:"req_gpu_amount"`
	Spec    providers.Field `json:"gpu_spec_uuid"`
	Created providers.Field `json:"created_at"`
	Started providers.Field `json:"started_at"`
	Stopped providers.Field `json:"stopped_at"`
}

func (x instance) key() (string, bool) { return x.ID.ID(maxID) }

// nullTime is a time that may not be: {"Time": …, "Valid": true}. A plain time is one, too.
func nullTime(f providers.Field) time.Time {
	var t struct {
		Time  providers.Field `json:"Time"`
		Valid providers.Field `json:"Valid"`
	}
	if !f.Into(&t) {
		return f.Time()
	}
	if t.Valid.Tri() != guard.Yes {
		return time.Time{}
	}
	return t.Time.Time()
}

// payg is the charge_type of what is paid by the hour: the only one that the API creates, and
// the one whose price it tells.
const payg = "payg"

// withGPU is the start_mode of an instance that has its GPUs. The console can start one
// without, at another price.
const withGPU = "gpu"

// states are the words of a status: those of containers (pages), of which Pro instances have
// some (users).
var states = map[string]guard.State{
	"creating":      guard.StateProvisioning,
	"created":       guard.StateProvisioning,
	"starting":      guard.StateProvisioning,
	"oss_merged":    guard.StateProvisioning,
	"running":       guard.StateRunning,
	"shutting_down": guard.StateStopping,
	"shutdown":      guard.StateStopped,
}

func stateOf(word providers.Field) guard.State {
	if s, ok := states[word.Text(maxWord)]; ok {
		return s
	}
	return guard.StateUnknown
}

// instance makes an instance of what a list and the detail tell.
func (p *Provider) instance(x instance) guard.Resource {
	id, _ := x.key()
	d := p.detailOf(id)
	r := guard.Resource{
		ID: p.id(Scope, id), Name: x.Name.Text(maxName), State: stateOf(x.Status), RawState: x.Status.Text(maxWord),
		Created: x.Created.Time(), Changed: x.Since.Time(), Type: x.Spec.Text(maxName), GPUModel: d.model,
		HasGPU: guard.Yes, // pages: one GPU at least
		Bills:  guard.Yes, ReleaseProtected: guard.No,
	}
	n, _ := x.GPUs.Count(maxGPUs)
	r.GPUs = int(n)
	want := prices.Want{Type: r.Type, Scope: Scope, GPUs: r.GPUs}
	charge := x.Charge.Text(maxWord)
	if charge == payg && x.Mode.Text(maxWord) == withGPU {
		r.Rate = d.rate
	}
	if rate, ok := p.book.Instance(want); ok {
		r.Rate = rate
	}
	switch charge {
	case "": // nobody knows
	case payg:
		r.StopSaves, r.StoppedRate = d.off()
		if rate, ok := p.book.Stopped(want); ok {
			r.StopSaves, r.StoppedRate = guard.StopSavesCompute, rate
		}
	default:
		r.StopSaves = guard.StopSavesNothing
	}
	if r.State != guard.StateStopped {
		return r
	}
	if charge == payg {
		r.Bills = billsOff(r, d)
	}
	off := nullTime(x.Stopped)
	if off.IsZero() {
		off = r.Changed
	}
	if !off.IsZero() {
		r.PlatformEnds = guard.PlatformEnd{At: off.Add(keptOff), Why: "stopped for 15 days"}
	}
	return r
}

// billsOff is whether an instance that is off bills.
func billsOff(r guard.Resource, d detail) guard.Tri {
	switch {
	case r.StopSaves == guard.StopSavesAll:
		return guard.No
	case r.StoppedRate.Known():
		return guard.TriOf(!r.StoppedRate.Free)
	}
	return d.disks
}

// detail is what is read of one Pro instance by itself.
type detail struct {
	asked time.Time
	good  time.Duration // for so long it is not asked again
	on    time.Time     // when it was started: started again it may cost something else
	rate  guard.Rate
	model string
	disks guard.Tri // whether it has a disk that bills while it is off
}

// off is what a stop saves, and what it costs then. What a further disk costs is not told.
func (d detail) off() (guard.StopEffect, guard.Rate) {
	if d.disks == guard.No {
		return guard.StopSavesAll, guard.Rate{Amount: guard.ZeroMoney(cny), Per: time.Hour, Free: true, Source: "api"}
	}
	return guard.StopSavesCompute, guard.Rate{}
}

// snapshot is what is read of an instance's detail, which has its password and its Jupyter
// token beside it.
type snapshot struct {
	Price providers.Field `json:"payg_price"`
	Model providers.Field `json:"snapshot_gpu_alias_name"`
	First providers.Field `json:"system_init_disk_size"`   // bytes
	Disk  providers.Field `json:"expand_system_disk_size"` // bytes; as large as the first where it was not expanded
	Usage providers.Field `json:"usage_info"`
}

// maxBytes is a size beyond which a number is noise: a thousand terabytes.
const maxBytes = 1_000_000_000_000_000

// further is whether the instance has a disk beyond the one that it is created with.
func (x snapshot) further() guard.Tri {
	var usage struct {
		Data providers.Field `json:"data_disk_total_size"`
	}
	first, ok1 := x.First.Count(maxBytes)
	disk, ok2 := x.Disk.Count(maxBytes)
	x.Usage.Into(&usage)
	data, ok3 := usage.Data.Count(maxBytes)
	switch {
	case ok1 && ok2 && first > 0 && disk > first, ok3 && data > 0:
		return guard.Yes
	case ok1 && ok2 && ok3 && first > 0:
		return guard.No
	}
	return guard.Unknown
}

// thousandth is a price in thousandths of a yuan an hour; a price of nothing is none.
func thousandth(f providers.Field) guard.Rate {
	m, _ := yuan(f) // unset where it is none
	return providers.Hourly(m)
}

// yuan is an amount in thousandths of one.
func yuan(f providers.Field) (guard.Money, bool) {
	m, ok := f.Money(cny)
	if !ok {
		return guard.Money{}, false
	}
	m, err := guard.MoneyFromRat(new(big.Rat).Mul(m.Rat(), big.NewRat(1, 1000)), cny)
	return m, err == nil
}
