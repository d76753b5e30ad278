package soak

import (
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

const (
	// balanceEvery is how far apart guard's readings of a balance may be.
	balanceEvery = 10 * time.Minute
	// foreseen is how long a lease has to stand as it is before what it is paid again for
	// must have been released.
	foreseen = 2 * time.Hour
)

// ahead reports a box that is paid ahead and by nothing else.
func (b *life) ahead() bool { return b.spec.Lump != nil && b.spec.Rate == nil }

// comes is what will be paid ahead for a box between two moments.
func (b *life) comes(from, to time.Duration) *big.Rat {
	sum := new(big.Rat)
	l := b.spec.Lump
	if l == nil {
		return sum
	}
	for at := b.spec.Created; at <= to; at += l.Covers {
		if at > from {
			sum.Add(sum, lumpOf(b.spec))
		}
		if !l.Renews {
			break
		}
	}
	return sum
}

// payments are what was really paid ahead for a box, as offsets.
func (j *judge) payments(b *life) []time.Duration {
	var out []time.Duration
	for _, p := range b.cloud.Payments(b.spec.ID) {
		out = append(out, j.offset(p.At))
	}
	return out
}

// unread is what was paid ahead for a box and nobody could see before it was paid again,
// or the box was gone.
func (j *judge) unread(b *life) *big.Rat {
	sum := new(big.Rat)
	paid := j.payments(b)
	for i, at := range paid {
		until := min(b.gone, j.h.Length)
		if i+1 < len(paid) {
			until = min(until, paid[i+1])
		}
		if j.toldAfter(b, at) >= until {
			sum.Add(sum, lumpOf(b.spec))
		}
	}
	return sum
}

// toldAfter is when guard could first see what was paid ahead: at a list that worked, and
// tells of it.
func (j *judge) toldAfter(b *life, at time.Duration) time.Duration {
	for {
		at = j.seenAfter(b, at)
		i := slices.IndexFunc(b.account.Script.Faults, func(f fake.Fault) bool {
			return slices.Contains(f.Reply.NullFields, "lump") && at >= f.From && at < f.From+f.For
		})
		if i < 0 || at >= j.h.Length {
			return at
		}
		at = b.account.Script.Faults[i].From + b.account.Script.Faults[i].For
	}
}

// lumps holds what guard counts of what was paid ahead: each payment that it could see
// once and whole, however often it is read and whatever guard lives through (law 3), be the
// box gone since or not (law 4), and none that was known as unknown (law 1).
func (j *judge) lumps() {
	for _, b := range j.boxes {
		o, seen := j.book.observed[b.id]
		if b.spec.Lump == nil || !seen {
			continue
		}
		counted := j.book.metered[o.Resource.ID.Key()].Lumps
		paid := j.payments(b)
		for i, at := range paid {
			n, whole := 0, false
			for _, p := range counted {
				if (j.offset(p.Lump.From) - at).Abs() <= time.Second+j.slack() {
					n++
					whole = p.Lump.Amount.IsSet() && p.Lump.Amount.Rat().Cmp(lumpOf(b.spec)) == 0
				}
			}
			until := min(b.gone, j.h.Length)
			if i+1 < len(paid) {
				until = min(until, paid[i+1])
			}
			first := max(j.toldAfter(b, max(at, 0)), b.spec.Created+b.account.Script.Lag.Appears)
			switch {
			case n > 1:
				j.wrong(3, "spend", at, b.id, "%s was paid ahead once, and is counted %d times", b.spec.Lump.Amount, n)
			case n == 1 && !whole:
				j.wrong(1, "spend", at, b.id, "%s was paid ahead, and is counted as another amount: %+v", b.spec.Lump.Amount, counted)
			case n == 0 && first+2*j.poll() < until && !j.crashed(first-j.poll(), first+2*j.poll()):
				j.wrong(4, "spend", at, b.id, "%s was paid ahead, and is not counted: %+v", b.spec.Lump.Amount, counted)
			}
		}
		for _, p := range counted {
			if p.Lump.Amount.IsSet() && !slices.ContainsFunc(paid, func(at time.Duration) bool { return (j.offset(p.Lump.From) - at).Abs() <= time.Second+j.slack() }) {
				j.wrong(3, "spend", j.offset(p.Lump.From), b.id, "%s is counted as paid ahead, and nobody paid it", p.Lump.Amount)
			}
		}
	}
}

// renewals holds caps against what is paid ahead: a box whose lease stood as it was for two
// hours of good weather is gone before it is paid again over its cap. Weeks in which guard
// dies, sleeps or is told otherwise in those hours are left out, as are boxes that
// something else than their cap speaks of.
func (j *judge) renewals() {
	for _, b := range j.boxes {
		paid := j.payments(b)
		for i, at := range paid {
			from := at - takes(b.account) - callWay - foreseen
			said, ok := b.claim(at)
			if i == 0 || !b.ahead() || !ok || !said.budget.IsSet() || said.budget.Currency() != b.currency() || max(said.at, said.set, said.capSet) > from ||
				b.second(at) > 0 || said.held > 0 || said.guarded || b.muddled || j.steps() || b.spec.GPUs == fake.NoGPU ||
				!calm(j.storms(b), from-foreseen, at) || slices.ContainsFunc(b.events(), func(e fake.Event) bool { return e.At > from-foreseen && e.At <= at }) {
				continue
			}
			if slices.ContainsFunc(b.account.Script.Faults, func(f fake.Fault) bool { return f.From <= at && f.From+f.For >= paid[i-1] }) {
				continue
			}
			_, must := j.acts(b.account, at)
			if was, _ := j.acts(b.account, from); !must || !was || j.graceOf(said) > foreseen {
				continue
			}
			if sum := j.spent(b, at+time.Second); sum.Cmp(said.budget.Rat()) > 0 {
				j.wrong(10, "missed limit", at, b.id, "it is paid for again, to %s in all, over its cap of %s that stands since %s", sum.FloatString(2), said.budget, said.capSet)
			}
		}
	}
}

// moves are the moments at which what is left in an account, or draws on it, changes by
// anything but time.
func (j *judge) moves(a *Account) []time.Duration {
	var out []time.Duration
	for _, e := range a.Script.Timeline {
		if e.Charge == nil {
			out = append(out, e.At)
		}
	}
	for _, b := range j.boxes {
		if b.account != a {
			continue
		}
		out = append(out, b.born, b.gone)
		for _, c := range b.calls {
			out = append(out, j.offset(c.At))
		}
	}
	if dry := j.dry(a); dry != never && a.Script.AtZero != guard.ZeroNothing {
		out = append(out, dry)
	}
	return out
}

// left is what was really left in an account at a moment.
func (j *judge) left(a *Account, at time.Duration) *big.Rat {
	return j.h.Clouds[nameOf(a.Script)].BalanceAt(j.zero.Add(max(0, min(at, j.h.Length))))
}

// dry is when an account's balance is first used up, to the second.
func (j *judge) dry(a *Account) time.Duration {
	spent := func(at time.Duration) bool { return j.left(a, at).Sign() <= 0 }
	for lo := time.Duration(0); lo < j.h.Length; lo += time.Minute {
		if hi := min(lo+time.Minute, j.h.Length); spent(hi) {
			for hi-lo > time.Second {
				if mid := lo + (hi-lo)/2; spent(mid) {
					hi = mid
				} else {
					lo = mid
				}
			}
			return hi
		}
	}
	return never
}

// wallets holds what is told of balances (law 9): that one is used up is told as long
// before as was asked for, where what draws on it was steady since and guard could read it;
// and what is told stays told until something else than time changes it.
func (j *judge) wallets() {
	for i := range j.week.Accounts {
		a := &j.week.Accounts[i]
		if a.Script.Balance == "" || j.steps() {
			continue
		}
		var low []guard.Finding
		for _, f := range j.book.findings {
			if f.Rule == guard.RuleBalanceLow && f.Subject == nameOf(a.Script) {
				low = append(low, f)
			}
		}
		slices.SortFunc(low, func(x, y guard.Finding) int { return x.Opened.Compare(y.Opened) })
		moves := j.moves(a)
		moved := func(from, to time.Duration) bool {
			return slices.ContainsFunc(moves, func(m time.Duration) bool { return m >= from && m <= to })
		}
		// Until a reading of the balance, and the states of what draws on it, are in.
		late := balanceEvery + 3*j.poll() + a.Script.Lag.State + reactionTime
		for k, f := range low {
			closed := j.latest(f.Closed)
			calm := a.Script.AtZero == guard.ZeroNothing && j.left(a, closed).Sign() <= 0 // goes on into debt
			if !f.Closed.IsZero() && !calm && !moved(unread(a, j.earliest(f.Opened), late), closed) && !j.paused(a, closed) {
				j.wrong(9, "message repeated", closed, nameOf(a.Script), "its balance is told as low at %s and no more at %s, and nothing but time has passed", f.Opened, f.Closed)
			}
			if k > 0 && !moved(unread(a, j.earliest(low[k-1].Closed), late), j.latest(f.Opened)) && f.Opened.Sub(low[k-1].Closed) < j.week.Low/4-late {
				j.wrong(9, "message repeated", j.latest(f.Opened), nameOf(a.Script), "its balance is told as low again %s after it was not", f.Opened.Sub(low[k-1].Closed))
			}
		}
		j.warned(a, low, moved, late)
	}
}

// unread is from when on guard may not have read, at a moment, what changed in an account: a
// while before, or before a fault that stood in the way then.
func unread(a *Account, at, late time.Duration) time.Duration {
	from := at - late
	for earlier := true; earlier; {
		earlier = false
		for _, f := range a.Script.Faults {
			if f.From-late < from && (span{f.From, f.From + f.For}).touches(from, at) {
				from, earlier = f.From-late, true
			}
		}
	}
	return from
}

// paused reports that guard did not act in an account, or could not, shortly before a moment.
func (j *judge) paused(a *Account, at time.Duration) bool {
	return j.crashed(at-farAway, at) || slices.ContainsFunc(j.week.Hits, func(h Hit) bool { return h.Reload != nil && h.At <= at })
}

// warned holds the lead.
func (j *judge) warned(a *Account, low []guard.Finding, moved func(from, to time.Duration) bool, late time.Duration) {
	dry := j.dry(a)
	by := max(dry-j.week.Low, 0) + late
	if dry == never || by >= dry-time.Minute || moved(dry-j.week.Low-late, dry-time.Second) && dry > j.week.Low+late || moved(0, dry-time.Second) && dry <= j.week.Low+late {
		return
	}
	for _, f := range a.Script.Faults {
		if (span{f.From, f.From + f.For}).touches(by-late-farAway, by) {
			return
		}
	}
	if j.crashed(by-late-farAway, by) {
		return
	}
	if !slices.ContainsFunc(low, func(f guard.Finding) bool {
		return j.earliest(f.Opened) <= by && (f.Closed.IsZero() || j.latest(f.Closed) >= dry)
	}) {
		j.wrong(9, "message lost", by, nameOf(a.Script), "its balance is used up at %s at a steady burn, and by now, %s before, nobody is told", dry, j.week.Low)
	}
}
