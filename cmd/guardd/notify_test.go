package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
)

// TestNotifyTest: one message in each channel, in its language, over real connections; and
// what came of it, without a word of an address.
func TestNotifyTest(t *testing.T) {
	const canary = "canary-4f9a8811d0"
	slack := notifytest.NewSlack(botToken, "gpu")
	slackServer := httptest.NewServer(slack)
	defer slackServer.Close()
	var mu sync.Mutex
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(b))
		if r.URL.Query().Get("access_token") != "" {
			fmt.Fprintf(w, `{"errcode":310000,"errmsg":"keywords not in content %s"}`, canary)
		}
	}))
	defer server.Close()
	t.Setenv(slackToken, botToken)
	t.Setenv("GOOD_URL", "generic+"+server.URL+"/"+canary)
	t.Setenv("BAD_URL", "dingtalk+"+server.URL+"/robot/send?access_token="+canary)
	t.Setenv("COLUMNS", "80")
	file := filepath.Join(t.TempDir(), "guard.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try := func(args ...string) (string, int) {
		t.Helper()
		var out bytes.Buffer
		status := run(t.Context(), &out, &out, append([]string{"notify", "test", "--config", file}, args...)...)
		if strings.Contains(out.String(), canary) || strings.Contains(out.String(), botToken) {
			t.Errorf("a secret is told:\n%s", out.String())
		}
		return out.String(), status
	}
	const head = "notify:\n  slack: {token: {env: SLACK_BOT_TOKEN}, channel: \"#gpu\", endpoint: \"%s\"}\n"
	write(fmt.Sprintf(head, slackServer.URL) + "  urls:\n    - {url: {env: GOOD_URL}, language: zh}\n    - {url: {env: BAD_URL}, name: ops}\n")
	got, status := try()
	wants(t, got, "1 thing is wrong", "slack ok it took a test message", "url:1, generic at 127.0.0.1 ok it took a test message",
		"ops, dingtalk at 127.0.0.1 FAIL", "dingtalk answers 310000; check the signing key", "→ mend what it says under notify:")
	if status != exitFailed || len(slack.Stored()) != 1 || len(bodies) != 2 || !strings.Contains(strings.Join(bodies, ""), "guard 能在这里通知到你") {
		t.Errorf("status %d, %d in Slack, %q", status, len(slack.Stored()), bodies)
	}
	got, status = try("url:1", "-o", "json")
	var d wire.Diagnosis
	if err := json.Unmarshal([]byte(got), &d); err != nil || status != exitRight || len(d.Sections) != 1 || d.Sections[0].Points[0].State != wire.PointOK || len(slack.Stored()) != 1 {
		t.Errorf("%v, status %d\n%s", err, status, got)
	}
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"nobody":      {exitUsage, `no channel is called "nobody": there are slack, url:1, ops`},
		"slack url:1": {exitUsage, "one channel, not 2"},
		"-o yaml":     {exitUsage, "write -o table or -o json"},
	} {
		if got, status := try(strings.Fields(line)...); status != want.status || !strings.Contains(got, want.says) {
			t.Errorf("%s: %d %q", line, status, got)
		}
	}
	write("notify: {digest: \"0 9 * * *\"}\n")
	if got, status := try(); status != exitFailed || !strings.Contains(got, "no channel is configured") {
		t.Errorf("%d %q", status, got)
	}
	t.Setenv("GOOD_URL", "https://example.com/"+canary)
	write("notify:\n  urls:\n    - {env: GOOD_URL}\n")
	if got, status := try(); status != exitUsage || !strings.Contains(got, ":3: notify.urls[0]: its scheme must name the service") {
		t.Errorf("%d %q", status, got)
	}
}

// TestReaders: check tells who is told, without an address, and the next three digests by
// the clock on the wall.
func TestReaders(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOD_URL", "feishu://open.feishu.cn/open-apis/bot/v2/hook/"+botToken)
	t.Setenv(slackToken, botToken)
	file := filepath.Join(t.TempDir(), "guard.yaml")
	text := "time_zone: Asia/Shanghai\nnotify:\n  slack: {token: {env: SLACK_BOT_TOKEN}, channel: \"#gpu\"}\n  digest: \"0 9 * * *\"\n  urls:\n    - {url: {env: GOOD_URL}, name: ops, fallback: true}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `tells slack, #gpu
tells ops, feishu at open.feishu.cn, where the others fail
the next digests are due Sat 7 Mar 09:00, Sun 8 Mar 09:00, Mon 9 Mar 09:00 (Asia/Shanghai)
`
	if got := readers(c, time.Date(2026, 3, 6, 9, 0, 0, 0, zone)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var out bytes.Buffer
	if status := run(t.Context(), &out, &out, "check", "--config", file); status != exitRight || !strings.Contains(out.String(), "tells ops, feishu at open.feishu.cn") || strings.Contains(out.String(), botToken) {
		t.Errorf("%d %s", status, out.String())
	}
}

// TestConfiguredElsewhere: where only guardd's own environment has the secrets, the file is
// enough to find guardd by.
func TestConfiguredElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guard.yaml")
	text := "notify:\n  slack: {token: {env: NOT_SET_TOKEN}, channel: \"#gpu\"}\n  heartbeat: {url: {env: NOT_SET_HEARTBEAT}}\n  urls: [{env: NOT_SET_URL}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, section, err := configured(file)
	if c == nil || err == nil || len(section.Points) != 3 {
		t.Errorf("%+v, %+v, %v", c, section, err)
	}
}
