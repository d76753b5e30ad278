package api

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/egress"
	"guard/policy/spend"
	"guard/store"
)

type egressIn struct {
	Account string `query:"account"`
}

// traffic lists the meters of what lives, the dearest month first.
func (s *server) traffic(ctx context.Context, at guard.Instant, in *egressIn) (wire.EgressList, error) {
	out := wire.EgressList{Now: s.now(at), Items: []wire.Egress{}}
	if _, ok := s.Account(in.Account); in.Account != "" && !ok {
		return out, s.noAccount(in.Account)
	}
	err := s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, in.Account)
		if err != nil {
			return err
		}
		for e, err := range v.Egress.All("") {
			if err != nil {
				return err
			}
			if o, ok := b.observed[e.Resource.Key()]; ok && o.Live() {
				out.Items = append(out.Items, s.wireEgress(b, o, e))
			}
		}
		return nil
	})
	slices.SortStableFunc(out.Items, func(x, y wire.Egress) int {
		switch {
		case x.MonthEnd > y.MonthEnd:
			return -1
		case x.MonthEnd < y.MonthEnd:
			return 1
		}
		return 0
	})
	return out, err
}

// trafficOf is the meter of one resource.
func (s *server) trafficOf(ctx context.Context, at guard.Instant, in *idIn) (wire.EgressList, error) {
	out := wire.EgressList{Now: s.now(at), Items: []wire.Egress{}}
	err := s.metering(ctx, in.ID, func(b *book, o guard.Observed, e guard.Egress) error {
		if e.First.IsZero() {
			return faultf(guard.ErrNotFound, "nothing has told of the traffic of %s yet", o.Resource.ID).
				hinted("It takes a source of byte counters: guard agent on the box, Prometheus' node-exporter, or a provider that has them.")
		}
		it := s.wireEgress(b, o, e)
		for t := at.Wall.Add(-23 * time.Hour).Truncate(time.Hour); !t.After(at.Wall); t = t.Add(time.Hour) {
			var sent uint64
			for _, h := range e.Hours {
				if h.From.Equal(t) {
					sent = h.Sent
				}
			}
			it.Hours = append(it.Hours, sent)
		}
		out.Items = append(out.Items, it)
		return nil
	})
	return out, err
}

// metering finds a resource and its meter.
func (s *server) metering(ctx context.Context, text string, do func(*book, guard.Observed, guard.Egress) error) error {
	account, id, err := s.resource(text)
	if err != nil {
		return err
	}
	return s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, account)
		if err != nil {
			return err
		}
		o, err := s.known(b, account, id)
		if err != nil {
			return err
		}
		e, _, err := v.Egress.Get(o.Resource.ID.Key())
		if err != nil {
			return err
		}
		return do(b, o, e)
	})
}

func (s *server) wireEgress(b *book, o guard.Observed, e guard.Egress) wire.Egress {
	key, price := o.Resource.ID.Key(), o.Resource.Egress
	u := egress.Look(e, e.At)
	mean, _ := egress.Pace(e)
	out := wire.Egress{ID: o.Resource.ID.String(), Name: o.Resource.Name, Sent: e.Sent, Received: e.Received,
		First: e.First.In(s.Location()), At: e.At.In(s.Location()), Source: e.Source,
		Hour: u.Hour, Day: u.Day, MonthEnd: egress.MonthEnd(e), Rate: uint64(mean), FreeGB: price.FreeGB,
		Resets: e.Resets, Wraps: e.Wraps, Dropped: e.Dropped}
	for _, j := range e.Doubtful {
		out.Doubtful = append(out.Doubtful, wire.Jump{From: j.From.In(s.Location()), To: j.To.In(s.Location()), Sent: j.Sent, Received: j.In})
	}
	if l, ok := b.leases[key]; ok && l.Status.Open() {
		out.Owner = l.Owner
	}
	if u.Enough {
		out.UsualHour, out.UsualDay = &u.Median, &u.MaxDay
	}
	if price.PerGB.IsSet() {
		text := price.PerGB.String()
		out.Price = &text
	} else if price.UpTo.IsSet() {
		text := price.UpTo.String()
		out.UpTo = &text
	}
	month := guard.CalendarMonth(e.At)
	for _, m := range e.Months {
		if m.From.Equal(month) {
			out.Month = m.Sent
		}
	}
	out.FreeLeft = b.freeLeft(o.Resource.ID.Account, price, e.At)
	out.Cost, out.CostEnd = costs(b.metered[key], out, price, month)
	for _, f := range b.findings[key] {
		if f.Rule == guard.RuleEgressSpike {
			out.Finding = f.Title
		}
	}
	return out
}

