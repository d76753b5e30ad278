package url

import (
	"regexp"
	"strings"
	"unicode/utf16"

	"guard"
	"guard/policy/say"
)

// room is what a service takes of one message, in its own measure.
type room struct {
	// all bounds title and lines together, title the title where it has a field of its
	// own; 0: it is the first line.
	all, title int
	// each is what a line takes beside its text.
	each int
	// size measures a piece of text; nil: in bytes.
	size func(string) int
	// mark is the service's markup undone, a character at a time; nil: it has none.
	mark func(rune) string
	// raw: nothing in it mentions or links by itself.
	raw bool
}

// short is what is left of a message that a service found too long.
const short = 1000

// filled is a message as a service takes it. Whole tells that nothing was cut.
type filled struct {
	title string
	lines []string
	whole bool
}

// fill puts a message into the room.
func (r room) fill(m guard.Message) filled {
	title := r.plain(m.Title)
	if title == "" {
		title = say.In(m.Lang, "(no title)")
	}
	lines := make([]string, 0, len(m.Lines)+2)
	for _, l := range m.Lines {
		if l = r.plain(l); l != "" {
			lines = append(lines, l)
		}
	}
	if who := r.people(m); who != "" {
		lines = append(lines, who)
	}
	out := filled{lines: []string{}, whole: true} // an empty list in JSON, never null
	left := r.all
	if m.Short {
		left = min(left, short)
	}
	cut := say.In(m.Lang, "… (cut)")
	most := left
	if r.title > 0 {
		most = min(r.title, left)
	}
	var whole bool
	if out.title, whole = r.fit(title, most, cut); !whole {
		out.whole = r.title > 0
		if out.whole {
			lines = append([]string{title}, lines...) // in full
		}
	}
	left -= r.measure(out.title) + r.each
	more := say.In(m.Lang, "%s guard show tells all of it", cut)
	for i, l := range lines {
		room := left - r.each
		if i < len(lines)-1 || !out.whole { // what says that there is more must fit too
			room -= r.measure(more) + r.each
		}
		text, whole := r.fit(l, room, cut)
		if text != "" {
			out.lines = append(out.lines, text)
			left -= r.measure(text) + r.each
		}
		if !whole {
			out.whole = false
			if left >= r.measure(more)+r.each {
				out.lines = append(out.lines, more)
			}
			break
		}
	}
	return out
}

// text is the message as one text.
func (f filled) text() string { return strings.Join(append([]string{f.title}, f.lines...), "\n") }

// body is its lines below a title; a service that wants some gets the title again.
func (f filled) body() []string {
	if len(f.lines) == 0 {
		return []string{f.title}
	}
	return f.lines
}

// people are those whose attention it wants, where no line names them.
func (r room) people(m guard.Message) string {
	var names []string
	all := m.Title + "\n" + strings.Join(m.Lines, "\n")
	for _, n := range m.Mentions {
		if n = guard.Plain(n); n != "" && !strings.Contains(all, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return r.plain(say.In(m.Lang, "For %s", strings.Join(names, ", ")))
}

// What services make of bare text by themselves: names after an at sign, tags that
// mention, addresses. A word joiner, which has no width, keeps it text.
var (
	atSign = regexp.MustCompile(`[@＠]`)
	atTag  = regexp.MustCompile(`(?i)<(/?\s*at\b)`)
	link   = regexp.MustCompile(`://`)
)

const joiner = "\u2060"

// plain is one line of text from outside that mentions nobody and links nowhere.
func (r room) plain(s string) string {
	s = guard.Plain(s)
	if r.raw {
		return s
	}
	s = atSign.ReplaceAllString(s, "$0"+joiner)
	s = atTag.ReplaceAllString(s, "<"+joiner+"$1")
	return link.ReplaceAllString(s, ":"+joiner+"//")
}

func (r room) measure(s string) int {
	if r.size == nil {
		return len(s)
	}
	return r.size(s)
}

// fit escapes a text and cuts it to n, between characters and never inside an escape. A
// cut shows. Where not even that has room it is "".
func (r room) fit(s string, n int, cut string) (text string, whole bool) {
	var b strings.Builder
	used, safe := 0, 0 // safe: bytes that leave room for the mark
	space := n - r.measure(cut)
	for _, c := range s {
		part := string(c)
		if r.mark != nil {
			part = r.mark(c)
		}
		used += r.measure(part)
		if used > n {
			if space < 0 {
				return "", false
			}
			return b.String()[:safe] + cut, false
		}
		b.WriteString(part)
		if used <= space {
			safe = b.Len()
		}
	}
	return b.String(), true
}

// units is a length in UTF-16, as Telegram and Discord count.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// quoted is a length in JSON, for services that bound the request.
func quoted(s string) int { return len(s) + strings.Count(s, `"`) + strings.Count(s, `\`) }
