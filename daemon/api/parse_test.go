package api

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

// TestKindsAreComplete: every kind of error in the root package has a status.
func TestKindsAreComplete(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "errors.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		if v, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") {
			n++
		}
		return true
	})
	if n != len(kinds) {
		t.Errorf("%d error kinds in the root package, %d in the table", n, len(kinds))
	}
	words := map[string]bool{}
	for _, k := range kinds {
		if words[k.word] {
			t.Errorf("the word %q stands twice", k.word)
		}
		words[k.word] = true
		p := newProblem(fmt.Errorf("read lab: %w", k.err))
		if p.Kind != k.word || p.status != k.status {
			t.Errorf("%v became %q %d", k.err, p.Kind, p.status)
		}
	}
	if p := newProblem(errors.New("?")); p.status != 500 || p.Kind != "internal" {
		t.Errorf("%+v", p)
	}
}

func TestMoment(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"2026-03-09T18:00:00+08:00": "2026-03-09T10:00:00Z",
		"2026-03-09 18:00":          "2026-03-09T17:00:00Z",
		"2026-03-09T18:00:05":       "2026-03-09T17:00:05Z",
		"2026-07-09 18:00":          "2026-07-09T16:00:00Z",
		"2026-03-29 02:30":          "there is no",   // skipped
		"2026-10-25 02:30":          "happens twice", // shown twice
		"2026-10-25 03:30":          "2026-10-25T02:30:00Z",
		"2026-03-09":                "is not a time",
		"18:00":                     "is not a time",
		"":                          "is not a time",
		"2026-02-01T00:00:00Z":      "in the past",
		"2099-02-01T00:00:00Z":      "ten years",
	} {
		got, note, err := moment(in, now, berlin)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", in, err, want)
			}
			continue
		}
		if got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, want %s", in, got.Format(time.RFC3339), want)
		}
		if zone := strings.ContainsAny(in[10:], "Z+"); zone != (note == "") {
			t.Errorf("%q: note %q", in, note)
		}
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"90s": 90 * time.Second, "10h": 10 * time.Hour, "2d": 48 * time.Hour, "1w2d": 9 * 24 * time.Hour, "1h30m": 90 * time.Minute, " 2h ": 2 * time.Hour} {
		if got, err := duration("ttl", in); err != nil || got != want {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "10", "h", "1.5h", "-1h", "0", "0s", "30m1h", "1h 30m", "ten", "999999999999h", "50y", "1e9s", "∞"} {
		if got, err := duration("ttl", in); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%q: %s, %v", in, got, err)
		}
	}
}

// TestBare: the word of a kind says nothing to a person, wherever it stands.
func TestBare(t *testing.T) {
	inner := fmt.Errorf("%w: %q is not money", guard.ErrInvalid, "invalid: 40")
	for err, want := range map[error]string{
		inner:                                `"invalid: 40" is not money`,
		fmt.Errorf("budget: %w", inner):      `budget: "invalid: 40" is not money`,
		fmt.Errorf("a: b: %w; x", inner):     `a: b: invalid: "invalid: 40" is not money; x`, // not at the end: left alone
		&fault{kind: guard.ErrInvalid}:       "",
		errors.Join(guard.ErrInvalid, inner): "invalid\n" + inner.Error(),
	} {
		if got := bare(err, guard.ErrInvalid); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	now := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	_, _, err := moment("2020-01-01T00:00:00Z", now, time.FixedZone("Asia/Shanghai", 8*3600))
	if want := "until: 2020-01-01T08:00:00+08:00 is in the past: it is 2026-03-06T18:00:00+08:00 now"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestReadableIsNeverNothing: no price above zero reads as zero, and none is off
// by more than half a percent (six decimals at least).
func TestReadableIsNeverNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"USD", "CNY", "JPY", "KWD"}).Draw(t, "currency")
		nano := rapid.Int64Range(1, 1_000_000_000_000).Draw(t, "nano")
		m := guard.MustMoney(fmt.Sprintf("%d.%09d%s", nano/1e9, nano%1e9, code))
		got, err := guard.ParseMoney(readable(m))
		if err != nil || got.IsZero() {
			t.Fatalf("%s reads as %s", m, readable(m))
		}
		off, _ := got.Sub(m)
		if off.IsNegative() {
			off, _ = m.Sub(got)
		}
		limit, _ := guard.MustMoney("0.000001" + code).Add(m.Percent(1))
		if n, _ := off.Cmp(limit); n > 0 {
			t.Fatalf("%s reads as %s", m, got)
		}
	})
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"i-1", "i-2", 1}, {"i-abc", "i-acb", 2}, {"kitten", "sitting", 3}, {"", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
