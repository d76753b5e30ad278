package policy

import (
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/policy/say"
)

// say puts a text into the language that people read.
func (f Facts) say(format string, args ...any) string { return say.In(f.Lang, format, args...) }

// in are the facts in another language.
func (f Facts) in(lang guard.Lang) Facts {
	f.Lang = lang
	return f
}

// kept puts a phrase that the ledger keeps in English into the language that people read.
func (f Facts) kept(text string) string { return say.Kept(f.Lang, text) }

// stamp is a time as people read it: RFC 3339 in their zone.
func (f Facts) stamp(t time.Time) string {
	if t.IsZero() {
		return f.say("unknown")
	}
	return Stamp(t, f.Zone)
}

// Stamp is a time as people read it: RFC 3339 in a zone (nil: UTC), to the second. It is
// the same in every language: it names its zone, and can be pasted into a command.
func Stamp(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "unknown"
	}
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

// span is a length of time as commands take it and names of stages have it: 1h, 2d3h.
func span(d time.Duration) string { return say.Span(guard.English, d) }

// span is a length of time as people read it.
func (f Facts) span(d time.Duration) string { return say.Span(f.Lang, d) }

// duration is a length of time as it is configured: 5m0s.
func (f Facts) duration(d time.Duration) string {
	if f.Lang == guard.Chinese {
		return f.span(d)
	}
	return d.String()
}

// sentence makes a phrase one.
func (f Facts) sentence(phrase string) string { return f.say("%s.", f.upper(phrase)) }

// entitled is a title: the subject, and what is to be said of it.
func (f Facts) entitled(what string) string { return f.say("%s: %s", f.name(), what) }

// whose is the line that says what something is for, and whose it is.
func (f Facts) whose(l *guard.Lease) string { return f.ownedBy(l.Purpose, l.Owner) }

func (f Facts) ownedBy(purpose, owner string) string {
	return f.say("Purpose: %s. Owner: %s.", f.orNone(f.kept(purpose)), f.orNone(owner))
}

// name is the subject as people know it: ACCOUNT/ID and what it is for.
func (f Facts) name() string {
	id := f.Subject()
	what := ""
	switch {
	case f.Awaiting != nil && f.Lease.Expect != nil && f.Lease.Expect.Name != "":
		id = f.Lease.Resource.Account + "/" + f.Lease.Expect.Name
		what = f.Lease.Purpose
	case f.Lease != nil:
		what = f.Lease.Purpose
	case f.Observed != nil:
		what = f.Observed.Resource.Name
	}
	if what == "" {
		return id
	}
	return f.say("%s (%s)", id, what)
}

// spentWord is what the subject's family has cost, "" where nothing is known.
func (f Facts) spentWord() string {
	spent := amounts(f.spent().Totals)
	if spent != "" && f.spent().AtLeast {
		return f.say("at least %s", spent)
	}
	return spent
}

