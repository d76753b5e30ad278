package simulate_test

import (
	"strings"
	"testing"
)

// TestServices: the other services of a configuration are told in a story, by their number,
// each in its language; nothing leaves it.
func TestServices(t *testing.T) {
	const urls = `config:
  notify:
    urls:
      - {url: {env: NOT_READ}, name: ops, language: zh}
      - generic+http://127.0.0.1:9/in
      - {url: {file: not-read}, fallback: true}
`
	for expect, want := range map[string]string{
		`{message: "url:1", about: lab/i-1, finding: expired, by: 10m}`: "",
		`{message: "url:2", about: lab/i-1, contains: with proof}`:      "",
		`{message: "url:2", about: lab/i-1, contains: 释放}`:              `does not contain "释放"`,
		`{message: "url:1", about: lab/i-1, contains: 释放}`:              "",
		`{message: "url:3", at_least: 1}`:                               "not at least 1",
		`{message: "url:4", at_least: 1}`:                               "not at least 1",
	} {
		if got := failures(play(t, tale+urls+"expect:\n  - "+expect+"\n")); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", expect, got, want)
		}
	}
}

// TestServiceStandsIn: while Slack takes nothing, what is urgent is told where the fall-back
// is read; else the fall-back is told nothing.
func TestServiceStandsIn(t *testing.T) {
	const urls = "config:\n  notify:\n    urls:\n      - {url: {env: NOT_READ}, name: pager, fallback: true}\n"
	const dead = "channels: {slack: {faults: [{from: 1h, for: 2h, reply: unreachable}]}}\n"
	for expect, want := range map[string]string{
		// lab/i-3 is protected, and its release blocked, at 2h2m.
		`{message: "url:1", about: lab/i-3, urgent: true, between: [2h10m, 2h30m], at_least: 1}`: "",
		`{posts: "url:1", between: [0s, 1h], at_most: 0}`:                                        "",
	} {
		if got := failures(play(t, tale+urls+dead+"expect:\n  - "+expect+"\n")); got != want {
			t.Errorf("%s: %s", expect, got)
		}
	}
}
