package soak

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// events draws what happens in an account's cloud.
func (d *drawer) events(s *fake.Script) {
	add := func(e fake.Event) { s.Timeline = append(s.Timeline, e) }
	for i := range min(d.times(Newcomers), 3) {
		at := d.moment("new box", 0)
		for _, r := range d.fleet(s, fmt.Sprintf("n-%d", i+1), at) {
			r.Created = 0 // with the event
			add(fake.Event{At: at, Create: &r})
		}
	}
	var here []rented
	for _, b := range d.boxes {
		if b.account == s.Account {
			here = append(here, b)
		}
	}
	if len(here) == 0 {
		return
	}
	each := func(f Family, do func(b rented, at time.Duration)) {
		for range d.times(f) {
			b := pick(d.dice, string(f)+" of", here...)
			do(b, d.moment(string(f)+" at", b.created+time.Minute))
		}
	}
	each(Reclaims, func(b rented, at time.Duration) {
		r := &fake.Reclaim{}
		switch d.n("reclaim", 0, 3) {
		case 2:
			r.Stop = saves(*s)
		case 3:
			r.Lingers = 63 * time.Minute
		}
		add(fake.Event{At: at, ID: b.id, Reclaim: r})
	})
	each(Outside, func(b rented, at time.Duration) { add(fake.Event{At: at, ID: b.id, By: guard.ByOutside, Delete: true}) })
	each(Platform, func(b rented, at time.Duration) {
		add(fake.Event{At: at, ID: b.id, By: guard.ByPlatform, Delete: true})
	})
	each(Stops, func(b rented, at time.Duration) {
		if !saves(*s) {
			return
		}
		add(fake.Event{At: at, ID: b.id, State: "stopped"})
		if d.chance("starts again", 70) {
			add(fake.Event{At: at + d.lasting("stopped for", at, 12*time.Hour), ID: b.id, State: "running"})
		}
	})
	each(Prices, func(b rented, at time.Duration) {
		add(fake.Event{At: at, ID: b.id, Rate: d.newRate(b, 50, 90, 110, 200, 400)})
	})
	each(OddPrices, func(b rented, at time.Duration) {
		add(fake.Event{At: at, ID: b.id, Rate: d.newRate(b, 10000, 5000, 1, 2)})
		if d.chance("price comes back", 60) {
			add(fake.Event{At: at + d.lasting("odd price for", at, 6*time.Hour), ID: b.id, Rate: d.newRate(b, 100)})
		}
	})
	d.moves(s, here, add)
	if d.times(Impostors) > 0 {
		at := d.moment("impostor", 0)
		add(fake.Event{At: at, Identity: "acct-stranger"})
		add(fake.Event{At: at + d.lasting("impostor for", at, 4*time.Hour), Identity: "acct-" + s.Account})
	}
	slices.SortStableFunc(s.Timeline, func(a, b fake.Event) int { return cmp.Compare(a.At, b.At) })
}

// newRate is a box's price times a number of percent; an unknown price becomes known.
func (d *drawer) newRate(b rented, percents ...int) *fake.Rate {
	p := pick(d.dice, "percent of the price", percents...)
	if !b.hourly.IsPositive() {
		return &fake.Rate{Amount: "1.50", Per: "hour"}
	}
	x := new(big.Rat).Mul(b.hourly.Rat(), big.NewRat(int64(p), 100))
	return &fake.Rate{Amount: x.FloatString(6), Per: "hour", Currency: b.hourly.Currency()}
}

// moves detaches disks, and hangs some of them on other boxes.
func (d *drawer) moves(s *fake.Script, here []rented, add func(fake.Event)) {
	var disks []string
	for _, r := range s.Resources {
		if r.Kind == guard.Volume {
			disks = append(disks, r.ID)
		}
	}
	if len(disks) == 0 {
		return
	}
	for range d.times(Moves) {
		id, at := pick(d.dice, "moved disk", disks...), d.moment("detach", 0)
		add(fake.Event{At: at, ID: id, Detach: true})
		if to := pick(d.dice, "to", here...); d.chance("attach", 60) && to.created < at {
			add(fake.Event{At: at + d.lasting("detached for", at, 5*time.Hour), ID: id, Attach: to.id})
		}
	}
}

