package slack

import (
	"encoding/json"
	"flag"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"guard"
)

var update = flag.Bool("update", false, "draw the pictures of testdata anew")

// TestPictures draws each kind of message as people see it in Slack, in each language,
// once it has passed the rules of blocks. A kind with a state now is drawn as the edit
// leaves it.
func TestPictures(t *testing.T) {
	text.OverrideRuneWidthEastAsianWidth(false) // whatever language the machine speaks
	drawn := map[string]bool{}
	for _, k := range kindsOf(guard.English) {
		drawn[k.name+".txt"] = true
		t.Run(k.name, func(t *testing.T) {
			var out strings.Builder
			for _, l := range guard.Langs {
				all := kindsOf(l)
				k := all[slices.IndexFunc(all, func(o kind) bool { return o.name == k.name })]
				out.WriteString(picture(t, k))
			}
			file := filepath.Join("testdata", k.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; draw it with -update", err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !drawn[filepath.Base(f)] {
			t.Errorf("%s is a picture of no message", f)
		}
	}
}

// picture posts a message, and edits it where it has another state, and draws what stays.
func picture(t *testing.T, k kind) string {
	t.Helper()
	c, far := staffed(t, k.m.Lang)
	c.buttons = !k.mute
	posted, err := c.Post(ctxAt(t, 0), k.m, "")
	if err != nil {
		t.Fatal(err)
	}
	if k.now != nil {
		if err := c.Edit(ctxAt(t, k.later), posted.Receipt, *k.now); err != nil {
			t.Fatal(err)
		}
	}
	p := far.Shown()[0]
	if bad := clean(p.Text, p.Blocks); bad != "" {
		t.Error(bad)
	}
	var out pen
	out.line("== " + string(k.m.Lang) + " " + strings.Repeat("=", width-4-len(k.m.Lang)))
	out.blocks(t, p.Form)
	out.line("-- " + "notification " + strings.Repeat("-", width-16))
	for _, l := range strings.Split(p.Text, "\n") {
		out.line(wrap(html.UnescapeString(l), width)...)
	}
	return out.String()
}

// width is how wide a picture is, in columns of a terminal.
const width = 80

// pen draws.
type pen struct{ strings.Builder }

func (p *pen) line(lines ...string) {
	for _, l := range lines {
		p.WriteString(strings.TrimRight(l, " ") + "\n")
	}
}

// drawing is a block or an element, as far as it is drawn.
type drawing struct {
	Type     string
	Text     struct{ Text string }
	Fields   []struct{ Text string }
	Elements []struct {
		Text  json.RawMessage // of a context the text itself
		Style string
	}
}

func (p *pen) blocks(t *testing.T, form string) {
	t.Helper()
	var all []drawing
	if err := json.Unmarshal([]byte(form), &all); err != nil {
		t.Fatalf("%v in %s", err, form)
	}
	for _, b := range all {
		text := html.UnescapeString(b.Text.Text)
		switch b.Type {
		case "header":
			p.line(wrap("# "+text, width)...)
		case "section":
			for _, l := range strings.Split(text, "\n") {
				if text != "" {
					p.line(wrap("  "+l, width)...)
				}
			}
			p.columns(b)
		case "actions":
			p.buttons(t, b)
		case "context":
			var s string
			if err := json.Unmarshal(b.Elements[0].Text, &s); err != nil {
				t.Fatal(err)
			}
			p.line(wrap("  · "+html.UnescapeString(s), width)...)
		default:
			t.Errorf("there is no drawing of %s", b.Type)
		}
	}
}

// columns draws fields two by two, as Slack does.
func (p *pen) columns(b drawing) {
	const half = width/2 - 2
	for pair := range slices.Chunk(b.Fields, 2) {
		left, right := wrap(html.UnescapeString(pair[0].Text), half-1), []string(nil)
		if len(pair) == 2 {
			right = wrap(html.UnescapeString(pair[1].Text), half)
		}
		for i := range max(len(left), len(right)) {
			l, r := "", ""
			if i < len(left) {
				l = left[i]
			}
			if i < len(right) {
				r = right[i]
			}
			p.line("  | " + l + strings.Repeat(" ", half-text.StringWidthWithoutEscSequences(l)) + r)
		}
	}
}

// buttons draws each in brackets, a dangerous one with marks.
func (p *pen) buttons(t *testing.T, b drawing) {
	t.Helper()
	row := " "
	for _, e := range b.Elements {
		var label struct{ Text string }
		if err := json.Unmarshal(e.Text, &label); err != nil {
			t.Fatal(err)
		}
		button := " [ " + html.UnescapeString(label.Text) + " ]"
		if e.Style == "danger" {
			button = " [! " + html.UnescapeString(label.Text) + " !]"
		}
		if text.StringWidthWithoutEscSequences(row+button) > width {
			p.line(row)
			row = " "
		}
		row += button
	}
	p.line(row)
}

// wrap breaks a line at spaces, and between characters where there are none.
func wrap(s string, most int) (out []string) {
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	for text.StringWidthWithoutEscSequences(s) > most {
		end, space, used := 0, 0, 0
		for i, r := range s {
			if used += text.RuneWidth(r); used > most {
				end = i
				break
			}
			if r == ' ' && i > len(indent) {
				space = i
			}
		}
		if space > 0 {
			end = space
		}
		out = append(out, s[:end])
		s = indent + strings.TrimLeft(s[end:], " ")
	}
	return append(out, s)
}
