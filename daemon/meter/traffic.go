package meter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/egress"
	"guard/policy/spend"
	"guard/store"
)

// month is one calendar month (UTC) of one account.
type month struct {
	account string
	from    time.Time
}

// tally is what an account's resources sent in a month, by their keys.
type tally struct {
	total uint64
	by    map[string]uint64
}

// tally notes what a resource sent, and forgets what was noted before.
func (b *book) tally(key string, m guard.Metered) {
	account, _, _ := strings.Cut(key, "/")
	now := map[month]uint64{}
	for _, q := range m.Traffic {
		now[month{account, guard.CalendarMonth(q.From)}] += q.Sent
	}
	for of, t := range b.sent {
		if of.account == account {
			t.total += now[of] - t.by[key]
			t.by[key] = now[of]
			delete(now, of)
		}
	}
	for of, sent := range now {
		b.sent[of] = &tally{total: sent, by: map[string]uint64{key: sent}}
	}
}

// others is what all but one of an account's resources sent in a month.
func (b *book) others(account, key string) func(time.Time) uint64 {
	return func(from time.Time) uint64 {
		t := b.sent[month{account, from.UTC()}]
		if t == nil {
			return 0
		}
		return t.total - t.by[key]
	}
}

// sent is a record with what its resource sent counted in.
func (r *run) sent(in spend.Input, m guard.Metered, e guard.Egress) guard.Metered {
	o := in.Observed.Resource
	return spend.Count(spend.Sent{Egress: e, Metered: m, Price: o.Egress, Lease: in.Lease,
		Others: r.book.others(o.ID.Account, o.ID.Key()), AtMost: r.rules.Budget.EgressAtMost})
}

// flows are the traffic of a resource as it goes now, out and in, as far as there is
// something to pay for.
func (r *run) flows(v *store.View, key string) ([]spend.Flow, error) {
	e, ok, err := v.Egress.Get(key)
	if err != nil || !ok {
		return nil, err
	}
	o, ok, err := v.Observed.Get(key)
	if err != nil || !ok || !o.Live() || o.Resource.State != guard.StateRunning {
		return nil, err
	}
	price := o.Resource.Egress
	if r.rules.Budget.EgressAtMost {
		price, _ = price.AtMost()
	}
	var out []spend.Flow
	f := spend.Flow{Resource: o.Resource.ID, Price: price, From: e.At, Lag: e.Lag}
	if price.InPerGB.IsPositive() {
		in := f
		in.Price = guard.EgressPrice{PerGB: price.InPerGB, Source: price.Source}
		in.Rate, in.Peak = egress.PaceIn(e)
		out = append(out, in)
	}
	if !price.PerGB.IsPositive() {
		return out, nil
	}
	f.Rate, f.Peak = egress.Pace(e)
	if tier := uint64(max(price.FreeGB, 0)) * guard.GB; tier > 0 {
		used := r.book.others(o.Resource.ID.Account, "")(guard.CalendarMonth(e.At))
		f.Left = tier - min(tier, used)
	}
	return append(out, f), nil
}

// ahead is what a family will owe for its traffic, beside what is counted: the reserve is
// a part of the least cap that the lease has in a currency.
func (r *run) ahead(lease guard.Lease, flows []spend.Flow) []guard.Segment {
	var out []guard.Segment
	for _, f := range flows {
		out = append(out, spend.Ahead([]spend.Flow{f}, r.least(lease, f.Price.PerGB.Currency()), r.at.Wall)...)
	}
	return out
}

// least is the least cap that a lease has in a currency; unset: none.
func (r *run) least(lease guard.Lease, currency string) (least guard.Money) {
	for _, m := range append([]guard.Money{lease.Budget}, r.rules.Ceilings.Budget...) {
		if n, err := m.Cmp(least); m.Currency() == currency && (err != nil || n < 0) {
			least = m
		}
	}
	return least
}

// told are the segments of one resource without traffic of unknown price that cannot cost
// more than a small part of a cap, or has none to cost: every box sends something, and an
// alarm about each is one that nobody reads. What is far more than usual is a rule's.
func (r *run) told(lease guard.Lease, m guard.Metered, segs []guard.Segment) []guard.Segment {
	unknown := guard.Quantity{}
	for _, q := range m.Traffic {
		if q.Lease == lease.ID && !q.Price.PerGB.IsSet() {
			unknown.Sent, unknown.In, unknown.Price = unknown.Sent+q.Sent, unknown.In+q.In, q.Price
		}
	}
	price, bounded := unknown.Price.AtMost()
	cost, ok := price.Cost(unknown.Sent, unknown.In)
	if !bounded || !ok {
		return segs
	}
	if least := r.least(lease, cost.Currency()); least.IsSet() {
		if n, err := cost.Cmp(least.Percent(spend.Reserve)); err != nil || n > 0 {
			return segs
		}
	}
	return slices.DeleteFunc(slices.Clone(segs), func(s guard.Segment) bool { return s.State == spend.StateTraffic && !s.Rate.Known() })
}

// trafficWord says what traffic moved a deadline.
func trafficWord(flows []spend.Flow) string {
	rate := 0.0
	for _, f := range flows {
		rate += f.Rate
	}
	return fmt.Sprintf("its traffic was counted anew: %s a second of late", guard.ByteText(uint64(rate)))
}
