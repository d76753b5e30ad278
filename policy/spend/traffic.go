package spend

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
)

// StateTraffic is what a segment of traffic bills for.
const StateTraffic guard.State = "traffic"

// Segments is everything that money is counted of in a record: what runs, what was sent
// and received, each quantity as a segment that owes exactly its price at its end, and what
// was paid ahead, which is owed from its beginning.
func Segments(m guard.Metered) []guard.Segment {
	if len(m.Traffic)+len(m.Lumps) == 0 {
		return m.Segments
	}
	out := slices.Clone(m.Segments)
	for _, p := range m.Lumps {
		out = append(out, lump(m.Resource, p))
	}
	for _, q := range m.Traffic {
		out = append(out, segments(m.Resource, q)...)
	}
	return out
}

// Traffic is what money is counted of traffic alone.
func Traffic(m guard.Metered) []guard.Segment {
	return Segments(guard.Metered{Resource: m.Resource, Traffic: m.Traffic})
}

func segments(id guard.ResourceID, q guard.Quantity) []guard.Segment {
	s := guard.Segment{Resource: id, Lease: q.Lease, State: StateTraffic, From: q.From, To: q.To}
	paid := q.Sent - min(q.Free, q.Sent)
	var out []guard.Segment
	if q.Price.PerGB.IsSet() || paid > 0 {
		s.Rate = perStretch(q.Price.PerGB, paid, q.To.Sub(q.From), q.Price.Source)
		out = append(out, s)
	}
	if q.Price.InPerGB.IsPositive() && q.In > 0 {
		s.Rate = perStretch(q.Price.InPerGB, q.In, q.To.Sub(q.From), q.Price.Source)
		out = append(out, s)
	}
	return out
}

// perStretch is the rate that owes the price of so many bytes in a stretch of time.
func perStretch(perGB guard.Money, bytes uint64, took time.Duration, source string) guard.Rate {
	if !perGB.IsSet() {
		return guard.Rate{}
	}
	r := guard.Rate{Amount: perGB, Per: took, Unit: "gb", Units: fmt.Sprintf("%d.%09d", bytes/guard.GB, bytes%guard.GB), Source: source}
	if bytes == 0 || perGB.IsZero() {
		r = guard.Rate{Amount: guard.ZeroMoney(perGB.Currency()), Per: took, Free: true, Source: source}
	}
	return r
}

// Sent is what Count judges.
type Sent struct {
	Egress  guard.Egress
	Metered guard.Metered
	// Price is what traffic costs now, Lease whose it is now.
	Price guard.EgressPrice
	Lease string
	// Others is how much the account's other resources have sent in the calendar month
	// that begins at a time (UTC): the free tier is for all of them together.
	Others func(month time.Time) uint64
	// AtMost counts a price that nobody tells at the most that it can be.
	AtMost bool
}

// Count turns what was sent into quantities, each at the price and for the lease that
// were in force when it was told. It is idempotent: the meter's bytes are a total, and
// only what is not in a quantity yet is added. What had no known price has the first one
// that is told, from its beginning; a price that cannot be one of the same thing is not
// believed.
func Count(in Sent) guard.Metered {
	m := in.Metered
	m.Traffic = slices.Clone(m.Traffic)
	price := in.price()
	if price.IsZero() && len(m.Traffic) == 0 {
		return m
	}
	for i := range m.Traffic {
		q := &m.Traffic[i]
		if q.Lease == "" {
			q.Lease = in.Lease
		}
		if !q.Price.PerGB.IsSet() && price.PerGB.IsSet() {
			q.Price = price
			q.Free = in.free(m.Traffic[:i], *q, q.Sent)
		}
	}
	for _, month := range in.Egress.Months {
		sent, received := month.Sent, month.In
		for _, q := range m.Traffic {
			if guard.CalendarMonth(q.From).Equal(month.From) {
				sent, received = sent-min(sent, q.Sent), received-min(received, q.In)
			}
		}
		if sent > 0 || received > 0 {
			m.Traffic = in.add(m.Traffic, month.From, sent, received, price)
		}
	}
	return m
}

