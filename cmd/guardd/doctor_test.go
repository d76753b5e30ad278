package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
	"guard/store/bolt"
)

// settled is a guard that init has set up, with one lease, on the test's cloud.
func settled(t *testing.T) (*setup, *fake.Cloud) {
	t.Helper()
	cloud := lab(t, nil)
	s, out := desk(t)
	s.register = []string{"i-1=lora,24h"}
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return s, cloud
}

// examined is what guardd doctor prints, its status, and proof that it has changed
// neither the ledger nor anything beside it.
func examined(t *testing.T, file string, args ...string) (string, int) {
	t.Helper()
	t.Setenv("COLUMNS", "80")
	ledger := filepath.Join(filepath.Dir(filepath.Dir(file)), "var", "ledger.db")
	before, _ := os.ReadFile(ledger)
	var out bytes.Buffer
	status := run(t.Context(), &out, &out, append([]string{"doctor", "--config", file}, args...)...)
	after, _ := os.ReadFile(ledger)
	if !bytes.Equal(before, after) {
		t.Error("the ledger is not as it was")
	}
	if strings.Contains(out.String(), botToken) {
		t.Errorf("a secret is told:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && !strings.HasPrefix(line, "guardd: ") && len(args) == 0 && strings.Count(strings.TrimSpace(line), " ") > 2 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	return out.String(), status
}

func wants(t *testing.T, got string, texts ...string) {
	t.Helper()
	flat := func(s string) string { return strings.Join(strings.Fields(s), "") } // lines are wrapped, in words too that are long
	for _, want := range texts {
		if !strings.Contains(flat(got), flat(want)) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
}

// TestDoctorWithoutDaemon: as much as can be looked at is, and nothing is changed.
func TestDoctorWithoutDaemon(t *testing.T) {
	s, cloud := settled(t)
	got, status := examined(t, s.file, "--deep")
	wants(t, got, "configuration ok "+s.file+": 1 account", "guardd FAIL no guardd runs: there is no socket", "→ systemctl start guardd",
		"account lab ok identity, clock, list, tag, stop, release", "every page of it is whole", "0 open, none blocked", "only guardd's log is told")
	if status != exitFailed {
		t.Errorf("status %d", status)
	}
	cloud.Fault(fake.Fault{Call: fake.CallRelease, Reply: fake.Reply{Status: 403}})
	got, _ = examined(t, s.file)
	wants(t, got, "warn release: these credentials may not release", "needed once the account is in enforce", "→ give the credentials the permission to release")
	if n := len(cloud.CallsOf(fake.CallProbe, "i-1")); n != 6 {
		t.Errorf("%d dry runs on the leased box", n)
	}
	got, status = examined(t, s.file, "-o", "json")
	var d wire.Diagnosis
	if err := json.Unmarshal([]byte(got), &d); err != nil || status != exitFailed || len(d.Sections) < 5 {
		t.Errorf("%d, %v\n%s", status, err, got)
	}
}

// TestDoctorWithDaemon: a running daemon is asked; with it all is well.
func TestDoctorWithDaemon(t *testing.T) {
	s, cloud := settled(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	over := make(chan error, 1)
	var log screen
	go func() { over <- serve(ctx, &log, s.file) }()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), "guardd runs"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not start:\n%s", log.String())
		}
	}
	t.Setenv("COLUMNS", "80")
	ask := func() (string, int) {
		var out bytes.Buffer
		status := run(t.Context(), &out, &out, "doctor", "--config", s.file)
		return out.String(), status
	}
	var got string
	status := -1
	for deadline := time.Now().Add(time.Minute); status != exitRight && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		got, status = ask() // the first poll may be on its way
	}
	wants(t, got, "all is well", "guardd ok it runs, and answers at "+s.socket, "loops run in time", "mode observe, read at")
	if status != exitRight {
		t.Errorf("status %d\n%s", status, got)
	}
	cloud.Fault(fake.Fault{Reply: fake.Reply{Status: 401}})
	if got, status = ask(); status != exitFailed {
		t.Errorf("with nobody's keys: %d\n%s", status, got)
	}
	wants(t, got, "FAIL identity: these credentials may not identity")
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestDoctorOfAnything: whatever is broken has its line and a remedy.
func TestDoctorOfAnything(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, s *setup)
		args   []string
		status int
		want   []string
	}{
		"no configuration": {func(t *testing.T, s *setup) { s.file = filepath.Join(filepath.Dir(s.file), "none.yaml") }, nil, exitUsage, []string{"FAIL open", "→ guardd init writes one"}},
		"mistakes":         {func(_ *testing.T, s *setup) { edit(s, "mode: observe", "mode: obsreve\ncolour: red") }, nil, exitUsage, []string{":1: mode", `unknown key "colour"`, "→ mend the line", "2 things are wrong"}},
		"no YAML":          {func(_ *testing.T, s *setup) { edit(s, "mode: observe", "\t{") }, nil, exitUsage, []string{"not YAML"}},
		"a secret that is not set": {func(_ *testing.T, s *setup) { edit(s, "{cloud:", "{token: {env: GUARD_NO_SUCH}, cloud:") }, nil, exitUsage,
			[]string{"the environment variable GUARD_NO_SUCH is not set"}},
		"a ledger cut off": {func(t *testing.T, s *setup) {
			if err := os.Truncate(s.ledger, 20000); err != nil {
				t.Fatal(err)
			}
		}, nil, exitFailed, []string{"ledger FAIL", "cut off", "account lab ok"}},
		"a flipped bit": {func(t *testing.T, s *setup) {
			b, _ := os.ReadFile(s.ledger)
			b[len(b)/2] ^= 4
			for i := 0; i < len(b); i += 4096 { // one in each page, whichever is in use
				b[i+100] ^= 4
			}
			if err := os.WriteFile(s.ledger, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"--deep"}, exitFailed, []string{"ledger FAIL"}},
		"an empty file": {func(t *testing.T, s *setup) {
			if err := os.Truncate(s.ledger, 0); err != nil {
				t.Fatal(err)
			}
		}, nil, exitFailed, []string{"ledger FAIL", "is empty"}},
		"no ledger yet": {func(t *testing.T, s *setup) { os.Remove(s.ledger) }, nil, exitFailed, []string{"note there is no ledger at", "the first start makes it"}},
		"no directory":  {func(t *testing.T, s *setup) { os.RemoveAll(filepath.Dir(s.ledger)) }, nil, exitFailed, []string{"FAIL there is no directory", "→ create it for the user"}},
		"no place for the socket": {func(_ *testing.T, s *setup) { edit(s, "listen: unix:", "listen: unix:/nowhere") }, nil, exitFailed,
			[]string{"no guardd runs, and none could", "→ create it (systemd: RuntimeDirectory=guard)"}},
		"an upgrade that was cut off": {func(t *testing.T, s *setup) {
			b, err := bolt.Open(t.Context(), s.ledger, bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			half := fmt.Sprintf(`{"schema":%d,"deployment":"0f","created":"2026-03-06T10:00:00Z","from":%d}`, store.Schema(), store.Schema()-1)
			err = b.Update(t.Context(), func(w store.Writer) error { return w.Put("meta", "schema", []byte(half)) })
			if err := errors.Join(err, b.Close()); err != nil {
				t.Fatal(err)
			}
		}, nil, exitFailed, []string{"ledger warn an upgrade of", "has not ended", "→ start guardd"}},
		"a locked ledger": {func(t *testing.T, s *setup) {
			b, err := bolt.Open(t.Context(), s.ledger, bolt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
		}, nil, exitFailed, []string{"ledger FAIL", "open already, in this very process"}},
		"another service at the socket": {func(t *testing.T, s *setup) {
			listenOn(t, s.socket, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>hello")) }))
		}, nil, exitFailed, []string{"guardd FAIL", "is not guardd's API"}},
		"an account of a cloud that is away": {func(_ *testing.T, s *setup) { edit(s, "{cloud: ", "{cloud: no") }, nil, exitFailed, []string{"account lab FAIL", "no cloud"}},
		"Slack without the bot": {func(t *testing.T, s *setup) {
			slack := notifytest.NewSlack(botToken, "gpu")
			slack.Uninvite("#gpu")
			server := httptest.NewServer(slack)
			t.Cleanup(server.Close)
			t.Setenv(slackToken, botToken)
			edit(s, "mode: observe", "mode: observe\nnotify: {slack: {token: {env: SLACK_BOT_TOKEN}, channel: \"#gpu\", endpoint: \""+server.URL+"\"}}")
		}, nil, exitFailed, []string{"people ok log FAIL slack", "the bot is not in the channel; invite it there"}},
		"Slack without buttons": {func(t *testing.T, s *setup) {
			server := httptest.NewServer(notifytest.NewSocket(notifytest.NewSlack(botToken, "gpu"), "xapp-another"))
			t.Cleanup(server.Close)
			t.Setenv(slackToken, botToken)
			t.Setenv("SLACK_APP_TOKEN", "xapp-canary")
			edit(s, "mode: observe", "mode: observe\nnotify: {slack: {token: {env: SLACK_BOT_TOKEN}, app_token: {env: SLACK_APP_TOKEN}, channel: \"#gpu\", endpoint: \""+server.URL+"\"}}")
		}, nil, exitFailed, []string{"FAIL slack buttons", "slack says invalid_auth", "notify.slack.app_token"}},
		"wrong usage": {func(*testing.T, *setup) {}, []string{"-o", "xml"}, exitUsage, []string{"write -o table or -o json"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := settled(t)
			c.damage(t, s)
			got, status := examined(t, s.file, c.args...)
			wants(t, got, c.want...)
			if status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, got)
			}
		})
	}
}

// edit replaces text in the configuration.
func edit(s *setup, old, with string) {
	b, err := os.ReadFile(s.file)
	if err == nil {
		err = os.WriteFile(s.file, bytes.Replace(b, []byte(old), []byte(with), 1), 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// listenOn serves something on a socket.
func listenOn(t *testing.T, socket string, h http.Handler) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}
