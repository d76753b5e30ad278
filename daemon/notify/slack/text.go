package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	api "github.com/slack-go/slack"

	"guard"
)

// cutMark is what a text ends with that was cut.
const cutMark = "…"

// size is how much of Slack's limits a text takes. Slack does not say what it counts:
// UTF-16 units are the most that a character can be.
func size(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// plainText is a text that Slack shows as it is, escaped already.
func plainText(s string) *api.TextBlockObject {
	if !visible(s) {
		s = "\u00a0" // Slack refuses an empty text
	}
	no := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: s, Emoji: &no}
}

// broadcast is what pings a whole channel even as bare text, in some clients.
var broadcast = regexp.MustCompile(`(?i)@(channel|here|everyone)\b`)

// quiet is s without a bare @channel.
func quiet(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	return broadcast.ReplaceAllString(s, "@\u2060$1")
}

// plain is one line of text from outside, without a bare @channel; "" where nothing of
// it can be seen.
func plain(s string) string {
	if s = guard.Plain(s); !visible(s) {
		return ""
	}
	return quiet(s)
}

// visible reports whether a reader sees anything of s.
func visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// escape makes s safe for Slack and at most n long, escapes included; a cut falls
// between characters, never inside an entity, and shows.
func escape(s string, n int) (string, bool) {
	var b strings.Builder
	used, safe := 0, 0 // safe: bytes that leave room for the mark
	room := n - size(cutMark)
	for _, r := range s {
		part := escaped(r)
		if used += size(part); used > n {
			return b.String()[:safe] + cutMark, false
		}
		b.WriteString(part)
		if used <= room {
			safe = b.Len()
		}
	}
	return b.String(), true
}

// escaped is one character as Slack wants it (docs.slack.dev/messaging/formatting-message-text).
func escaped(r rune) string {
	switch r {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	}
	return string(r)
}

// brief is text from outside within n.
func brief(s string, n int) string {
	s, _ = escape(plain(s), n)
	return s
}

// pack joins as many lines as fit into room, at least one, which is cut where it alone
// is too long. n is how many it took.
func pack(lines []string, room int) (section string, n int, whole bool) {
	var b strings.Builder
	used := 0
	for n < len(lines) {
		sep := min(n, 1)
		part, ok := escape(lines[n], room)
		more := size(part) + sep
		if n > 0 && (!ok || used+more > room) {
			return b.String(), n, true
		}
		if sep == 1 {
			b.WriteByte('\n')
		}
		b.WriteString(part)
		used += more
		n++
		if !ok {
			return b.String(), n, false
		}
	}
	return b.String(), n, true
}
