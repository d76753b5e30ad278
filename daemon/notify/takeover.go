package notify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/say"
	"guard/store"
)

const (
	// urgentDead is how long a channel may take nothing while something urgent waits
	// for it, anyDead while anything does, before another one stands in for it.
	urgentDead = 10 * time.Minute
	anyDead    = time.Hour
	// logName is the channel that is guardd's own log: it is told of every stand-in, and
	// is none itself.
	logName = "log"
)

// standIn is who is told in the place of a channel that takes nothing.
type standIn struct {
	Channel string    `json:"channel,omitzero"` // "": nobody; the log, where no other channel is well
	Since   time.Time `json:"since,omitzero"`   // when the channel took something for the last time, or failed first
	At      time.Time `json:"at,omitzero"`      // when Channel began to stand in
}

func standInName(channel string) string { return "stand_in/" + channel }

// relieve lets the next channel that is well stand in for each that takes nothing, and
// tells when to look again.
func (l *Loop) relieve(ctx context.Context, at guard.Instant) (next guard.Instant, err error) {
	for _, c := range l.lines {
		if c.name == logName || !c.loaded {
			continue
		}
		again, err := c.relieved(ctx, at)
		if err != nil {
			return next, fmt.Errorf("notify %s: let another channel stand in: %w", c.name, err)
		}
		next = guard.Earliest(next, again)
	}
	return next, nil
}

// relieved is relieve for one channel.
func (c *line) relieved(ctx context.Context, at guard.Instant) (next guard.Instant, err error) {
	if c.state.Wait == "" || c.state.Since.IsZero() {
		if c.standIn.Channel == "" {
			return next, nil
		}
		return at, c.back(ctx, at)
	}
	urgent, all := c.waitingNow(at)
	wait := anyDead
	if len(urgent) > 0 {
		wait = urgentDead
	}
	have := c.standIn.Channel
	if have != logName && c.loop.line(have) == nil {
		have = "" // it is not configured any more
	}
	switch wait -= at.Sub(c.down); {
	case all == 0:
		return next, nil
	case wait > 0 && have == "":
		return at.Add(wait), nil
	}
	to := c.loop.standInFor(c)
	switch {
	case have == "" && to == nil:
		return at, c.takeover(ctx, at, logName, len(urgent), all)
	case have == "", have == logName && to != nil:
		if err := c.takeover(ctx, at, to.name, len(urgent), all); err != nil {
			return next, err
		}
		next = at
	}
	copied, err := c.copies(ctx, urgent)
	if copied > 0 {
		next = at
	}
	return next, err
}

// waitingNow are the urgent messages that wait for the channel, and how many wait in all:
// those that quiet hours hold are not among them.
func (c *line) waitingNow(at guard.Instant) (urgent []guard.Message, all int) {
	for m := range c.pending.all() {
		if m.Urgent {
			urgent = append(urgent, m.Message)
		}
		if c.heldUntil(m.Message, at.Wall).IsZero() {
			all++
		}
	}
	return urgent, all
}

// standInFor is the first channel that is well, but for the log; nil where none is.
func (l *Loop) standInFor(c *line) *line {
	i := slices.IndexFunc(l.lines, func(o *line) bool { return o != c && o.name != logName && o.loaded && o.state.Wait == "" })
	if i < 0 {
		return nil
	}
	return l.lines[i]
}

// line is the way to a channel; nil where none is configured.
func (l *Loop) line(name string) *line {
	if i := slices.IndexFunc(l.lines, func(o *line) bool { return o.name == name }); i >= 0 {
		return l.lines[i]
	}
	return nil
}

// takeover makes a channel stand in, and says so in it and in the log.
func (c *line) takeover(ctx context.Context, at guard.Instant, to string, urgent, all int) error {
	s := standIn{Channel: to, Since: c.state.Since, At: at.Wall}
	told := func(lang guard.Lang) guard.Message {
		m := guard.Message{Urgent: urgent > 0,
			Title: say.In(lang, "%s takes nothing since %s: guard tells what is urgent elsewhere", c.name, policy.Stamp(s.Since, c.loop.zone)),
			Lines: []string{say.In(lang, "Why: %s", c.state.Error),
				say.In(lang, "Messages that wait there: %d, %d of them urgent. They are kept, and told there once it works again.", all, urgent)}}
		if to == logName {
			return m
		}
		m.Lines = append(m.Lines, say.In(lang, "Until then %s is told what is urgent.", to))
		return m
	}
	if err := c.say(ctx, at, s, fmt.Sprintf("%s %d", to, s.Since.Unix()), to, told); err != nil {
		return err
	}
	c.loop.log.Warn("channel takes nothing: another stands in", "channel", c.name, "since", s.Since, "stands_in", to, "waiting", all, "urgent", urgent)
	c.standIn, c.copied = s, map[string]bool{}
	return nil
}

