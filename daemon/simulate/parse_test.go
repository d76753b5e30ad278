package simulate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"guard/daemon/simulate"
)

const head = `scenario: s
start: 2026-03-06T18:00:00+08:00
for: 2h
`

// TestMistakes: every mistake of a file at once, each with its line and what would
// be right.
func TestMistakes(t *testing.T) {
	const text = `scenario: mistakes
start: 6 March
for: a while
pol: 60s
config:
  mode: enforced
  defaults: {ttl: 5}
  budgets: [{name: nlp}]
accounts:
  lab:
    provider: aws
    mode: on
    identity_kind: middling
    balance: "120 CNY"
    resources:
      - {kind: instance}
      - {id: i-1, kind: instnace, rate: {amount: "2"}}
      - {id: i-2, count: 0, lump: {amount: "3000", covers: 30d}}
      - {id: i-3, attached: [v-9]}
      - {id: i-4, kind: instnace}
    timeline:
      - {at: 1h, id: i-1, charge: {amount: "31 CNY"}}
      - {at: 1h, id: i-1, reclaim: perhaps}
      - {at: 1h, id: i-1, delete: true, detach: true}
      - {id: i-1, delete: true}
    faults:
      - {call: relase, reply: unreachable}
      - {call: snapshot, reply: {status: 403}}
      - {call: get, reply: unreachble}
      - {call: get}
commands:
  - {run: guard ls}
  - {at: 1h, run: kubectl get pods}
  - {at: 1h, slack: {click: extendd, about: lab/i-1, user: U1}}
  - {at: 1h, run: guard register "lab/i-1}
daemon:
  - {at: 1h, restore: 1h}
  - {crash_at: sometime}
  - {at: 1h, crash: true, suspend: 1h}
channels:
  slack:
    faults:
      - {reply: {stored: true}}
expect:
  - {released: i-1}
  - {released: lab/i-1, contains: x}
  - {state: lab/i-1, is: blokced}
  - {finding: off_hours, id: lab}
  - {finding: orphan, id: lab/i-1}
  - {egress: lab/i-1, between: ["11GB", "10 parsec"]}
  - {spend: lab/i-1, between: [2, 3]}
  - {message: "url:0"}
  - {deadline: lab/i-1, reason: off_hours, between: [1h, 2h]}
  - {calls: release, count: 1, never: true}
  - {released: nowhere/i-1}
  - {exit: guard status}
  - {id: lab/i-1}
  - 12
`
	_, err := simulate.Parse([]byte(text), "story.yaml", nil)
	if err == nil {
		t.Fatal("it is taken")
	}
	got := err.Error()
	for _, want := range []string{
		`story.yaml:2: start: "6 March" is not a time`, `:3: for: "a while" is not a duration`, `:4: unknown key "pol": did you mean poll?`,
		`:6: mode: "enforced" is not a mode`, `:7: defaults.ttl: "5" has no unit`, `:8: budgets: not supported yet`,
		`:12: accounts.lab.mode`,
		`:16: accounts.lab.resources[0]: id is missing`, `:17: accounts.lab.resources[1].rate: per is missing`,
		`:18: accounts.lab.resources[2].count: write how many are alike, from 1`, `:20: accounts.lab.resources[4].kind: "instnace" is none of instance volume`, `:19: accounts.lab.resources[3]: resource "i-3": attached`, `:22: accounts.lab.timeline[0].charge: write what it is for`,
		`:23: accounts.lab.timeline[1].reclaim: write true, stop`, `:24: accounts.lab.timeline[2]: write one thing`,
		`:25: accounts.lab.timeline[3]: at is missing`, `:27: accounts.lab.faults[0].call: "relase" is not a call`,
		`:28: accounts.lab.faults[1].call: calls of snapshot are not supported yet`, `:29: accounts.lab.faults[2].reply: unknown "unreachble": did you mean unreachable?`,
		`:30: accounts.lab.faults[3]: reply is missing`, `:32: commands[0]: at is missing`, `:33: commands[1].run: "kubectl" is not a program`,
		`:34: commands[2].slack: unknown "extendd": did you mean extend?`, `:35: commands[3].run: a quote is not closed`, `:37: daemon[0].restore: write a time of the story before 1h`,
		`:38: daemon[1].crash_at: write intended or issued`, `:39: daemon[2]: write one thing`, `:43: channels.slack.faults[0].reply: write`,
		`:45: expect[0].released: "i-1" is not ACCOUNT/ID`, `:46: expect[1].contains: does not go with released`,
		`:47: expect[2].is: "blokced" is none of`, `:48: expect[3].finding: "off_hours" is none of`,
		`:49: expect[4].finding: "orphan" is none of`, `:50: expect[5].between[1]: "10 parsec" is not a size`, `:51: expect[6].between[0]: "2" is not an amount`,
		`:52: expect[7].message: "url:0" is none of slack, log, url:1, url:2`, `:53: expect[8].reason: off_hours is not supported yet`,
		`:54: expect[9].calls: write one of count, never`, `:55: expect[10].released: "nowhere/i-1": there is no account nowhere`,
		`:56: expect[11].exit: is is missing`, `:57: expect[12]: says nothing to expect`, `:58: expect[13]: is a number`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not told: %s", want)
		}
	}
	for line := range strings.SplitSeq(got, "\n") {
		if !regexp.MustCompile(`^story\.yaml:\d+: `).MatchString(line) {
			t.Errorf("without file and line: %s", line)
		}
	}
	if t.Failed() {
		t.Log("\n" + got)
	}
}

