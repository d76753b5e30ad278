package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"guard"
	"guard/cmd/guard/cli"
	"guard/store"
)

// registerFlags are the flags of register that take a value.
var registerFlags = []string{"purpose", "owner", "ttl", "until", "budget", "price", "tag", "on-limit", "grace"}

// FuzzFlag: whatever stands behind a flag, register ends with 0 and a lease that
// holds it, or with 2 and a sentence that names it, or is refused with 1; and what
// is printed can be shown on a terminal.
func FuzzFlag(f *testing.F) {
	for i := range registerFlags {
		for _, v := range []string{"", " ", "10h", "-1h", "0", "1w2d", "3650d1s", "2026-03-09 18:00", "2026-03-09T18:00:00+08:00", "1999-01-01T00:00:00Z", "2000CNY", "40USD", "40", "1e9CNY", "NaN CNY", "2.50CNY/h", "999999999999999CNY/s",
			"team=nlp", "=", "a=b=c", "guard:lease=x", "release", "stop", "explode", "--", "-o", "\x1b[31m", "\u202e", "a\nb", "\xff", strings.Repeat("x", 400)} {
			f.Add(byte(i), v)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, value string) {
		flag := registerFlags[int(which)%len(registerFlags)]
		d := daemonFor(t)
		status, out, errs := inside(t, d, "", "register", "lab/i-1", "--"+flag+"="+value)
		shown(t, out, errs)
		switch status {
		case cli.ExitOK:
			if l := d.leased(t); l.Owner == "" || l.Budget.IsSet() && !l.Budget.IsPositive() || !l.ExpiresAt.After(d.now().Wall) || l.Grace <= 0 ||
				flag == "budget" && !l.Budget.IsSet() || flag == "price" && !l.Price.Known() || flag == "tag" && len(l.Tags) != 1 {
				t.Errorf("--%s %q became %+v", flag, value, l)
			}
		case cli.ExitUsage:
			if said := strings.ReplaceAll(errs, "on_limit", "on-limit"); !strings.Contains(said, flag) && !strings.Contains(errs, "under") {
				t.Errorf("--%s %q: it does not say what is wrong: %s", flag, value, errs)
			}
			fallthrough
		case cli.ExitFailed:
			if out != "" || errs == "" {
				t.Errorf("--%s %q failed with %q and %q", flag, value, out, errs)
			}
			if l := d.leased(t); l.ID != "" {
				t.Errorf("--%s %q failed and became %+v", flag, value, l)
			}
		default:
			t.Errorf("--%s %q: status %d: %s", flag, value, status, errs)
		}
	})
}

// FuzzArgs: no command line makes guard panic; what fails says why, and what is
// asked for as JSON is JSON.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{
		"", "ls", "ls -o json", "ls -o xml", "ls --tag", "ls --tag =", "ls extra", "lss", "show", "show lab/i-1", "show lab/", "show lab/i-1 lab/i-2", "why lab/i-1 -o json", "why /",
		"register", "register self", "register --self lab/i-1", "register lab --expect", "register lab --expect --name x --within 1h", "register --expect", "register lab/i-1 --within 1h", "veto lab/i-1", "veto lab/i-1 expired --for 1h", "veto lab/i-1 x y", "unveto lab/i-1", "snooze lab/i-2 --until x", "unsnooze lab/i-2", "ack lab/i-2 --for 4h", "spool", "spool --drop x", "spool --deliver",
		"register lab/i-1 --ttl", "register lab/i-1 --ttl=", "register lab/i-1 --ttl 1h --ttl 2h", "register lab/i-1 --tag a=1 --tag a=2", "register -- lab/i-1", "register lab/i-1 --colour red",
		"extend lab/i-1", "extend lab/i-1 --by 1h --until x", "extend lab/i-1 --budget +", "hold lab/i-1 --for", "hold lab/i-1", "unhold lab/i-1", "protect lab/i-9", "unprotect x",
		"release", "release lab/i-1", "release --all", "release --all --match a=b --yes", "release --yes lab/i-1 lab/nonsense", "release --dry-run lab/i-1 -o json", "findings --closed", "log --limit -1", "log --limit 99999999999999999999", "log lab/i-1 -o json",
		"status", "status -o json", "version", "--help", "register --help", "help nonsense", "completion bash", "-o json", "--addr", "--addr= ls", "--output=json --output=table ls", "\x00", "ls \x1b[2J", "-", "--", "---", "-oxml",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		d := daemonFor(t)
		status, out, errs := inside(t, d, "", args...)
		switch {
		case status < cli.ExitOK || status > cli.ExitUsage: // the daemon can be reached
			t.Errorf("%q: status %d: %s", args, status, errs)
		case status == cli.ExitUsage && (out != "" || errs == ""):
			t.Errorf("%q failed with %q and %q", args, out, errs)
		case status == cli.ExitFailed && errs == "" && out == "":
			t.Errorf("%q failed without a word", args)
		}
		if len(args) > 0 && (args[0] == "ls" || args[0] == "show" || args[0] == "log" || args[0] == "status") && status == cli.ExitOK {
			shown(t, out, errs)
			if last := args[len(args)-1]; last == "json" && args[len(args)-2] == "-o" && !json.Valid([]byte(out)) {
				t.Errorf("%q printed %q", args, out)
			}
		}
	})
}

// shown checks that nothing is printed that a terminal obeys.
func shown(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if strings.ContainsFunc(s, func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}) {
			t.Errorf("a terminal obeys %q", s)
		}
	}
}

// leased is the lease of i-1; zero where there is none.
func (d *testDaemon) leased(t *testing.T) (l guard.Lease) {
	t.Helper()
	if err := d.ledger.View(t.Context(), func(v *store.View) (err error) {
		l, _, err = v.LeaseOf(d.cloud.ID(guard.Instance, "i-1").Key())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if l.ExpiresAt.After(d.now().Wall.Add(21 * 365 * 24 * time.Hour)) {
		t.Errorf("expires %s", l.ExpiresAt)
	}
	return l
}
