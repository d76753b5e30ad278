package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// inside runs a command in this process, as a person at a terminal who types
// `typed`.
func inside(t *testing.T, d *testDaemon, typed string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	w := cli.IO{In: strings.NewReader(typed), Out: &o, Err: &e, Ask: true, Width: 80, Dial: func(string) (*client.Client, error) {
		return client.New(client.Options{Transport: client.InProcess(d.srv.Handler)})
	}}
	status = cli.Run(t.Context(), w, args...)
	return status, o.String(), e.String()
}

func daemonFor(t *testing.T) *testDaemon {
	t.Helper()
	d, err := newDaemon()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReleaseAsksAPerson(t *testing.T) {
	d := daemonFor(t)
	ordered := func() bool { return len(d.releases(t)) > 0 }
	for _, typed := range []string{"", "n\n", "no\n", "\n", "yess\n"} {
		status, out, errs := inside(t, d, typed, "release", "lab/i-1")
		if status != cli.ExitFailed || out != "" || ordered() {
			t.Fatalf("typed %q: status %d, stdout %q, ordered %v", typed, status, out, ordered())
		}
		for _, want := range []string{"lab/i-1 (trainer): would be released", "erases volume v-0 (100 GB) goes with it", "leaves volume v-1 (500 GB)", "Release 1 machine for good? [y/N]", "nothing released"} {
			if !strings.Contains(errs, want) {
				t.Errorf("typed %q: stderr %q says nothing of %q", typed, errs, want)
			}
		}
	}
	if status, out, errs := inside(t, d, "y\n", "release", "lab/i-1"); status != 0 || !ordered() {
		t.Errorf("status %d, %q %q", status, out, errs)
	}
}

func TestReleaseYesDoesNotAsk(t *testing.T) {
	d := daemonFor(t)
	if status, _, errs := inside(t, d, "", "release", "--yes", "lab/i-1"); status != 0 || strings.Contains(errs, "[y/N]") || len(d.releases(t)) != 1 {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestReleaseAskedAboutARefusalOnly(t *testing.T) {
	d := daemonFor(t)
	if status, _, errs := inside(t, d, "", "release", "lab/i-3"); status != cli.ExitFailed || strings.Contains(errs, "[y/N]") || !strings.Contains(errs, "no GPU") {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

func TestNarrowTerminalSaysWhatIsMissing(t *testing.T) {
	d := daemonFor(t)
	_, out, _ := inside(t, d, "", "ls")
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	d.acct.Mode = "observe"
	inside(t, d, "", "register", "lab/i-1", "--purpose", strings.Repeat("long ", 20), "--ttl", "1h", "--budget", "2000CNY")
	if _, _, errs := inside(t, d, "", "ls"); !strings.Contains(errs, "too narrow for:") || !strings.Contains(errs, "-o json") {
		t.Errorf("stderr %q", errs)
	}
}

// TestHelp: every verb has a short text and an example that is itself valid, and
// every ID in it is one.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	root := cli.New(cli.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	seen := 0
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			seen++
			if sub.Short == "" || sub.Example == "" {
				t.Errorf("guard %s has no short text or example", sub.Name())
			}
			for line := range strings.Lines(sub.Example) {
				args := strings.Fields(strings.Split(strings.Split(line, " | ")[0], " || ")[0])
				if len(args) < 2 || args[0] != "guard" {
					t.Errorf("example of %s: %q", sub.Name(), line)
					continue
				}
				if found, _, err := root.Find(args[1:]); err != nil || found != sub {
					t.Errorf("example of %s runs %v: %v", sub.Name(), found.Name(), err)
				}
				for _, a := range args {
					if a == "--" {
						break // what follows is another program's
					}
					if name, ok := strings.CutPrefix(a, "--"); ok && sub.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
						t.Errorf("example of %s uses --%s, which it has not", sub.Name(), name)
					}
				}
			}
		}
	}
	walk(root)
	if seen < 20 {
		t.Errorf("%d verbs", seen)
	}
}

// TestRegisterFlags pins the names that files outside the repository use.
func TestRegisterFlags(t *testing.T) {
	root := cli.New(cli.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	cmd, _, err := root.Find([]string{"register"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("purpose owner ttl until budget price tag on-limit grace no-gpu-ok allow-unprotect") {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("register has no --%s", name)
		}
	}
}

// TestExits: every kind of API error has the right status.
func TestExits(t *testing.T) {
	for kind, want := range map[string]int{
		wire.KindInvalid: 2, wire.KindCurrency: 2, wire.KindNotFound: 1, wire.KindConflict: 1, wire.KindRefused: 1, wire.KindUnavailable: 1,
		wire.KindInternal: 1, wire.KindAccount: 1, wire.KindBadReply: 1, "from the future": 1,
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
			json.NewEncoder(w).Encode(wire.Error{Kind: kind, Message: "no \x1b[31mway", Hint: "try", Details: []string{"because"}})
		})
		var o, e bytes.Buffer
		got := cli.Run(context.Background(), cli.IO{Out: &o, Err: &e, Dial: func(string) (*client.Client, error) {
			return client.New(client.Options{Transport: client.InProcess(h)})
		}}, "ls")
		if got != want || o.Len() != 0 || e.String() != "guard: no ?[31mway\n  because\ntry\n" {
			t.Errorf("%s: status %d, want %d; stderr %q", kind, got, want, e.String())
		}
	}
}

// BenchmarkLs is the whole of `guard ls` but the start of the process, over 100
// registered instances.
func BenchmarkLs(b *testing.B) {
	d, err := newDaemon()
	if err != nil {
		b.Fatal(err)
	}
	if err := d.cloud.Do(fake.Event{Create: &fake.Resource{ID: "box", Count: 100, GPUs: 8, Rate: &fake.Rate{Amount: "20", Per: "hour"}}}); err != nil {
		b.Fatal(err)
	}
	if err := d.passCommand([]string{"1m"}); err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) {
		var o, e bytes.Buffer
		w := cli.IO{Out: &o, Err: &e, Width: 120, Dial: func(string) (*client.Client, error) {
			return client.New(client.Options{Transport: client.InProcess(d.srv.Handler)})
		}}
		if status := cli.Run(b.Context(), w, args...); status != 0 {
			b.Fatal(e.String())
		}
	}
	for i := range 100 {
		run("register", fmt.Sprintf("lab/box-%03d", i+1), "--purpose", "bench", "--ttl", "10h", "--budget", "500CNY")
	}
	for b.Loop() {
		run("ls")
	}
}