// add books bytes of a month.
func (in Sent) add(qs []guard.Quantity, month time.Time, sent, received uint64, price guard.EgressPrice) []guard.Quantity {
	q := guard.Quantity{Lease: in.Lease, From: month, To: month.AddDate(0, 1, 0), Price: price}
	if in.Egress.First.After(q.From) {
		q.From = in.Egress.First
	}
	for _, was := range qs {
		if was.To.After(q.From) && guard.CalendarMonth(was.From).Equal(month) {
			q.From = was.To
		}
	}
	if in.Egress.At.Before(q.To) {
		q.To = in.Egress.At
	}
	i := len(qs) - 1
	if i >= 0 && qs[i].Lease == q.Lease && qs[i].Price == price && guard.CalendarMonth(qs[i].From).Equal(month) {
		if q.To.After(qs[i].To) {
			qs[i].To = q.To
		}
	} else {
		if !q.To.After(q.From) {
			q.From = q.To.Add(-time.Second) // what came late still counts
		}
		qs, i = append(qs, q), len(qs)
	}
	qs[i].Free += in.free(qs, qs[i], sent)
	qs[i].Sent, qs[i].In = qs[i].Sent+sent, qs[i].In+received
	return qs
}

// free is how many of so many bytes more in a quantity are within the free tier, after
// what the account has sent in that month.
func (in Sent) free(before []guard.Quantity, q guard.Quantity, sent uint64) uint64 {
	if q.Price.FreeGB <= 0 {
		return 0
	}
	month := guard.CalendarMonth(q.From)
	tier, used := uint64(q.Price.FreeGB)*guard.GB, in.Others(month)
	for _, b := range before {
		if guard.CalendarMonth(b.From).Equal(month) {
			used += b.Sent
		}
	}
	return min(sent, tier-min(tier, used))
}

// price is what new bytes cost: what is told, unless it is no price of what it was.
func (in Sent) price() guard.EgressPrice {
	price := in.Price
	if price.PerGB.IsNegative() {
		price.PerGB = guard.Money{}
	}
	if in.AtMost {
		price, _ = price.AtMost()
	}
	n := len(in.Metered.Traffic)
	if n == 0 {
		return price
	}
	was := in.Metered.Traffic[n-1].Price
	if was.PerGB.IsSet() && (!price.PerGB.IsSet() || odd(perGB(was), perGB(price))) {
		return was
	}
	return price
}

func perGB(p guard.EgressPrice) guard.Rate {
	return guard.Rate{Amount: p.PerGB, Per: time.Hour, Free: true}
}

// Flow is traffic as it goes now, for what it will have cost.
type Flow struct {
	Resource guard.ResourceID
	Price    guard.EgressPrice
	// From is the newest sample; what was sent since then nobody has told.
	From time.Time
	// Rate is bytes a second of late, and Peak what it seldom exceeds.
	Rate, Peak float64
	// Lag is how long what is sent takes to be told.
	Lag time.Duration
	// Left is how much of the free tier is.
	Left uint64
}

// Reserve is how many percent of a cap are kept back at most for what is sent and not
// told yet.
const Reserve = 2

// Ahead is what flows will owe, to solve a crossing with: they go on as of late, and
// what they may send before it is told is kept back, at most a small part of the cap.
func Ahead(flows []Flow, budget guard.Money, at time.Time) []guard.Segment {
	var out []guard.Segment
	for _, f := range flows {
		if !f.Price.PerGB.IsPositive() || f.Price.PerGB.Currency() != budget.Currency() {
			continue
		}
		s := guard.Segment{Resource: f.Resource, State: StateTraffic, From: f.From}
		if bytes := uint64(f.Rate * 3600); bytes > 0 {
			s.From = f.From.Add(time.Duration(min(float64(f.Left)/f.Rate, Horizon.Seconds()) * float64(time.Second)))
			s.Rate = perStretch(f.Price.PerGB, bytes, time.Hour, f.Price.Source)
			out = append(out, s)
		}
		held := uint64(f.Peak * f.Lag.Seconds())
		held -= min(held, f.Left)
		if most := new(big.Rat).Quo(budget.Percent(Reserve).Rat(), f.Price.PerGB.Rat()); most.Sign() > 0 {
			n, _ := most.Float64()
			held = min(held, uint64(n*guard.GB))
		}
		if held > 0 {
			s.From, s.To = at.Add(-time.Second), at
			s.Rate = perStretch(f.Price.PerGB, held, time.Second, f.Price.Source)
			out = append(out, s)
		}
	}
	return out
}
