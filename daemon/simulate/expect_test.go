package simulate_test

import (
	"strings"
	"testing"
)

// tale is a story with something of everything; expectations are put behind it.
const tale = `scenario: a tale
start: 2026-03-06T18:00:00+08:00
for: 5h
poll: 60s
accounts:
  lab:
    provider: fake
    mode: enforce
    currency: CNY
    lag: {disappears: 5m}
    resources:
      - {id: i-1, name: trainer, rate: {amount: "60", per: hour}, attached: [v-1]}
      - {id: v-1, kind: volume, size_gb: 500, rate: {amount: "0.365", per: gb_month}}
      - {id: i-2, rate: {amount: "1", per: hour}, spot: true}
      - {id: i-3, rate: {amount: "1", per: hour}, protected: [release]}
      - {id: i-4}
    timeline:
      - {at: 3h, id: i-2, reclaim: true}
commands:
  - {at: 1m, user: ana, run: guard register lab/i-1 --purpose "lora 70b" --ttl 1h --budget 500CNY --tag team=nlp}
  - {at: 2m, run: guard register lab/i-2 --purpose eval --ttl 20h}
  - {at: 2m, run: guard register lab/i-3 --purpose keep --ttl 2h --allow-unprotect}
  - {at: 2m, run: guard register lab/i-4 --purpose x --ttl 20h --budget 10CNY, may_fail: true}
`

