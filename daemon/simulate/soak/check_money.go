package soak

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// periods are the fake cloud's own.
var periods = map[string]time.Duration{"second": time.Second, "hour": time.Hour, "month": guard.Month, "gb_month": guard.Month}

// hourlyOf is what a thing costs an hour while it runs; nil where that is not told.
func hourlyOf(r fake.Resource, rate *fake.Rate) *big.Rat {
	if rate == nil {
		return nil
	}
	x, ok := new(big.Rat).SetString(rate.Amount)
	if !ok {
		return nil
	}
	if rate.PerGPU {
		x.Mul(x, big.NewRat(int64(max(cmp.Or(r.GPUs, 1), 0)), 1))
	}
	if rate.Per == "gb_month" {
		x.Mul(x, big.NewRat(r.SizeGB, 1))
	}
	return x.Mul(x, big.NewRat(int64(time.Hour/time.Second), int64(periods[rate.Per]/time.Second)))
}

// of is the script's own entry of an ID.
func (a *Account) of(id string) (fake.Resource, time.Duration, bool) {
	for r := range a.all() {
		if r.ID == id {
			return r, r.Created, true
		}
	}
	return fake.Resource{}, 0, false
}

// price is one price of a box or of what hangs on it, from a moment on.
type price struct {
	at     time.Duration
	hourly *big.Rat // nil: not told
	code   string
}

// prices are the real ones of a thing, oldest first.
func (a *Account) prices(id string, r fake.Resource) []price {
	code := func(rate *fake.Rate) string {
		if rate != nil && rate.Currency != "" {
			return rate.Currency
		}
		return cmp.Or(a.Script.Currency, "USD")
	}
	out := []price{{-never, hourlyOf(r, r.Rate), code(r.Rate)}}
	if r.Rate == nil && r.Lump != nil {
		out[0].hourly = new(big.Rat) // beside what is paid ahead nothing bills
	}
	for _, e := range a.Script.Timeline {
		if e.ID == id && e.Rate != nil {
			out = append(out, price{e.At, hourlyOf(r, e.Rate), code(e.Rate)})
		}
	}
	return out
}

// plain reports that the money of a box and of all that hangs on it can be told
// from the cloud alone: one currency, every price told and told right, none moved
// more than thirtyfold at once (which law 8 does not believe), no state told wrong, no list price in
// the place of a real one, nothing moved from one box to another, no box of the
// same ID under other credentials.
func (j *judge) plain(b *life) bool {
	a := b.account
	if _, plainly := a.priced(); !plainly {
		return false
	}
	if a.Script.Balance != "" && a.Script.AtZero == guard.ZeroStops && j.dry(a) != never {
		return false // the cloud stops it, at a moment that no script tells
	}
	code := ""
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		r, _, ok := a.of(id)
		if !ok || r.Count > 1 {
			r = b.spec
		}
		var last *big.Rat
		for _, p := range a.prices(id, r) {
			if p.hourly == nil || r.ListRate != nil || code != "" && p.code != code || last != nil && odds(last, p.hourly) {
				return false
			}
			code, last = p.code, p.hourly
		}
	}
	for _, e := range a.Script.Timeline {
		if e.Detach || e.Attach != "" || e.Set != nil && (e.Set.GPUs != nil || e.Set.SizeGB != nil) {
			return false
		}
	}
	for _, f := range a.Script.Faults {
		if f.Reply.SetFields["rate"] != nil || f.Reply.SetFields["state"] != nil || slices.ContainsFunc(f.Reply.NullFields, func(s string) bool { return !slices.Contains([]string{"tags", "gpus", "created", "lump"}, s) }) {
			return false
		}
	}
	return !slices.ContainsFunc(a.Script.Resources, func(r fake.Resource) bool {
		return r.ID == b.spec.ID && r.Identity != "" && r.Identity != identityOf(a.Script)
	})
}

// odds reports a step that law 8 takes for another unit.
func odds(a, b *big.Rat) bool {
	if a.Sign() == 0 || b.Sign() == 0 {
		return a.Sign() != b.Sign()
	}
	q := new(big.Rat).Quo(a, b)
	return q.Cmp(big.NewRat(30, 1)) >= 0 || q.Cmp(big.NewRat(1, 30)) <= 0
}

// currency is what a box bills in.
func (b *life) currency() string {
	if b.spec.Rate != nil && b.spec.Rate.Currency != "" {
		return b.spec.Rate.Currency
	}
	return cmp.Or(b.account.Script.Currency, "USD")
}

