package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard/daemon/simulate"
)

// TestSameBytes: one file and one seed give the same bytes, in both outputs.
func TestSameBytes(t *testing.T) {
	// Many boxes due at one moment are released side by side.
	text := strings.Replace(tale, "      - {id: i-4}\n", "      - {id: i-4}\n      - {id: n, count: 20, rate: {amount: \"1\", per: hour}}\n", 1)
	for i := 1; i <= 20; i++ {
		text += fmt.Sprintf("  - {at: 3m, run: guard register lab/n-%03d --purpose many --ttl 1h}\n", i)
	}
	text += "daemon:\n  - {crash_at: intended, id: lab/n-007, back_after: 1m}\n  - {at: 2h, suspend: 10m}\n"
	text = strings.Replace(text, "for: 5h", "for: 2h15m", 1)
	// Which of them a counted fault meets must not depend on who is faster.
	text = strings.Replace(text, "    timeline:\n", "    faults:\n      - {call: release, times: 5, reply: {status: 500}}\n    timeline:\n", 1)
	outputs := map[string]bool{}
	for range 3 {
		s, err := simulate.Parse([]byte(text), "story.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(t.Context(), simulate.Options{Run: run, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r.Table(&b, s)
		if err := r.JSON(&b); err != nil {
			t.Fatal(err)
		}
		outputs[b.String()] = true
		if len(r.Failures) > 0 {
			t.Fatal(failures(r))
		}
	}
	if len(outputs) > 1 {
		var all [][]string
		for o := range outputs {
			all = append(all, strings.Split(o, "\n"))
		}
		for i := range min(len(all[0]), len(all[1])) {
			if all[0][i] != all[1][i] {
				t.Fatalf("%d different outputs; they part at line %d:\n%s\n%s", len(outputs), i, all[0][i], all[1][i])
			}
		}
		t.Fatal("outputs of different lengths")
	}
}

// TestJSON: one object a line in the order of time, with known keys, the result last.
func TestJSON(t *testing.T) {
	r := play(t, tale+"expect:\n  - {released: lab/i-1}\n  - {released: lab/i-2}\n")
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	known := strings.Fields("at offset event account id kind lease rule state reason channel text call spend passed failed")
	seen := map[string]bool{}
	last := time.Time{}
	var final map[string]any
	for line := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n") {
		e := map[string]any{}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err, line)
		}
		at, err := time.Parse(time.RFC3339, e["at"].(string))
		if err != nil || at.Before(last) {
			t.Fatalf("out of order, or no time: %s", line)
		}
		last = at
		for k := range e {
			if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+k+" ") {
				t.Errorf("key %q", k)
			}
		}
		seen[e["event"].(string)] = true
		final = e
	}
	for _, want := range strings.Fields(`observed lease_changed finding_opened finding_closed message_queued message_sent provider_call
		release_planned release_noticed release_intended release_issued release_blocked release_released daemon_started result`) {
		if !seen[want] {
			t.Errorf("there is no event %s", want)
		}
	}
	if final["event"] != "result" || final["passed"] != 1.0 || final["failed"] != 1.0 || final["offset"] != "5h" {
		t.Errorf("the last is %v", final)
	}
}

const two = `scenario: two
start: 2026-03-06T18:00:00+08:00
for: 10h
accounts:
  lab:
    provider: fake
    mode: enforce
    lag: {disappears: 5m}
    resources:
      - {id: i-1, rate: {amount: "2", per: hour}}
commands:
  - {at: 1m, run: guard register lab/i-1 --purpose lora --ttl 5h}
`

