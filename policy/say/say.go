// Package say puts what guard tells people into the language that they read. A text is
// known by its English form, as in gettext: English needs no catalogue, and a text that
// another language lacks is said in English.
//
// Texts are decided on by pure functions, so to tell something in two languages is to
// decide it twice: there is no language in a decision, only in its words.
package say

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"guard"
)

// catalogue is what each language but English makes of an English text: a format with the
// same arguments, in whatever order by their index (%[2]s).
var catalogue = map[guard.Lang]map[string]string{guard.Chinese: chinese}

// together is one catalogue of several.
func together(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// In fills the format in, as [fmt.Sprintf] does, in a language.
func In(lang guard.Lang, format string, args ...any) string {
	if other, ok := catalogue[lang][format]; ok {
		format = other
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// Span is a length of time in a language, without the zeros that time.Duration prints:
// 1h, 2d3h.
func Span(lang guard.Lang, d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(lang, -d)
	case d < time.Second && lang == guard.Chinese:
		return fmt.Sprintf("%.2g 秒", d.Seconds())
	case d < time.Second:
		return d.String()
	}
	units := [4]string{"%dd", "%dh", "%dm", "%ds"}
	if lang == guard.Chinese {
		units = [4]string{"%d 天", "%d 小时", "%d 分钟", "%d 秒"}
	}
	var parts []string
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if n := d / unit; n > 0 {
			parts = append(parts, fmt.Sprintf(units[i], n))
			d -= n * unit
		}
	}
	if lang == guard.Chinese {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, "")
}

// Upper makes a text begin a sentence, where a language shows that.
func Upper(lang guard.Lang, text string) string {
	if text == "" || text[0] >= utf8.RuneSelf || lang == guard.Chinese {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// List joins at most so many names.
func List(lang guard.Lang, names []string, most int) string {
	if len(names) > most {
		return In(lang, "%s and %d more", strings.Join(names[:most], In(lang, ", ")), len(names)-most)
	}
	return strings.Join(names, In(lang, ", "))
}

// Amounts are amounts of several currencies: 1.00 USD + 2.00 CNY. What is not known is
// left out.
func Amounts(ms []guard.Money) string {
	var parts []string
	for _, m := range ms {
		if m.IsSet() {
			parts = append(parts, m.Round().String())
		}
	}
	return strings.Join(parts, " + ")
}