// costLines is what it costs, in one line, and its cap.
func (f Facts) costLines() []string {
	var parts []string
	spent := f.spentWord()
	switch {
	case f.Lease != nil && f.Lease.Budget.IsSet() && spent != "":
		parts = append(parts, f.say("Spent %s of %s", spent, f.Lease.Budget.Round()))
	case spent != "":
		parts = append(parts, f.say("Spent %s", spent))
	case f.Lease != nil && f.Lease.Budget.IsSet():
		parts = append(parts, f.say("Spent an unknown amount of %s", f.Lease.Budget.Round()))
	}
	if h, ok := f.hourly(); ok {
		parts = append(parts, f.say("it bills %s per hour", h.Round()))
	} else if f.live() {
		parts = append(parts, f.say("its price is unknown"))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{f.sentence(strings.Join(parts, f.say("; ")))}
}

// Erases is what a release of the instance erases and what stays and bills.
func (f Facts) Erases() []string {
	if f.Observed == nil {
		return nil
	}
	var goes, unsure, stays []string
	for _, c := range f.Observed.Resource.Children {
		switch c.GoesWithInstance {
		case guard.Yes:
			goes = append(goes, c.ID.ID)
		case guard.No:
			stays = append(stays, c.ID.ID)
		default:
			unsure = append(unsure, c.ID.ID)
		}
	}
	lines := []string{f.say("A release erases the instance and everything that is only on it.")}
	if len(goes) > 0 {
		lines[0] = f.say("A release erases the instance, everything that is only on it, and %s.", f.list(goes))
	}
	if len(unsure) > 0 {
		lines = append(lines, f.say("It may erase %s too: the provider does not say.", f.list(unsure)))
	}
	if len(stays) > 0 {
		lines = append(lines, f.say("It leaves %s, which goes on billing.", f.list(stays)))
	}
	return lines
}

// list joins at most ten names.
func (f Facts) list(names []string) string { return say.List(f.Lang, names, 10) }

func amounts(ms []guard.Money) string { return say.Amounts(ms) }

// either are amounts of which each is one by itself.
func (f Facts) either(ms []guard.Money) string {
	return strings.ReplaceAll(amounts(ms), " + ", f.say(" or "))
}

// command is an amount as a command line takes it: 600.00CNY.
func command(m guard.Money) string { return strings.ReplaceAll(m.String(), " ", "") }

// verb is what an action does, as in "guard will release it".
func (f Facts) verb(a guard.Action) string {
	if a == guard.ActStop {
		return f.say("stop")
	}
	return f.say("release")
}

// todo is what guard does where an action is due, as in "guard will release it": where
// only people can end a thing, it asks them.
func (f Facts) todo(a guard.Action) string {
	if f.ByHand && a == guard.ActRelease {
		return f.say("ask people to end")
	}
	return f.verb(a)
}

// would is what guard does not do, in observe mode.
func (f Facts) would(a guard.Action, why string) string {
	if f.ByHand && a == guard.ActRelease {
		return f.say("%s: would ask people to end it now: %s", f.name(), why)
	}
	return f.say("%s: would %s now: %s", f.name(), f.verb(a), why)
}

// orNone is what somebody was told, where anybody was.
func (f Facts) orNone(s string) string {
	if s == "" {
		return f.say("not told")
	}
	return s
}

// upper makes text begin a sentence, where that is seen.
func (f Facts) upper(s string) string { return say.Upper(f.Lang, s) }

// Upper makes an English text begin a sentence.
func Upper(s string) string { return say.Upper(guard.English, s) }

// Few names the first of many, at most so many.
func Few(ids []string, most int) string { return say.List(guard.English, ids, most) }

// basics are the facts about a resource that every finding shows.
func (f Facts) basics() []guard.Fact {
	var facts []guard.Fact
	add := func(name, value, source string, at time.Time) {
		facts = append(facts, guard.Fact{Name: name, Value: value, Source: source, At: at})
	}
	if o := f.Observed; o != nil {
		state := string(o.Resource.State)
		if raw := o.Resource.RawState; raw != "" && raw != state {
			state += " (" + raw + ")"
		}
		add("state", state, "provider", f.Fresh())
		if !o.Resource.Created.IsZero() {
			add("created", f.stamp(o.Resource.Created), "provider", o.FirstSeen)
		}
		rate := o.Resource.BillingRate()
		source := rate.Source
		if f.Lease != nil && f.Lease.Price.Known() {
			rate, source = f.Lease.Price, "person"
		}
		add("price", rate.String(), source, o.Seen)
	}
	if spent := f.spentWord(); spent != "" {
		add("spent", spent, "meter", f.At)
	}
	if f.Account.Name != "" {
		add("mode", string(f.Mode), "configuration", f.At)
	}
	return facts
}

// Fresh is when the subject was last read for certain: its own record, or the
// last complete list of its scope while nothing says that it is missing.
func (f Facts) Fresh() time.Time {
	if f.Observed == nil {
		return time.Time{}
	}
	at := f.Observed.Seen
	if len(f.Observed.Absent) > 0 {
		return at
	}
	for _, s := range f.Scopes {
		id := f.Observed.Resource.ID
		if s.Scope == id.Scope && s.Kind == id.Kind && s.Complete.After(at) {
			at = s.Complete
		}
	}
	return at
}

// limitFacts are the arithmetic of one limit.
func (f Facts) limitFacts(r Rules, l limit, due time.Time) []guard.Fact {
	facts := []guard.Fact{
		{Name: "limit", Value: fmt.Sprintf("%s at %s", l.coming, f.stamp(l.at)), Source: "ledger", At: l.stood},
		{Name: "due", Value: f.stamp(due), Source: "rule " + string(l.rule), At: f.At},
		{Name: "grace", Value: span(f.grace(r)), Source: "ledger", At: f.Lease.UpdatedAt},
		{Name: "on_limit", Value: string(f.Lease.OnLimit), Source: "ledger", At: f.Lease.UpdatedAt},
	}
	if !due.Equal(l.due) {
		facts = append(facts, guard.Fact{Name: "put off", Value: f.putOff(l, due), Source: "rule " + string(l.rule), At: f.At})
	}
	if p := f.Protection(r); p.On {
		facts = append(facts, guard.Fact{Name: "protection", Value: p.Why, Source: "ledger", At: f.At})
	}
	if why := f.Untouchable(); why != "" {
		facts = append(facts, guard.Fact{Name: "may not act", Value: why, Source: "configuration", At: f.At})
	}
	return facts
}