// TestSaid: what a story says stands in both outputs, before what happens then, and
// alone it is no command.
func TestSaid(t *testing.T) {
	text := strings.Replace(two, "for: 10h", "for: 1h", 1)
	r := play(t, strings.Replace(text, "{at: 1m,", "{at: 1m, say: ana begins,", 1)+"  - {at: 2m, say: ana goes home}\n")
	var told []string
	for _, e := range r.Events {
		if e.Event == "said" || e.Event == "command" {
			told = append(told, e.Offset+" "+e.Text)
		}
	}
	want := []string{"1m ana begins", "1m admin: guard register lab/i-1 --purpose lora --ttl 5h", "2m ana goes home"}
	if !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	for _, wrong := range []string{"{at: 2m, say: hm, prints: x}", "{at: 2m}", "{say: hm}"} {
		if _, err := simulate.Parse([]byte(text+"  - "+wrong+"\n"), "s.yaml", nil); err == nil || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestClocks: offsets are the cloud's time, whatever happens to guard's.
func TestClocks(t *testing.T) {
	for _, c := range []struct{ name, daemon, expect string }{
		// A clock that is two hours ahead reaches the limit two hours early by the
		// calendar: a stepped clock must not shoot.
		{"a step ahead", "{at: 2h, clock_jump: 2h}", "{calls: release, id: lab/i-1, between: [0s, 3h], at_most: 0}"},
		{"a step ahead is told", "{at: 2h, clock_jump: 2h}", "{finding: clock_jump, between: [2h, 2h5m]}"},
		{"ten years ahead", "{at: 2h, clock_jump: 3650d}", "{calls: release, at_most: 0, between: [0s, 5h]}"},
		{"a small step back", "{at: 2h, clock_jump: -10s}", "{released: lab/i-1, between: [5h1m, 5h10m]}"},
		{"asleep", "{at: 1h, suspend: 2h}", "{calls: any, between: [1h, 2h59m59s], at_most: 0}"},
		{"asleep and awake", "{at: 1h, suspend: 2h}", "{calls: list, between: [3h, 3h], at_least: 1}"},
		{"asleep, nobody answers", "{at: 1h, suspend: 2h}", "{exit: guard ls, at: 2h, is: 3}"},
		{"awake, guard answers", "{at: 1h, suspend: 2h}", "{exit: guard ls, at: 3h, is: 0}"},
		{"dead", "{at: 1h, crash: true, back_after: 2h}", "{calls: any, between: [1h, 2h59m59s], at_most: 0}"},
		{"dead and back", "{at: 1h, crash: true, back_after: 2h}", "{exit: guard ls, at: 3h, is: 0}"},
		{"dead for good", "{at: 1h, crash: true}", "{exit: guard ls, at: 10h, is: 3}"},
		{"a crash forgets nothing", "{at: 1h, crash: true, back_after: 1m}", "{released: lab/i-1, between: [5h1m, 5h5m]}"},
		{"crash at issued", "{crash_at: issued, id: lab/i-1, back_after: 1m}", "{calls: release, count: 1}"},
		{"crash at issued is before its result", "{crash_at: issued, id: lab/i-1, back_after: 1m}", "{state: lab/i-1, is: intended, at: 5h1m30s}"},
		{"crash at intended is before the call", "{crash_at: intended, id: lab/i-1, back_after: 1m}", "{calls: release, between: [5h2m, 5h3m], count: 1}"},
		{"crash of another", "{crash_at: intended, id: lab/i-2, back_after: 1m}", "{calls: release, between: [5h1m, 5h1m], count: 1}"},
		{"a reload", "{at: 1h, reload: {config: {rules: {expiry: {warn: [2h]}}}}}", "{message: slack, finding: expired, between: [3h1m, 3h2m]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failures(play(t, two+"daemon:\n  - "+c.daemon+"\nexpect:\n  - "+c.expect+"\n")); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestReloads: a reload is taken or refused as the file says, or the story fails.
func TestReloads(t *testing.T) {
	two := strings.Replace(two, "for: 10h", "for: 61m", 1)
	for _, c := range []struct{ reload, want string }{
		{"{config: {accounts: []}, fails: lab}", ""},
		{"{config: {accounts: []}}", "the reload is refused"},
		{"{config: {accounts: []}}, may_fail: true", ""},
		{"{config: {accounts: []}, fails: zebra}", `without "zebra"`},
		{"{config: {defaults: {ttl: 9h}}}", ""},
		{"{config: {defaults: {ttl: 9h}}, fails: ttl}", "it should be refused"},
		{"{config: {defaults: {ttl: x}}, fails: ttl}", ""},
	} {
		got := failures(play(t, two+"daemon:\n  - {at: 1h, reload: "+c.reload+"}\n"))
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %q", c.reload, got, c.want)
		}
	}
	_, err := simulate.Parse([]byte(two+"daemon:\n  - {at: 1h, reload: {config: {defaults: {ttl: x}}}}\n"), "s.yaml", nil)
	if err == nil || !strings.Contains(err.Error(), "s.yaml:14: defaults.ttl") {
		t.Errorf("a wrong reload that is to be taken: %v", err)
	}
	_, err = simulate.Parse([]byte(two+"daemon:\n  - {at: 1h, reload: {config: {budgets: {}}, fails: budgets}}\n"), "s.yaml", nil)
	if err == nil || !strings.Contains(err.Error(), "not supported yet") {
		t.Errorf("a reload of what is not built: %v", err)
	}
}

// TestSlackFaults: each kind of fault does to Slack what its name says.
func TestSlackFaults(t *testing.T) {
	for _, c := range []struct{ fault, expect string }{
		{"{times: 1, reply: {status: 429, retry_after: 30}}", "{message: slack, finding: expired, between: [4h1m31s, 4h1m40s], count: 1}"},
		{"{times: 1, reply: delivered_but_times_out}", "{message: slack, finding: expired, between: [4h1m, 4h30m], count: 1}"},
		{"{times: 1, reply: {stored: true, status: 429}}", "{message: slack, finding: expired, between: [4h1m, 4h30m], count: 1}"},
		{"{times: 1, reply: {ok: false, error: channel_not_found}}", "{message: slack, finding: expired, between: [4h1m30s, 4h10m], count: 1}"},
		{"{for: 5m, reply: unreachable}", "{message: slack, finding: expired, between: [4h6m, 4h8m], count: 1}"},
		{"{for: 5m, reply: {status: 500}}", "{message: log, finding: expired, between: [4h1m, 4h2m], count: 1}"},
	} {
		fault := "{from: 4h1m, " + strings.TrimPrefix(c.fault, "{")
		if got := failures(play(t, two+"channels: {slack: {faults: ["+fault+"]}}\nexpect:\n  - "+c.expect+"\n")); got != "" {
			t.Errorf("%s: %s", c.fault, got)
		}
	}
}

// BenchmarkThreeDays is the story that should take about a second: three days,
// ten instances with a disk each, polled every minute.
func BenchmarkThreeDays(b *testing.B) {
	text := `scenario: three days
start: 2026-03-06T18:00:00+08:00
for: 72h
accounts:
  lab:
    provider: fake
    mode: enforce
    resources:
`
	commands := "commands:\n"
	for i := range 10 {
		text += fmt.Sprintf("      - {id: i-%d, rate: {amount: \"2\", per: hour}, attached: [v-%d]}\n", i, i)
		text += fmt.Sprintf("      - {id: v-%d, kind: volume, size_gb: 100, rate: {amount: \"0.1\", per: gb_month}}\n", i)
		commands += fmt.Sprintf("  - {at: 1m, run: guard register lab/i-%d --purpose x --ttl %dh --budget 150USD}\n", i, 20+8*i)
	}
	for b.Loop() {
		r := play(b, text+commands)
		if len(r.Failures) > 0 {
			b.Fatal(failures(r))
		}
	}
	b.ReportMetric(30*float64(b.N)/b.Elapsed().Minutes(), "instance-days/min")
}
