// Package log tells people through guardd's own log, and, for the demo, on a
// terminal, as it would look in Slack.
package log

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"guard"
)

// Channel writes each message as one record of a slog handler.
type Channel struct{ handler slog.Handler }

// New makes the channel "log". What people are told is written whatever the
// handler's level is: urgent messages as warnings, the others as information.
func New(l *slog.Logger) *Channel { return &Channel{l.Handler()} }

// Name is "log".
func (c *Channel) Name() string { return "log" }

// Post writes the message. It is acknowledged when the handler took it.
func (c *Channel) Post(ctx context.Context, m guard.Message, _ string) (guard.Posted, error) {
	if err := ctx.Err(); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: write a message to the log: not begun: %v", guard.ErrUnavailable, err)
	}
	level := slog.LevelInfo
	if m.Urgent {
		level = slog.LevelWarn
	}
	at, ok := guard.InstantFrom(ctx)
	if !ok {
		at.Wall = m.CreatedAt
	}
	about := make([]string, len(m.About))
	for i, id := range m.About {
		about[i] = guard.Plain(id.String())
	}
	title, lines := textOf(m)
	r := slog.NewRecord(at.Wall, level, "told", 0)
	r.AddAttrs(slog.String("title", title), slog.Any("lines", listing(lines)), slog.Any("about", listing(about)), slog.String("rule", string(m.Rule)),
		slog.Bool("urgent", m.Urgent), slog.String("message", guard.Plain(m.ID)))
	if err := c.handler.Handle(ctx, r); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: write a message to the log: %v; guard writes it again", guard.ErrUncertain, err)
	}
	return guard.Posted{Receipt: "log|" + m.ID}, nil
}

// listing is several texts in one field: apart from each other in a text log,
// an array in a JSON one.
type listing []string

// MarshalText is what slog's text handler writes.
func (l listing) MarshalText() ([]byte, error) { return []byte(strings.Join(l, " | ")), nil }

// MarshalJSON is what its JSON handler writes.
func (l listing) MarshalJSON() ([]byte, error) { return json.Marshal([]string(l)) }

// Find cannot look into a log: ErrUnsupported.
func (c *Channel) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, fmt.Errorf("%w: a log cannot be searched", guard.ErrUnsupported)
}

// shortRunes is what is left of a message in its short form.
const shortRunes = 1000

// textOf is what a message says, safe to show.
func textOf(m guard.Message) (title string, lines []string) {
	if title = guard.Plain(m.Title); title == "" {
		title = "(no title)"
	}
	if m.Short {
		if r := []rune(strings.Join(append([]string{title}, m.Lines...), " · ")); len(r) > shortRunes {
			return guard.Plain(string(r[:shortRunes])) + "… (cut)", nil
		}
	}
	for _, l := range m.Lines {
		lines = append(lines, guard.Plain(l))
	}
	return title, lines
}
