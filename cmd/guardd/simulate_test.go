package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimulate: the exit statuses, and what is printed where.
func TestSimulate(t *testing.T) {
	const story = `scenario: two hours
start: 2026-03-06T18:00:00+08:00
for: 2h
accounts:
  lab: {provider: fake, mode: enforce, resources: [{id: i-1, rate: {amount: "2", per: hour}}]}
commands:
  - {at: 1m, run: guard register lab/i-1 --purpose x --ttl 1h}
  - {at: 2m, run: guardd version, prints: guardd}
`
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right := file("right.yaml", story+"expect:\n  - {released: lab/i-1, by: 1h5m}\n")
	wrong := file("wrong.yaml", story+"expect:\n  - {released: lab/i-1, by: 1h}\n")
	broken := file("broken.yaml", story+"expect:\n  - {relased: lab/i-1}\n  - {deadline: lab/i-1, at: 30m, between: [1h, 2h], reason: off_hours}\n")
	simulate := func(args ...string) (int, string, string) {
		var out, errOut bytes.Buffer
		status := run(t.Context(), &out, &errOut, append([]string{"simulate"}, args...)...)
		return status, out.String(), errOut.String()
	}

	status, out, errOut := simulate(right)
	if status != 0 || !strings.Contains(out, "all expectations hold (2 passed)") || errOut != "" {
		t.Errorf("right: %d\n%s%s", status, out, errOut)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(out, right, "FILE"), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	status, out, _ = simulate(right, wrong)
	if status != 1 || !strings.Contains(out, wrong+":10: released: lab/i-1, by: 1h\n    the first was at 1h") {
		t.Errorf("wrong: %d\n%s", status, out)
	}
	status, out, errOut = simulate(right, broken, filepath.Join(dir, "none.yaml"))
	if status != 2 || out != "" || !strings.Contains(errOut, broken+`:10: expect[0]: unknown key "relased": did you mean released?`) ||
		!strings.Contains(errOut, broken+":11: expect[1].reason: off_hours is not supported yet") || !strings.Contains(errOut, "none.yaml") {
		t.Errorf("broken: %d\n%s%s", status, out, errOut)
	}
	status, out, errOut = simulate("-o", "json", wrong)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct {
		Event          string
		Passed, Failed int
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || status != 1 || last.Event != "result" || last.Passed != 1 || last.Failed != 1 ||
		!strings.Contains(errOut, "FAILED "+wrong+":10") {
		t.Errorf("json: %d, %+v, %v\n%s", status, last, err, errOut)
	}
	for _, args := range [][]string{{}, {"-o", "xml", right}, {"--seed", "x", right}} {
		if status, _, _ := simulate(args...); status != 2 {
			t.Errorf("%q: status %d", args, status)
		}
	}
}
