package configs

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzLoad: whatever stands in the file, loading ends with a configuration or
// with problems that each name a line of it and are in order, and it ends the
// same way the second time.
func FuzzLoad(f *testing.F) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		ar, err := txtar.ParseFile(c)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if file.Name == "guard.yaml" {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return // the parser needs quadratic time for deep nesting
		}
		// Nothing outside the input may decide: no file of this machine is read.
		if strings.Contains(string(data), "file") || strings.Contains(string(data), "prices") {
			return
		}
		c, err := Load(data, "guard.yaml", providersBuilt, env)
		_, again := Load(data, "guard.yaml", providersBuilt, env)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("loading twice differs:\n%v\n%v", err, again)
		}
		if err == nil {
			if c == nil || c.TimeZone == nil || c.Ledger.Path == "" {
				t.Fatalf("incomplete: %+v", c)
			}
			return
		}
		var ps Problems
		if c != nil || !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("config %v and error %T %v", c, err, err)
		}
		lines := strings.Count(strings.ReplaceAll(string(data), "\r", "\n"), "\n") + 1
		for _, p := range ps {
			if p.Text == "" || p.Line < 0 || p.Line > lines {
				t.Errorf("%q of %d lines", p, lines)
			}
		}
		if !slices.IsSortedFunc(ps, func(a, b Problem) int { return a.Line - b.Line }) {
			t.Errorf("not in order:\n%v", err)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("shows a secret: %v", err)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"accounts", "mode", "rules", "budget", "budgets", "expiry", "off"}
	for _, c := range []struct{ key, want string }{
		{"acounts", "accounts"}, {"mdoe", "mode"}, {"rule", "rules"}, {"budgts", "budgets"}, {"expire", "expiry"},
		{"of", ""}, {"zzz", ""}, {"", ""}, {"Mode", "mode"}, {strings.Repeat("accounts", 20), ""}, {"模式", ""},
	} {
		if got := nearest(c.key, known); got != c.want {
			t.Errorf("nearest to %q is %q, want %q", c.key, got, c.want)
		}
	}
}
