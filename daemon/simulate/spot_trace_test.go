package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSpotTrace replays the first two and a half days of a real spot group of four that
// flaps; GUARD_SPOT_TRACE=all replays all of its two and a half weeks.
// What the provider takes is never "released by guard", people hear of it at most every
// quarter of an hour, each disk that is left is found once, and each node is counted to
// within a poll.
func TestSpotTrace(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "spot_traces", "preemption", "4-node", "aws-08-03-2023", "us-west-2c_v100_1.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the recorded spot traces are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Metadata struct {
			Gap int `json:"gap_seconds"`
		}
		Data []int
	}
	if err := json.Unmarshal(b, &trace); err != nil {
		t.Fatal(err)
	}
	gap := time.Duration(trace.Metadata.Gap) * time.Second
	known := 181 // down-edges
	if os.Getenv("GUARD_SPOT_TRACE") != "all" {
		trace.Data, known = trace.Data[:60*time.Hour/gap], 24
	}
	end := gap * time.Duration(len(trace.Data))

	var resources, timeline, expect strings.Builder
	var up []int // the nodes that run
	began := map[int]time.Duration{}
	nodes, edges, taken := 0, 0, 0
	over := func(n int, at time.Duration) {
		hours := (at - began[n]).Hours()
		slack := gap.Hours()
		fmt.Fprintf(&expect, "  - {spend: lab/n-%d, at: %s, between: [\"%.4f USD\", \"%.4f USD\"]}\n", n, end, max(0, hours-slack), hours+slack)
	}
	for i, want := range trace.Data {
		at := gap * time.Duration(i)
		if want < len(up) {
			edges++
		}
		for ; len(up) > want; taken++ {
			n := up[len(up)-1]
			up = up[:len(up)-1]
			fmt.Fprintf(&timeline, "      - {at: %s, id: n-%d, reclaim: true}\n", at, n)
			over(n, at)
			fmt.Fprintf(&expect, "  - {gone: lab/n-%d, how: reclaim}\n", n)
		}
		for len(up) < want {
			nodes++
			up, began[nodes] = append(up, nodes), at
			node := fmt.Sprintf("{id: n-%d, spot: true, type: p3.2xlarge, rate: {amount: \"1\", per: hour}, attached: [d-%[1]d]}", nodes)
			disk := fmt.Sprintf("{id: d-%d, kind: volume, size_gb: 100, rate: {amount: \"0.1\", per: gb_month}}", nodes)
			if at == 0 {
				fmt.Fprintf(&resources, "      - %s\n      - %s\n", node, disk)
				continue
			}
			fmt.Fprintf(&timeline, "      - {at: %s, create: %s}\n      - {at: %s, create: %s}\n", at, disk, at, node)
		}
	}
	for _, n := range up {
		over(n, end)
	}
	if edges != known {
		t.Fatalf("the trace has %d down-edges", edges)
	}
	r := play(t, fmt.Sprintf(`
scenario: a recorded spot group
start: 2026-08-03T00:00:00Z
for: %s
poll: 5m
config: {rules: {unregistered: {off: true}}}
accounts:
  lab:
    provider: fake
    mode: enforce
    lag: {disappears: 63m}
    resources:
%s    timeline:
%sexpect:
  - {calls: release, never: true}
  - {calls: delete, never: true}
  - {finding: reclaimed, count: %d}
%s`, end, resources.String(), timeline.String(), taken, expect.String()))
	if len(r.Failures) > 0 {
		t.Errorf("%d failures, such as %+v", len(r.Failures), r.Failures[0])
	}
	disks := map[string]int{}
	var said []time.Time
	for _, e := range r.Events {
		switch {
		case e.Event == "finding_opened" && e.Rule == "orphan_volume":
			disks[e.ID]++
		case strings.HasPrefix(e.Event, "release_"):
			t.Errorf("%s: %s", e.Event, e.ID)
		case e.Event == "message_sent" && e.Channel == "slack" && strings.Contains(e.Text, "took"):
			at, err := time.Parse(time.RFC3339, e.At)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, at)
		}
	}
	for id, n := range disks {
		if n != 1 {
			t.Errorf("%s was found %d times", id, n)
		}
	}
	if len(disks) < taken-max(1, nodes/10) || len(disks) > taken {
		t.Errorf("%d disks found of %d nodes taken", len(disks), taken)
	}
	for i := 1; i < len(said); i++ {
		if apart := said[i].Sub(said[i-1]); apart < 15*time.Minute-time.Minute {
			t.Errorf("told at %s, %s after the one before", said[i], apart)
		}
	}
	if len(said) == 0 || len(said) > edges {
		t.Errorf("%d messages about %d down-edges", len(said), edges)
	}
	t.Logf("%d nodes, %d taken back at %d edges: %d messages, %d disks found", nodes, taken, edges, len(said), len(disks))
}
