package policy

import (
	"math/big"
	"time"

	"guard"
)

// PriceChanged is about rates that move while a lease runs.
type PriceChanged struct {
	Over int // percent of the rate before
	// Warn is how long after the change people are told, where it still stands; Act, counted
	// alike, when once more. 0: at once, and not once more.
	Warn, Act time.Duration
}

// ChangedFor is how long a price change stays a finding: it is an event.
const ChangedFor = 24 * time.Hour

// priceChanged tells that a rate moved by more than a percentage, be it adopted
// or only reported.
func priceChanged(r Rules, f Facts) Outcome {
	if !f.live() || f.Lease == nil || !f.Lease.Status.Open() {
		return Outcome{}
	}
	was, now, at, adopted := f.lastChange()
	if at.IsZero() || !f.At.Before(at.Add(ChangedFor)) || !moved(was, now, r.PriceChanged.Over) {
		return Outcome{}
	}
	if tell := at.Add(r.PriceChanged.Warn); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RulePriceChanged, at)
	title := f.say("%s: its price changed from %s to %s", f.name(), f.perHour(was), f.perHour(now))
	lines := []string{f.say("It changed at %s.", f.stamp(at))}
	if !adopted {
		title = f.say("%s: its reported price changed from %s to %s", f.name(), f.perHour(was), f.perHour(now))
		lines = append(lines, f.say("guard goes on counting the old one."))
	}
	if d, ok := f.Plan.Deadline(guard.DeadlineBudget); ok && f.Lease.Budget.IsSet() {
		lines = append(lines, f.say("Its cap of %s is now reached at %s.", f.Lease.Budget.Round(), f.stamp(d.Limit)))
		if d.Candidate != nil {
			lines = append(lines, f.say("By the new price it would be %s; that needs a second reading and notice first.", f.stamp(d.Candidate.Limit)))
		}
	}
	v.Stages = []Stage{{Name: "changed " + at.UTC().Format(time.RFC3339), Title: title, Lines: lines}}
	next := at.Add(ChangedFor)
	if act := r.PriceChanged.Act; act > 0 {
		if again := f.after(at.Add(act)); !again.IsZero() {
			next = again
		} else {
			v.Stages = append(v.Stages, Stage{Name: "act " + at.UTC().Format(time.RFC3339), Title: title, Lines: lines})
		}
	}
	v.Facts = append(v.Facts,
		guard.Fact{Name: "price before", Value: was.String(), Source: was.Source, At: at},
		guard.Fact{Name: "price after", Value: now.String(), Source: now.Source, At: at})
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// lastChange is the newest change of a known rate of the resource itself.
func (f Facts) lastChange() (was, now guard.Rate, at time.Time, adopted bool) {
	segments := f.Metered.Segments
	if odd := f.Metered.Odd; odd != nil && odd.Known() && len(segments) > 0 && segments[len(segments)-1].Rate.Known() {
		return segments[len(segments)-1].Rate, *odd, f.Metered.OddSince, false
	}
	for i := len(segments) - 1; i > 0; i-- {
		if !segments[i].Rate.Known() {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			if segments[j].State != segments[i].State || !segments[j].Rate.Known() {
				continue
			}
			if samePrice(segments[j].Rate, segments[i].Rate) {
				break
			}
			return segments[j].Rate, segments[i].Rate, segments[i].From, true
		}
	}
	return guard.Rate{}, guard.Rate{}, time.Time{}, false
}

// samePrice reports two known rates of one price, be it of another number of workers.
func samePrice(a, b guard.Rate) bool {
	was, now := a.Beside(b, time.Hour)
	return a.Currency() == b.Currency() && was.Cmp(now) == 0
}

// moved reports a change by more than a percentage of the rate before. Another
// currency is always one.
func moved(was, now guard.Rate, over int) bool {
	if was.Currency() != now.Currency() {
		return true
	}
	a, b := was.Beside(now, time.Hour)
	if a == nil || b == nil {
		return false
	}
	diff := new(big.Rat).Sub(b, a)
	bound := new(big.Rat).Mul(a, big.NewRat(int64(over), 100))
	return diff.Abs(diff).Cmp(bound) > 0
}

// perHour is a rate as people compare it.
func (f Facts) perHour(r guard.Rate) string {
	h, ok := r.Hourly()
	if !ok {
		return f.say("an unknown price")
	}
	return f.say("%s per hour", h.Round())
}
