package policy

import (
	"fmt"
	"time"

	"guard"
)

// FindingID is the ID of a finding: what it is about and when it opened.
func FindingID(f guard.Finding) string { return fmt.Sprintf("%s|%d", f.Key(), f.Opened.Unix()) }

// MessageID is the ID of what is said in a channel about a finding or a release
// at a stage, so that saying it again changes nothing.
func MessageID(channel, cause, stage string) string { return channel + "|" + cause + "|" + stage }

// Copies makes one message for each channel. Cause is the ID of the finding or
// the release that it is about.
func Copies(channels []string, cause, stage string, m guard.Message) []guard.Message {
	out := make([]guard.Message, 0, len(channels))
	for _, c := range channels {
		m.Channel, m.ID = c, MessageID(c, cause, stage)
		out = append(out, m)
	}
	return out
}

// Told is the message of one stage of a finding.
func Told(f guard.Finding, s Stage, at time.Time) guard.Message {
	m := guard.Message{Rule: f.Rule, Finding: f.ID, Urgent: f.Urgent, Title: s.Title, Lines: s.Lines, CreatedAt: at}
	if !f.Resource.IsZero() {
		m.About = []guard.ResourceID{f.Resource}
		m.Thread = f.Resource.Key()
	}
	return m
}

// Again is the message that a finding is still true, long after people were told.
func Again(f guard.Finding, s Stage, at time.Time, zone *time.Location) guard.Message {
	lines := append([]string{fmt.Sprintf("It is so since %s, and was first told at %s.", Stamp(f.Since, zone), Stamp(f.Opened, zone))}, s.Lines...)
	return Told(f, Stage{Title: "Still: " + s.Title, Lines: lines}, at)
}

// EndsQuietly reports whether nobody needs to hear that a finding is over: it
// was an event, or what ended it (an extension, a release) is told by itself.
func EndsQuietly(f guard.Finding) bool {
	switch f.Rule {
	case guard.RuleExpired, guard.RuleBudgetWarning, guard.RuleBudgetExceeded, guard.RuleCeilingReached, guard.RuleExpectedMissing,
		guard.RuleReclaimed, guard.RulePriceChanged:
		return true
	case guard.RuleClockJump:
		return !f.Urgent
	}
	return false
}

// Over is the message that a finding is over; why is what ended it, as sentences.
func Over(f guard.Finding, at time.Time, zone *time.Location, why ...string) guard.Message {
	return Told(guard.Finding{ID: f.ID, Rule: f.Rule, Resource: f.Resource},
		Stage{Title: "Over: " + f.Title, Lines: append(why, fmt.Sprintf("It lasted from %s to %s.", Stamp(f.Since, zone), Stamp(at, zone)))}, at)
}

// Grouped is one message for findings of one rule that opened together.
func Grouped(fs []guard.Finding, at time.Time) guard.Message {
	m := guard.Message{Rule: fs[0].Rule, CreatedAt: at,
		Title: fmt.Sprintf("%s: %d × %s", fs[0].Resource.Account, len(fs), groupWord(fs[0].Rule))}
	for _, f := range fs {
		m.About = append(m.About, f.Resource)
		m.Urgent = m.Urgent || f.Urgent
	}
	if m.Lines = legion(fs, at); m.Lines == nil {
		for _, f := range fs {
			m.Lines = append(m.Lines, f.Title)
		}
	}
	if total := wasted(fs); total != "" {
		m.Lines = append(m.Lines, "Together they bill "+total+" per hour, as far as is known.")
	}
	if fs[0].Rule == guard.RuleUnregistered {
		m.Lines = append(m.Lines, "To claim one: guard register ACCOUNT/ID --purpose TEXT --ttl 8h", "To end one: guard release ACCOUNT/ID")
	}
	return m
}

// groupWord is what a rule finds, for counting.
func groupWord(r guard.Rule) string {
	switch r {
	case guard.RuleUnregistered:
		return "an instance that nobody registered"
	case guard.RuleReclaimed:
		return "an instance that the provider took back"
	case guard.RuleSignalsLost:
		return "an instance whose signals are lost"
	case guard.RuleStoppedBilling:
		return "an instance that does not run and bills"
	case guard.RuleProviderReclaim:
		return "a thing that the provider will delete"
	case guard.RuleRenewsSoon:
		return "a thing that renews itself"
	case guard.RuleChargeMismatch:
		return "a thing that the provider bills otherwise than guard counts"
	}
	if kind := orphanKind(r); kind != "" {
		return article(orphanWords[kind]) + " " + orphanWords[kind] + " left behind"
	}
	return string(r)
}

// wasted is what findings cost per hour together, in words.
func wasted(fs []guard.Finding) string { return amounts(wastes(fs)) }

// wastes sums what findings cost per hour, by currency.
func wastes(fs []guard.Finding) []guard.Money {
	var totals []guard.Money
next:
	for _, f := range fs {
		if !f.Wastes.IsSet() {
			continue
		}
		for i, t := range totals {
			if sum, err := t.Add(f.Wastes); err == nil {
				totals[i] = sum
				continue next
			}
		}
		totals = append(totals, f.Wastes)
	}
	return totals
}
