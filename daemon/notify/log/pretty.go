package log

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"guard"
)

// width is how many cells a line of a Pretty takes at most.
const width = 80

// Pretty shows messages on a terminal as they would look in Slack: a bar, red
// where it is urgent, the title in bold, replies indented under their thread.
type Pretty struct {
	name   string
	zone   *time.Location
	color  bool
	mu     sync.Mutex
	w      io.Writer
	number int
	shown  map[string]string // receipt → the title that a thread began with
}

// NewPretty makes a channel of the given name that writes to w, with times in
// zone (nil: UTC) and, where the terminal can, in color.
func NewPretty(w io.Writer, name string, zone *time.Location, color bool) *Pretty {
	if zone == nil {
		zone = time.UTC
	}
	return &Pretty{name: name, zone: zone, color: color, w: w, shown: map[string]string{}}
}

// Name is the name it was made with.
func (p *Pretty) Name() string { return p.name }

// Post shows the message.
func (p *Pretty) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	if err := ctx.Err(); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: show a message: not begun: %v", guard.ErrUnavailable, err)
	}
	at, ok := guard.InstantFrom(ctx)
	if !ok {
		at.Wall = m.CreatedAt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	root, reply := p.shown[thread]
	if _, err := io.WriteString(p.w, p.render(m, at.Wall, root, reply)); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: show a message: %v", guard.ErrUncertain, err)
	}
	p.number++
	posted := guard.Posted{Receipt: fmt.Sprintf("%s|%d", p.name, p.number), Thread: thread}
	if !reply {
		posted.Thread = posted.Receipt
		p.shown[posted.Receipt] = guard.Plain(m.Title)
	}
	return posted, nil
}

// Find cannot look at a screen: ErrUnsupported.
func (p *Pretty) Find(context.Context, guard.Message, string) (guard.Posted, bool, error) {
	return guard.Posted{}, false, fmt.Errorf("%w: a terminal cannot be searched", guard.ErrUnsupported)
}

func (p *Pretty) render(m guard.Message, at time.Time, root string, reply bool) string {
	indent, bar, tint := "", "▌", "34" // blue
	if m.Urgent {
		tint = "31" // red
	}
	if reply {
		indent = "   "
	}
	var b strings.Builder
	b.WriteString("\n" + indent + p.paint("1", "guard") + p.paint("2", "  "+at.In(p.zone).Format("15:04:05")))
	if reply {
		b.WriteString(p.paint("2", "  ↳ "+text.Snip(root, width-len(indent)-19, "…")))
	}
	b.WriteByte('\n')
	title, lines := textOf(m)
	put := func(s, style, hang string) {
		room := width - len(indent) - 2
		for i, l := range strings.Split(text.WrapSoft(s, room-len(hang)), "\n") {
			if i > 0 {
				l = hang + strings.TrimLeft(l, " ")
			}
			b.WriteString(strings.TrimRight(indent+p.paint(tint, bar)+" "+p.paint(style, strings.TrimRight(l, " ")), " ") + "\n")
		}
	}
	put(title, "1", "")
	for _, l := range lines {
		put(l, "", "  ")
	}
	return b.String()
}

func (p *Pretty) paint(code, s string) string {
	if !p.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
