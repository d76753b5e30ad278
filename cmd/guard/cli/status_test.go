package cli

import (
	"bytes"
	"strings"
	"testing"

	"guard/daemon/wire"
)

func TestStatusNamesSomeOfWhatStandsAndBills(t *testing.T) {
	for n, want := range map[int]string{0: "", 5: "stopped   e", 7: "stopped   and 2 more: guard findings"} {
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out}}
		a.stands(wire.Status{Stopped: strings.Split("abcdefg", "")[:n]})
		lines := 0
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "stopped") {
				lines++
			}
		}
		if lines != min(n, mostStopped+1) || !strings.Contains(out.String(), want) {
			t.Errorf("%d: %d lines, and not %q:\n%s", n, lines, want, &out)
		}
	}
}
