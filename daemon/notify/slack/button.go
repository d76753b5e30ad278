package slack

import (
	"fmt"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"guard"
	"guard/policy/say"
)

// Slack's limit of a button's text, from docs.slack.dev/reference/block-kit. A message has
// far fewer buttons than the 25 that Slack would take, and what they carry is bounded too.
const (
	maxLabel  = 75
	maxOffers = 8
	maxValues = 2000
)

// actions are the buttons of what the message offers now, the likeliest first.
func (v view) actions(m guard.Message) (out []api.BlockElement) {
	if !v.buttons {
		return nil
	}
	seen := map[guard.Click]int{}
	carried := 0
	for _, o := range m.Offers {
		label := buttonWords(m.Lang, o)
		text, ok := value{Message: m.ID, Click: string(o.Click), Key: o.Key}.encode()
		seen[o.Click]++ // those that are not shown count too: the ledger has them all
		if label == "" || !ok || v.over(o) || carried+len(text) > maxValues || len(out) == maxOffers {
			continue
		}
		carried += len(text)
		b := api.NewButtonBlockElement(actionID(o.Click, seen[o.Click]), text, plainText(brief(label, maxLabel)))
		if o.Click == guard.ClickRelease {
			b = b.WithStyle(api.StyleDanger) // guard asks once more, with what it erases
		}
		out = append(out, b)
	}
	return out
}

// over reports whether an offer counts no more.
func (v view) over(o guard.Offer) bool { return !o.Until.IsZero() && !v.at.Before(o.Until) }

// buttonWords is what stands on a button; "" where the click is not known.
func buttonWords(l guard.Lang, o guard.Offer) string {
	timed := func(asks, tells string) string {
		if o.For <= 0 {
			return say.In(l, asks)
		}
		return say.In(l, tells, say.Span(l, o.For))
	}
	switch o.Click {
	case guard.ClickExtend:
		return timed("Extend …", "Extend %s")
	case guard.ClickHold:
		return timed("Hold …", "Hold %s")
	case guard.ClickVeto:
		return timed("Veto …", "Veto %s")
	case guard.ClickSnooze:
		return timed("Snooze …", "Snooze %s")
	case guard.ClickRelease:
		return say.In(l, "Release now")
	case guard.ClickRegister:
		return say.In(l, "Register this")
	case guard.ClickWhy:
		return say.In(l, "Show why")
	case guard.ClickAck:
		return say.In(l, "I look after it")
	}
	return ""
}

// subject is the resource that a message is about, as commands take it; "" where it is
// about none, or several.
func subject(m guard.Message) string {
	if len(m.About) != 1 {
		return ""
	}
	return m.About[0].String()
}

// context is the last line, below a card: the ID, of when the amounts are, and what to
// type where there is no clicking.
func (v view) context(m guard.Message) string {
	card := m.Card
	if card == nil || v.cardless {
		return ""
	}
	var parts []string
	id := subject(m)
	if id != "" {
		parts = append(parts, name(id))
	}
	if !card.AsOf.IsZero() {
		parts = append(parts, say.In(m.Lang, "as of %s", v.stamp(card.AsOf)))
	}
	if id != "" && name(id) == id { // a command with half an ID is none
		parts = append(parts, v.command(m, id))
	}
	return brief(strings.Join(parts, " · "), maxContext)
}

// command is what does the same as the likeliest click that ends nothing.
func (v view) command(m guard.Message, id string) string {
	for _, o := range m.Offers {
		if c := commandOf(o, id); c != "" && !v.over(o) {
			return c
		}
	}
	return "guard show " + id
}

// commandOf is what to type in place of a click; "" where that ends something, there is no
// such command, or the click asks what to extend, and by how much.
func commandOf(o guard.Offer, id string) string {
	verb := "guard " + string(o.Click) + " " + id
	switch o.Click {
	case guard.ClickExtend:
		if o.For > 0 {
			return verb + " --by " + lasting(o.For)
		}
	case guard.ClickHold, guard.ClickVeto, guard.ClickSnooze:
		return verb + " --for " + lasting(o.For)
	case guard.ClickWhy, guard.ClickAck:
		return verb
	case guard.ClickRegister:
		return verb + " --purpose TEXT --ttl 8h"
	}
	return ""
}

// lasting is a length as a command line takes it; two hours where none is told.
func lasting(d time.Duration) string {
	if d < time.Minute {
		d = 2 * time.Hour
	}
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
