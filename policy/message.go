package policy

import (
	"fmt"
	"time"

	"guard"
	"guard/policy/say"
)

// FindingID is the ID of a finding: what it is about and when it opened.
func FindingID(f guard.Finding) string { return fmt.Sprintf("%s|%d", f.Key(), f.Opened.Unix()) }

// MessageID is the ID of what is said in a channel about a finding or a release
// at a stage, so that saying it again changes nothing.
func MessageID(channel, cause, stage string) string { return channel + "|" + cause + "|" + stage }

// Copies makes one message for each channel, in the language of those who read it. Cause
// is the ID of the finding or the release that it is about.
func Copies(to []guard.Audience, cause, stage string, in func(guard.Lang) guard.Message) []guard.Message {
	out := make([]guard.Message, 0, len(to))
	for _, a := range to {
		m := in(a.Lang)
		m.Channel, m.ID, m.Lang = a.Channel, MessageID(a.Channel, cause, stage), a.Lang
		out = append(out, m)
	}
	return out
}

// Titles is a title in the other languages of those who read it; nil where there are none.
func Titles(to []guard.Audience, in func(guard.Lang) string) map[guard.Lang]string {
	var titles map[guard.Lang]string
	for _, a := range to {
		if a.Lang == "" || a.Lang == guard.English || titles[a.Lang] != "" {
			continue
		}
		if titles == nil {
			titles = map[guard.Lang]string{}
		}
		titles[a.Lang] = in(a.Lang)
	}
	return titles
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

// Again is the message that a finding is still true, long after people were told; the
// stage is in the same language.
func Again(f guard.Finding, s Stage, at time.Time, zone *time.Location, lang guard.Lang) guard.Message {
	lines := append([]string{say.In(lang, "It is so since %s, and was first told at %s.", Stamp(f.Since, zone), Stamp(f.Opened, zone))}, s.Lines...)
	return Told(f, Stage{Title: say.In(lang, "Still: %s", s.Title), Lines: lines}, at)
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

// Over is the message that a finding is over; why is what ended it, as sentences of the
// same language. Its title is the one that it was told by: see [guard.Finding.Titles].
func Over(f guard.Finding, at time.Time, zone *time.Location, lang guard.Lang, why ...string) guard.Message {
	return Told(guard.Finding{ID: f.ID, Rule: f.Rule, Resource: f.Resource},
		Stage{Title: say.In(lang, "Over: %s", f.TitleIn(lang)), Lines: append(why, say.In(lang, "It lasted from %s to %s.", Stamp(f.Since, zone), Stamp(at, zone)))}, at)
}

// Grouped is one message for findings of one rule that opened together.
func Grouped(fs []guard.Finding, at time.Time, lang guard.Lang) guard.Message {
	m := guard.Message{Rule: fs[0].Rule, CreatedAt: at,
		Title: say.In(lang, "%s: %d × %s", fs[0].Resource.Account, len(fs), groupWord(fs[0].Rule, lang))}
	for _, f := range fs {
		m.About = append(m.About, f.Resource)
		m.Urgent = m.Urgent || f.Urgent
	}
	if m.Lines = legion(fs, at, lang); m.Lines == nil {
		for _, f := range fs {
			m.Lines = append(m.Lines, f.TitleIn(lang))
		}
	}
	if total := wasted(fs); total != "" {
		m.Lines = append(m.Lines, say.In(lang, "Together they bill %s per hour, as far as is known.", total))
	}
	if fs[0].Rule == guard.RuleUnregistered {
		m.Lines = append(m.Lines, say.In(lang, "To claim one: guard register ACCOUNT/ID --purpose TEXT --ttl 8h"), say.In(lang, "To end one: guard release ACCOUNT/ID"))
	}
	return m
}

// groupWord is what a rule finds, for counting.
func groupWord(r guard.Rule, lang guard.Lang) string {
	switch r {
	case guard.RuleUnregistered:
		return say.In(lang, "an instance that nobody registered")
	case guard.RuleReclaimed:
		return say.In(lang, "an instance that the provider took back")
	case guard.RuleSignalsLost:
		return say.In(lang, "an instance whose signals are lost")
	case guard.RuleStoppedBilling:
		return say.In(lang, "an instance that does not run and bills")
	case guard.RuleProviderReclaim:
		return say.In(lang, "a thing that the provider will delete")
	case guard.RuleRenewsSoon:
		return say.In(lang, "a thing that renews itself")
	case guard.RuleChargeMismatch:
		return say.In(lang, "a thing that the provider bills otherwise than guard counts")
	case guard.RuleOrphanVolume:
		return say.In(lang, "a disk left behind")
	case guard.RuleOrphanSnapshot:
		return say.In(lang, "a snapshot left behind")
	case guard.RuleOrphanImage:
		return say.In(lang, "an image left behind")
	case guard.RuleOrphanAddress:
		return say.In(lang, "an address left behind")
	case guard.RuleOrphanFilesystem:
		return say.In(lang, "a file system left behind")
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
