package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandLine: what is typed wrong is told in a sentence, with the status
// for it.
func TestCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(file, []byte("accounts:\n  - {name: lab, provider: aws, aws: {profile: guard}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"backup":                         {exitUsage, "back up to where? Name the file TO"},
		"backup a b":                     {exitUsage, "one file TO, not 2"},
		"serve now":                      {exitUsage, `guardd serve takes no arguments, and was given "now"`},
		"frob":                           {exitUsage, `unknown command "frob"`},
		"check --config " + file:         {exitRight, "is right: 1 account\n"},
		"check --config " + file + ".no": {exitUsage, "no such file"},
	} {
		var out bytes.Buffer
		if got := run(t.Context(), &out, &out, strings.Fields(line)...); got != want.status || !strings.Contains(out.String(), want.says) {
			t.Errorf("guardd %s: %d %q, want %d and %q", line, got, out.String(), want.status, want.says)
		}
	}
}
