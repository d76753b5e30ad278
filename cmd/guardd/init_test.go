package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"guard"
	"guard/cmd/guard/cli"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify/notifytest"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
	"guard/store/bolt"
)

// fakeSection is how a test's configuration names one of its clouds.
type fakeSection struct {
	Cloud string       `yaml:"cloud"`
	Token guard.Secret `yaml:"token"`
}

// clouds are the fake clouds of the tests, by the name in their section.
var clouds sync.Map

// The tests' guardd knows the fake cloud as one more provider.
func init() {
	sections.Providers["fake"] = configs.SectionOf(fakeSection{})
	factories["fake"] = func(_ context.Context, a configs.Account) (providers.Provider, error) {
		section := a.Section.(fakeSection)
		c, ok := clouds.Load(section.Cloud)
		if !ok {
			return nil, fmt.Errorf("%w: no cloud %q", guard.ErrInvalid, section.Cloud)
		}
		cloud := c.(*fake.Cloud)
		return fake.New(fake.Config{Account: a.Name, Scopes: []string{"default"}, Truths: cloud.Truths(), Next: cloud.RoundTripper()})
	}
}

// lab is an account with three boxes, in the present.
func lab(t *testing.T, change func(*fake.Script)) *fake.Cloud {
	t.Helper()
	s := fake.Lab()
	s.Start = time.Now().Add(-time.Minute)
	if change != nil {
		change(&s)
	}
	c := fake.MustCloud(s)
	clouds.Store(t.Name(), c)
	t.Cleanup(func() { clouds.Delete(t.Name()) })
	return c
}

const botToken = "xoxb-canary-1234567890"

// short is a directory whose path is short, as that of a socket has to be.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// desk is an init in a directory of its own, on the test's cloud.
func desk(t *testing.T) (*setup, *screen) {
	t.Helper()
	out := &screen{}
	dir := short(t)
	s := &setup{
		IO:  cli.IO{Out: out, Err: out, Width: 80},
		env: func(string) (string, bool) { return "", false },
		finders: []finder{{"fake", func(context.Context, func(string) (string, bool)) []providers.Found {
			return []providers.Found{{Name: "lab", Source: "a test", Section: "{cloud: " + quote(t.Name()) + "}"}}
		}}},
		yes: true, file: filepath.Join(dir, "etc", "guard.yaml"), ledger: filepath.Join(dir, "var", "ledger.db"), socket: filepath.Join(dir, "s"),
	}
	t.Cleanup(func() {
		if text := out.String(); strings.Contains(text, botToken) {
			t.Errorf("a secret is told:\n%s", text)
		}
	})
	return s, out
}

// asks lets people answer, a line each.
func (s *setup) asks(answers ...string) {
	s.yes, s.Ask = false, true
	s.In = strings.NewReader(strings.Join(answers, "\n") + "\n")
}