// users are who orders: two operators, and somebody unknown, who is an admin.
var users = []string{"ana", "bo", "root"}

// people draws what people order.
func (d *drawer) people() {
	for _, b := range d.boxes {
		if d.chance("registered", 80) {
			d.register(b)
		}
	}
	d.each(Protections, func(b rented, at time.Duration) {
		d.order(Order{At: at, User: "root", Verb: Protect, ID: b.String()})
		if d.chance("unprotected again", 80) {
			d.order(Order{At: at + d.lasting("protected for", at, 24*time.Hour), User: "root", Verb: Unprotect, ID: b.String()})
		}
	})
	d.each(HandReleases, func(b rented, at time.Duration) {
		d.order(Order{At: at, User: pick(d.dice, "who", users...), Verb: Release, ID: b.String()})
	})
	d.each(Mistakes, func(b rented, at time.Duration) {
		o := Order{At: at, User: pick(d.dice, "who", users...), Verb: Register, ID: b.String()}
		switch d.n("mistake", 0, 5) {
		case 0:
			o.ID, o.TTL = b.account+"/i-nobody", time.Hour
		case 1:
			o.TTL = -5 * time.Minute
		case 2:
			o.Budget = guard.MustMoney("10 CHF")
		case 3:
			o.Verb, o.ID, o.By = Extend, b.account+"/i-nobody", time.Hour
		case 4:
			o.Verb, o.ID = Release, b.account+"/i-nobody"
		case 5:
			o.TTL, o.Grace = 10*time.Minute, 3*time.Hour
		}
		d.order(o)
	})
}

func (d *drawer) order(o Order) {
	if o.At <= d.w.Length {
		d.w.Orders = append(d.w.Orders, o)
	}
}

// each lets a family happen to boxes of any account.
func (d *drawer) each(f Family, do func(b rented, at time.Duration)) {
	for range d.times(f) {
		if len(d.boxes) > 0 {
			b := pick(d.dice, string(f)+" of", d.boxes...)
			do(b, d.moment(string(f)+" at", b.created+time.Minute))
		}
	}
}

// register draws a lease of a box, and what is done about it later.
func (d *drawer) register(b rented) {
	o := Order{At: min(b.created+d.span("registered after", time.Minute, 40*time.Minute, time.Minute), d.end), Verb: Register, ID: b.String()}
	o.User = pick(d.dice, "owner", users...)
	o.NoGPU = !b.gpu && d.chance("no-gpu-ok", 70)
	limits := d.n("limits", 0, 2)
	if limits != 1 {
		o.TTL = d.span("ttl", 30*time.Minute, max(time.Hour, d.w.Length), 10*time.Minute)
	}
	if limits != 0 && b.hourly.IsPositive() {
		o.Budget = d.money(b, d.n("budget, tenths of an hour", 5, int(d.w.Length/(6*time.Minute))))
	}
	if o.TTL == 0 && !o.Budget.IsSet() && d.chance("no limit said", 90) {
		o.TTL = 8 * time.Hour
	}
	if d.chance("own grace", 25) {
		o.Grace = min(pick(d.dice, "own grace is", 20*time.Minute, 5*time.Minute, 2*time.Hour), max(o.TTL, time.Hour)/2)
	}
	d.order(o)
	ttl := o.TTL
	if ttl == 0 {
		ttl = 8 * time.Hour
	}
	end := o.At + ttl
	if d.times(Extensions) > 0 {
		for range d.n("extensions", 0, 2) {
			e := Order{At: d.about(o.At, end, "extended"), User: o.User, Verb: Extend, ID: o.ID}
			e.By = d.span("extended by", 10*time.Minute, 12*time.Hour, 10*time.Minute)
			if o.Budget.IsSet() && d.chance("more money", 50) {
				e.Budget = d.money(b, d.n("more, tenths of an hour", 1, 100))
			}
			d.order(e)
			end = max(end, e.At) + e.By
		}
	}
	if d.times(Holds) > 0 && d.chance("held", 50) {
		h := Order{At: d.about(o.At, end, "held"), User: o.User, Verb: Hold, ID: o.ID, By: d.span("held for", 10*time.Minute, 6*time.Hour, 10*time.Minute)}
		d.order(h)
		if d.chance("unheld", 30) {
			d.order(Order{At: h.At + d.span("unheld after", time.Minute, h.By, time.Minute), User: o.User, Verb: Unhold, ID: o.ID})
		}
	}
}

