package spend

import (
	"slices"
	"time"

	"guard"
)

// StateLump is what a segment of money that was paid ahead bills for.
const StateLump guard.State = "lump"

const (
	// fee is how long the segment of a lump that covers no time lasts.
	fee = time.Hour
	// nearby is how far two readings may be apart on when one lump was paid, and
	// unpaid how long before the first one nobody has to have paid anything.
	nearby = time.Hour
	unpaid = 24 * time.Hour
	// renewals is how many times ahead a lump that renews itself is counted on.
	renewals = 60
)

// lump is a segment that owes all of a lump from the moment on that it was paid at: it is
// one billing unit.
func lump(id guard.ResourceID, p guard.Paid) guard.Segment {
	long := p.Lump.Until.Sub(p.Lump.From)
	if p.Lump.Until.IsZero() || long <= 0 {
		long = fee
	}
	s := guard.Segment{Resource: id, Lease: p.Lease, State: StateLump, From: p.Lump.From, To: p.Lump.From.Add(long), Granularity: long}
	if p.Lump.Amount.IsSet() {
		s.Rate = guard.Rate{Amount: p.Lump.Amount, Per: long, Free: p.Lump.Amount.IsZero(), Source: p.Lump.Source}
	}
	return s
}

// pay counts what was paid ahead: once, whenever and however often it is read. A lump
// that is not told any more was paid all the same; an amount that changes replaces what it
// was, unless it can be no price of the same. What was paid before the first that is told
// of, for a thing that is older, is not known.
func (f *folder) pay() []guard.Paid {
	paid := slices.Clone(f.in.Metered.Lumps)
	l := f.in.Observed.Resource.Lump
	if l.IsZero() {
		return f.share(paid)
	}
	if l.From.IsZero() {
		l.From = f.start
	}
	l.From, l.Until = l.From.UTC().Round(0), l.Until.UTC().Round(0)
	switch i := slices.IndexFunc(paid, func(p guard.Paid) bool { return samePayment(p.Lump, l) }); {
	case i >= 0:
		paid[i].Lump = reread(paid[i].Lump, l)
	default:
		if len(paid) == 0 && f.start.Add(unpaid).Before(l.From) && l.From.Before(f.in.Observed.FirstSeen) {
			paid = append(paid, guard.Paid{Lump: guard.Lump{From: f.start.UTC().Round(0), Until: l.From}})
		}
		paid = append(paid, guard.Paid{Lump: l})
		slices.SortStableFunc(paid, func(a, b guard.Paid) int { return a.Lump.From.Compare(b.Lump.From) })
	}
	return f.share(paid)
}

// samePayment reports whether two readings are of one payment.
func samePayment(a, b guard.Lump) bool {
	return a.From.Sub(b.From).Abs() < nearby || !a.Until.IsZero() && a.Until.Equal(b.Until)
}

// reread is a lump that was read again.
func reread(was, now guard.Lump) guard.Lump {
	now.From = was.From // the first telling counts
	switch {
	case !now.Amount.IsSet(), was.Amount.IsSet() && now.Amount.Equal(was.Amount):
		now.Amount = was.Amount
	case was.Amount.IsSet() && odd(perFee(was), perFee(now)):
		now.Amount = was.Amount
	}
	if now.Until.Equal(was.Until) {
		now.Until = was.Until
	}
	return now
}

func perFee(l guard.Lump) guard.Rate { return guard.Rate{Amount: l.Amount, Per: fee, Free: true} }

// share counts to the lease what was paid for it, as claim does with segments.
func (f *folder) share(paid []guard.Paid) []guard.Paid {
	for i := range paid {
		p := &paid[i]
		from := f.in.Since
		switch p.Lease {
		case f.in.Lease:
			continue
		case "":
		default:
			from = f.taken()
		}
		ours := !p.Lump.From.Before(f.start) || p.Lump.Until.After(f.start) // not of a thing before it under this ID
		if f.in.Lease != "" && ours && !p.Lump.From.Before(from) {
			p.Lease = f.in.Lease
		}
	}
	return paid
}

// Renewals are what a lump that renews itself will owe, to solve a crossing with.
func Renewals(m guard.Metered, l guard.Lump) []guard.Segment {
	n := len(m.Lumps)
	long := l.Until.Sub(l.From)
	if n == 0 || l.Renews != guard.Yes || l.Until.IsZero() || long < nearby {
		return nil
	}
	var out []guard.Segment
	next := m.Lumps[n-1]
	if !next.Lump.Until.Equal(l.Until) || !next.Lump.Amount.IsPositive() {
		return nil
	}
	for range renewals {
		next.Lump.From, next.Lump.Until = next.Lump.Until, next.Lump.Until.Add(long)
		out = append(out, lump(m.Resource, next))
	}
	return out
}
