package soak

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers/fake"
)

// purseName is the account that pays ahead.
const purseName = "purse"

// purse draws an account that pays ahead: a balance that burns down and is topped up,
// boxes that are paid ahead for days, and a bill that lags, differs or cannot be read.
// It has no other troubles than those, so that what its money does can be told; guard
// itself dies and sleeps as in the rest of the week.
func (d *drawer) purse() {
	if d.each0(Purses) == 0 {
		return
	}
	a := Account{Mode: guard.Enforce}
	if d.chance("observe the purse", d.k.Observe) {
		a.Mode = guard.Observe
	}
	s := &a.Script
	s.Account, s.Currency = purseName, pick(d.dice, "purse currency", "CNY", "USD", "EUR", "JPY")
	s.Billing.Granularity = pick(d.dice, "purse granularity", 0, time.Minute)
	s.Lag.Disappears = pick(d.dice, "purse disappears", 5*time.Minute, 0, time.Hour)
	s.ReleaseTakes = pick(d.dice, "purse release takes", 0, fake.AtOnce, 5*time.Minute)
	for i := range d.n("purse boxes", 1, 3) {
		s.Resources = append(s.Resources, d.prepaid(fmt.Sprintf("p-%d", i+1)))
	}
	d.w.Low = pick(d.dice, "low for", 3*time.Hour, time.Hour, 6*time.Hour)
	if d.chance("a balance", 75) {
		d.wallet(s)
	}
	d.bill(s)
	for i := range s.Resources {
		d.hire(s, s.Resources[i])
	}
	for _, call := range []string{fake.CallBalance, fake.CallCharges} {
		if d.chance(call+" fails", 30) {
			f := fake.Fault{Call: call, From: d.moment("purse fault", 0), Reply: d.reply(fake.CallAny)}
			f.For = d.lasting("purse fault for", f.From, 4*time.Hour)
			s.Faults = append(s.Faults, f)
		}
	}
	if d.chance("nobody tells what is paid ahead", 30) {
		f := fake.Fault{Call: fake.CallAny, From: d.moment("not told", 0), Reply: fake.Reply{NullFields: []string{"lump"}}}
		f.For = d.lasting("not told for", f.From, 4*time.Hour)
		s.Faults = append(s.Faults, f)
	}
	slices.SortStableFunc(s.Faults, func(a, b fake.Fault) int { return cmp.Compare(a.From, b.From) })
	slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
	d.w.Accounts = append(d.w.Accounts, a)
}

// prepaid draws a box that is paid by the hour, or ahead, or both.
func (d *drawer) prepaid(id string) fake.Resource {
	r := fake.Resource{ID: id, Created: -d.span("purse created before", 0, 20*time.Hour, 7*time.Minute)}
	kind := d.n("pays", 0, 4)
	if kind < 2 || kind == 4 {
		r.Rate = &fake.Rate{Amount: pick(d.dice, "by the hour", "2", "11.4", "0.41"), Per: "hour"}
	}
	if kind >= 2 {
		covers := pick(d.dice, "covers", 24*time.Hour, 3*time.Hour, 7*time.Hour, 30*24*time.Hour)
		r.Lump = &fake.Lump{Amount: pick(d.dice, "paid ahead", "30", "3000", "7.77"), Covers: covers, Renews: d.chance("renews", 75)}
		// What was paid before anybody looked is not known, and another story.
		r.Created = -min(-r.Created, covers-10*time.Minute)
	}
	return r
}

// wallet draws a balance of so many hours, and what is paid in.
func (d *drawer) wallet(s *fake.Script) {
	burn := new(big.Rat)
	for _, r := range s.Resources {
		if r.Rate != nil {
			burn.Add(burn, hourlyOf(r, r.Rate))
		}
		if r.Lump != nil {
			burn.Add(burn, new(big.Rat).Quo(lumpOf(r), big.NewRat(int64(r.Lump.Covers/time.Hour), 1)))
		}
	}
	hours := func(label string, least int) string {
		n := d.n(label, least, max(least+1, int(d.w.Length/time.Hour)))
		whole := new(big.Rat).Mul(burn, big.NewRat(int64(n), 1))
		return whole.FloatString(0) + " " + s.Currency
	}
	s.Balance = hours("balance, hours", 5)
	s.AtZero = pick(d.dice, "at zero", guard.ZeroNothing, guard.ZeroDeletes, guard.ZeroStops)
	for range d.n("top-ups", 0, 2) {
		s.Timeline = append(s.Timeline, fake.Event{At: d.moment("top-up", 0), TopUp: hours("topped up, hours", 1)})
	}
}

// bill draws the cloud's own bill: none, what it really costs, or lines that differ.
func (d *drawer) bill(s *fake.Script) {
	if d.chance("renewal is turned off", 20) {
		off := false
		if r := s.Resources[0]; r.Lump != nil {
			s.Timeline = append(s.Timeline, fake.Event{At: d.moment("off", 0), ID: r.ID, Set: &fake.Changes{Renews: &off}})
		}
	}
	switch d.n("bill", 0, 3) {
	case 1:
		s.Bill = time.Hour
	case 2:
		s.Bill = 6 * time.Hour
	case 3:
		r := pick(d.dice, "billed otherwise", s.Resources...)
		amount := pick(d.dice, "billed", "1", "9", "31", "500") + " " + s.Currency
		first := d.n("first line, hours", 1, 3)
		for h := first; time.Duration(h)*time.Hour < d.end; h++ {
			s.Timeline = append(s.Timeline, fake.Event{At: time.Duration(h) * time.Hour, Charge: &fake.Charge{ID: r.ID, Amount: amount, Covers: time.Hour}})
		}
	}
}

// hire draws the lease of a box in the purse.
func (d *drawer) hire(s *fake.Script, r fake.Resource) {
	if !d.chance("hired", 80) {
		return
	}
	o := Order{At: d.span("hired after", time.Minute, 30*time.Minute, time.Minute), User: "ana", Verb: Register, ID: s.Account + "/" + r.ID}
	o.TTL = d.span("hired for", time.Hour, 2*d.w.Length, 10*time.Minute)
	if d.chance("capped", 60) {
		units := big.NewRat(int64(d.n("cap, halves", 3, 12)), 2)
		of := new(big.Rat)
		if r.Lump != nil {
			of.Add(of, lumpOf(r))
		}
		if r.Rate != nil {
			of.Add(of, over(hourlyOf(r, r.Rate), 12*time.Hour))
		}
		if whole := of.Mul(of, units).FloatString(0); whole != "0" {
			o.Budget = guard.MustMoney(whole + " " + s.Currency)
		}
	}
	d.order(o)
	if d.chance("deleted elsewhere", 15) {
		s.Timeline = append(s.Timeline, fake.Event{At: d.moment("deleted elsewhere", time.Hour), ID: r.ID, By: guard.ByOutside, Delete: true})
	}
}

// lumpOf is what a box is paid ahead with each time.
func lumpOf(r fake.Resource) *big.Rat {
	x, ok := new(big.Rat).SetString(r.Lump.Amount)
	if !ok {
		return new(big.Rat)
	}
	return x
}

func lumpYAML(l *fake.Lump) string {
	if l == nil {
		return ""
	}
	f := &flow{}
	f.put("amount", strconv.Quote(l.Amount))
	f.span("covers", l.Covers)
	f.flag("renews", l.Renews)
	return f.String()
}

func chargeYAML(c *fake.Charge) string {
	if c == nil {
		return ""
	}
	f := &flow{}
	f.text("id", c.ID)
	f.text("amount", c.Amount)
	f.span("covers", c.Covers)
	return f.String()
}
