package soak

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// carried are the bytes that a box really sent and received between two moments.
func (j *judge) carried(b *life, from, to time.Duration) (sent, received float64) {
	runs, _ := j.powered(b)
	for _, s := range b.stints() {
		for _, r := range runs {
			long := max(0, min(s.to, r.to, to)-max(s.from, r.from, from)).Seconds()
			sent, received = sent+s.tx*long, received+s.rx*long
		}
	}
	return sent, received
}

// traffics hold what guard counted of each box's bytes against the script: no byte more
// than it sent (law 8: a counter that begins anew is no giant transfer), and none less
// but what a counter lost when it began anew, since it was last read.
func (j *judge) traffics() {
	for _, b := range j.boxes {
		e, ok := j.book.egress[b.id]
		if !ok || len(b.stints()) == 0 {
			continue
		}
		from, to := j.offset(e.First), j.offset(e.At)
		most, _ := j.carried(b, from-b.slop(), to)
		least, _ := j.carried(b, from, to)
		_, resets := j.powered(b)
		for _, x := range b.account.Script.Timeline {
			if x.ID == b.spec.ID && x.Signals != nil && x.Signals.TxStart != nil {
				resets = append(resets, x.At, x.At+b.slop()) // a second reading has to agree
			}
		}
		for _, t := range append(slices.Clone(resets), to) {
			if t > from && t <= to {
				lost, _ := j.carried(b, j.lastRead(b, t)-b.slop()-j.poll(), t)
				least -= lost
			}
		}
		if got := float64(e.Sent); got > most*1.000001+1 || got < least*0.999999-1 {
			j.wrong(8, "spend", min(to, j.h.Length), b.id, "guard counts %.0f bytes sent from %s to %s; by the script at least %.0f and at most %.0f would be right", got, from, to, least, most)
		}
		var paid uint64
		for _, q := range j.book.metered[e.Resource.Key()].Traffic {
			paid += q.Sent
		}
		if paid > e.Sent {
			j.wrong(8, "spend", min(to, j.h.Length), b.id, "guard pays for %d bytes, and counts %d", paid, e.Sent)
		}
	}
}

// lastRead is when guard could last read something new of a box before a moment.
func (j *judge) lastRead(b *life, at time.Duration) time.Duration {
	var blind []span
	for _, s := range b.stints() {
		if s.lost {
			blind = append(blind, s.span)
		}
	}
	for _, s := range append(j.faults(b, fake.CallSignals, fake.CallList, fake.CallIdentity), j.storms(b)...) {
		blind = append(blind, span{s.from, s.to + s.after})
	}
	runs, _ := j.powered(b)
	for i := 1; i < len(runs); i++ { // what is off tells nothing
		blind = append(blind, span{runs[i-1].to, runs[i].from})
	}
	slices.SortFunc(blind, func(x, y span) int { return cmp.Compare(y.from, x.from) })
	for _, s := range blind {
		if s.from < at && s.to+j.poll() >= at {
			at = s.from
		}
	}
	return at
}

// priced reports that traffic costs, and whether all of it does, at one known price.
func (a *Account) priced() (costs, plainly bool) {
	s := a.Script
	if s.Egress == nil && s.Ingress == nil {
		return false, true
	}
	out := cmp.Or(s.Egress, &fake.Traffic{Amount: "0"})
	return true, out.Amount != "unknown" && out.FreeGB == 0
}

// fare is what so many bytes cost; 0 where nobody tells.
func fare(tr *fake.Traffic, bytes float64) *big.Rat {
	if tr == nil {
		return new(big.Rat)
	}
	amount, ok := new(big.Rat).SetString(tr.Amount)
	if !ok {
		return new(big.Rat)
	}
	amount.Quo(amount, big.NewRat(1_000_000_000, 1))
	return amount.Mul(amount, new(big.Rat).SetFloat64(bytes))
}

// fares is what a box's traffic really cost by a moment.
func (j *judge) fares(b *life, at time.Duration) *big.Rat {
	sent, received := j.carried(b, -never, at)
	return new(big.Rat).Add(fare(b.account.Script.Egress, sent), fare(b.account.Script.Ingress, received))
}

// hidden is the most that traffic can cost of which guard does not know: at the box's
// highest rate for as long as its monitor tells nothing, cannot be asked, or guard is
// away, and since the last reading.
func (j *judge) hidden(b *life) *big.Rat {
	sum := new(big.Rat)
	if costs, _ := b.account.priced(); !costs {
		return sum
	}
	unknown := 4*j.poll() + 2*b.slop()
	tx, rx := 0.0, 0.0
	for _, s := range b.stints() {
		tx, rx = max(tx, s.tx), max(rx, s.rx)
		if !s.told && !s.works {
			unknown += min(s.to, j.h.Length) - s.from
		}
	}
	for _, s := range append(j.faults(b, fake.CallSignals, fake.CallList, fake.CallIdentity), j.storms(b)...) {
		unknown += min(s.to, j.h.Length) - min(s.from, j.h.Length) + j.poll()
	}
	sum.Add(sum, fare(b.account.Script.Egress, tx*unknown.Seconds()))
	return sum.Add(sum, fare(b.account.Script.Ingress, rx*unknown.Seconds()))
}

// reserve is the most of a cap that is kept for traffic that is not told yet.
func (a *Account) reserve(most guard.Money) *big.Rat {
	if costs, _ := a.priced(); !costs {
		return new(big.Rat)
	}
	return new(big.Rat).Mul(most.Rat(), big.NewRat(2, 100))
}
