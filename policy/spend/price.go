package spend

import (
	"math/big"
	"time"

	"guard"
)

// bySource marks a rate that a person stated.
const bySource = "person"

func stated(r guard.Rate) bool { return r.Source == bySource }

// byCatalogue marks what things like it cost, where what this one does is not told.
const byCatalogue = "catalogue"

// price is the rate that a person stated for a state; unknown where none.
func (f *folder) price(state guard.State) guard.Rate {
	if state != guard.StateRunning || f.in.Observed.Resource.ID.Kind != guard.Instance || !f.in.Price.Known() {
		return guard.Rate{}
	}
	p := f.in.Price
	p.Source = bySource
	return p
}

// judge decides which rate is in force from a moment on, where a rate is
// reported then: a person's, else the reported one, unless it is odd or missing.
func (f *folder) judge(state guard.State, reported guard.Rate, at time.Time) (rate guard.Rate, provisional int, was *guard.Rate) {
	if p := f.price(state); p.Known() {
		return p, 0, nil
	}
	last := f.lastKnown(state)
	if last < 0 {
		if reported.Known() {
			f.fill(state, reported, at)
		}
		return reported, 0, nil
	}
	held := f.life[last]
	base := held.Rate
	if held.Was != nil {
		base = *held.Was
	}
	switch {
	case !reported.Known(), reported.Source == byCatalogue && base.Source != byCatalogue && !stated(base):
		// What it really costs is not told any more, and a list price is no new one.
		f.tell(EventPriceMissing, at, held.Rate, guard.Rate{})
		return held.Rate, held.Provisional, held.Was
	case stated(held.Rate):
		return reported, 0, nil // the person withdrew the price
	case odd(base, reported):
		if f.odd == nil || !f.odd.Same(reported) {
			f.tell(EventUnitMismatch, at, held.Rate, reported)
			f.odd, f.oddState, f.oddSince = &reported, state, at
		}
		return held.Rate, held.Provisional, held.Was
	}
	if f.oddIn(state) {
		f.tell(EventUnitMatch, at, *f.odd, reported)
		f.believe()
	}
	if held.Was == nil {
		if f.close(held.Rate, reported) {
			return reported, 0, nil
		}
		f.tell(EventPriceChanged, at, base, reported)
		return reported, 1, &base
	}
	if f.close(held.Rate, reported) {
		return reported, held.Provisional + 1, held.Was
	}
	// The provisional price was not read again: what it was metered at was wrong.
	f.revert(state, base)
	f.tell(EventCorrected, at, held.Rate, base)
	if f.close(base, reported) {
		return reported, 0, nil
	}
	f.tell(EventPriceChanged, at, base, reported)
	return reported, 1, &base
}

// oddIn reports whether a rate that is not believed is of a state: what another state
// bills says nothing of it.
func (f *folder) oddIn(state guard.State) bool {
	return f.odd != nil && (f.oddState == "" || f.oddState == state)
}

// believe ends the doubt about a rate.
func (f *folder) believe() { f.odd, f.oddState, f.oddSince = nil, "", time.Time{} }

func (f *folder) tell(kind EventKind, at time.Time, from, to guard.Rate) {
	f.events = append(f.events, Event{Kind: kind, At: at, From: from, To: to})
}

// lastKnown is the index of the last segment of a state with a known rate; -1
// where there is none.
func (f *folder) lastKnown(state guard.State) int {
	for i := len(f.life) - 1; i >= 0; i-- {
		if f.life[i].State == state && f.life[i].Rate.Known() {
			return i
		}
	}
	return -1
}

// fill prices what had no price: a late fact corrects the past.
func (f *folder) fill(state guard.State, rate guard.Rate, at time.Time) {
	filled := false
	for i := range f.life {
		if f.life[i].State == state && !f.life[i].Rate.Known() {
			f.life[i].Rate, f.life[i].Estimated = rate, true
			filled = true
		}
	}
	if filled {
		f.tell(EventPriced, at, guard.Rate{}, rate)
	}
}