// spent is what a box and all that hangs on it have really cost by a moment that
// is past, in the box's currency.
func (j *judge) spent(b *life, at time.Duration) *big.Rat {
	sum := new(big.Rat)
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		if x, code := b.cloud.SpendAt(id, j.zero.Add(min(at, j.h.Length))); x != nil && code == b.currency() {
			sum.Add(sum, x)
		}
	}
	return sum
}

// burn is the most that a box and all that hangs on it can cost an hour, by the
// dearest price that was in force until a moment.
func (j *judge) burn(b *life, at time.Duration) *big.Rat {
	sum := new(big.Rat)
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		r, _, ok := b.account.of(id)
		if !ok {
			r = b.spec
		}
		top := new(big.Rat)
		for _, p := range b.account.prices(id, r) {
			if p.hourly != nil && p.at <= at && p.hourly.Cmp(top) > 0 {
				top = p.hourly
			}
		}
		sum.Add(sum, top)
	}
	return sum
}

// over is what a rate an hour costs for a while.
func over(hourly *big.Rat, d time.Duration) *big.Rat {
	return new(big.Rat).Mul(hourly, big.NewRat(int64(d), int64(time.Hour)))
}

// granule is the account's billing unit, or its minimum where that is longer.
func granule(a *Account) time.Duration {
	return max(cmp.Or(max(a.Script.Billing.Granularity, 0), time.Second), a.Script.Billing.Minimum)
}

