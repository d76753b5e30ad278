package configs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"guard"
)

// FuzzLoad: whatever stands in the file, loading ends with a configuration or
// with problems that each name a line of it and are in order, and it ends the
// same way the second time. What loads can be run: every account has a mode, a
// name of its own and times at which it is looked at; every limit is one.
func FuzzLoad(f *testing.F) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		ar, err := txtar.ParseFile(c)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if file.Name == "guard.yaml" {
				f.Add(file.Data)
			}
		}
	}
	for _, example := range []string{"examples/first.yaml", "examples/aws.yaml"} {
		text, err := os.ReadFile(example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(regexp.MustCompile(`(?m)^.*(?:prices|file).*\n`).ReplaceAll(text, nil))
	}
	f.Add([]byte("accounts: [{name: a, provider: fake, poll: '*/5 * * * *', sweep: 1h}]\nrules: {budget: {warn: [50%, 80%]}}\n"))
	f.Add([]byte("notify: {slack: {token: xoxb-" + canary + ", channel: '#gpu'}}\n"))
	f.Add([]byte("notify: {urls: [feishu://h/hook/" + canary + ", {url: {env: FEISHU_URL}, name: ops, fallback: true}], quiet: {from: '22:00', until: '08:00'}}\n"))
	f.Add([]byte("notify: {digest: '0 9 * * *', escalate: [1h, 2h], heartbeat: {url: {env: HEARTBEAT_URL}, every: 1m}, slack: {users: [xoxb-1234567890-" + canary + "], language: xoxb-1234567890-" + canary + "}}\n"))
	f.Add([]byte("mode: xoxb-1234567890-" + canary + "\ntime_zone: xoxb-1234567890-" + canary + "\ndefaults: {ttl: xoxb-1234567890-" + canary + "}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return // the parser needs quadratic time for deep nesting
		}
		// Nothing outside the input may decide: no file of this machine is read.
		if strings.Contains(string(data), "file") || strings.Contains(string(data), "prices") {
			return
		}
		c, err := Load(data, "guard.yaml", built, env)
		d, again := Load(data, "guard.yaml", built, env)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("loading twice differs:\n%v\n%v", err, again)
		}
		if err == nil {
			if !reflect.DeepEqual(c, d) {
				t.Fatalf("loading twice differs:\n%+v\n%+v", c, d)
			}
			runnable(t, c)
			return
		}
		var ps Problems
		if c != nil || !errors.As(err, &ps) || len(ps) == 0 {
			t.Fatalf("config %v and error %T %v", c, err, err)
		}
		lines := strings.Count(strings.ReplaceAll(string(data), "\r", "\n"), "\n") + 1
		for _, p := range ps {
			if p.Text == "" || p.Line < 0 || p.Line > lines {
				t.Errorf("%q of %d lines", p, lines)
			}
		}
		if !slices.IsSortedFunc(ps, func(a, b Problem) int { return a.Line - b.Line }) {
			t.Errorf("not in order:\n%v", err)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("shows a secret: %v", err)
		}
	})
}

func runnable(t *testing.T, c *Config) {
	t.Helper()
	r := c.Rules
	if c.TimeZone == nil || c.Ledger.Path == "" || c.Listen.Unix == "" || r.Defaults.TTL < 0 || r.Defaults.Grace <= 0 || r.Defaults.TTL > 0 && r.Defaults.Grace >= r.Defaults.TTL ||
		r.Limits.UnforeseenPerHour < 0 || r.Limits.UnforeseenPercent < 0 || r.Verify <= 0 {
		t.Errorf("incomplete: %+v", c)
	}
	names := map[string]bool{}
	for _, a := range c.Accounts {
		if a.Name == "" || names[a.Name] || a.Mode != guard.Observe && a.Mode != guard.Enforce {
			t.Errorf("account %+v", a)
		}
		names[a.Name] = true
		for _, s := range []Schedule{a.Poll, a.Sweep} {
			if next := s.Next(anyDay); !next.After(anyDay) {
				t.Errorf("account %s is never looked at: %s", a.Name, s)
			}
		}
	}
}

// FuzzDuration: a duration is above zero and of ten years at most, and reads the
// same when it was written back.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90s", "1h30m", "2d", "1w2d3h", "0", "0s", "10", "1.5h", "-1h", "1y", "11y", "30m1h", "1ms", "9223372036854775807ms", "106751d", " 1h", "∞"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDuration(s)
		if err != nil {
			if d != 0 || len(err.Error()) > 400 {
				t.Errorf("%q: %s and %v", s, d, err)
			}
			return
		}
		if back, err := parseDuration(formatDuration(d)); d <= 0 || d > longest || err != nil || back != d {
			t.Errorf("%q is %s and comes back as %s: %v", s, d, back, err)
		}
	})
}

// FuzzSchedule: a schedule that is taken comes again and again, at least as often
// as was asked for.
func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"90s", "1h", "*/5 * * * *", "@hourly", "@every 1s", "TZ=UTC", "0 0 29 2 *", "0 0 30 2 *", "* * * * 7", "0,15 9-17 * * MON-FRI", "*/0 * * * *", "1-0 * * * *", "? * * * ?", "*/61 * * * *", "99999999999 * * * *", "@", "CRON_TZ=UTC * * * * *", "30 2 * * *"} {
		f.Add(s)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Skip("no time zones here: ", err)
	}
	const least, most = time.Minute, 2 * time.Hour
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseSchedule(s, zone, least, most)
		if err != nil {
			if !got.IsZero() {
				t.Errorf("%q: %s and %v", s, got, err)
			}
			return
		}
		at := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC) // the clocks go forward that night
		for range 20 {
			next := got.Next(at)
			if gap := next.Sub(at); gap <= 0 || gap > most+time.Hour {
				t.Fatalf("%q leaves %s after %s", s, gap, at)
			}
			at = next
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"accounts", "mode", "rules", "budget", "budgets", "expiry", "off"}
	for _, c := range []struct{ key, want string }{
		{"acounts", "accounts"}, {"mdoe", "mode"}, {"rule", "rules"}, {"budgts", "budgets"}, {"expire", "expiry"},
		{"of", ""}, {"zzz", ""}, {"", ""}, {"Mode", "mode"}, {strings.Repeat("accounts", 20), ""}, {"模式", ""},
	} {
		if got := nearest(c.key, known); got != c.want {
			t.Errorf("nearest to %q is %q, want %q", c.key, got, c.want)
		}
	}
}
