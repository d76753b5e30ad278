package slack

import (
	"fmt"
	"strings"

	"guard"
	"guard/policy/say"
)

const (
	maxName = 100 // of one name from outside: half a field
	maxOpen = 6   // findings
)

// card is how the instance does, one fact a line, in plain text that is not escaped yet.
// It says what is not known, and never takes it for nothing.
func (v view) card(m guard.Message) []string {
	c := m.Card
	if c == nil || v.cardless {
		return nil
	}
	l := m.Lang
	out := []string{say.In(l, "What: %s", what(m)), say.In(l, "Whose: %s", whose(l, c))}
	if c.Purpose != "" {
		out = append(out, say.In(l, "Purpose: %s", name(c.Purpose)))
	}
	out = append(out, say.In(l, "So far: %s", soFar(l, c)))
	if !gone(c) { // what is gone bills no more, or a finding tells
		out = append(out, say.In(l, "Per hour: %s", amount(l, c.Hourly)))
	}
	out = append(out, say.In(l, "Next: %s", v.next(l, c)))
	if c.Held.After(v.at) {
		out = append(out, say.In(l, "On hold until %s", v.when(l, c.Held)))
	}
	if c.Snoozed.After(v.at) {
		out = append(out, say.In(l, "Snoozed until %s", v.when(l, c.Snoozed)))
	}
	if len(c.Open) > 0 {
		open := make([]string, len(c.Open))
		for i, r := range c.Open {
			open[i] = name(say.Rule(l, r))
		}
		out = append(out, say.In(l, "Open: %s", say.List(l, open, maxOpen)))
	}
	return out
}

// name is one name from outside, cut where it is long, with its escapes to come.
func name(s string) string {
	s = plain(s)
	used := size(cutMark)
	for i, r := range s {
		if used += size(escaped(r)); used > maxName {
			return s[:i] + cutMark
		}
	}
	return s
}

// what is the resource: its name, how it is, its GPUs.
func what(m guard.Message) string {
	c, l := m.Card, m.Lang
	called := name(c.Name)
	if called == "" && len(m.About) == 1 {
		called = name(m.About[0].ID)
	}
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(called)
	if c.State == "" || c.State == guard.StateUnknown {
		add(say.In(l, "state unknown"))
	} else {
		add(say.In(l, name(string(c.State))))
	}
	switch model := name(c.Model); {
	case c.GPUs > 0 && model != "":
		add(fmt.Sprintf("%d × %s", c.GPUs, model))
	case c.GPUs > 0:
		add(fmt.Sprintf("%d × GPU", c.GPUs))
	}
	add(name(c.Type))
	if c.Spot {
		add(say.In(l, "spot"))
	}
	return strings.Join(parts, say.In(l, ", "))
}

// whose is who answers for it.
func whose(l guard.Lang, c *guard.Card) string {
	owner, team := name(c.Owner), name(c.Team)
	switch {
	case owner == "" && team == "" && c.Purpose == "":
		return say.In(l, "nobody has registered it")
	case owner == "":
		owner = say.In(l, "not told")
	}
	if team != "" {
		owner += say.In(l, ", ") + say.In(l, "team %s", team)
	}
	return owner
}

// soFar is what it has cost, of how much.
func soFar(l guard.Lang, c *guard.Card) string {
	spent := say.Amounts(c.Spent)
	if spent != "" && c.AtLeast {
		spent = say.In(l, "at least %s", spent)
	}
	switch {
	case spent == "" && c.Budget.IsSet():
		return say.In(l, "unknown, of %s", c.Budget.Round())
	case spent == "":
		return say.In(l, "unknown")
	case c.Budget.IsSet():
		return say.In(l, "%s of %s", spent, c.Budget.Round())
	}
	return spent
}

func amount(l guard.Lang, m guard.Money) string {
	if !m.IsSet() {
		return say.In(l, "unknown")
	}
	return m.Round().String()
}

// ends is how a resource ended, in words.
var ends = map[guard.How]string{
	guard.ByRelease: "released by guard", guard.ByReclaim: "taken back by the provider",
	guard.ByOutside: "ended outside guard", guard.ByPlatform: "ended by the provider",
}

// causes is what a limit is called.
var causes = map[guard.Cause]string{
	guard.CauseExpiry: "expiry", guard.CauseBudget: "budget", guard.CauseCeiling: "ceiling", guard.CausePerson: "a person's order",
	guard.CauseIdle: "idle", guard.CauseStopped: "stopped and billing", guard.CauseEgress: "egress", guard.CauseOrphan: "left behind",
}

// reasons is why a release cannot go on.
var reasons = map[guard.BlockReason]string{
	guard.BlockPermission: "permission", guard.BlockProtected: "protected", guard.BlockAccount: "another account",
	guard.BlockProvider: "account not configured", guard.BlockNotSame: "not the same thing", guard.BlockSurprise: "too many at once",
	guard.BlockClock: "clock not trusted", guard.BlockUnreadable: "cannot be read", guard.BlockPerson: "a person must do it",
}

// next is what happens to it, and when.
func (v view) next(l guard.Lang, c *guard.Card) string {
	if gone(c) {
		return say.In(l, or(ends[c.Ended], "gone"))
	}
	stop := c.Does == guard.ActStop
	switch c.Release {
	case guard.ReleaseBlocked:
		return because(l, say.In(l, pick(stop, "its stop is blocked", "its release is blocked")), reasons[c.Blocked])
	case guard.ReleaseIntended, guard.ReleaseIssued:
		return say.In(l, pick(stop, "being stopped", "being released"))
	}
	if c.Ends.IsZero() {
		return say.In(l, "nothing is due")
	}
	format := "reaches its limit %s" // and guard tells of it only
	switch c.Does {
	case guard.ActStop:
		format = "stops %s"
	case guard.ActRelease:
		format = "is released %s"
	}
	return because(l, say.In(l, format, v.when(l, c.Ends)), causes[c.By])
}

func gone(c *guard.Card) bool { return c.Ended != "" || c.State == guard.StateGone }

// because gives what is said a reason, where there is one.
func because(l guard.Lang, text, why string) string {
	if why == "" {
		return text
	}
	return say.In(l, "%[1]s: %[2]s", text, say.In(l, why))
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
