package cli_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/policy"
)

// TestPickAtATerminal: a person chooses, and is asked what the flags leave open.
func TestPickAtATerminal(t *testing.T) {
	d := daemonFor(t)
	status, out, errs := inside(t, d, "0\nx\n1\nlora 70b\n12\n2000CNY\n", "register", "--owner", "bo")
	l := d.leased(t)
	if status != cli.ExitOK || l.Purpose != "lora 70b" || l.Owner != "bo" || l.ExpiresAt.Sub(d.now().Wall) != 12*time.Hour || l.Budget.String() != "2000.00 CNY" {
		t.Fatalf("status %d, %+v: %s", status, l, errs)
	}
	for _, want := range []string{"1  lab/i-1", `"x" is not a number from 1 to 3`, "Hours [8h]: ", "[no cap]"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr says nothing of %q: %s", want, errs)
		}
	}
	if !strings.HasPrefix(out, "registered lab/i-1") {
		t.Errorf("stdout %q", out)
	}
}

// TestPickTakesTheDefaults: empty answers are what is shown in brackets, and what a
// flag gives is not asked for.
func TestPickTakesTheDefaults(t *testing.T) {
	d := daemonFor(t)
	status, _, errs := inside(t, d, "1\n\n\n", "register", "--purpose", "eval")
	if l := d.leased(t); status != cli.ExitOK || l.Purpose != "eval" || l.ExpiresAt.Sub(d.now().Wall) != policy.DefaultRules().Defaults.TTL || l.Budget.IsSet() {
		t.Errorf("status %d, %+v: %s", status, l, errs)
	}
	if strings.Contains(errs, "Purpose:") {
		t.Errorf("stderr %q", errs)
	}
}

func TestPickIsLeft(t *testing.T) {
	for _, typed := range []string{"", "\n", "1\n", "1\nlora\n"} {
		d := daemonFor(t)
		status, out, errs := inside(t, d, typed, "register")
		if l := d.leased(t); status != cli.ExitFailed || out != "" || !strings.Contains(errs, "nothing registered") || l.ID != "" {
			t.Errorf("typed %q: status %d, %q, %q, %+v", typed, status, out, errs, l)
		}
	}
}

// TestQuestionEndsWithASignal: whoever is asked can still leave.
func TestQuestionEndsWithASignal(t *testing.T) {
	d := daemonFor(t)
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	errs := &watched{on: "Which one?", do: cancel}
	status := cli.Run(ctx, cli.IO{In: in, Out: io.Discard, Err: errs, Ask: true, Dial: func(string) (*client.Client, error) {
		return client.New(client.Options{Transport: client.InProcess(d.srv.Handler)})
	}}, "register")
	if status != cli.ExitFailed {
		t.Errorf("status %d", status)
	}
}

// watched does something when a text is written.
type watched struct {
	strings.Builder
	on string
	do func()
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Builder.Write(b)
	if strings.Contains(w.String(), w.on) {
		w.do()
	}
	return n, err
}

// TestVetoableIsPolicys: the shell is offered the rules that a veto is for.
func TestVetoableIsPolicys(t *testing.T) {
	d := daemonFor(t)
	_, out, _ := inside(t, d, "", "__complete", "veto", "lab/i-1", "")
	for _, r := range policy.Vetoable() {
		if !slices.Contains(strings.Fields(out), string(r)) {
			t.Errorf("%s is not offered: %q", r, out)
		}
	}
}

// TestHelpFitsATerminal: no line of any help is wider than 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	d := daemonFor(t)
	for _, verb := range []string{"", "register", "ls", "show", "why", "extend", "hold", "unhold", "release", "protect", "unprotect", "veto", "unveto", "snooze", "unsnooze", "ack", "spool", "findings", "report", "log", "status", "agent", "run", "egress", "egress ls", "egress show", "egress estimate"} {
		_, out, _ := inside(t, d, "", append(strings.Fields(verb), "--help")...)
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("guard %s --help: %d columns: %s", verb, n, line)
			}
		}
	}
}
