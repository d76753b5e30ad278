package spend

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"guard"
)

// Part is something that a sum lacks.
type Part struct {
	Resource guard.ResourceID
	Since    time.Time
	// Currency is the other currency it bills in; "" where its rate is unknown.
	Currency string
}

// String is a line for people.
func (p Part) String() string {
	since := p.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	if p.Currency == "" {
		return fmt.Sprintf("%s: no known price since %s", p.Resource, since)
	}
	return fmt.Sprintf("%s: bills in %s since %s", p.Resource, p.Currency, since)
}

// Lines are the parts for people.
func Lines(parts []Part) []string {
	var lines []string
	for _, p := range parts {
		lines = append(lines, p.String())
	}
	return lines
}

// Total is what segments add up to.
type Total struct {
	// Known has one amount for each currency, by code.
	Known []guard.Money
	// Unknown is what has no known rate: the truth is at least Known.
	Unknown []Part
}

// In returns the total in a currency: nothing spent is an amount of 0, and
// whether that is all is for Unknown to say.
func (t Total) In(currency string) guard.Money {
	for _, m := range t.Known {
		if m.Currency() == currency {
			return m
		}
	}
	return guard.ZeroMoney(currency)
}

// Lacks lists what a sum in the currency leaves out: parts of no known rate and
// parts in other currencies.
func Lacks(segs []guard.Segment, currency string) []Part {
	var parts []Part
	for _, p := range pieces(segs) {
		switch c := p.seg.Rate.Currency(); {
		case p.perNano == nil:
			parts = addPart(parts, Part{Resource: p.seg.Resource, Since: p.seg.From})
		case c != currency && !p.seg.Rate.Amount.IsZero():
			parts = addPart(parts, Part{Resource: p.seg.Resource, Since: p.seg.From, Currency: c})
		}
	}
	return parts
}

// addPart keeps one part for each resource and cause, the earliest.
func addPart(parts []Part, p Part) []Part {
	for _, q := range parts {
		if compareID(q.Resource, p.Resource) == 0 && q.Currency == p.Currency {
			return parts
		}
	}
	return append(parts, p)
}

// Burn is the rate at which the segments that are open at a moment spend, per
// hour and currency; parts of unknown rate are in Unknown. What was paid ahead is spent
// already.
func Burn(segs []guard.Segment, at time.Time) Total {
	sums := map[string]*big.Rat{}
	var out Total
	for _, s := range segs {
		if s.From.After(at) || (!s.To.IsZero() && !s.To.After(at)) || s.State == StateLump {
			continue
		}
		r := s.Rate.Over(time.Hour)
		if r == nil {
			out.Unknown = addPart(out.Unknown, Part{Resource: s.Resource, Since: s.From})
			continue
		}
		c := s.Rate.Currency()
		if sums[c] == nil {
			sums[c] = new(big.Rat)
		}
		sums[c].Add(sums[c], r)
	}
	for c, r := range sums {
		if m, err := guard.MoneyFromRat(r, c); err == nil {
			out.Known = append(out.Known, m)
		}
	}
	slices.SortFunc(out.Known, func(a, b guard.Money) int { return strings.Compare(a.Currency(), b.Currency()) })
	return out
}

// Moves is when what Burn tells changes by itself after a time: a segment that is known
// begins then, or ends; zero: nothing does.
func Moves(segs []guard.Segment, at time.Time) time.Time {
	var next time.Time
	for _, s := range segs {
		if s.State == StateLump {
			continue
		}
		for _, t := range []time.Time{s.From, s.To} {
			if t.After(at) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

// Moved is when what is drawn changed last up to a time: a segment began or ended, or
// something was paid ahead; zero: never.
func Moved(segs []guard.Segment, at time.Time) time.Time {
	var last time.Time
	for _, s := range segs {
		for _, t := range []time.Time{s.From, s.To} {
			if !t.After(at) && t.After(last) && (s.State != StateLump || t.Equal(s.From)) {
				last = t
			}
		}
	}
	return last
}
