package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// column is one column of a table.
type column struct {
	title string
	// least is the width to which cells may be cut where room is short; 0: never cut.
	least int
	// drop is the order in which columns go when cutting is not enough, the
	// greatest first; 0: never.
	drop  int
	right bool
}

// gap is what stands between two columns.
const gap = 2

// table prints rows as wide as they are or, on a terminal, as wide as that: the
// long texts are cut first, then the least needed columns go, and on a terminal
// too narrow even for the rest each row becomes a block.
func (a *app) table(cols []column, rows [][]string) {
	for _, r := range rows {
		for i := range r {
			r[i] = clean(r[i])
		}
	}
	width := natural(cols, rows)
	show := make([]bool, len(cols))
	for i := range cols {
		show[i] = width[i] > 0
		if show[i] {
			width[i] = max(width[i], text.StringWidthWithoutEscSequences(cols[i].title))
		}
	}
	var dropped []string
	for a.Width > 0 && total(width, show) > a.Width {
		if i := widest(cols, width, show); i >= 0 {
			// Just enough, so that the next widest is cut before this is at its least.
			width[i]--
			continue
		}
		i := leastNeeded(cols, show)
		if i < 0 {
			a.blocks(cols, rows)
			return
		}
		show[i] = false
		dropped = append(dropped, strings.ToLower(cols[i].title))
		// With the room that is won the others need not be cut so far.
		again := natural(cols, rows)
		for j := range cols {
			width[j] = max(again[j], text.StringWidthWithoutEscSequences(cols[j].title))
		}
	}
	a.render(cols, rows, width, show)
	if len(dropped) > 0 && a.Ask {
		fmt.Fprintf(a.Err, "(too narrow for: %s; -o json has everything)\n", strings.Join(dropped, ", "))
	}
}

func natural(cols []column, rows [][]string) []int {
	width := make([]int, len(cols))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], text.StringWidthWithoutEscSequences(cell))
		}
	}
	return width
}

func total(width []int, show []bool) int {
	sum := -gap
	for i, w := range width {
		if show[i] {
			sum += w + gap
		}
	}
	return sum
}

// widest is the widest column that may still be cut, -1 where none may.
func widest(cols []column, width []int, show []bool) int {
	best := -1
	for i, c := range cols {
		if show[i] && c.least > 0 && width[i] > c.least && (best < 0 || width[i] > width[best]) {
			best = i
		}
	}
	return best
}

func leastNeeded(cols []column, show []bool) int {
	best := -1
	for i, c := range cols {
		if show[i] && c.drop > 0 && (best < 0 || c.drop > cols[best].drop) {
			best = i
		}
	}
	return best
}

func (a *app) render(cols []column, rows [][]string, width []int, show []bool) {
	t := table.NewWriter()
	t.SetOutputMirror(a.Out)
	t.SuppressTrailingSpaces()
	style := table.StyleDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	var head table.Row
	var configs []table.ColumnConfig
	for i, c := range cols {
		if !show[i] {
			continue
		}
		head = append(head, c.title)
		if c.right {
			configs = append(configs, table.ColumnConfig{Number: len(head), Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		var line table.Row
		for i, cell := range r {
			if show[i] {
				line = append(line, cut(cell, width[i]))
			}
		}
		t.AppendRow(line)
	}
	t.Render()
}

// blocks prints each row as a few lines, for terminals that hold no table.
func (a *app) blocks(cols []column, rows [][]string) {
	for n, r := range rows {
		if n > 0 {
			fmt.Fprintln(a.Out)
		}
		for i, cell := range r {
			switch {
			case cell == "":
			case i == 0:
				fmt.Fprintln(a.Out, cell)
			default:
				for j, line := range a.wrapped(strings.ToLower(cols[i].title)+": "+cell, 4) {
					fmt.Fprintln(a.Out, strings.Repeat(" ", 2+2*min(j, 1))+line)
				}
			}
		}
	}
}

// wrapped is a text in lines that leave some columns of the terminal free. Without a
// terminal, or much room, it is one line; so is a label with a single word, for that may be an
// ID that somebody copies.
func (a *app) wrapped(s string, free int) []string {
	if room := a.Width - free; a.Width > 0 && room >= 20 && strings.Count(s, " ") > 1 {
		lines := strings.Split(text.WrapSoft(s, room), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return lines
	}
	return []string{s}
}

const ellipsis = "…"

// cut shortens a cell to a number of columns; CJK characters take two, and in a locale of
// theirs so does the ellipsis.
func cut(s string, width int) string {
	if text.StringWidthWithoutEscSequences(s) <= width {
		return s
	}
	room := width - text.StringWidthWithoutEscSequences(ellipsis)
	if room < 0 {
		return ""
	}
	return text.Trim(s, room) + ellipsis
}

// clean makes text from outside safe for a terminal: names come from whoever
// may write them, and an escape sequence in one would run in the reader's
// terminal. Line ends become spaces, anything that does not print a "?".
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}

// fields prints labels and values below each other, values wrapped with a
// hanging indent where there is a width.
type fields struct {
	a     *app
	label int
}

func (f fields) put(label string, values ...string) {
	for i, v := range values {
		if v == "" {
			continue
		}
		if i > 0 {
			label = ""
		}
		lines := []string{clean(v)}
		if room := f.a.Width - f.label - 3; f.a.Width > 0 && room >= 20 {
			lines = strings.Split(text.WrapSoft(clean(v), room), "\n")
		}
		for j, line := range lines {
			if j > 0 {
				label = ""
			}
			fmt.Fprintln(f.a.Out, strings.TrimRight(fmt.Sprintf("  %-*s %s", f.label, label, strings.TrimRight(line, " ")), " "))
		}
	}
}

// say prints a sentence on stderr.
func (a *app) say(s string) { fmt.Fprintln(a.Err, clean(s)) }

// loud prints what must not be overlooked.
func (a *app) loud(s string) {
	s = clean(s)
	if a.Colour {
		s = text.Colors{text.Bold, text.FgHiRed}.Sprint(s)
	}
	fmt.Fprintln(a.Err, s)
}
