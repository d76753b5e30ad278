package configs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretNeverShown puts a secret everywhere that people put one by mistake.
func TestSecretNeverShown(t *testing.T) {
	long := "xoxb-1234567890-" + canary // as long as the real ones
	dir := t.TempDir()
	for name, data := range map[string]string{"two": long + "\n" + long, "fine": long + "\n", "big": strings.Repeat(long, 4000)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slack := "notify:\n  slack:\n    channel: c\n    token: "
	for _, text := range []string{
		slack + long,
		slack + "{env: " + long + "}",
		slack + "{env: [" + long + "]}",
		slack + "{file: " + long + "}",
		slack + "{value: " + long + "}",
		slack + "{" + long + ": x}",
		slack + "|" + long,
		slack + "|\n      " + long + "\n    chanel: x",
		slack + "[" + long + "]",
		slack + "\"" + long,
		slack + "'" + long + ": x",
		slack + "*" + long,
		slack + "&" + long + " x",
		slack + "!" + long + " x",
		slack + "!!" + long + " x",
		slack + "%" + long,
		slack + "@" + long,
		slack + long + ": x: y",
		slack + "{env: TWO_LINES}",
		slack + "{file: " + filepath.Join(dir, "two") + "}",
		slack + "{file: " + filepath.Join(dir, "big") + "}",
		slack + "{env: SLACK_BOT_TOKEN}\nmode: nonsense",
		"notify: {slack: " + long + "}",
		"mode: " + long, "ledger: " + long, "ledger: etcd:" + long, "listen: " + long, "time_zone: " + long,
		long + ": x", "rules: {" + long + ": x}", "rules: {expiry: {warn: [" + long + "]}}", "rules: {budget: {warn: [" + long + "]}}",
		"defaults: {ttl: " + long + "}", "defaults: {on_limit: " + long + "}",
		"accounts: [{name: a, provider: " + long + "}]",
		"accounts: [{name: " + long + "/x, provider: aws}]",
		"accounts: [{name: a, provider: aws, poll: " + long + "}]",
		"accounts: [{name: a, provider: aws, aws: {key: " + long + "}}]",
		"accounts: [{name: a, provider: aws, aws: {wait: " + long + "}}]",
		"accounts: [{name: a, provider: aws, " + long + ": {}}]",
		"notify: {slack: {token: {env: SLACK_BOT_TOKEN}, channel: c, endpoint: \"https://u:" + long + "@h/\"}}",
		"notify: {slack: {token: {env: SLACK_BOT_TOKEN}, channel: c, endpoint: \"http://h/" + long + "\"}}",
		"%YAML " + long + "\n---\nmode: observe",
	} {
		_, err := load(t, text)
		if err == nil {
			t.Errorf("%q loads", text)
			continue
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%q: the message shows the secret: %v", text, err)
		}
	}
	c := mustLoad(t, slack+"{file: "+filepath.Join(dir, "fine")+"}")
	if got := c.Notify.Slack.Token.Reveal(); got != long {
		t.Errorf("token from a file is %q", got)
	}
	j, err := json.Marshal(c.Notify.Slack)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", c.Notify.Slack, c.Notify.Slack, c.Notify.Slack), string(j)} {
		if strings.Contains(s, canary) {
			t.Errorf("a configuration prints its secret: %s", s)
		}
	}
}
