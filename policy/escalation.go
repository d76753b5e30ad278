package policy

import (
	"time"

	"guard"
	"guard/policy/say"
)

// Circle is whom something goes to that nobody has acknowledged, each wider than the one
// before it.
type Circle int

// The circles. Whoever is told first, the owner, is none of them.
const (
	CircleChannel  Circle = 1 + iota // everybody who reads the channel
	CircleAdmins                     // the admins, by name
	CircleFallback                   // whoever reads the channel that is told last
)

// Escalates reports whether a finding goes to more and more people until somebody
// acknowledges it.
func Escalates(r guard.Rule) bool {
	return r == guard.RuleReleaseBlocked || r == guard.RuleReleaseStalled || r == guard.RuleBudgetExceeded
}

// Acknowledges reports whether an entry of the journal about a thing is the word of a
// person who sees to it.
func Acknowledges(e guard.JournalEntry) bool {
	switch e.Verb {
	case "acknowledged", "snoozed", "held", "extended", "vetoed", "protected", "ordered", "cancelled", "confirmed_gone":
		return e.Who != "guard"
	}
	return false
}

// Unheard is a finding that nobody has acknowledged.
type Unheard struct {
	Finding guard.Finding
	// What is told of it; First is when people first were.
	What  Stage
	First time.Time
	// Owner is whose it is; "" where nobody's.
	Owner string
	// Offers are what can be done about it by a click.
	Offers []guard.Offer
}

// Escalated is what a circle is told. Admins are the names of the admins.
func Escalated(u Unheard, c Circle, admins []string, at time.Time, zone *time.Location, lang guard.Lang) guard.Message {
	lines := []string{say.In(lang, "People were told of it at %s, %s ago, and nobody has acknowledged it.", Stamp(u.First, zone), say.Span(lang, at.Sub(u.First).Truncate(time.Minute)))}
	lines = append(lines, u.What.Lines...)
	lines = append(lines, say.In(lang, "If you see to it: guard ack %s. Then nobody else is called.", u.Finding.Subject))
	m := Told(u.Finding, Stage{Title: say.In(lang, "Nobody sees to it: %s", u.What.Title), Lines: lines}, at)
	m.Urgent, m.Offers, m.Mentions = true, u.Offers, called(c, admins, u.Owner)
	return m
}

// EscalatedAll is what a circle is told of many at once.
func EscalatedAll(us []Unheard, c Circle, admins []string, at time.Time, lang guard.Lang) guard.Message {
	m := guard.Message{Rule: us[0].Finding.Rule, Urgent: true, CreatedAt: at, Mentions: called(c, admins, ""),
		Title: say.In(lang, "Nobody sees to %d things that cost money", len(us))}
	var titles []string
	for _, u := range us {
		titles = append(titles, u.What.Title)
		m.About = append(m.About, u.Finding.Resource)
	}
	const most = 10
	more := max(0, len(titles)-most)
	m.Lines = append(m.Lines, say.In(lang, "People were told of each, and nobody has acknowledged them."))
	m.Lines = append(m.Lines, titles[:len(titles)-more]...)
	if more > 0 {
		m.Lines = append(m.Lines, say.In(lang, "and %d more", more))
	}
	m.Lines = append(m.Lines, say.In(lang, "guard findings shows them all. If you see to one: guard ack ACCOUNT/ID."))
	return m
}

func called(c Circle, admins []string, owner string) []string {
	var names []string
	if owner != "" && c == CircleChannel {
		names = append(names, owner)
	}
	if c == CircleAdmins {
		names = append(names, admins...)
	}
	return names
}

// OverCap is what is told of a lease that has passed its cap and goes on. Hourly is what
// it bills; unset where that is not known.
func OverCap(l guard.Lease, spent []guard.Money, hourly guard.Money, limit time.Time, zone *time.Location, lang guard.Lang) Stage {
	s := Stage{Title: say.In(lang, "%s (%s): its cap of %s is passed", l.Resource, l.Purpose, l.Budget.Round())}
	line := say.In(lang, "It was reached at %s.", Stamp(limit, zone))
	if len(spent) > 0 {
		line = say.In(lang, "It was reached at %s; %s is spent by now.", Stamp(limit, zone), say.Amounts(spent))
	}
	bills := say.In(lang, "It goes on billing, at a price that is not known.")
	if hourly.IsSet() {
		bills = say.In(lang, "It goes on billing %s per hour.", hourly.Round())
	}
	s.Lines = []string{line, bills}
	if l.Owner != "" {
		s.Lines = append(s.Lines, say.In(lang, "Owner: %s.", l.Owner))
	}
	return s
}
