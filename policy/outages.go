package policy

import (
	"fmt"
	"time"

	"guard"
)

const (
	// apart is how long something answers before its next outage is one by itself.
	apart = 8 * time.Hour
	// often is how many outages in a row are how something is, and no news each time;
	// kept is how many are looked at.
	often, kept = 3, 5
	// lasting is how long an outage lasts at most before it is told by itself, however
	// often they come.
	lasting = time.Hour
)

// comesAndGoes is the stage of what answers in turns.
const comesAndGoes = "comes and goes"

// spared is what people are told of what answers in turns.
func (f Facts) spared() string {
	return f.say("Each time is no news any more: people hear of one that lasts, and when it has been well for longer than it usually is.")
}

// Recovered are the outages of which the last, if there was one, began at since (zero:
// there was none) and ended now: a few, newest first. One too short to be told of is none.
func Recovered(past []guard.Outage, since, now time.Time) []guard.Outage {
	if since.IsZero() || now.Sub(since) < blindFor {
		return past
	}
	last := guard.Outage{From: since.UTC().Round(0), Until: now.UTC().Round(0)}
	return append([]guard.Outage{last}, past[:min(len(past), kept-1)]...)
}

// turns is how something fails that does so again and again; zero where it does not.
type turns struct {
	// row are the outages, newest first; the first has no end where it lasts.
	row []guard.Outage
	// tell is how long that one lasts before it is told by itself, and well how long there
	// is none before all is over: half as long again as the longest of those before.
	tell, well time.Duration
	// back: it is over, and was told by itself.
	back bool
}

// turns judges outages that are over and one that lasts since failing, if one does. It also
// tells when to judge again by itself.
func (f Facts) turns(past []guard.Outage, failing time.Time) (turns, time.Time) {
	var all []guard.Outage
	if !failing.IsZero() && !f.At.Before(failing.Add(blindFor)) {
		all = append(all, guard.Outage{From: failing})
	}
	all = append(all, past...)
	var row []guard.Outage
	var lasted, paused time.Duration
	for i, o := range all[:min(len(all), kept)] {
		if i > 0 {
			pause := all[i-1].From.Sub(o.Until)
			if pause >= apart {
				break
			}
			paused, lasted = max(paused, pause), max(lasted, o.Until.Sub(o.From))
		}
		row = append(row, o)
	}
	if len(row) < often {
		return turns{}, time.Time{}
	}
	last := row[0]
	t := turns{row: row, tell: min(outlasts(lasted), lasting), well: outlasts(paused)}
	if last.Until.IsZero() {
		return t, time.Time{}
	}
	t.back = last.Until.Sub(last.From) >= t.tell
	// Whether what fails for a moment is an outage is not known yet.
	over, now := last.Until.Add(t.well), f.At
	if !failing.IsZero() {
		now = failing
	}
	if !now.Before(over) {
		return turns{}, time.Time{}
	}
	return t, f.after(over)
}

// on reports whether there is a pattern.
func (t turns) on() bool { return len(t.row) > 0 }

// since is when the row began.
func (t turns) since() time.Time { return t.row[len(t.row)-1].From }

// told reports whether an outage that began at a time is told by itself now, or else when.
func (t turns) told(f Facts, failing time.Time) (bool, time.Time) {
	if failing.IsZero() {
		return false, time.Time{}
	}
	tell := failing.Add(max(blindFor, t.tell))
	if f.At.Before(tell) {
		return false, earliest(f.after(failing.Add(blindFor)), tell)
	}
	return true, time.Time{}
}

// facts are the outages of something, and what people hear of next.
func (t turns) facts(f Facts, what string) []guard.Fact {
	var facts []guard.Fact
	for _, o := range t.row {
		value := fmt.Sprintf("from %s to %s", f.stamp(o.From), f.stamp(o.Until))
		if o.Until.IsZero() {
			value = fmt.Sprintf("since %s", f.stamp(o.From))
		}
		facts = append(facts, guard.Fact{Name: what + " failed", Value: value, Source: "provider", At: o.From})
	}
	return append(facts, guard.Fact{Name: what + " comes and goes", Value: fmt.Sprintf("it is told again if it fails for %s, and over once it has not failed for %s", span(t.tell), span(t.well))})
}
