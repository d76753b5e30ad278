package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"guard/daemon/wire"
)

func idle(now time.Time) *wire.Activity {
	since, sampled, seen := now.Add(-47*time.Minute), now.Add(-time.Minute), 0.97
	return &wire.Activity{State: "empty", Since: &since, Work: "gpu 93 %", WorkedAt: &since, Source: "agent", SampledAt: &sampled, Interval: 60, Basis: "summary", Coverage: &seen,
		Lines:   []string{"newest sample 1m ago (agent, summary each 1m), 97 % of the quiet window seen", "last work 2026-03-06 18:00 UTC: gpu 93 %", "last 45m: gpu at most 0 %, mean 0 %, power at most 71 W, memory 4 MiB", "gpu ▇▇▇▇▇▁▁▁▁▁▁▁▁▁"},
		Failing: []string{"cloudwatch tells nothing since 2026-03-06T18:10:00Z: status 403"}}
}

// Show tells of activity in as much room as there is.
func TestShowActivity(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 47, 0, 0, time.UTC)
	for width, want := range map[int]string{80: `
lab/i-1
  what       instance
  state      running, bills
  activity   empty 47m: no GPU works, and nothing is loaded
             newest sample 1m ago (agent, summary each 1m), 97 % of the quiet
             window seen
             last work 2026-03-06 18:00 UTC: gpu 93 %
             last 45m: gpu at most 0 %, mean 0 %, power at most 71 W, memory 4
             MiB
             gpu ▇▇▇▇▇▁▁▁▁▁▁▁▁▁
             ! cloudwatch tells nothing since 2026-03-06T18:10:00Z: status 403
`, 40: `
lab/i-1
  what       instance
  state      running, bills
  activity   empty 47m: no GPU works,
             and nothing is loaded
             newest sample 1m ago
             (agent, summary each 1m),
             97 % of the quiet window
             seen
             last work 2026-03-06 18:00
             UTC: gpu 93 %
             last 45m: gpu at most 0 %,
             mean 0 %, power at most 71
             W, memory 4 MiB
             gpu ▇▇▇▇▇▁▁▁▁▁▁▁▁▁
             ! cloudwatch tells nothing
             since 2026-03-06T18:10:00Z:
             status 403
`} {
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out, Width: width}}
		a.shown(wire.Show{Now: now, Item: wire.Item{Account: "lab", ID: "i-1", Kind: "instance", State: "running", Billing: "yes", Activity: idle(now)}})
		got, _, _ := strings.Cut(out.String(), "  mode")
		if got = strings.SplitN("\n"+got, "  lease", 2)[0]; got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// What each state is called in a column and in full.
func TestActivityWords(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 47, 0, 0, time.UTC)
	for state, want := range map[string][2]string{
		"busy":     {"busy", "busy"},
		"unknown":  {"?", "not known yet"},
		"resident": {"resident 47m", "resident 47m: no GPU works, and something is loaded"},
		"blind":    {"blind 47m", "blind 47m: no GPU works, and nobody tells what is loaded"},
		"parked":   {"parked 47m", "parked 47m: the GPUs wait (disk 90 MB/s)"},
		"hung":     {"hung 47m", "hung 47m: pinned, with no progress"},
		"phantom":  {"phantom 47m", "phantom 47m: utilisation, and no process"},
		"lost":     {"no signals", "no signals for 47m"},
	} {
		a := idle(now)
		a.State, a.Lines, a.Failing = state, nil, nil
		if state == "busy" || state == "unknown" {
			a.Since = nil
		}
		if state == "parked" {
			a.Why = "disk 90 MB/s"
		}
		if got := [2]string{does(now, a), strings.Join(activity(now, a), "\n")}; got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
	if does(now, nil) != "" || activity(now, nil) != nil {
		t.Error("nothing is known, and something is said")
	}
}

// ls has a column of it where there is room, the first to go.
func TestListActivity(t *testing.T) {
	now := time.Date(2026, 3, 6, 18, 47, 0, 0, time.UTC)
	rate, spend := "240.00 CNY", "44.05 CNY"
	rows := func() [][]string {
		return [][]string{row(now, wire.Item{Account: "lab", ID: "i-1", Name: "trainer", Owner: "ana", Purpose: "lora 70b", State: "running", Billing: "yes", Kind: "instance", Rate: &rate, Spend: &spend, Activity: idle(now)})}
	}
	for width, want := range map[int]string{120: `
ID       NAME     OWNER  PURPOSE   STATE    ACTIVITY     PER HOUR      SPENT  ENDS
lab/i-1  trainer  ana    lora 70b  running  empty 47m  240.00 CNY  44.05 CNY  not registered
`, 80: `
ID       OWNER  PURPOSE   STATE      PER HOUR      SPENT  ENDS
lab/i-1  ana    lora 70b  running  240.00 CNY  44.05 CNY  not registered
`} {
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out, Width: width}}
		a.table(lsColumns, rows())
		if "\n"+out.String() != want {
			t.Errorf("%d columns:\n%s", width, out.String())
		}
	}
}
