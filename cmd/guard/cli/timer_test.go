package cli

import (
	"slices"
	"testing"
	"time"

	"guard/daemon/wire"
)

func TestTimerLines(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC)
	at, read := now.Add(10*time.Hour), now.Add(-2*time.Minute)
	for name, c := range map[string]struct {
		timer *wire.Timer
		want  []string
	}{
		"none":      {nil, nil},
		"set":       {&wire.Timer{At: &at, Read: &read, Asked: &at}, []string{"the provider itself ends it at 2026-03-07 04:00:00 UTC, in 10h; read back 2m ago"}},
		"not yet":   {&wire.Timer{Asked: &at}, []string{"not set at the provider yet"}},
		"ignored":   {&wire.Timer{Asked: &at, Read: &read, Error: "it shows none"}, []string{"not set to 2026-03-07 04:00:00 UTC at the provider: it shows none"}},
		"uncertain": {&wire.Timer{At: &at, Read: &read, Asked: &at, Error: "status 403"}, []string{"the provider itself ends it at 2026-03-07 04:00:00 UTC, in 10h; read back 2m ago", "not certain: status 403"}},
	} {
		if got := timer(wire.Show{Now: now, Timer: c.timer}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
