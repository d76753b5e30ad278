package policy

import (
	"fmt"
	"math/big"
	"time"

	"guard"
	"guard/policy/egress"
)

// AssumedEgress is what a GB counts as where nobody tells its price: what the large
// clouds ask for the first terabytes to the internet.
var AssumedEgress = guard.EgressPrice{PerGB: guard.MustMoney("0.09 USD")}

// The limits where amounts cannot be compared at all: the default ones at that price.
const (
	assumedHour = uint64(22 * guard.GB)
	assumedDay  = uint64(111 * guard.GB)
)

// most is how many times the daily limit a day at the present rate costs before it is
// urgent.
const most = 10

// egressSpike tells of traffic that costs more than a limit and is far more than usual.
// It judges by the newest sample, not by the time: where samples stop, nobody knows that
// the traffic has. What it told of is no part of what is usual, so a leak is never
// learned; it closes when an hour costs less than half.
func egressSpike(r Rules, f Facts) Outcome {
	if f.Egress == nil || f.Egress.At.IsZero() || !f.live() || f.Observed.Resource.ID.Kind != guard.Instance || f.halted() {
		return Outcome{}
	}
	s := f.spike(r)
	s.Usual = egress.Look(*f.Egress, f.Egress.At)
	hour, day := s.judge()
	if !hour && !day {
		return Outcome{}
	}
	return s.verdict(hour, day)
}

// halted reports an instance that does not run any more, so that it sends nothing,
// whatever it did until then.
func (f Facts) halted() bool {
	switch f.Observed.Resource.State {
	case guard.StateStopped, guard.StateStopping, guard.StateReleasing:
		return true
	}
	return false
}

// spike is one judgement of traffic.
type spike struct {
	egress.Usual
	r              Rules
	f              Facts
	price          guard.EgressPrice
	known, bounded bool   // the price is; it is one that it can be at most
	hour, day      uint64 // what the limits are in bytes
}

// spike is the price and the limits that traffic is judged by.
func (f Facts) spike(r Rules) spike {
	s := spike{r: r, f: f, price: f.Observed.Resource.Egress, known: true}
	if !s.price.PerGB.IsSet() {
		s.known = false
		if s.price, s.bounded = s.price.AtMost(); !s.bounded {
			s.price = AssumedEgress
		}
	}
	s.hour, s.day = s.limit(r.EgressSpike.Hour, assumedHour), s.limit(r.EgressSpike.Day, assumedDay)
	return s
}

// limit is how many bytes an amount pays for.
func (s spike) limit(m guard.Money, fallback uint64) uint64 {
	in, ok := s.r.Exchange.To(m, s.price.PerGB.Currency())
	if !ok {
		if in, ok = s.r.Exchange.To(m, AssumedEgress.PerGB.Currency()); !ok {
			return fallback
		}
		return bytesFor(in, AssumedEgress.PerGB)
	}
	return bytesFor(in, s.price.PerGB)
}

// bytesFor is how much an amount buys at a price of the same currency, rounded up; as
// much as there is where it costs nothing.
func bytesFor(m, perGB guard.Money) uint64 {
	if !perGB.IsPositive() {
		return ^uint64(0)
	}
	n := new(big.Rat).Quo(m.Rat(), perGB.Rat())
	n.Mul(n, big.NewRat(guard.GB, 1))
	whole := new(big.Int).Add(n.Num(), new(big.Int).Sub(n.Denom(), big.NewInt(1)))
	if whole.Quo(whole, n.Denom()); !whole.IsUint64() {
		return ^uint64(0)
	}
	return whole.Uint64()
}

// judge tells whether the last hour, and the last day, are a spike. One that was told
// goes on until it is down to half, and does not count towards the next.
func (s spike) judge() (hour, day bool) {
	if s.Flagged {
		paidHour, paidDay := s.billed(s.Hour, time.Hour), s.billed(s.Day, 24*time.Hour)
		odd := !s.Enough || s.Hour > 2*s.Median
		hour = odd && paidHour >= s.hour/2
		// As long as it goes on at half of what makes a day's limit, it is a day's leak.
		return hour, !hour && odd && paidDay >= s.day/2 && paidHour >= s.day/48 && (!s.Enough || s.Day > s.MaxDay)
	}
	usual := max(s.P99, s.SameHour)
	hour = s.billed(s.NewHour, time.Hour) >= s.hour && (!s.Enough || s.NewHour > 4*s.Median && s.NewHour > usual+usual/2)
	day = s.billed(s.NewDay, 24*time.Hour) >= s.day && (!s.Enough || s.NewDay > 2*s.MaxDay)
	return hour, day
}

// billed is how much of what was sent in the time before the newest sample was beyond
// the free tier.
func (s spike) billed(sent uint64, within time.Duration) uint64 {
	if s.price.FreeGB <= 0 {
		return sent
	}
	var paid uint64
	for _, q := range s.f.Metered.Traffic {
		if q.To.After(s.f.Egress.At.Add(-within)) {
			paid += q.Sent - q.Free
		}
	}
	return min(sent, paid)
}

