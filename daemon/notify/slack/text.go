package slack

import (
	"regexp"
	"strings"
	"unicode/utf8"

	api "github.com/slack-go/slack"

	"guard"
)

// Slack's limits, in characters, from docs.slack.dev/reference/block-kit/blocks.
// The sum is our own: about 13,200 characters in all fail, undocumented. It also
// keeps a message far below the 50 blocks that it may have.
const (
	maxHeader   = 150
	maxSection  = 3000
	maxBlockSum = 8000
	maxText     = 3000 // the fallback: notifications, search, clients without blocks
	maxShort    = 1000 // the form for a message that Slack found too long
)

const cutMark = "… (cut)"

// rendered is a message in Slack's form. whole tells that nothing was cut.
type rendered struct {
	text   string
	blocks []api.Block
	whole  bool
}

// render makes plain-text blocks of a message: the title and then the lines,
// packed into few sections.
func render(m guard.Message) rendered {
	title := plain(m.Title)
	if title == "" {
		title = "(no title)"
	}
	lines := make([]string, len(m.Lines))
	for i, l := range m.Lines {
		lines[i] = plain(l)
	}
	full := strings.Join(append([]string{title}, lines...), "\n")
	if m.Short {
		text, whole := escape(full, maxShort)
		return rendered{text: text, whole: whole}
	}
	r := rendered{whole: true}
	r.text, _ = escape(full, maxText)
	left := maxBlockSum
	if head, ok := escape(title, maxHeader); ok {
		r.blocks = append(r.blocks, api.NewHeaderBlock(plainText(head)))
		left -= utf8.RuneCountInString(head)
	} else {
		lines = append([]string{title}, lines...)
	}
	for len(lines) > 0 {
		room := min(left, maxSection)
		if room <= utf8.RuneCountInString(cutMark) {
			r.whole = false
			break
		}
		section, n, ok := pack(lines, room)
		r.whole = r.whole && ok
		r.blocks = append(r.blocks, api.NewSectionBlock(plainText(section), nil, nil))
		left -= utf8.RuneCountInString(section)
		lines = lines[n:]
	}
	if !r.whole {
		r.blocks = append(r.blocks, api.NewSectionBlock(plainText(cutMark+" guard show tells all of it"), nil, nil))
	}
	return r
}

// pack joins as many lines as fit into room characters, at least one, which is
// cut where it alone is too long. n is how many it took.
func pack(lines []string, room int) (section string, n int, whole bool) {
	var b strings.Builder
	used := 0
	for n < len(lines) {
		sep := min(n, 1)
		part, ok := escape(lines[n], room)
		size := utf8.RuneCountInString(part) + sep
		if n > 0 && (!ok || used+size > room) {
			return b.String(), n, true
		}
		if sep == 1 {
			b.WriteByte('\n')
		}
		b.WriteString(part)
		used += size
		n++
		if !ok {
			return b.String(), n, false
		}
	}
	return b.String(), n, true
}

func plainText(s string) *api.TextBlockObject {
	if strings.TrimSpace(s) == "" {
		s = "\u00a0" // Slack refuses an empty section
	}
	no := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: s, Emoji: &no}
}

// broadcast is what pings a whole channel even as bare text, in some clients.
var broadcast = regexp.MustCompile(`(?i)@(channel|here|everyone)\b`)

// plain is one line of text from outside, without a bare @channel.
func plain(s string) string {
	return broadcast.ReplaceAllString(guard.Plain(s), "@\u2060$1")
}

// escape makes s safe for Slack and at most n characters long, escapes included;
// a cut falls between characters, never inside an entity, and shows.
func escape(s string, n int) (string, bool) {
	var b strings.Builder
	used, safe := 0, 0 // safe: bytes that leave room for the mark
	room := n - utf8.RuneCountInString(cutMark)
	for _, r := range s {
		part := string(r)
		switch r {
		case '&':
			part = "&amp;"
		case '<':
			part = "&lt;"
		case '>':
			part = "&gt;"
		}
		used += utf8.RuneCountInString(part)
		if used > n {
			return b.String()[:safe] + cutMark, false
		}
		b.WriteString(part)
		if used <= room {
			safe = b.Len()
		}
	}
	return b.String(), true
}