// back says that a channel is told again.
func (c *line) back(ctx context.Context, at guard.Instant) error {
	s := c.standIn
	told := func(lang guard.Lang) guard.Message {
		return guard.Message{Waits: true, Title: say.In(lang, "%s is told again", c.name),
			Lines: []string{say.In(lang, "It took nothing from %s to %s. What waited is told there now.", policy.Stamp(s.Since, c.loop.zone), policy.Stamp(at.Wall, c.loop.zone))}}
	}
	if err := c.say(ctx, at, standIn{}, fmt.Sprintf("back %d", s.Since.Unix()), s.Channel, told); err != nil {
		return err
	}
	c.loop.log.Info("channel is told again", "channel", c.name, "since", s.Since, "stood_in", s.Channel)
	c.standIn = standIn{}
	return nil
}

// say keeps who stands in for the channel, and queues what that one and the log are told
// of it: one transaction, so that it is said once.
func (c *line) say(ctx context.Context, at guard.Instant, s standIn, stage, to string, told func(guard.Lang) guard.Message) error {
	var readers []guard.Audience
	for _, o := range c.loop.lines {
		if o.name == to || o.name == logName {
			readers = append(readers, AudienceOf(o.channel))
		}
	}
	return c.loop.ledger.Update(ctx, func(tx *store.Tx) error {
		for _, m := range policy.Copies(readers, "stand_in/"+c.name, stage, told) {
			m.CreatedAt = at.Wall
			if err := tx.Queue(m); err != nil {
				return err
			}
		}
		return tx.SetValue(standInName(c.name), s)
	})
}

// copies queues the urgent messages for the channel that stands in, each under the ID
// that it would have had there from the beginning: what that channel was told anyway,
// or in the place of another one too, is not told again.
func (c *line) copies(ctx context.Context, urgent []guard.Message) (n int, err error) {
	to := c.loop.line(c.standIn.Channel)
	if to == nil || to.name == logName {
		return 0, nil
	}
	var out []guard.Message
	for i, m := range urgent {
		if !c.copied[m.ID] {
			m = inPlaceOf(m, to.name)
			if after := c.standIn.At.Add(time.Duration(i + 1)); m.CreatedAt.Before(after) {
				m.CreatedAt = after // in their order, behind what says why
			}
			out = append(out, m)
		}
	}
	err = c.loop.ledger.UpdateEach(ctx, len(out), func(tx *store.Tx, i int) error { return tx.Queue(out[i]) })
	if err != nil {
		return 0, err
	}
	for _, m := range urgent {
		c.copied[m.ID] = true
	}
	return len(out), nil
}

// inPlaceOf is a message as another channel is told it.
func inPlaceOf(m guard.Message, channel string) guard.Message {
	id, ok := strings.CutPrefix(m.ID, m.Channel+"|")
	if !ok {
		id = m.ID
	}
	return guard.Message{ID: channel + "|" + id, Channel: channel, Lang: m.Lang, Thread: m.Thread, About: m.About, Rule: m.Rule, Finding: m.Finding,
		Release: m.Release, Urgent: m.Urgent, Title: say.In(m.Lang, "for %s: %s", m.Channel, m.Title), Lines: m.Lines, CreatedAt: m.CreatedAt,
		Mentions: m.Mentions, Card: m.Card, Offers: m.Offers}
}

// AudienceOf is who reads a channel, in the language that the channel has.
func AudienceOf(c Channel) guard.Audience {
	a := guard.Audience{Channel: c.Name()}
	if s, ok := c.(interface{ Lang() guard.Lang }); ok {
		a.Lang = s.Lang()
	}
	return a
}
