package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestSoakFlags: what does not go together is named.
func TestSoakFlags(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--soak 1s story.yaml", "story.yaml"},
		{"--soak 1s --log", "--log"},
		{"--soak 0s", "--soak 0s"},
		{"--soak -1s", "--soak -1s"},
		{"--soak soon", "soon"},
		{"--soak 1s --out /no/such/folder", "/no/such/folder"},
		{"--out . story.yaml", "--out"},
		{"--keep-going story.yaml", "--keep-going"},
		{"--soak 1s -o xml", "xml"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), &out, &errOut, append([]string{"simulate"}, strings.Fields(c.args)...)...)
		if status != 2 || !strings.Contains(errOut.String(), c.says) || out.Len() > 0 {
			t.Errorf("%s: status %d, %s%s", c.args, status, out.String(), errOut.String())
		}
	}
}

// TestSoakReports: one object, of at least one week, and a status that says the same.
func TestSoakReports(t *testing.T) {
	var out, errOut bytes.Buffer
	status := run(t.Context(), &out, &errOut, "simulate", "--soak", "1ns", "--seed", "24", "-o", "json", "--out", t.TempDir())
	var r struct {
		Seed, Weeks, Violations int
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || (status == 0) != (r.Violations == 0) || r.Seed != 24 || r.Weeks == 0 {
		t.Errorf("status %d, %v, %+v\n%s%s", status, err, r, out.String(), errOut.String())
	}
}