func (s spike) verdict(hour, day bool) Outcome {
	f := s.f
	within, sent, name := time.Hour, s.Hour, "hour"
	title := f.say("%s: %s sent in the last hour", f.name(), guard.ByteText(sent))
	if day && !hour {
		within, sent = 24*time.Hour, s.Day
		title = f.say("%s: %s sent in the last 24 hours", f.name(), guard.ByteText(sent))
	}
	if cost := s.cost(sent); cost != "" {
		title = f.say("%s: %s", title, cost)
	}
	if !hour && !s.Flagged || s.Flagged && s.Peak < s.hour {
		name = "day" // what falls below an hour's limit and rises above it is told once
	}
	since := f.Egress.At.Add(-within)
	if s.Flagged && !f.Egress.Spike.IsZero() {
		since = f.Egress.Spike
	}
	v := f.verdict(guard.RuleEgressSpike, since)
	v.Wastes = guard.Money{}
	if s.known {
		v.Wastes, _ = s.price.Cost(s.billed(s.Hour, time.Hour), 0)
	}
	v.Urgent = s.Hour >= s.day/24*most
	v.Stages = []Stage{{Name: name, Title: title, Lines: s.lines()}}
	v.Facts = append(v.Facts, s.facts()...)
	return s.act(v, within)
}

// cost says what so many bytes cost, as far as that is known; "" where it is not.
func (s spike) cost(sent uint64) string {
	m, ok := s.price.Cost(sent, 0)
	switch {
	case !ok:
		return ""
	case s.known:
		return m.Round().String()
	case s.bounded:
		return s.f.say("at most %s", m.Round())
	}
	return s.f.say("its price is not known")
}

func (s spike) lines() []string {
	f := s.f
	lines := []string{f.say("Usually it sends %s in an hour; the most was %s in an hour of the week before, and %s in a day.",
		guard.ByteText(s.Median), guard.ByteText(max(s.P99, s.SameHour)), guard.ByteText(s.MaxDay))}
	if !s.Enough {
		lines[0] = f.say("What is usual for it is not known yet: there is less than a day to compare with.")
	}
	if f.Lease != nil {
		lines = append([]string{f.whose(f.Lease)}, lines...)
	}
	lines = append(lines, s.ahead())
	if !s.known && !s.bounded {
		lines = append(lines, f.say("Nobody tells what its traffic costs; it is judged as if a GB cost %s.", AssumedEgress.PerGB))
	}
	return append(lines, f.say("The numbers: guard egress show %s", f.Resource()))
}

// ahead is what the month comes to.
func (s spike) ahead() string {
	sent := egress.MonthEnd(*s.f.Egress)
	free := min(sent, uint64(max(s.price.FreeGB, 0))*guard.GB)
	if cost := s.cost(sent - free); cost != "" {
		return s.f.say("If it goes on like in the last hour, it sends %s by the end of the month (UTC): %s.", guard.ByteText(sent), cost)
	}
	return s.f.say("If it goes on like in the last hour, it sends %s by the end of the month (UTC).", guard.ByteText(sent))
}

// facts are the arithmetic.
func (s spike) facts() []guard.Fact {
	at, rule := s.f.Egress.At, "rule egress_spike"
	usual := fmt.Sprintf("median %s, p99 %s, at this time of day %s an hour; %s a day", guard.ByteText(s.Median), guard.ByteText(s.P99), guard.ByteText(s.SameHour), guard.ByteText(s.MaxDay))
	if !s.Enough {
		usual = "not known yet, so its limits alone are judged by"
	}
	price := s.price.PerGB.String() + " per GB"
	switch {
	case s.known:
	case s.bounded:
		price = "unknown, at most " + price
	default:
		price = "unknown, judged at " + price
	}
	amount := func(sent uint64, within time.Duration) string {
		if cost := s.cost(s.billed(sent, within)); cost != "" {
			return guard.ByteText(sent) + ", " + cost
		}
		return guard.ByteText(sent)
	}
	return []guard.Fact{
		{Name: "sent in an hour", Value: amount(s.Hour, time.Hour), Source: s.f.Egress.Source, At: at},
		{Name: "sent in 24 hours", Value: amount(s.Day, 24*time.Hour), Source: s.f.Egress.Source, At: at},
		{Name: "price of traffic", Value: price, Source: s.price.Source, At: at},
		{Name: "limits", Value: fmt.Sprintf("%s an hour (%s), %s a day (%s)", s.r.EgressSpike.Hour, guard.ByteText(s.hour), s.r.EgressSpike.Day, guard.ByteText(s.day)), Source: rule, At: s.f.At},
		{Name: "usual", Value: usual, Source: rule, At: at},
	}
}

// spikeEnds is why a spike is over.
func (f Facts) spikeEnds() string {
	switch {
	case f.Egress == nil:
		return ""
	case f.halted():
		return f.say("It does not run any more.")
	}
	return f.say("It sent %s in the hour until %s.", guard.ByteText(egress.Look(*f.Egress, f.Egress.At).Hour), f.stamp(f.Egress.At))
}
