package simulate

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/configs"
)

// longest is how far from the story's start a time can lie.
const longest = 10 * 365 * 24 * time.Hour

var errTooLong = errors.New("longer than ten years (3650d)")

// days and weeks are what time.ParseDuration does not know.
var days = regexp.MustCompile(`^(?:(\d{1,4})w)?(?:(\d{1,5})d)?(.*)$`)

// parseSpan reads 90s, 15m, 2h30m, 3d, 1w2d3h, 0s.
func parseSpan(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	wrong := fmt.Errorf("%q is not a duration: write it as 90s, 15m, 2h30m or 3d", clip(s))
	if m == nil || s == "" {
		return 0, wrong
	}
	var sum time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] != "" {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return 0, wrong
			}
			sum += time.Duration(n) * unit // at most 9999w and 99999d, each of which fits
		}
		if sum > longest {
			return 0, errTooLong
		}
	}
	if m[3] != "" {
		d, err := time.ParseDuration(m[3])
		if err != nil || strings.ContainsAny(m[3][:1], "+-") {
			if _, bare := strconv.ParseFloat(s, 64); bare == nil {
				return 0, fmt.Errorf("%s has no unit: write a duration as 90s, 15m, 2h30m or 3d", clip(s))
			}
			return 0, wrong
		}
		if d > longest-sum {
			return 0, errTooLong
		}
		sum += d
	}
	return sum, nil
}

// span is a duration of zero or more; set tells that the file has one.
type span struct {
	time.Duration
	set bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(b []byte) error {
	d, err := parseSpan(string(b))
	if err == nil && d < 0 {
		err = errors.New("a duration cannot be negative here")
	}
	*s = span{d, err == nil}
	return err
}

// or is the duration, or a default where the file has none.
func (s span) or(d time.Duration) time.Duration {
	if s.set {
		return s.Duration
	}
	return d
}

// step is a duration that may be negative.
type step struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *step) UnmarshalText(b []byte) error {
	text, negative := strings.CutPrefix(string(b), "-")
	d, err := parseSpan(strings.TrimPrefix(text, "+"))
	if negative {
		d = -d
	}
	s.Duration = d
	return err
}

// when is a time of the story: an offset from its start, or RFC 3339.
type when struct {
	offset time.Duration
	abs    time.Time
	set    bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *when) UnmarshalText(b []byte) error {
	if at, err := time.Parse(time.RFC3339Nano, string(b)); err == nil {
		w.abs, w.set = at, true
		return nil
	}
	var s step
	if err := s.UnmarshalText(b); err != nil {
		return fmt.Errorf("%q is not a time: write an offset from the start such as 90m, 2h30m or 3d, or RFC 3339 such as 2026-03-06T18:00:00+08:00", clip(string(b)))
	}
	w.offset, w.set = s.Duration, true
	return nil
}

// from is the offset from a story's start.
func (w when) from(start time.Time) time.Duration {
	if !w.abs.IsZero() {
		return w.abs.Sub(start)
	}
	return w.offset
}

// word is a scalar as it is written, whatever YAML takes it for.
type word string

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *word) UnmarshalText(b []byte) error { *w = word(b); return nil }

// words is one word, or a list of them.
type words []string

// ReadNode implements configs.NodeReader.
func (w *words) ReadNode(n configs.Node) {
	*w = words{}
	if s, ok := n.Text(); ok {
		*w = words{s}
		return
	}
	for _, i := range n.Items() {
		s, ok := i.Text()
		if !ok {
			i.Problem("is %s: write text", i.Shape())
			continue
		}
		*w = append(*w, s)
	}
}

// amount is a sum of money: "2400 CNY" or "2400CNY".
type amount struct{ guard.Money }

var spaced = regexp.MustCompile(`^\s*(-?[\d.]+)\s*([A-Za-z]{3})\s*$`)

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *amount) UnmarshalText(b []byte) error {
	m := spaced.FindStringSubmatch(string(b))
	var err error
	if m != nil {
		a.Money, err = guard.NewMoney(m[1], strings.ToUpper(m[2]))
	}
	if m == nil || err != nil {
		return fmt.Errorf("%q is not an amount: write it with its currency, such as \"2400 CNY\"", clip(string(b)))
	}
	return nil
}

// size is a number of bytes: "10GB", "1.5 TiB", "800 B".
type size uint64

var (
	sized   = regexp.MustCompile(`^\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]+)\s*$`)
	factors = map[string]int64{"b": 1, "kb": 1e3, "mb": 1e6, "gb": guard.GB, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *size) UnmarshalText(b []byte) error {
	m := sized.FindStringSubmatch(string(b))
	if m != nil && factors[strings.ToLower(m[2])] > 0 {
		n, _ := new(big.Rat).SetString(m[1])
		n.Mul(n, big.NewRat(factors[strings.ToLower(m[2])], 1))
		if v := new(big.Int).Quo(n.Num(), n.Denom()); v.IsUint64() {
			*s = size(v.Uint64())
			return nil
		}
	}
	return fmt.Errorf("%q is not a size: write it with its unit, such as \"10GB\"", clip(string(b)))
}

// number is a whole number from 0 on; set tells that the file has it.
type number struct {
	n   int
	set bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *number) UnmarshalText(b []byte) error {
	x, err := strconv.ParseUint(string(b), 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a whole number from 0 on", clip(string(b)))
	}
	*n = number{int(x), true}
	return nil
}

// refusal is the text that a failure must contain; "" is any text.
type refusal struct {
	text string
	set  bool
}

// ReadNode implements configs.NodeReader.
func (r *refusal) ReadNode(n configs.Node) {
	r.set = true
	if b, ok := n.Bool(); ok {
		r.set = b
		return
	}
	var w word
	if n.Decode(&w) {
		r.text = string(w)
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}

// offsetText is a time of the story as the page writes it: 10h2m, -10m, 0s.
func offsetText(d time.Duration) string {
	d = d.Round(time.Millisecond)
	if d == 0 {
		return "0s"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// splitWords cuts a command line as a shell does, quotes and backslashes only.
func splitWords(s string) ([]string, error) {
	var out []string
	var b strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range s {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				out = append(out, b.String())
			}
			b.Reset()
			begun = false
		default:
			b.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		out = append(out, b.String())
	}
	return out, nil
}