// revert puts the rate before back into the provisional segments of a state.
func (f *folder) revert(state guard.State, base guard.Rate) {
	for i := range f.life {
		if s := &f.life[i]; s.State == state && s.Provisional > 0 {
			s.Rate, s.Provisional, s.Was = base, 0, nil
		}
	}
}

// confirm ends the doubt about a provisional rate once a reading at least two
// polls after the first still says so.
func (f *folder) confirm() {
	n := len(f.life)
	if n == 0 || f.life[n-1].Provisional == 0 || !f.life[n-1].To.IsZero() || f.odd != nil {
		return
	}
	open := f.life[n-1]
	first := n - 1
	for first > 0 && f.life[first-1].Provisional > 0 && f.life[first-1].State == open.State {
		first--
	}
	if f.in.Read.Before(f.life[first].From.Add(Agree * f.in.Poll)) {
		return
	}
	f.tell(EventPriceConfirmed, f.in.Read, *open.Was, open.Rate)
	for i := range f.life {
		if s := &f.life[i]; s.State == open.State && s.Provisional > 0 {
			s.Provisional, s.Was = 0, nil
		}
	}
}

// state puts a person's price in force. The first one holds for all that ran,
// because the budget counts from the provider's start; where it answers an odd
// rate it holds from that on, and never before, even where what ran since then
// is taken back; a later one from now on.
func (f *folder) state() {
	p := f.price(guard.StateRunning)
	if !p.Known() {
		f.withdraw()
		return
	}
	from, before := f.start, guard.Rate{}
	switch {
	case f.statedBefore():
		from = f.in.At
	case !f.oddSince.IsZero() && f.oddState != guard.StateStopped:
		from = f.oddSince
	}
	changed := false
	for i := 0; i < len(f.life); i++ {
		if s := f.life[i]; s.State != guard.StateRunning || (stated(s.Rate) && s.Rate.Same(p)) {
			continue
		}
		if f.life[i].Rate.Known() {
			before = f.life[i].Rate
			if i = f.split(i, from); f.life[i].From.Before(from) {
				continue
			}
		}
		f.life[i].Rate, f.life[i].Provisional, f.life[i].Was = p, 0, nil
		changed = true
	}
	if changed {
		f.tell(EventStated, f.in.At, before, p)
	}
	if f.oddIn(guard.StateRunning) {
		f.odd = nil
	}
}

// withdraw goes back to the reported rate where a person no longer states one.
func (f *folder) withdraw() {
	n := len(f.life)
	if n == 0 || !f.life[n-1].To.IsZero() || !stated(f.life[n-1].Rate) {
		return
	}
	if state, rate := f.in.Observed.Resource.Billing(); state == f.life[n-1].State && rate.Known() {
		f.cut(f.in.At)
		f.put(state, rate, f.in.At)
	}
}

// statedBefore reports whether a person's price was in force before this fold.
func (f *folder) statedBefore() bool {
	for _, s := range f.in.Metered.Segments {
		if !s.From.Before(f.start) && stated(s.Rate) {
			return true
		}
	}
	return false
}

// close reports whether b is within Over percent of a. Both are known and of
// one currency.
func (f *folder) close(a, b guard.Rate) bool {
	was, now := a.Beside(b, time.Hour)
	off := new(big.Rat).Sub(now, was)
	most := new(big.Rat).Mul(was, big.NewRat(int64(f.in.Over), 100))
	return off.Abs(off).Cmp(most) <= 0
}

// odd reports whether b cannot be a price of what a was the price of: another
// currency, nothing instead of something, or more than 30-fold off. Something
// instead of nothing is believed, because it is the costly way to be wrong.
func odd(a, b guard.Rate) bool {
	if a.Currency() != b.Currency() {
		return true
	}
	was, now := a.Beside(b, time.Hour)
	switch {
	case now.Sign() == 0:
		return was.Sign() != 0
	case was.Sign() == 0:
		return false
	}
	most := big.NewRat(Odd, 1)
	ratio := new(big.Rat).Quo(now, was)
	return ratio.Cmp(most) > 0 || ratio.Inv(ratio).Cmp(most) > 0
}