// crossing is when a box's real spend first exceeds an amount, to the second;
// never where it does not within the story.
func (j *judge) crossing(b *life, budget *big.Rat) time.Duration {
	lo, hi := min(b.born, 0)-time.Second, j.h.Length
	if j.spent(b, hi).Cmp(budget) <= 0 {
		return never
	}
	for hi-lo > time.Second {
		mid := lo + (hi-lo)/2
		if j.spent(b, mid).Cmp(budget) > 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// lead is the longest that guard may take a release in an account to last: what
// the adapter declares, or the slowest release there before, from the first call
// to the end, and the call's own way.
func (j *judge) lead(a *Account, before time.Duration) time.Duration {
	d := takes(a)
	for _, b := range j.boxes {
		first := slices.IndexFunc(b.calls, func(c simulateCall) bool { return c.Call.Call == fake.CallRelease })
		if b.account == a && b.gone < before && first >= 0 {
			// Guard measures until it sees the end, which comes as late as the cloud tells it.
			d = max(d, b.gone-j.offset(b.calls[first].At)+a.Script.Lag.State+a.Script.Lag.Disappears+j.poll())
		}
	}
	return d + callWay
}

// spendings holds what guard counted against the cloud's own meter (law 4: until
// the end the money counts). Within one billing unit, and beyond that by what
// nobody can know: from a change of price or power until the first complete list
// after it, at the difference of the prices; that of the whole stretch where two
// changes came between two lists. Weeks in which the money is not [judge.plain]
// are left out.
func (j *judge) spendings() {
	for _, b := range j.boxes {
		if _, leased := b.claim(j.h.Length); !leased || !j.plain(b) {
			continue
		}
		o, seen := j.book.observed[b.id]
		if !seen || !j.dated(b, o) {
			continue
		}
		for _, r := range j.releasesOf(b.id) {
			if r.Receipt == nil || b.gone == never || r.Action != guard.ActRelease {
				continue
			}
			got := new(big.Rat)
			for _, m := range r.Receipt.Spend {
				if m.Currency() == b.currency() {
					got = m.Rat()
				}
			}
			j.compare(b, "the receipt", got, b.gone)
		}
		// Down since its end, guard could not write that down yet.
		counted := b.gone == never || j.down(b.gone, j.h.Length) < j.h.Length-b.gone-retryAtLeast
		if m, ok := j.book.metered[o.Resource.ID.Key()]; ok && counted && len(m.Segments) > 0 && o.Gone != nil {
			alone := *b
			alone.family = nil
			got := sumOf(m.Segments, j.zero.Add(j.h.Length))
			j.compare(&alone, "the ledger", got.Add(got, j.fares(b, j.h.Length)).Add(got, paidAhead(m)), j.h.Length)
		}
	}
}

// dated reports that the cloud told when the box ended, and guard believed it.
func (j *judge) dated(b *life, o guard.Observed) bool {
	return b.gone == never || o.Gone != nil && !o.Gone.Estimated
}

func (j *judge) compare(b *life, what string, got *big.Rat, at time.Duration) {
	want := j.spent(b, at)
	diff := new(big.Rat).Sub(got, want)
	most := over(j.burn(b, at), granule(b.account)*time.Duration(1+len(b.family)))
	most.Add(most, j.unseen(b))
	most.Add(most, big.NewRat(1, 1_000_000))
	if diff.Abs(diff).Cmp(most) > 0 {
		j.wrong(4, "spend", at, b.id, "%s counts %s %s and the cloud's own meter %s; at most %s apart would be right",
			what, got.FloatString(6), b.currency(), want.FloatString(6), most.FloatString(6))
	}
}

// unseen is what changes that guard could only see later may cost in its books.
// What was stopped bills at its full price again while it is being released.
func (j *judge) unseen(b *life) *big.Rat {
	sum := new(big.Rat)
	stops := slices.DeleteFunc(slices.Clone(b.calls), func(c simulateCall) bool { return c.Call.Call != fake.CallStop || !done(c) })
	if len(stops) > 0 || b.spec.State == "stopped" || slices.ContainsFunc(b.events(), func(e fake.Event) bool { return e.State == "stopped" || e.Reclaim != nil }) {
		sum = over(j.burn(b, j.h.Length), takes(b.account))
	}
	for _, c := range stops {
		at := j.offset(c.At)
		sum.Add(sum, over(j.burn(b, j.h.Length), j.seenAfter(b, at)-at+b.account.Script.Lag.State+granule(b.account)))
	}
	sum.Add(sum, j.hidden(b))
	sum.Add(sum, j.unread(b))
	for _, id := range append([]string{b.spec.ID}, b.family...) {
		for _, e := range b.account.Script.Timeline {
			if e.ID != id || e.Rate == nil && e.State == "" && (e.Reclaim == nil || !e.Reclaim.Stop) {
				continue
			}
			gap := j.seenAfter(b, e.At) - j.seenBefore(b, e.At) + 2*b.account.Script.Lag.State
			sum.Add(sum, over(j.burn(b, j.h.Length), gap+granule(b.account)))
		}
	}
	return sum
}

// seenAfter and seenBefore are the nearest moments around one at which all lists
// that could tell of a box and its family worked.
func (j *judge) seenAfter(b *life, at time.Duration) time.Duration {
	worst := time.Duration(0)
	for _, kind := range j.kinds(b) {
		next := j.h.Length
		for _, c := range j.h.Calls {
			if t := j.offset(c.At); t >= at && t < next && c.Account == nameOf(b.account.Script) && c.Call.Call == fake.CallList && c.Kind == kind && c.Outcome == "ok" {
				next = t
				break
			}
		}
		worst = max(worst, next)
	}
	return worst
}

func (j *judge) seenBefore(b *life, at time.Duration) time.Duration {
	worst := at
	for _, kind := range j.kinds(b) {
		var last time.Duration
		for _, c := range j.h.Calls {
			if t := j.offset(c.At); t < at && c.Account == nameOf(b.account.Script) && c.Call.Call == fake.CallList && c.Kind == kind && c.Outcome == "ok" {
				last = t
			}
		}
		worst = min(worst, last)
	}
	return worst
}

func (j *judge) kinds(b *life) []guard.Kind {
	kinds := []guard.Kind{guard.Instance}
	for _, id := range b.family {
		if r, _, ok := b.account.of(id); ok && !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// paidAhead is what guard counts as paid ahead.
func paidAhead(m guard.Metered) *big.Rat {
	sum := new(big.Rat)
	for _, p := range m.Lumps {
		if p.Lump.Amount.IsSet() {
			sum.Add(sum, p.Lump.Amount.Rat())
		}
	}
	return sum
}

// sumOf adds up segments as their own granularity and minimum say: each run of one
// state is charged for whole units and at least for the minimum, at its last rate
// beyond its real length.
func sumOf(segs []guard.Segment, until time.Time) *big.Rat {
	sum := new(big.Rat)
	segs = slices.Clone(segs)
	slices.SortStableFunc(segs, func(a, b guard.Segment) int { return a.From.Compare(b.From) })
	for i := 0; i < len(segs); {
		first, end := segs[i], segs[i].From
		var last *big.Rat
		for ; i < len(segs) && segs[i].State == first.State && (segs[i].From.Equal(end) || segs[i].From.Equal(first.From)); i++ {
			stop := segs[i].To
			if stop.IsZero() || stop.After(until) {
				stop = until
			}
			if !stop.After(segs[i].From) {
				continue
			}
			if last = segs[i].Rate.Over(time.Hour); last != nil {
				sum.Add(sum, over(last, stop.Sub(segs[i].From)))
			}
			end = stop
		}
		lasted := end.Sub(first.From)
		unit := max(first.Granularity, 1)
		billed := (max(lasted, first.Minimum) + unit - 1) / unit * unit
		if last != nil && lasted > 0 {
			sum.Add(sum, over(last, billed-lasted))
		}
	}
	return sum
}
