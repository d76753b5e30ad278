package spend

import (
	"time"

	"guard"
	"guard/policy/presence"
)

// Input is what Fold judges.
type Input struct {
	Observed guard.Observed
	// Metered is the meter's record so far; the zero value for the first time.
	Metered guard.Metered
	// Lease is whose budget the resource counts to; "" for none. What was nobody's
	// counts to it from Since on, zero: from its beginning; what was another
	// lease's from Taken on, which is now at the latest.
	Lease        string
	Since, Taken time.Time
	// Price is the whole machine's rate as a person stated it, for an instance;
	// the zero value where nobody did.
	Price guard.Rate
	// Bill is what the provider's own bill says of it; the zero value where nobody does.
	Bill   guard.Bill
	Truths guard.Truths
	// Poll is how often the resource is read, Read when it was last read and
	// still was as Observed says.
	Poll time.Duration
	Read time.Time
	At   time.Time
	// Over is the percentage above which a price change is told and must be read
	// twice; 0 means 20.
	Over int
}

// EventKind is what Fold has to tell.
type EventKind string

// The kinds.
const (
	// EventPriceChanged: a rate more than Over percent off, in force at once and
	// provisional until a second reading agrees.
	EventPriceChanged EventKind = "price_changed"
	// EventPriceConfirmed: the second reading agreed.
	EventPriceConfirmed EventKind = "price_confirmed"
	// EventCorrected: the price went back before it was confirmed, and what was
	// metered at it was put right.
	EventCorrected EventKind = "spend_corrected"
	// EventUnitMismatch: a rate more than 30-fold off, free instead of paid, or in
	// another currency; the old one stays in force.
	EventUnitMismatch EventKind = "unit_mismatch"
	// EventUnitMatch: the odd rate is gone again.
	EventUnitMatch EventKind = "unit_match"
	// EventPriceMissing: no price is told any more; the old one stays in force.
	EventPriceMissing EventKind = "price_missing"
	// EventPriced: what had no known price has one now, from its beginning.
	EventPriced EventKind = "priced"
	// EventStated: a person's price is in force.
	EventStated EventKind = "price_stated"
	// EventBilled: the provider's own bill confirmed an odd rate, which is in force.
	EventBilled EventKind = "price_billed"
)

// Event is one thing that happened to a price.
type Event struct {
	Kind     EventKind
	At       time.Time
	From, To guard.Rate
}

// Odd is how many times off a rate must be to be taken for another unit.
const Odd = 30

const defaultOver = 20

// Fold turns what was observed into segments: it applies the pending changes in
// the order of their times, closes the record where the thing is gone, counts it
// to its lease, and judges each price against the one in force. It is
// idempotent: changes that are in already change nothing.
func Fold(in Input) (guard.Metered, []Event) {
	if in.Over <= 0 {
		in.Over = defaultOver
	}
	f := newFolder(in)
	for _, c := range sorted(in.Observed.Unmetered(in.Metered)) {
		f.apply(c)
	}
	f.confirm()
	f.state()
	f.billed()
	f.end()
	f.claim()
	return f.result(), f.events
}

// Start is when the provider's meter began, as far as is known: the creation
// time where it is believable, else when it was first seen, which is estimated.
func Start(o guard.Observed) (at time.Time, estimated bool) {
	c := o.Resource.Created
	switch {
	case c.Year() < 2000, c.After(o.FirstSeen.Add(presence.Skew)):
		return o.FirstSeen, true
	case c.After(o.FirstSeen):
		return o.FirstSeen, false
	}
	return c, false
}
