package say

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"guard"
)

// verb is one verb of a format, with the index of its argument where it has one.
var verb = regexp.MustCompile(`%[-+# 0]*[\d.]*(?:\[(\d+)\])?([a-zA-Z%])`)

// template is a kept phrase that is recognised by its English form.
type template struct {
	english *regexp.Regexp
	fixed   []string // what lies between its verbs, in order
	other   string
}

// templates are the kept phrases of each language that have verbs. Of two that match, the
// one of which more is fixed is meant: it is the first.
var templates = sync.OnceValue(func() map[guard.Lang][]template {
	all := map[guard.Lang][]template{}
	for lang, phrases := range kept {
		for english, other := range phrases {
			if verb.MatchString(english) {
				all[lang] = append(all[lang], recognised(english, other))
			}
		}
		slices.SortFunc(all[lang], func(a, b template) int {
			return cmp.Or(len(strings.Join(b.fixed, ""))-len(strings.Join(a.fixed, "")), strings.Compare(a.english.String(), b.english.String()))
		})
	}
	return all
})

// recognised is the template of a phrase.
func recognised(english, other string) template {
	t := template{other: other}
	var b strings.Builder
	last := 0
	for _, m := range verb.FindAllStringSubmatchIndex(english, -1) {
		t.fixed = append(t.fixed, english[last:m[0]])
		b.WriteString(regexp.QuoteMeta(english[last:m[0]]))
		last = m[1]
		switch english[m[4]:m[5]] {
		case "%":
			b.WriteString("%")
		case "d":
			b.WriteString(`(-?\d+)`)
		case "f", "g":
			b.WriteString(`([-+.e\d]+)`)
		default:
			b.WriteString(`(.+?)`)
		}
	}
	t.fixed = append(t.fixed, english[last:])
	b.WriteString(regexp.QuoteMeta(english[last:]))
	t.english = regexp.MustCompile(`(?s)\A` + b.String() + `\z`)
	return t
}

// args are what a text has in the place of the verbs; nil where it is another phrase.
func (t template) args(text string) []string {
	rest := text
	for i, f := range t.fixed {
		at := strings.Index(rest, f)
		if at < 0 || i == 0 && at > 0 {
			return nil // most are told apart by this
		}
		rest = rest[at+len(f):]
	}
	if m := t.english.FindStringSubmatch(text); m != nil {
		return m[1:]
	}
	return nil
}

// spanText is a length of time as Span writes it.
var spanText = regexp.MustCompile(`\A(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?\z`)

// span puts a length of time into a language; any other text stays as it is.
func span(lang guard.Lang, text string) string {
	m := spanText.FindStringSubmatch(text)
	if m == nil || text == "" || lang != guard.Chinese {
		return text
	}
	var d time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(m[i+1]) // nothing is 0
		d += time.Duration(n) * unit
	}
	return Span(lang, d)
}

// Kept puts a phrase that was kept in English, in the ledger or among samples, into a
// language: it is recognised by the format that it was made with, and so are phrases inside
// it. What is none, such as a person's own words or a provider's, stays as it is.
func Kept(lang guard.Lang, text string) string {
	if other, ok := kept[lang][text]; ok {
		return other
	}
	var args []string
	i := slices.IndexFunc(templates()[lang], func(t template) bool {
		args = t.args(text)
		return args != nil
	})
	if i < 0 {
		if parts := strings.Split(text, ", "); len(parts) > 1 {
			return several(lang, text, parts)
		}
		return span(lang, text)
	}
	n := 0
	return verb.ReplaceAllStringFunc(templates()[lang][i].other, func(v string) string {
		m := verb.FindStringSubmatch(v)
		if m[2] == "%" {
			return "%"
		}
		n++
		if i, err := strconv.Atoi(m[1]); err == nil {
			n = i
		}
		if n > len(args) {
			return v
		}
		return Kept(lang, args[n-1])
	})
}

// several puts phrases that stand in a row into a language, where each of them is one.
func several(lang guard.Lang, text string, parts []string) string {
	for i, p := range parts {
		if parts[i] = Kept(lang, p); parts[i] == p {
			return text
		}
	}
	return strings.Join(parts, In(lang, ", "))
}
