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
