package configs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
)

// TestNotify: every key of notify, as it is read.
func TestNotify(t *testing.T) {
	c := mustLoad(t, `
time_zone: Asia/Shanghai
notify:
  slack:
    token: {env: SLACK_BOT_TOKEN}
    app_token: {env: SLACK_APP_TOKEN}
    channel: "#gpu"
    language: zh
    users: [U0123ABCD, {id: W0456, name: ana}, U0123ABCD]
    admins: [{id: W0456, name: ana}]
  urls:
    - {env: FEISHU_URL}
    - {url: {env: FEISHU_URL}, name: ops, language: zh, fallback: true}
    - generic+http://127.0.0.1:9/in
  digest: "0 9 * * *"
  escalate: [30m, 2h]
  heartbeat: {url: {env: HEARTBEAT_URL}}
  quiet: {from: "22:30", until: "8:00", days: [sat, SUN], time_zone: Europe/Berlin}
`)
	n := c.Notify
	if n.Slack.AppToken.Reveal() != "xapp-"+canary || n.Slack.Lang != guard.Chinese {
		t.Errorf("slack %+v", n.Slack)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"users", n.Slack.Users, []SlackUser{{ID: "U0123ABCD"}, {"W0456", "ana"}}},
		{"admins", n.Slack.Admins, []SlackUser{{"W0456", "ana"}}},
		{"escalation", n.Escalation, []time.Duration{30 * time.Minute, 2 * time.Hour}},
		{"heartbeat", []any{n.Heartbeat.URL.Reveal(), n.Heartbeat.Every}, []any{"https://hc.example.com/" + canary, 5 * time.Minute}},
		{"quiet", []any{n.Quiet.From, n.Quiet.Until, n.Quiet.Zone.String(), n.Quiet.Always},
			[]any{22*time.Hour + 30*time.Minute, 8 * time.Hour, "Europe/Berlin", []time.Weekday{time.Saturday, time.Sunday}}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if len(n.URLs) != 3 || n.URLs[0].Name != "url:1" || n.URLs[2].Name != "url:3" || n.URLs[0].Lang != "" || n.URLs[0].Fallback ||
		n.URLs[1].Name != "ops" || n.URLs[1].Lang != guard.Chinese || !n.URLs[1].Fallback || !strings.HasPrefix(n.URLs[1].URL.Reveal(), "feishu://") {
		t.Errorf("urls %+v", n.URLs)
	}
	// Nine in Shanghai is one in UTC.
	if got, want := n.Digest.Next(time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)), time.Date(2026, 3, 6, 1, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("the digest is due at %s, want %s", got, want)
	}
	asJSON, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", n, n, n) + string(asJSON) + Problems(c.Notes).Error(); strings.Contains(text, canary) {
		t.Errorf("a secret shows: %s", text)
	}
}

// TestNotifyLeftOut: who writes nothing is told in the log only, and nobody may click.
func TestNotifyLeftOut(t *testing.T) {
	for _, text := range []string{"", "notify:\n", "notify: {urls: [], slack: }\n"} {
		n := mustLoad(t, text).Notify
		if n.Slack != nil || n.URLs != nil || !n.Digest.IsZero() || n.Escalation != nil || n.Heartbeat != nil || n.Quiet.Zone != nil && n.Quiet.From != n.Quiet.Until {
			t.Errorf("%q: %+v", text, n)
		}
	}
	n := mustLoad(t, "notify: {slack: {token: {env: SLACK_BOT_TOKEN}, channel: c, users: [], admins: []}}").Notify
	if len(n.Slack.Users)+len(n.Slack.Admins) != 0 || n.Slack.AppToken.IsSet() {
		t.Errorf("%+v", n.Slack)
	}
}