// TestCloudMistakes: what the fake cloud itself finds wrong is told at its line.
func TestCloudMistakes(t *testing.T) {
	for _, c := range []struct{ account, want string }{
		{"{provider: aws}", ":5: accounts.lab: provider: the clouds of a story are fake"},
		{"{provider: fake, identity_kind: middling}", `:5: accounts.lab.identity_kind: "middling" must be strong or weak`},
		{"{provider: fake, resources: [\n    {id: i-1},\n    {id: i-2, kind: instnace}]}", `:7: accounts.lab.resources[1].kind: "instnace" is none of instance volume`},
		{"{provider: fake, resources: [\n    {id: i-1, attached: [v-9]}]}", `:6: accounts.lab.resources[0]: resource "i-1": attached: there is no "v-9"`},
		{"{provider: fake, timeline: [\n    {at: 2h, id: i-9, delete: true},\n    {at: 1h, id: i-8, delete: true}]}", `:7: accounts.lab.timeline[1]: event 1 ("i-8"): there is no such resource`},
		{"{provider: fake, faults: [\n    {scope: mars, reply: empty}]}", `:6: accounts.lab.faults[0]: fault 1: there is no scope "mars"`},
		{"{provider: fake, egress: {amount: free, per: gb}}", `:5: accounts.lab.egress: "free" is not a decimal number, or unknown`},
		{"{provider: fake,\n    currency: RMB}", `:6: accounts.lab.currency: "RMB" is none: write its code, such as USD or CNY`},
		{"{provider: fake, resources: [\n    {id: i-1,\n    stopped_rate: {amount: 5 USD, per: hour}}]}", `:7: accounts.lab.resources[0].stopped_rate: "5 USD" is not a decimal number: write it without its currency`},
		{"{provider: fake, timer: sometimes}", `:5: accounts.lab.timer: "sometimes" is neither true nor ignored`},
		{"{provider: fake, egress: {per: gb}}", `:5: accounts.lab.egress: amount is missing: write {amount: "0.09", per: gb}`},
		{"{provider: fake, resources: [\n    {id: i-1, egress: {amount: '1', upto: '2', per: gb}}]}", `:6: accounts.lab.resources[0].egress: upto is a decimal number, beside amount: unknown`},
		{"{provider: fake, ingress: {amount: '1', per: gb, free_gb: 9}}", `:5: accounts.lab.ingress: free_gb must be from 0`},
		{"{provider: fake, balance: 120 CNY}", `:5: accounts.lab.balance: 120.00 CNY is in another currency than the account`},
		{"{provider: fake, balance: much}", `:5: accounts.lab.balance: invalid: "much" is not an amount`},
		{"{provider: fake, balance: 1 USD, at_zero: explode}", `:5: accounts.lab.at_zero: "explode" must be stop, destroy or nothing`},
		{"{provider: fake, poll: 1ms}", `:5: accounts.lab.poll: 1ms is outside 1s to 1d`},
		{"{provider: fake, poll: 60s, pol: 1}", `:5: accounts.lab: unknown key "pol"`},
	} {
		_, err := simulate.Parse([]byte(head+"accounts:\n  lab: "+c.account+"\n"), "s.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.account, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "s.yaml: the file is empty"},
		{"- a\n", "the file is a list"},
		{head, "accounts is missing"},
		{"for: 2h\naccounts: {}\n", "start is missing"},
	} {
		_, err := simulate.Parse([]byte(c.text), "s.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// TestTooLong: a length that does not fit into 64 bits is refused as too long, and
// does not come out as another one.
func TestTooLong(t *testing.T) {
	for _, d := range []string{"3651d", "9999w", "9999w99999d", "9999w99999d1068000h", "3650d1ns"} {
		_, err := simulate.Parse([]byte("scenario: s\nstart: 2026-03-06T18:00:00+08:00\nfor: "+d+"\naccounts: {lab: {provider: fake}}\n"), "s.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), "s.yaml:3: for: longer than ten years") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// TestConfigInLayers: the story's config is merged over the user's file key by
// key, inside rules too; lists replace; no secret is read.
func TestConfigInLayers(t *testing.T) {
	dir := t.TempDir()
	user := `mode: enforce
defaults: {ttl: 3h, grace: 5m}
rules:
  expiry: {warn: [2h, 30m]}
  unregistered: {after: 7m}
notify:
  slack: {token: {env: NOT_SET_ANYWHERE}, channel: "#gpu-cost"}
`
	if err := os.WriteFile(filepath.Join(dir, "guard.yaml"), []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	story := func(config string) string {
		return strings.Replace(head, "2h", "4h", 1) + "config_file: guard.yaml\nconfig: " + config + `
accounts:
  lab:
    provider: fake
    resources: [{id: i-1, rate: {amount: "2", per: hour}}, {id: i-2, rate: {amount: "2", per: hour}}]
commands:
  - {at: 1m, run: guard register lab/i-1 --purpose x}
`
	}
	parse := func(text string) (*simulate.Story, error) {
		return simulate.Parse([]byte(text), filepath.Join(dir, "story.yaml"), nil)
	}
	s, err := parse(story("{defaults: {grace: 9m}, rules: {expiry: {warn: [1h]}}}") + `expect:
  - {lease: lab/i-1, has: {expires_at: 3h1m, grace: 9m}}
  - {message: slack, about: lab/i-1, finding: expired, between: [2h1m, 2h2m]}
  - {finding: unregistered, id: lab/i-2, between: [7m, 8m]}
  - {released: lab/i-1, by: 3h5m}
`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), simulate.Options{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	if got := failures(r); got != "" {
		t.Error(got)
	}
	// A mistake is told at the file that has it.
	_, err = parse(story("{defaults: {grace: 4h}}"))
	if err == nil || !strings.Contains(err.Error(), "story.yaml:5: defaults.grace: grace (4h) must be shorter than ttl (3h)") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "guard.yaml"), []byte("mode: enforce\nrules: {expiry: {warn: never}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = parse(story("{}"))
	if err == nil || !strings.Contains(err.Error(), "guard.yaml:2: rules.expiry.warn") {
		t.Errorf("got %v", err)
	}
	_, err = parse(strings.Replace(story("{}"), "config_file: guard.yaml", "config_file: none.yaml", 1))
	if err == nil || !strings.Contains(err.Error(), "none.yaml: it cannot be read") {
		t.Errorf("got %v", err)
	}
}
