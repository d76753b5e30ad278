package people

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"guard"
)

const (
	// mostWords bounds a command.
	mostWords = 40
	// mostCell bounds a cell of a list, in columns of a fixed-width font.
	mostCell = 32
	gap      = 2
)

// quotes are the ends of a quoted word, by what opens it: phones write curly ones.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '«': '»'}

// words splits a command as a shell would.
func words(s string) ([]string, error) {
	var out []string
	var word strings.Builder
	var open rune // what ends the quote that is open; 0: none is
	begun := false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range s {
		closing, opens := quotes[r]
		switch {
		case open != 0 && r == open:
			open = 0
		case open != 0:
			word.WriteRune(r)
		case opens && (!begun || strings.HasSuffix(word.String(), "=")):
			open, begun = closing, true
		case unicode.IsSpace(r):
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	if open != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if len(out) > mostWords {
		return nil, errors.New("it is too long")
	}
	// A phone makes one dash of two.
	for i, w := range out {
		if rest, ok := strings.CutPrefix(w, "—"); ok {
			out[i] = "--" + rest
		}
	}
	return out, nil
}

// clip is a text from outside, short enough for an answer.
func clip(s string) string {
	const most = 60
	s = guard.Plain(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// columns aligns rows for a font of one width, in which a Chinese character takes two
// columns.
func columns(rows [][]string) []string {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			followed := slices.ContainsFunc(row[i+1:], func(s string) bool { return s != "" })
			row[i] = cut(guard.Plain(cell), !followed)
			if i == len(width) {
				width = append(width, 0)
			}
			if followed { // the last of a row may be longer than its column
				width[i] = max(width[i], text.StringWidthWithoutEscSequences(row[i]))
			}
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(text.Pad(cell, width[i]+gap, ' '))
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// cut keeps a cell short; the last of a row may be longer.
func cut(s string, last bool) string {
	most := mostCell
	if last {
		most *= 3
	}
	if text.StringWidthWithoutEscSequences(s) <= most {
		return s
	}
	for r := []rune(s); len(r) > 0; r = r[:len(r)-1] {
		if short := string(r) + "…"; text.StringWidthWithoutEscSequences(short) <= most {
			return short
		}
	}
	return "…"
}
