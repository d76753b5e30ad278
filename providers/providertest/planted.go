package providertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// plant names the bug of an adapter in a process of its own.
const plant = "GUARD_TEST_PLANTED_BUG"

// Planted sees that the suite is not blind: an adapter with a bug fails in the test that
// bugs has for it, by what that sees and not by a panic, and passes the suite without one.
// harness is that of the adapter with a bug; "" is none. The bugs run in processes of their
// own, which run the test that called.
func Planted(t *testing.T, harness func(bug string) Harness, bugs map[string]string) {
	if bug := os.Getenv(plant); bug != "" {
		Run(t, harness(bug))
		return
	}
	t.Run("no bug", func(t *testing.T) { Run(t, harness("")) })
	caller := t.Name()
	for bug, test := range bugs {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			test := strings.ReplaceAll(test, " ", "_")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+caller+"$/^"+test+"$", "-test.v")
			cmd.Env = append(os.Environ(), plant+"="+bug)
			out, err := cmd.CombinedOutput()
			if said := string(out); err == nil || !strings.Contains(said, "--- FAIL: "+caller+"/"+test) || strings.Contains(said, "panic: ") {
				t.Errorf("the suite did not fail in %q by what it saw:\n%.2000s", test, said)
			}
		})
	}
}
