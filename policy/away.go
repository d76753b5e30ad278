package policy

import (
	"time"

	"guard"
	"guard/policy/say"
)

// Gap is why guard was not there.
type Gap string

// The reasons, as far as they can be told.
const (
	GapStopped  Gap = "stopped"  // somebody stopped it, and it said so
	GapCrashed  Gap = "crashed"  // it left no word: it crashed, or was killed
	GapRebooted Gap = "rebooted" // its machine started anew
	GapAsleep   Gap = "asleep"   // its machine slept, or the process was frozen
)

// Away is a time in which guard was not there.
type Away struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Why   Gap       `json:"why"`
}

// Missed is what happened while guard was away, as far as one full look tells.
type Missed struct {
	Away
	Expired []Thing // leases whose time was up
	Over    []Thing // leases that passed their cap
	Gone    []Thing // what ended, not by guard
	New     []Thing // instances that were not there before
	// Overdue are releases that were due meanwhile: each gets fresh notice first.
	Overdue []Thing
	// Unread are accounts that could not be read since: what they hide is not in here.
	Unread []string
}

// Message is what people are told of it.
func (m Missed) Message(at time.Time, zone *time.Location, lang guard.Lang) guard.Message {
	// Texts of law 8 follow by themselves; this is what nobody watched.
	long := say.Span(lang, m.Until.Sub(m.From).Truncate(time.Minute))
	title := map[Gap]string{
		GapStopped:  "guard was stopped for %s, and is back",
		GapCrashed:  "guard was down for %s, and is back",
		GapRebooted: "guard was down for %s while its machine was, and is back",
		GapAsleep:   "guard's machine was asleep for %s, and guard is back",
	}[m.Why]
	out := guard.Message{CreatedAt: at, Title: say.In(lang, title, long)}
	add := func(format string, args ...any) { out.Lines = append(out.Lines, say.In(lang, format, args...)) }
	add("Nobody watched from %s until %s.", Stamp(m.From, zone), Stamp(m.Until, zone))
	if m.Why == GapCrashed {
		add("It left no word: it crashed, or was killed. Its log may tell more (journalctl -u guardd).")
	}
	nothing := true
	for _, x := range []struct {
		text   string
		things []Thing
	}{
		{"Due meanwhile, and getting fresh notice first: %s.", m.Overdue},
		{"Passed its cap: %s.", m.Over},
		{"Its time was up: %s.", m.Expired},
		{"New: %s.", m.New},
		{"Ended meanwhile, not by guard: %s.", m.Gone},
	} {
		if len(x.things) > 0 {
			nothing = false
			add(x.text, say.List(lang, things(lang, x.things), digestMost))
		}
	}
	if len(m.Unread) > 0 {
		add("Not read since, so what happened there is not known: %s.", say.List(lang, names(m.Unread), digestMost))
	} else if nothing {
		add("It missed nothing.")
		out.Waits = true
	}
	return out
}