// left is everything that lies below the directory of a desk.
func left(t *testing.T, s *setup) []string {
	t.Helper()
	root := filepath.Dir(filepath.Dir(s.file))
	var names []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if path != root {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// leasesIn are the leases of the ledger that init made.
func leasesIn(t *testing.T, s *setup) []guard.Lease {
	t.Helper()
	b, err := bolt.Open(t.Context(), s.ledger, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Open(t.Context(), b, daemon.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out []guard.Lease
	if err := l.Check(t.Context()); err != nil {
		t.Error(err)
	}
	err = l.View(t.Context(), func(v *store.View) error {
		for x, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			out = append(out, x)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b guard.Lease) int { return strings.Compare(a.Resource.ID, b.Resource.ID) })
	return out
}

func says(t *testing.T, out *screen, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// TestInitByFlags: a configuration, a ledger with the leases, and what to do next.
func TestInitByFlags(t *testing.T) {
	lab(t, nil)
	s, out := desk(t)
	s.register = []string{"i-1=lora 70b,24h,9000CNY", "lab/i-2=eval,,"}
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	says(t, out, "fake: a test: account acct-1", "240.00 CNY", "together, disks included: 271.", "registered lab/i-1 (trainer)",
		"guardd serve --config "+s.file, "\n"+observing+"\n", "has 7 lines", "2 leases")
	if got, want := left(t, s), []string{"etc", "etc/guard.yaml", "var", "var/ledger.db"}; !slices.Equal(got, want) {
		t.Errorf("it left %q, want %q", got, want)
	}
	c, err := load(s.file)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Accounts[0]; len(c.Accounts) != 1 || a.Name != "lab" || a.Mode != guard.Observe || c.Ledger.Path != s.ledger || c.Listen.Unix != s.socket {
		t.Errorf("%+v", c)
	}
	ls := leasesIn(t, s)
	if len(ls) != 2 || ls[0].Purpose != "lora 70b" || ls[0].Budget.String() != "9000.00 CNY" || ls[0].Owner != me() || ls[1].Purpose != "eval" {
		t.Errorf("leases %+v", ls)
	}
	// A second time says that it is done, and changes nothing.
	again, out := desk(t)
	again.file, again.ledger, again.socket = s.file, s.ledger, s.socket
	if err := again.run(t.Context()); err == nil || !strings.Contains(err.Error(), "there is a ledger at") {
		t.Errorf("a second init: %v\n%s", err, out.String())
	}
	again.ledger = s.ledger + "2"
	if err := again.run(t.Context()); err == nil || !strings.Contains(err.Error(), "--force writes over it") {
		t.Errorf("over a configuration: %v", err)
	}
	again.force = true
	if err := again.run(t.Context()); err != nil {
		t.Errorf("with --force: %v", err)
	}
	if len(leasesIn(t, s)) != 2 {
		t.Error("the first ledger has changed")
	}
}

// TestInitConversation: Enter takes what stands in brackets, "-" leaves a box alone,
// and an answer that cannot be is asked for again.
func TestInitConversation(t *testing.T) {
	lab(t, func(s *fake.Script) { s.Resources[3].Rate = nil })
	s, out := desk(t)
	s.asks("",
		"", "12", "", // i-1: trainer, 12 hours, no cap
		"sweep", "5 parsecs", "", "100CNY", "sweep", "2d", "30CNY/h", "100CNY", // i-2, at the second try
		"-") // i-3
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if testing.Verbose() {
		t.Log(out.String())
	}
	says(t, out, "Watch fake account acct-1 as what name?", "[1/3] lab/i-1 (trainer), gpu.h100.8, 8 × H100, default, running, 240.00 CNY per hour",
		"at an unknown price", "Once more:", "5 parsecs")
	ls := leasesIn(t, s)
	if len(ls) != 2 || ls[0].Purpose != "trainer" || ls[0].ExpiresAt.Sub(ls[0].RegisteredAt) != 12*time.Hour || ls[0].Budget.IsSet() {
		t.Errorf("leases %+v", ls)
	}
	if ls[1].Purpose != "sweep" || ls[1].Price.Quote() != "30.00 CNY per hour" || ls[1].ExpiresAt.Sub(ls[1].RegisteredAt) != 48*time.Hour {
		t.Errorf("the second lease is %+v", ls[1])
	}
}

// TestInitLeavesNothing: whatever goes wrong, there is a word for it, and neither a
// configuration nor a ledger nor a directory is left.
func TestInitLeavesNothing(t *testing.T) {
	refused := func(call string) func(*fake.Script) {
		return func(s *fake.Script) { s.Faults = []fake.Fault{{Call: call, Reply: fake.Reply{Status: 403}}} }
	}
	slackFails := notifytest.NewSlack("xoxb-another", "gpu")
	server := httptest.NewServer(slackFails)
	defer server.Close()
	for name, c := range map[string]struct {
		cloud  func(*fake.Script)
		change func(*setup)
		want   string
		usage  bool
	}{
		"no credentials":     {nil, func(s *setup) { s.finders = nil }, "no credentials were found", false},
		"keys of nobody":     {refused(fake.CallIdentity), nil, "none of the credentials that were found can be used", false},
		"keys that see none": {refused(fake.CallList), nil, "account lab (a test) shows nothing with these keys: ", false},
		"a page of HTML":     {func(s *fake.Script) { s.Faults = []fake.Fault{{Reply: fake.Reply{HTML: true}}} }, nil, "none of the credentials", false},
		"no terminal":        {nil, func(s *setup) { s.yes = false }, "there is no terminal to ask on", true},
		"a wish of no form":  {nil, func(s *setup) { s.register = []string{"i-1"} }, "write ID=PURPOSE,TTL,BUDGET", true},
		"a wish of nothing":  {nil, func(s *setup) { s.register = []string{"i-1=,24h"} }, "does not say what for", true},
		"no such box":        {nil, func(s *setup) { s.register = []string{"i-1=a,24h", "i-9=b,24h"} }, "--register i-9: no such box was found", false},
		"a wrong time":       {nil, func(s *setup) { s.register = []string{"i-1=a,24h", "i-2=b,24 hours"} }, "24 hours", false},
		"another currency":   {nil, func(s *setup) { s.register = []string{"i-1=a,24h,40USD"} }, "bills in CNY", false},
		"no GPU":             {nil, func(s *setup) { s.register = []string{"i-3=a,24h"} }, "--no-gpu-ok", false},
		"no such account":    {nil, func(s *setup) { s.only = []string{"x=y"} }, `there is no "y" among what was found: lab (acct-1)`, true},
		"an account twice":   {nil, func(s *setup) { s.only = []string{"lab", "lab"} }, "stands twice", false},
		"no name":            {nil, func(s *setup) { s.only = []string{"a/b"} }, "is not a name", false},
		"no price book":      {nil, func(s *setup) { s.prices = "none.yaml" }, "none.yaml", false},
		"no token":           {nil, func(s *setup) { s.people.channel = "#gpu" }, "SLACK_BOT_TOKEN", true},
		"Slack says no": {nil, func(s *setup) {
			s.people.channel, s.slackEndpoint = "#gpu", server.URL
			s.env = func(name string) (string, bool) { return botToken, name == slackToken }
		}, "slack says invalid_auth", false},
		"a socket too long": {nil, func(s *setup) { s.socket = filepath.Join(filepath.Dir(s.socket), strings.Repeat("s", 120)) }, "Unix socket takes", false},
		"input that ends":   {nil, func(s *setup) { s.asks("lab", "x") }, "the input ended", false},
		"no account left":   {nil, func(s *setup) { s.asks("-") }, "no account is left", false},
	} {
		t.Run(name, func(t *testing.T) {
			lab(t, c.cloud)
			s, out := desk(t)
			if c.change != nil {
				c.change(s)
			}
			err := s.run(t.Context())
			if err == nil || !strings.Contains(err.Error()+out.String(), c.want) || isUsage(err) != c.usage {
				t.Errorf("%v (usage %v), want %q\n%s", err, isUsage(err), c.want, out.String())
			}
			if err != nil && strings.Contains(err.Error(), "AWS") {
				t.Errorf("the cloud is not AWS: %v", err)
			}
			if got := left(t, s); len(got) > 0 {
				t.Errorf("it left %q", got)
			}
		})
	}
}

func isUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// TestInitInterrupted: Ctrl-C at every question leaves nothing.
func TestInitInterrupted(t *testing.T) {
	lab(t, nil)
	for n := range 6 {
		s, out := desk(t)
		s.yes, s.Ask = false, true
		ctx, stop := context.WithCancel(t.Context())
		s.In = &hesitant{answers: n, stop: stop}
		err := s.run(ctx)
		if err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("at question %d: %v\n%s", n+1, err, out.String())
		}
		if got := left(t, s); len(got) > 0 {
			t.Errorf("interrupted at question %d it left %q", n+1, got)
		}
	}
}

// hesitant presses Enter some times and then Ctrl-C.
type hesitant struct {
	answers int
	stop    func()
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.answers--; h.answers >= 0 {
		return copy(p, "\n"), nil
	}
	h.stop()
	select {} // a terminal's read goes on
}

func TestInitSlack(t *testing.T) {
	lab(t, nil)
	slack := notifytest.NewSlack(botToken, "gpu")
	server := httptest.NewServer(slack)
	defer server.Close()
	s, out := desk(t)
	s.env = func(name string) (string, bool) { return botToken, name == slackToken }
	s.slackEndpoint, s.only = server.URL, []string{"research"}
	s.asks("-", "-", "-", "#nowhere", "#gpu")
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	says(t, out, "channel_not_found", "Slack has a first message in #gpu.", "has 11 lines")
	if posts := slack.Stored(); len(posts) != 1 || !strings.Contains(posts[0].Text+posts[0].Blocks, "guard will not release anything") {
		t.Errorf("%+v", posts)
	}
	b, err := os.ReadFile(s.file)
	if err != nil || bytes.Contains(b, []byte(botToken)) || !bytes.Contains(b, []byte(`slack: {token: {env: SLACK_BOT_TOKEN}, channel: "#gpu"`)) || !bytes.Contains(b, []byte("name: research")) {
		t.Errorf("%s\n%v", b, err)
	}
	t.Setenv(slackToken, botToken)
	if c, err := load(s.file); err != nil || c.Notify.Digest.String() != "0 9 * * *" || len(c.Notify.Escalation) != 2 {
		t.Error(c, err)
	}
}

// TestInitService: another service is offered where a variable has its address, or named
// on the command line; the address is not written, and what is wrong with it is told now.
func TestInitService(t *testing.T) {
	lab(t, nil)
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, string(b))
		if strings.HasSuffix(r.URL.Path, "/no") {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	fine, no := "generic+"+server.URL+"/"+botToken, "generic+"+server.URL+"/"+botToken+"/no"
	for _, tt := range []struct {
		name, variable, value string
		flag                  bool
		answer                string // "": nothing is asked
		want                  string // of what is said
		fails                 bool
		lines                 int
	}{
		{"asked", serviceURL, fine, false, "\n", "Tell people through generic at 127.0.0.1 (GUARD_NOTIFY_URL)?", false, 11},
		{"asked, and no", serviceURL, fine, false, "-\n", "Tell people through", false, 7},
		{"asked, and it fails", serviceURL, no, false, "yes\n", "generic answers HTTP 403", false, 7},
		{"asked, and no address", serviceURL, "https://x/" + botToken, false, "", "its scheme must name the service", false, 7},
		{"named", "OPS_URL", fine, true, "", "There is a first message through generic at 127.0.0.1.", false, 11},
		{"named, and it fails", "OPS_URL", no, true, "", "generic answers HTTP 403", true, 0},
		{"named, and not set", "", "", true, "", "--url wants the name of an environment variable", true, 0},
		{"not asked and not named", serviceURL, fine, false, "", "guard will not release anything", false, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got = nil
			s, out := desk(t)
			s.finders[0].find = func(context.Context, func(string) (string, bool)) []providers.Found {
				return []providers.Found{{Name: "lab", Source: "a test", Section: "{cloud: TestInitService}"}}
			}
			s.env = func(name string) (string, bool) { return tt.value, name != "" && name == tt.variable }
			switch {
			case tt.flag:
				s.people.variable = cmp.Or(tt.variable, "NOT_SET")
			case tt.name != "not asked and not named":
				s.asks("", "-", "-", "-")
				s.In = io.MultiReader(s.In, strings.NewReader(tt.answer))
			}
			err := s.run(t.Context())
			if text := out.String() + fmt.Sprint(err); (err != nil) != tt.fails || !strings.Contains(text, tt.want) || strings.Contains(text, botToken) {
				t.Fatalf("%v, want %q\n%s", err, tt.want, out.String())
			}
			if tt.fails {
				return
			}
			b, err := os.ReadFile(s.file)
			if err != nil || bytes.Contains(b, []byte(botToken)) || bytes.Count(b, []byte("\n")) != tt.lines {
				t.Errorf("%v\n%s", err, b)
			}
			t.Setenv(cmp.Or(tt.variable, "NOT_SET"), tt.value)
			c, err := load(s.file)
			if err != nil || len(c.Notify.URLs) != (tt.lines-7)/4 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// TestInitAccounts: what works is watched once for each account behind it, what does
// not is said, and an empty account is no mistake.
func TestInitAccounts(t *testing.T) {
	lab(t, func(s *fake.Script) { s.Resources = nil })
	second := fake.Script{Account: "b", Start: time.Now().Add(-time.Minute)}
	clouds.Store("second", fake.MustCloud(second))
	clouds.Store("shut", fake.MustCloud(fake.Script{Account: "c", Start: time.Now(), Faults: []fake.Fault{{Reply: fake.Reply{Status: 401}}}}))
	s, out := desk(t)
	s.finders = []finder{{"fake", func(context.Context, func(string) (string, bool)) []providers.Found {
		return []providers.Found{
			{Name: "lab", Source: "one", Section: "{cloud: " + quote(t.Name()) + "}"},
			{Name: "twin", Source: "two", Section: "{cloud: " + quote(t.Name()) + "}"},
			{Name: "lab", Source: "three \u001b[31m", Section: "{cloud: second}"},
			{Name: "shut", Source: "four", Section: "{cloud: shut}"},
			{Name: "budget", Source: "five", Section: "{cloud: nowhere}"},
		}
	}}}
	if err := s.run(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	says(t, out, "one: account acct-1", "two: account acct-1 again, as with one", "four: not usable", "five: not usable", "No boxes in 2 accounts")
	if strings.Contains(out.String(), "\x1b") {
		t.Error("an escape sequence came through")
	}
	c, err := load(s.file)
	if err != nil || len(c.Accounts) != 2 || c.Accounts[0].Name != "lab" || c.Accounts[1].Name != "lab-2" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCompose: whatever a path or a name is, the configuration reads it as itself.
func TestCompose(t *testing.T) {
	lab(t, nil)
	for _, odd := range []string{"plain", "with space", "quo\"te", "back\\slash", "co: lon", "#hash", "{brace}", "ünïcode-机", "true", "1e3", "~", "a:", "\ttab"} {
		s, _ := desk(t)
		s.ledger = filepath.Join("/", odd, "ledger.db")
		c, err := s.load(s.compose([]candidate{{provider: "fake", name: "lab", section: "{cloud: " + quote(odd) + "}"}}, told{}))
		if err != nil || c.Ledger.Path != s.ledger || c.Accounts[0].Section.(fakeSection).Cloud != odd {
			t.Errorf("%q: %+v, %v", odd, c, err)
		}
	}
	for in, want := range map[string]string{"/etc/guard.yaml": "/etc/guard.yaml", "/a b/c": "'/a b/c'", "it's": `'it'\''s'`} {
		if got := shell(in); got != want {
			t.Errorf("%q in a shell is %s", in, got)
		}
	}
}

// TestPatiently: a wait of less than a moment is not talked about, a longer one is.
func TestPatiently(t *testing.T) {
	for wait, told := range map[time.Duration]string{0: "", time.Second: "", 3 * time.Second: "listing …\n"} {
		synctest.Test(t, func(t *testing.T) {
			var out screen
			patiently(&out, "listing", func() { <-time.After(wait) })
			if got := out.String(); got != told {
				t.Errorf("after %s: %q", wait, got)
			}
		})
	}
}
