package simulate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"guard/configs"
)

// FuzzParse: a file is a story that has a beginning, a length and accounts, or
// every mistake in it has words, a line of the file and its order, twice the same.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../configs/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no scenarios:", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	const head = "scenario: s\nstart: 2026-03-06T18:00:00+08:00\nfor: 2h\n"
	for _, rest := range []string{
		"accounts: {lab: {provider: fake, resources: [{id: i-1, rate: {amount: 2, per: hour}}]}}\nexpect:\n  - {lease: lab/i-1, has: {tags: {a: b}}}\n",
		"accounts: {lab: {provider: fake, faults: [{call: list, reply: {set_fields: {rate: {amount: 2}}}}]}}\n",
		"accounts: {lab: {provider: fake, resources: [{id: i, count: 999999999}]}}\n",
		"accounts: {lab: {provider: fake}}\ncommands: [{at: 1m, run: \"guard ls '\"}, {at: -1h, run: rm}]\n",
		"accounts: {lab: {provider: fake}}\ndaemon: [{crash: true, suspend: 1h}, {at: 9999w99999d, crash: true}]\n",
		"accounts: &a {lab: *a}\n", "accounts: [lab]\nexpect: {}\n",
	} {
		f.Add([]byte(head + rest))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8192 || strings.Contains(string(data), "file") {
			return // the parser needs quadratic time for deep nesting; no other file is read
		}
		s, err := Parse(data, "s.yaml", nil)
		if err == nil {
			if s.start.IsZero() || s.length <= 0 || s.length > mostFor || s.config == nil || len(s.accounts) != len(s.config.Accounts) {
				t.Errorf("a story without a frame: %+v", s)
			}
			return
		}
		var ps configs.Problems
		if s != nil || !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("%v and %T %v", s, err, err)
		}
		lines := strings.Count(strings.ReplaceAll(string(data), "\r", "\n"), "\n") + 1
		for _, p := range ps {
			if p.File != "s.yaml" || p.Text == "" || p.Line < 0 || p.Line > lines {
				t.Errorf("%q of %d lines", p, lines)
			}
		}
		if !slices.IsSortedFunc(ps, func(a, b configs.Problem) int { return a.Line - b.Line }) {
			t.Errorf("not in order:\n%v", err)
		}
		if _, again := Parse(data, "s.yaml", nil); again == nil || again.Error() != err.Error() {
			t.Errorf("twice differs:\n%v\n%v", err, again)
		}
	})
}

// FuzzValues: what the values of a file are read as is within its bounds; a time
// reads the same when it was written back, and no word of a command line is lost.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"90s", "1w2d3h", "-10m", "+1h", "0s", "1e9s", "10", "3650d", "9999w99999d1068000h", "2026-03-06T18:00:00+08:00", "-2026-03-06T18:00:00Z", "2400 CNY", "-0.1usd", ".5 USD", "..CNY", "4294967296",
		"guard ls", `guard register lab/i-1 --purpose "lora 70b"`, `a 'b\'c\ d""`, `\`, `"`, "\xff 'x'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var d span
		if err := d.UnmarshalText([]byte(s)); err == nil && (d.Duration < 0 || d.Duration > longest || !d.set) {
			t.Errorf("%q is %s", s, d.Duration)
		}
		var w when
		if err := w.UnmarshalText([]byte(s)); err == nil && w.abs.IsZero() && w.offset >= 0 && w.offset < longest && w.offset%time.Second == 0 {
			if back, err := parseSpan(offsetText(w.offset)); err != nil || back != w.offset {
				t.Errorf("%q is %s and comes back as %s: %v", s, w.offset, back, err)
			}
		}
		var m amount
		if err := m.UnmarshalText([]byte(s)); (err == nil) != m.IsSet() || err == nil && m.Currency() == "" {
			t.Errorf("%q is %s: %v", s, m.Money, err)
		}
		if words, err := splitWords(s); err == nil && utf8.ValidString(s) {
			var quoted []string
			for _, w := range words {
				quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
			}
			if back, err := splitWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(back, words) {
				t.Errorf("%q is %q and comes back as %q: %v", s, words, back, err)
			}
		}
	})
}