// second draws what people think better of: vetoes and snoozes around the ends of what
// is registered.
func (d *drawer) second() {
	for _, o := range slices.Clone(d.w.Orders) {
		if o.Verb != Register || o.TTL < 0 {
			continue
		}
		end := o.At + cmp.Or(o.TTL, 8*time.Hour)
		if d.times(Vetoes) > 0 && d.chance("vetoed", 50) {
			d.order(Order{At: d.about(o.At, end, "vetoed"), User: o.User, Verb: Veto, ID: o.ID, By: d.span("vetoed for", 10*time.Minute, 6*time.Hour, 10*time.Minute),
				Rule: pick(d.dice, "rule", guard.RuleExpired, guard.RuleBudgetExceeded)})
		}
		if d.times(Snoozes) > 0 && d.chance("snoozed", 50) {
			d.order(Order{At: d.about(o.At, end, "snoozed"), User: o.User, Verb: Snooze, ID: o.ID, By: d.span("snoozed for", 10*time.Minute, 12*time.Hour, 10*time.Minute)})
		}
	}
}

// bounds draws what an admin set for all: ceilings, or that guard registers what
// nobody does. In one week there is one of the two: what is adopted begins to count at
// a moment that only guard knows.
func (d *drawer) bounds() {
	if d.times(Ceilings) > 0 {
		if d.chance("life", 70) {
			d.w.Life = d.span("ceiling of life", 2*time.Hour, max(3*time.Hour, d.w.Length), 10*time.Minute)
		}
		if len(d.boxes) > 0 && d.chance("ceiling of money", 40) {
			for _, code := range []string{"USD", "CNY", "EUR", "JPY", "GBP"} {
				m := guard.MustMoney("1000000 " + code)
				if b := pick(d.dice, "ceiling by", d.boxes...); b.hourly.IsPositive() && b.hourly.Currency() == code {
					m = d.money(b, d.n("ceiling, tenths of an hour", 20, int(d.w.Length/(6*time.Minute))))
				}
				d.w.Money = append(d.w.Money, m)
			}
		}
		return
	}
	if d.times(Adoptions) > 0 {
		d.w.Adopt = &Adopt{TTL: d.span("adopted for", 30*time.Minute, 8*time.Hour, 10*time.Minute), OnLimit: pick(d.dice, "adopted on limit", guard.ActAlert, guard.ActRelease)}
	}
}

// about is a time between two, or in the last minutes before the second, or a
// little behind it; before the quiet tail.
func (d *drawer) about(from, to time.Duration, label string) time.Duration {
	at := d.span(label+" at", from+time.Minute, max(from+2*time.Minute, to), time.Minute)
	if d.chance(label+" at the last minute", 40) {
		at = to + d.span(label+" before the end", -4*time.Minute, time.Minute, time.Second)
	}
	return max(min(at, d.end), 0)
}

// money is what a box costs in so many tenths of an hour.
func (d *drawer) money(b rented, tenths int) guard.Money {
	cents := new(big.Rat).Mul(b.hourly.Rat(), big.NewRat(int64(tenths), 10))
	digits := 2
	if b.hourly.Currency() == "JPY" {
		digits = 0
	}
	m, err := guard.NewMoney(cents.FloatString(digits), b.hourly.Currency())
	if err != nil || !m.IsPositive() {
		return guard.MustMoney("1 " + b.hourly.Currency())
	}
	return m
}