// TestExpectations is the test of the tests: each kind of expectation holds where
// it should and, just beside that, does not.
func TestExpectations(t *testing.T) {
	cases := []struct{ expect, want string }{
		{"{released: lab/i-1, between: [1h1m, 1h3m]}", ""},
		{"{released: lab/i-1, between: [1h4m, 2h]}", "the first was at 1h2m"},
		{"{released: lab/i-1, by: 1h}", "the first was at 1h2m"},
		{"{released: lab/i-1, at: 2h}", ""},
		{"{released: lab/i-1, at: 1h}", "not released"},
		{"{released: lab/i-1, never: true}", "it happened once"},
		{"{released: lab/i-2}", "how: reclaim"},
		{"{released: lab/i-3}", "blocked (protected)"},
		{"{gone: lab/i-2, between: [3h, 3h3m], how: reclaim, estimated: false}", ""},
		{"{gone: lab/i-2, how: outside}", "how: reclaim"},
		{"{gone: lab/i-2, estimated: true}", "estimated: false"},
		{"{gone: lab/i-3}", "in the cloud it is running; its lease is active, until 2h2m"},
		{"{released: lab/v-1}", "it has no lease"},
		{"{released: lab/i-9}", "the cloud has never had one"},
		{"{gone: lab/i-1, how: release}", ""},
		{"{state: lab/i-1, is: noticed, at: 30m}", ""},
		{"{state: lab/i-1, is: intended, at: 30m}", "it is noticed since"},
		{"{state: lab/i-1, is: [issued, released], at: 1h2m}", ""},
		{"{state: lab/i-2, is: none, at: 1h}", ""},
		{"{state: lab/i-2, is: noticed, at: 1h}", "it has no release"},
		{"{state: lab/i-3, is: blocked, reason: protected}", ""},
		{"{state: lab/i-3, is: blocked, reason: permission}", "blocked (protected)"},
		{"{state: lab/i-3, is: blocked, between: [2h, 2h5m]}", ""},
		{"{state: lab/i-3, is: blocked, by: 2h}", "the first was at 2h2m"},
		{"{state: lab/i-1, not: blocked, between: [0s, 5h]}", ""},
		{"{state: lab/i-1, not: issued, between: [0s, 5h]}", "it is issued since"},
		{"{state: lab/i-1, is: issued, count: 1}", ""},
		{"{state: lab/i-1, is: issued, never: true}", "it happened once"},
		{"{finding: reclaimed, id: lab/i-2, between: [3h, 3h3m]}", ""},
		{"{finding: reclaimed, id: lab/i-1}", "there were"},
		{"{finding: reclaimed, never: true}", "it happened once"},
		{"{finding: orphan_volume, id: lab/v-1, at: 3h}", ""},
		{"{finding: orphan_volume, id: lab/v-1, at: 1h30m}", "it is not open"},
		{"{finding: orphan_volume, id: lab/v-1, at: 3h, never: true}", "it is open"},
		{"{closed: expired, id: lab/i-1, by: 1h5m}", ""},
		{"{closed: release_blocked, id: lab/i-3}", "release_blocked opened"},
		{"{message: slack, about: lab/i-1, contains: [LORA 70b], at_least: 1}", ""},
		{"{message: slack, about: lab/i-1, contains: [lora 71b]}", `does not contain "lora 71b"`},
		{"{message: log, about: lab/i-1, finding: expired, by: 10m}", ""},
		{"{message: slack, about: lab/i-1, finding: price_unknown}", "it never happened"},
		{"{message: slack, about: lab/i-9, count: 1}", "not once in the whole story, not 1; there is none about it, but "},
		{"{message: slack, about: lab/i-3, urgent: true, never: true}", "it happened"},
		{"{message: slack, about: lab/i-1, contains: with proof, count: 2}", "once in the whole story, not 2"},
		{"{posts: slack, spaced: 1s}", ""},
		{"{posts: slack, spaced: 2h}", "are closer than 2h"},
		{"{posts: slack, at_most: 2}", "not at most 2"},
		{"{posts: slack, between: [4h30m, 4h31m], at_most: 0}", ""},
		{"{resource: lab/i-1, at: 30m, is: running}", ""},
		{"{resource: lab/i-1, at: 2h, is: running}", "at 2h it is gone"},
		{"{resource: lab/i-2, is: gone}", ""},
		{"{resource: lab/i-9, is: gone}", "never had one"},
		{"{calls: release, id: lab/i-1, count: 1}", ""},
		{"{calls: release, id: lab/i-1, count: 2}", "once in the whole story, not 2"},
		{"{calls: release, never: true}", "it happened"},
		{"{calls: list, id: lab, at_least: 300}", ""},
		{"{calls: list, spaced: 59s}", "closer"},
		{"{calls_in_order: [get, release], id: lab/i-1}", ""},
		{"{calls_in_order: [release, unprotect], id: lab/i-1}", "unprotect was not made"},
		{`{spend: lab/i-1, at: 31m, between: ["31 CNY", "31.2 CNY"]}`, ""},
		{`{spend: lab/i-1, at: 31m, between: ["30 CNY", "31 CNY"]}`, "it is 31.1"},
		{`{spend: lab/i-1, at: 31m, between: ["30 USD", "31 USD"]}`, "another currency"},
		{"{spend: lab/i-4, at: 1h, unknown: true}", ""},
		{"{spend: lab/i-1, at: 31m, unknown: true}", "it is known"},
		{`{spend: lab/i-4, at: 1h, between: ["0 CNY", "99 CNY"], or_unknown: true}`, ""},
		{`{spend: lab/i-4, at: 1h, between: ["0 CNY", "99 CNY"]}`, "it is not known"},
		{"{lease: lab/i-1, at: 30m, has: {purpose: lora 70b, owner: ana, expires_at: 1h1m, budget: 500 CNY, status: active, tags: {team: nlp}}}", ""},
		{"{lease: lab/i-1, at: 30m, has: {purpose: lora}}", `its purpose is "lora 70b"`},
		{"{lease: lab/i-1, at: 30m, has: {expires_at: 1h}}", "its expires_at is 1h1m"},
		{"{lease: lab/i-1, at: 30m, has: {budget: 500 USD}}", "its budget is 500"},
		{"{lease: lab/i-1, has: {status: active}}", "its status is released"},
		{"{lease: lab/i-1, at: 0s, has: {status: active}}", "no such lease"},
		{"{lease: lab/i-1, at: 30m, has: {tags: {team: cv}}}", `its tag team is "nlp"`},
		{"{deadline: lab/i-1, at: 30m, reason: expiry, between: [1h, 1h2m]}", ""},
		{"{deadline: lab/i-1, at: 30m, reason: budget, between: [8h, 8h20m]}", ""},
		{"{deadline: lab/i-1, at: 30m, reason: budget, between: [9h, 10h]}", "budget at 8h1"},
		{"{deadline: lab/i-1, at: 30m, between: [8h, 9h]}", "expiry at 1h1m"},
		{"{exit: guard ls, at: 1h, is: 0}", ""},
		{"{exit: guard ls, at: 1h, is: 3}", "it is 0"},
		{"{exit: guard show lab/nothing, at: 1h, is: [1, 2]}", ""},
		{"{exit: guard status, is: 1}", ""}, // lab/i-3 is blocked
	}
	// One story for all of them: they look and change nothing.
	text := tale + "expect:\n"
	for _, c := range cases {
		text += "  - " + c.expect + "\n"
	}
	first := strings.Count(tale, "\n") + 2
	told := map[int]string{}
	for _, f := range play(t, text).Failures {
		told[f.Line] += f.Text
	}
	for i, c := range cases {
		got := told[first+i]
		if c.want == "" && got != "" || c.want != "" && got == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %q", c.expect, got, c.want)
		}
	}
}

