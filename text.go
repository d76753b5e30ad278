package guard

import (
	"strings"
	"unicode"
)

// Plain makes one line of untrusted text safe to show: valid UTF-8, no control
// characters (a terminal obeys them), nothing that reorders what people read; line
// breaks and tabs become spaces. It does not escape: that is the rim's own.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.TrimSpace(s)
}