// costs are what a month has cost, and what it comes to.
func costs(m guard.Metered, it wire.Egress, price guard.EgressPrice, month time.Time) (now, end *string) {
	if !price.PerGB.IsSet() {
		return nil, nil
	}
	var this guard.Metered
	this.Resource = m.Resource
	for _, q := range m.Traffic {
		if guard.CalendarMonth(q.From).Equal(month) {
			this.Traffic = append(this.Traffic, q)
		}
	}
	total := spend.Spent(spend.Traffic(this), month.AddDate(0, 1, 0))
	if len(total.Unknown) > 0 {
		return nil, nil
	}
	so := total.In(price.PerGB.Currency())
	more := it.MonthEnd - min(it.MonthEnd, it.Month)
	rest, ok := price.Cost(more-min(more, it.FreeLeft), 0)
	if !ok {
		return moneyText(so), nil
	}
	sum, err := so.Add(rest)
	if err != nil {
		return moneyText(so), nil
	}
	return moneyText(so), moneyText(sum)
}

// freeLeft is how many bytes of an account's free tier are left in a month.
func (b *book) freeLeft(account string, price guard.EgressPrice, at time.Time) uint64 {
	left := uint64(max(price.FreeGB, 0)) * guard.GB
	for _, m := range b.metered {
		for _, q := range m.Traffic {
			if m.Resource.Account == account && guard.CalendarMonth(q.From).Equal(guard.CalendarMonth(at)) {
				left -= min(left, q.Sent)
			}
		}
	}
	return left
}

type estimateIn struct {
	ID   string `query:"id" required:"true" doc:"ACCOUNT/ID"`
	Size string `query:"size" required:"true" doc:"how much: 140GB, 1.5TB"`
}

// estimate tells what it would cost to send something.
func (s *server) estimate(ctx context.Context, at guard.Instant, in *estimateIn) (wire.Estimate, error) {
	out := wire.Estimate{Now: s.now(at)}
	n, err := guard.ParseBytes(in.Size)
	if err != nil {
		return out, err
	}
	err = s.metering(ctx, in.ID, func(b *book, o guard.Observed, e guard.Egress) error {
		price := o.Resource.Egress
		out.ID, out.Bytes = o.Resource.ID.String(), n
		out.Free = min(n, b.freeLeft(o.Resource.ID.Account, price, at.Wall))
		paid := n - out.Free
		cost, known := price.Cost(paid, 0)
		switch most, bounded := price.AtMost(); {
		case known:
			out.Cost = moneyText(cost)
		case bounded:
			cost, _ = most.Cost(paid, 0)
			out.AtMost = moneyText(cost)
		default:
			assumed, _ := policy.AssumedEgress.Cost(paid, 0)
			out.Assumed = moneyText(assumed)
			out.Notes = append(out.Notes, fmt.Sprintf("Nobody tells what traffic costs there; %s is what a large cloud asks.", policy.AssumedEgress.PerGB))
		}
		if price.PerGB.IsSet() {
			text := price.PerGB.String()
			out.Price = &text
		}
		if mean, _ := egress.Pace(e); mean > 0 {
			takes := int64(float64(n) / mean)
			out.Takes = &takes
		}
		if l, ok := b.leases[o.Resource.ID.Key()]; ok && l.Status.Open() {
			share(&out, b, o, l, cost, at.Wall)
		}
		return nil
	})
	return out, err
}

// share is how much of what is left of a cap a cost is.
func share(out *wire.Estimate, b *book, o guard.Observed, l guard.Lease, cost guard.Money, at time.Time) {
	if !l.Budget.IsPositive() {
		return
	}
	left, err := l.Budget.Sub(spentBy(b.family(o, l.ID), l.ID, at).In(l.Budget.Currency()))
	if err != nil {
		return
	}
	out.Budget, out.Left = moneyText(l.Budget), moneyText(left)
	switch n, err := cost.Cmp(left); {
	case err != nil && cost.IsSet():
		out.Notes = append(out.Notes, fmt.Sprintf("Its budget is in %s, and traffic is billed in %s: it does not count to the cap.", l.Budget.Currency(), cost.Currency()))
	case err != nil:
	case n > 0:
		out.Notes = append(out.Notes, "That is more than is left of its budget: guard would release it before all is sent.")
		fallthrough
	default:
		if left.IsPositive() {
			part := new(big.Rat).Quo(cost.Rat(), left.Rat())
			f, _ := part.Float64()
			percent := int(f*100 + 0.5)
			out.Percent = &percent
		}
	}
}

// trafficSpent is what of a family's spend was for traffic.
func trafficSpent(family []member, lease string, now time.Time) []string {
	segs := slices.DeleteFunc(segments(family, lease), func(s guard.Segment) bool { return s.State != spend.StateTraffic })
	var out []string
	for _, m := range spend.Spent(segs, now).Known {
		out = append(out, m.Round().String())
	}
	return out
}

// showTraffic adds to what is shown of a resource what it sends.
func (s *server) showTraffic(v *store.View, b *book, o guard.Observed, out *wire.Show) error {
	e, ok, err := v.Egress.Get(o.Resource.ID.Key())
	if err == nil && ok {
		it := s.wireEgress(b, o, e)
		out.Traffic = &it
	}
	return err
}
