package slack

import (
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"guard"
	"guard/policy/say"
)

// Slack's limits, in characters, from docs.slack.dev/reference/block-kit/blocks. The sums
// are our own: about 13,200 characters in all fail, undocumented. They also keep a
// message far below the 50 blocks that it may have.
const (
	maxHeader   = 150
	maxSection  = 3000
	maxBlockSum = 8000 // the title and the lines
	maxText     = 3000 // the fall-back: notifications, search, clients without blocks
	maxShort    = 1000 // the form for a message that Slack found too long

	maxBelow    = 1500 // what the lines leave to what stands below them
	maxMentions = 600
	maxField    = 240
	maxContext  = 400
)

// rendered is a message in Slack's form. whole tells that nothing of the title and the
// lines was cut.
type rendered struct {
	text   string
	blocks []api.Block
	whole  bool
}

// view is what Slack's form of a message depends on beside the message.
type view struct {
	at       time.Time // when it is read: relative times count from here
	zone     *time.Location
	buttons  bool              // clicks are answered
	cardless bool              // another post shows the card
	ids      map[string]string // Slack's IDs of those of the message's mentions that are known
}

// render makes blocks of a message: the title, the lines, who it is for, the card, the
// buttons. Text from outside is in none of them but as plain text, escaped once more.
func (v view) render(m guard.Message) rendered {
	title := plain(m.Title)
	if title == "" {
		title = say.In(m.Lang, "(no title)")
	}
	lines := make([]string, len(m.Lines))
	for i, l := range m.Lines {
		lines[i] = plain(l)
	}
	card := v.card(m)
	full := strings.Join(append(append([]string{title}, lines...), card...), "\n")
	known, others := v.mentions(m)
	if m.Short {
		text, whole := escape(full, maxShort)
		return rendered{text: strings.TrimSpace(text + "\n" + known), whole: whole}
	}
	r := rendered{whole: true}
	r.text, _ = escape(full, maxText)
	left := maxBlockSum
	if m.Card != nil || len(m.Offers)+len(m.Mentions) > 0 {
		left -= maxBelow
	}
	if head, ok := escape(title, maxHeader); ok {
		r.blocks = append(r.blocks, api.NewHeaderBlock(plainText(head)))
		left -= size(head)
	} else {
		lines = append([]string{title}, lines...)
	}
	for len(lines) > 0 {
		room := min(left, maxSection)
		if room <= size(cutMark) {
			r.whole = false
			break
		}
		section, n, ok := pack(lines, room)
		r.whole = r.whole && ok
		r.blocks = append(r.blocks, api.NewSectionBlock(plainText(section), nil, nil))
		left -= size(section)
		lines = lines[n:]
	}
	if !r.whole {
		r.blocks = append(r.blocks, api.NewSectionBlock(plainText(say.In(m.Lang, "… guard show tells all of it")), nil, nil))
	}
	if known != "" {
		r.blocks = append(r.blocks, api.NewSectionBlock(&api.TextBlockObject{Type: api.MarkdownType, Text: known, Verbatim: true}, nil, nil))
	}
	if others != "" {
		r.blocks = append(r.blocks, api.NewSectionBlock(plainText(others), nil, nil))
	}
	if len(card) > 0 {
		fields := make([]*api.TextBlockObject, len(card))
		for i, f := range card {
			f, _ = escape(f, maxField)
			fields[i] = plainText(f)
		}
		r.blocks = append(r.blocks, api.NewSectionBlock(nil, fields, nil))
	}
	if buttons := v.actions(m); len(buttons) > 0 {
		r.blocks = append(r.blocks, api.NewActionBlock("", buttons...))
	}
	if last := v.context(m); last != "" {
		r.blocks = append(r.blocks, api.NewContextBlock("", plainText(last)))
	}
	return r
}
