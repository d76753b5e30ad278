package compshare

import (
	"math/big"
	"time"

	"guard"
	"guard/providers"
)

// The values of ChargeType. Spot stands beside Postpay (users).
const (
	postpay = "Postpay"
	dynamic = "Dynamic"
	day     = "Day"
	month   = "Month"
	year    = "Year"
)

// periods are what the modes that are paid ahead are paid for: each goes back one from a time.
var periods = map[string]func(time.Time) time.Time{
	dynamic: func(t time.Time) time.Time { return t.Add(-time.Hour) },
	day:     func(t time.Time) time.Time { return t.AddDate(0, 0, -1) },
	month:   func(t time.Time) time.Time { return t.AddDate(0, -1, 0) },
	year:    func(t time.Time) time.Time { return t.AddDate(-1, 0, 0) },
}

// kept is how long what was paid ahead and not renewed is kept (pages). Of Year it is not said.
var kept = map[string]time.Duration{dynamic: 4 * time.Hour, day: 12 * time.Hour, month: 48 * time.Hour}

// mostPeriods is how many periods ahead are believed: what is bought at once.
const mostPeriods = 1000

// ahead is what was paid for the period that the present is in; of what was bought for many,
// one. It is no lump where that period cannot be told, and one without an amount where the
// price cannot.
func ahead(charge string, price guard.Money, until time.Time, renews guard.Tri, at time.Time) guard.Lump {
	if until.IsZero() {
		return guard.Lump{}
	}
	back := periods[charge]
	from := back(until)
	for n := 0; from.After(at) && n < mostPeriods; n++ {
		from, until, renews = back(from), from, guard.Unknown // the next one is paid for already
	}
	if from.After(at) {
		return guard.Lump{}
	}
	return guard.Lump{Amount: price, From: from, Until: until, Renews: renews, Source: "api"}
}

// lapse is when what was paid ahead is deleted, where it does not renew itself.
func lapse(charge string, until time.Time, renews guard.Tri) guard.PlatformEnd {
	if until.IsZero() || renews != guard.No || kept[charge] == 0 {
		return guard.PlatformEnd{}
	}
	return guard.PlatformEnd{At: until.Add(kept[charge]), Why: "paid until then and not renewed"}
}

var free = guard.Rate{Amount: guard.ZeroMoney(cny), Per: time.Hour, Free: true, Source: "api"}

// quote is what an instance costs, as it was told by ID.
type quote struct {
	asked time.Time
	good  time.Duration // for so long it is not asked again
	of    string        // what it was when it was asked: another size has another price

	price  guard.Money // for its period, with its system disk; no amount where it is not known
	off    guard.Rate  // of Postpay, while it is stopped; the data disks are volumes'
	beside guard.Rate  // what bills beside a price that is paid ahead

	region, zone string
	cpus         guard.Gauge
	gpuMiB       guard.Gauge // of one GPU
}

// quoted is what of an instance has to change for its price to be another one.
func (x instance) quoted() string {
	return x.State.Text(maxWord) + "/" + x.Charge.Text(maxWord) + "/" + x.GPU.Text(maxWord) + "/" + string(x.GPUs[:min(len(x.GPUs), maxWord)])
}

// quote makes one of an instance that was read by ID.
func (x instance) quote() quote {
	q := quote{of: x.quoted()}
	q.region, q.zone = x.place()
	if n, ok := x.CPUs.Count(maxCPUs); ok && n > 0 {
		q.cpus = guard.Known(float64(n))
	}
	var memory struct {
		GB providers.Field `json:"Value"`
	}
	x.Memory.Into(&memory)
	if n, ok := memory.GB.Count(maxGB); ok && n > 0 {
		q.gpuMiB = guard.Known(float64(n) * 1024)
	}
	charge := x.Charge.Text(maxWord)
	image, imageTold := x.Image.Money(cny)
	if image.IsNegative() {
		image, imageTold = guard.Money{}, false
	}
	if x.spot() {
		charge = postpay // whatever it says
	}
	disk, diskTold := systemDisk(x.DiskPrices, charge)
	if x.DiskPrices.Null() {
		diskTold = true // nothing beside the instance's own price
	}
	if charge == postpay {
		if diskTold {
			q.price = sum(x.Price, disk, image)
		}
		if off, ok := systemDisk(x.OffPrices, postpay); ok && imageTold {
			q.off = offRate(off, image)
		}
		return q
	}
	if diskTold {
		q.price = sum(x.Price, disk)
	}
	if imageTold && image.IsZero() {
		q.beside = free // a paid image is by the hour, at a price whose period nobody tells
	}
	return q
}

// systemDisk is what the system disk costs in a list of disks' prices: nothing where none is
// in it. It is false where there is no list, or the mode or the price of one is not known.
func systemDisk(list providers.Field, charge string) (guard.Money, bool) {
	var disks []providers.Field
	if !list.Into(&disks) {
		return guard.Money{}, false
	}
	total := guard.ZeroMoney(cny)
	for _, f := range disks {
		var d struct {
			Charge providers.Field `json:"ChargeType"`
			Price  providers.Field `json:"Price"`
			Boot   providers.Field `json:"IsBoot"`
		}
		if !f.Into(&d) || d.Boot.Tri() == guard.Unknown {
			return guard.Money{}, false
		}
		if d.Boot.Tri() == guard.No {
			continue // a volume's
		}
		m, ok := d.Price.Money(cny)
		if !ok || m.IsNegative() || d.Charge.Text(maxWord) != charge && !m.IsZero() {
			return guard.Money{}, false
		}
		total = plus(total, m)
	}
	return total, true
}

// plus adds what is known; both are yuan.
func plus(a, b guard.Money) guard.Money {
	m, err := guard.MoneyFromRat(new(big.Rat).Add(a.Rat(), b.Rat()), cny)
	if err != nil {
		return guard.Money{}
	}
	return m
}

// sum is an instance's own price and others; no amount where its own is none.
func sum(own providers.Field, others ...guard.Money) guard.Money {
	m, ok := own.Money(cny)
	if !ok || !m.IsPositive() {
		return guard.Money{}
	}
	for _, o := range others {
		m = plus(m, o)
	}
	return m
}

// offRate is what goes on while an instance is off.
func offRate(disk, image guard.Money) guard.Rate {
	if m := plus(disk, image); m.IsPositive() {
		return providers.Hourly(m)
	}
	return free
}
