package spend

import (
	"time"

	"guard"
	"guard/policy/presence"
)

// First is the record of a thing that is read for the first time, at a moment in
// UTC, with what the meter has to count from its beginning on.
func First(fresh guard.Resource, identity string, at time.Time) guard.Observed {
	o := guard.Observed{Resource: fresh, Identity: identity, FirstSeen: at, Seen: at}
	start, _ := Start(o)
	bills, _ := fresh.Billing()
	switch dated := fresh.Changed.Year() >= 2000 && !fresh.Changed.After(at.Add(presence.Skew)); {
	case fresh.State != guard.StateStopped:
		o.Pending = []guard.Change{ChangeTo(fresh, start)}
	case dated && fresh.Changed.After(start):
		// It ran from its creation until it was stopped.
		ran, stopped := fresh, fresh.Changed
		ran.State, ran.Bills = guard.StateRunning, guard.Unknown
		if stopped.After(at) {
			stopped = at
		}
		o.Pending = []guard.Change{ChangeTo(ran, start), ChangeTo(fresh, stopped)}
	case dated, bills == guard.StateRunning:
		// It never ran, or it bills the same whether it did or not.
		o.Pending = []guard.Change{ChangeTo(fresh, start)}
	default:
		// Before a first sight without a date nothing is made up.
		o.Pending = []guard.Change{ChangeTo(fresh, at)}
	}
	return o
}

// ChangeTo is what the meter must know of a resource that is as read from a
// moment on.
func ChangeTo(r guard.Resource, at time.Time) guard.Change {
	_, rate := r.Billing()
	return guard.Change{At: at, State: r.State, Bills: r.Bills, Rate: rate, Saves: r.StopSaves}
}
