package daemon_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

func twoAccounts(identities ...string) (string, []fake.Script) {
	config := "mode: enforce\naccounts:\n"
	var scripts []fake.Script
	for i, id := range identities {
		name := string(rune('a' + i))
		config += "  - {name: " + name + ", provider: fake}\n"
		scripts = append(scripts, fake.Script{Account: name, Identity: id, Resources: []fake.Resource{
			{ID: "i-" + name, Rate: &fake.Rate{Amount: "2", Per: "hour"}}}})
	}
	return config, scripts
}

func TestTwinAccountsAreRefused(t *testing.T) {
	config, scripts := twoAccounts("acct-1", "acct-1")
	w := newWorld(t, "accounts:\n  - {name: a, provider: fake}\n", scripts...)
	w.config = config
	for what, err := range map[string]error{"start": w.tryBoot(), "reload": w.daemon.Reload(t.Context())} {
		if !errors.Is(err, guard.ErrConflict) || !strings.Contains(err.Error(), "accounts a and b are the same") {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.until(time.Minute)
	if got := w.daemon.Scheduler().Status(); len(got) == 0 || got[0].Name != "observe/a" || got[0].Runs == 0 {
		t.Errorf("after a refused reload the old loops run on: %+v", got)
	}
}

// Who cannot say who it is at the start is judged as soon as it answers.
func TestTwinThatAnswersLater(t *testing.T) {
	config, scripts := twoAccounts("acct-1", "acct-1")
	scripts[1].Faults = []fake.Fault{{Call: fake.CallIdentity, For: 10 * time.Minute, Reply: fake.Reply{Status: 503}}}
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "a/i-a", TTL: "10h"})
	w.until(30 * time.Minute)
	st, err := w.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range st.Accounts {
		if want := map[string]string{"a": "ok", "b": "mismatch"}[a.Name]; a.State != want {
			t.Errorf("account %s is %s, want %s", a.Name, a.State, want)
		}
	}
	if posts := w.posts("b/i-"); len(posts) > 0 {
		t.Errorf("a's boxes seen through b: %q", posts)
	}
}

func TestReloadThatDropsANeededAccountChangesNothing(t *testing.T) {
	config, scripts := twoAccounts("acct-1", "acct-2")
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "b/i-b", TTL: "2h"})
	w.config = "mode: enforce\naccounts:\n  - {name: a, provider: fake}\n"
	err := w.daemon.Reload(t.Context())
	if !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), "b/i-b") {
		t.Fatalf("the reload: %v", err)
	}
	w.config = "mode: enforce\naccounts:\n  - {name: a, provider: fak}\nmodus: 3\n"
	if err := w.daemon.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "modus") {
		t.Fatalf("a bad file: %v", err)
	}
	w.until(3 * time.Hour)
	if it := w.item("b/i-b"); it.State != "released" {
		t.Errorf("b/i-b is %s, though the reload was refused", it.State)
	}
	w.config = "mode: enforce\naccounts:\n  - {name: a, provider: fake}\n"
	if err := w.daemon.Reload(t.Context()); err != nil {
		t.Errorf("once nothing needs it any more: %v", err)
	}
}

// A restart without the account: its releases are blocked and people are told,
// and nothing is ever called released.
func TestStartWithoutANeededAccount(t *testing.T) {
	config, scripts := twoAccounts("acct-1", "acct-2")
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "b/i-b", TTL: "2h", Budget: "100USD"})
	w.config = "mode: enforce\naccounts:\n  - {name: a, provider: fake}\n"
	w.boot()
	w.until(4 * time.Hour)
	it := w.item("b/i-b")
	if it.Release != "blocked" || it.ReleaseReason != "provider_missing" {
		t.Errorf("release %s, %s", it.Release, it.ReleaseReason)
	}
	if it.Spend == nil || *it.Spend != "8.00 USD" {
		t.Errorf("the money must count on: %v", it.Spend)
	}
	st, err := w.client.Status(t.Context())
	if err != nil || len(st.Attention) == 0 {
		t.Errorf("nobody is told: %v %v", st.Attention, err)
	}
	// The account comes back, and the release goes on.
	w.config = config
	if err := w.daemon.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until(6 * time.Hour)
	if it := w.item("b/i-b"); it.State != "released" {
		t.Errorf("b/i-b is %s, release %s", it.State, it.Release)
	}
}

// From observe to enforce: everything overdue gets fresh notice first.
func TestSwitchToEnforceGivesNotice(t *testing.T) {
	w := newWorld(t, strings.Replace(enforce, "enforce", "observe", 1), box("24"))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h", Grace: "20m"})
	w.until(5 * time.Hour)
	w.config = enforce
	if err := w.daemon.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.until(5*time.Hour + 19*time.Minute)
	if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")); n > 0 {
		t.Fatalf("%d calls before the notice had time", n)
	}
	if len(w.posts("will release")) == 0 {
		t.Errorf("no fresh notice: %q", w.posts("lab/i-1"))
	}
	w.until(5*time.Hour + 25*time.Minute)
	if it := w.item("lab/i-1"); it.State != "released" {
		t.Errorf("i-1 is %s, release %s", it.State, it.Release)
	}
}

// One slip in a file must not end a night's work: a reload that takes protection
// off what is overdue is refused and names it; one that dooms nothing is not.
func TestReloadThatDoomsIsRefused(t *testing.T) {
	keep := "protect: {tags: {team: infra}}\n"
	s := box("24")
	s.Resources[0].Tags = map[string]string{"team": "infra"}
	w := newWorld(t, keep+enforce, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
	w.until(5 * time.Hour)
	w.config = enforce
	if err := w.daemon.Reload(t.Context()); !errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), "lab/i-1") {
		t.Errorf("no protection any more: %v", err)
	}
	w.until(8 * time.Hour)
	if truth := w.clouds["lab"].Truth("i-1"); truth != fake.TruthRunning {
		t.Fatalf("i-1 is %s", truth)
	}
	w.config = keep + strings.Replace(enforce, "fake}", "fake, poll: 2m}", 1)
	if err := w.daemon.Reload(t.Context()); err != nil {
		t.Errorf("a reload that dooms nothing: %v", err)
	}
}

// A weekend in the dark: what became overdue meanwhile gets fresh notice too.
func TestLongDownTimeGivesNotice(t *testing.T) {
	w := newWorld(t, enforce, box("24"))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "3h", Grace: "15m"})
	w.until(10 * time.Minute)
	w.at = w.at.Add(8 * time.Hour)
	w.boot()
	up := w.offset()
	w.until(up + 14*time.Minute)
	if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")); n > 0 {
		t.Fatalf("%d calls before the notice had time", n)
	}
	w.until(up + 20*time.Minute)
	if it := w.item("lab/i-1"); it.State != "released" {
		t.Errorf("i-1 is %s, release %s", it.State, it.Release)
	}
}