// TestCommands: a command that fails without a word, or works where it should not,
// fails the story.
func TestCommands(t *testing.T) {
	cases := []struct{ command, want string }{
		{"{at: 1h, run: guard ls, prints: [lab, EVAL]}", ""},
		{"{at: 1h, run: guard ls, prints: [zebra]}", `does not print "zebra"`},
		{"{at: 1h, run: guard ls, not_prints: [eval]}", `prints "eval"`},
		{"{at: 1h, run: guard ls, fails: ttl}", "it should fail"},
		{"{at: 1h, run: guard extend lab/i-9 --by 2h}", "fails with status"},
		{"{at: 1h, run: guard extend lab/i-9 --by 2h, may_fail: true}", ""},
		{"{at: 1h, run: guard extend lab/i-9 --by 2h, fails: i-9}", ""},
		{"{at: 1h, run: guard extend lab/i-9 --by 2h, fails: zebra}", `without "zebra"`},
	}
	text := strings.Replace(tale, "for: 5h", "for: 61m", 1)
	for _, c := range cases {
		text += "  - " + c.command + "\n"
	}
	told := map[int]string{}
	for _, f := range play(t, text).Failures {
		told[f.Line] += f.Text
	}
	for i, c := range cases {
		got := told[strings.Count(tale, "\n")+1+i]
		if c.want == "" && got != "" || c.want != "" && got == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got  %s\nwant %q", c.command, got, c.want)
		}
	}
}

// TestEgressIsExpected: what guard's meter told, as it was at a moment.
func TestEgressIsExpected(t *testing.T) {
	r := play(t, `scenario: s
start: 2026-03-06T18:00:00+08:00
for: 2h
accounts:
  lab:
    provider: fake
    resources: [{id: n, count: 2, created: -1h, rate: {amount: "2", per: hour}}, {id: i-9, created: 1h}]
    timeline:
      - {at: 0s, id: n, signals: {tx_bytes_s: 1e6, tx_start: 5e9}}
      - {at: 30m, id: n-001, reboot: true}
expect:
  - {egress: lab/n-001, at: 1h, between: ["3.5GB", "3.61GB"]}
  - {egress: lab/n-002, between: ["7.1GB", "7.21GB"]}
  - {egress: lab/i-9, unknown: true}
  - {calls: signals, id: lab/n-001, at_least: 100}
  - {calls: signals, id: lab/i-9, between: [1h, 1h2m]}
  - {egress: lab/n-001, at: 1h, between: ["1GB", "2GB"]}
  - {egress: lab/n-001, unknown: true}
  - {egress: lab/i-9, between: ["0B", "1B"]}
`)
	told := failures(r)
	for _, want := range []string{":17: egress: lab/n-001, at: 1h, between: [1GB, 2GB]", "at 1h it is 3", ":18: egress: lab/n-001, unknown: true", "at 2h it is known: 7", ":19: egress: lab/i-9", "at 2h nothing is known of it"} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %s", want)
		}
	}
	if len(r.Failures) != 3 {
		t.Errorf("%d failures, want 3", len(r.Failures))
	}
	if t.Failed() {
		t.Log(told)
	}
}
