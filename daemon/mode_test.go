package daemon_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon"
	"guard/daemon/wire"
	"guard/providers/fake"
	"guard/store"
)

const observed = "mode: observe\naccounts:\n  - {name: lab, provider: fake}\n"

// boxes are n machines that nobody has registered yet.
func boxes(n int) fake.Script {
	s := fake.Script{Account: "lab"}
	for i := range n {
		s.Resources = append(s.Resources, fake.Resource{ID: fmt.Sprintf("i-%02d", i), GPUs: 8, Rate: &fake.Rate{Amount: "2", Per: "hour"}})
	}
	return s
}

func (w *world) registerAll(n int, ttl string) {
	w.t.Helper()
	for i := range n {
		w.register(wire.RegisterRequest{ID: fmt.Sprintf("lab/i-%02d", i), TTL: ttl, Grace: "20m"})
	}
}

func refusedWith(t *testing.T, err error, parts ...string) {
	t.Helper()
	var e *wire.Error
	if !errors.As(err, &e) {
		t.Fatalf("not refused: %v", err)
	}
	text := e.Message + "\n" + strings.Join(e.Details, "\n") + "\n" + e.Hint
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the refusal does not say %q: %s", p, text)
		}
	}
}

func (w *world) mode(account string) string {
	w.t.Helper()
	st, err := w.client.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range st.Accounts {
		if a.Name == account {
			return a.Mode
		}
	}
	w.t.Fatalf("no account %s: %+v", account, st.Accounts)
	return ""
}

// OWN-05: forty are long past their expiry when somebody says enforce.
func TestEnforceByWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, observed, boxes(40))
	w.until(time.Minute)
	w.registerAll(40, "2h")
	w.until(5 * time.Hour)
	ctx := t.Context()
	_, err := w.client.Enforce(ctx, wire.ModeRequest{Account: "lab"})
	refusedWith(t, err, "40 would end", "lab/i-39", "test", "its time is up", "10.0", "--accept 40")
	_, err = w.client.Enforce(ctx, wire.ModeRequest{Account: "lab", Accept: 39})
	refusedWith(t, err, "--accept 40", "39")
	if got := w.mode("lab"); got != "observe" {
		t.Fatalf("after two refusals lab is in %s", got)
	}
	_, err = w.client.Enforce(ctx, wire.ModeRequest{Account: "lap", Accept: 40})
	refusedWith(t, err, "lap", "it has lab")
	out, err := w.client.Enforce(ctx, wire.ModeRequest{Account: "lab", Accept: 40})
	if err != nil || !out.Done || len(out.Doomed) != 40 {
		t.Fatalf("%+v, %v", out, err)
	}
	// It is kept across a restart at once after it, and everybody gets notice.
	w.boot()
	if got := w.mode("lab"); got != "enforce" {
		t.Fatalf("after a restart lab is in %s", got)
	}
	w.until(5*time.Hour + 19*time.Minute)
	if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")); n > 0 {
		t.Fatalf("%d calls before the notice had time", n)
	}
	w.until(8 * time.Hour)
	for i := range 40 {
		if it := w.item(fmt.Sprintf("lab/i-%02d", i)); it.State != "released" {
			t.Errorf("%s is %s, release %s", it.ID, it.State, it.Release)
		}
	}
}

// The brake works at once, lasts over restarts, and the configuration has the last
// word when it changes.
func TestObserveByWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(2))
	w.until(time.Minute)
	w.registerAll(2, "2h")
	w.until(time.Hour + 59*time.Minute)
	ctx := t.Context()
	if out, err := w.client.Observe(ctx, wire.ModeRequest{Account: "lab"}); err != nil || !strings.Contains(out.Text, "the configuration says enforce") {
		t.Fatalf("%+v, %v", out, err)
	}
	w.until(4 * time.Hour)
	w.boot()
	// A reload of the same mode leaves the word in force.
	w.config = strings.Replace(enforce, "fake}", "fake, poll: 2m}", 1)
	if err := w.daemon.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	w.until(6 * time.Hour)
	w.untouched("lab")
	if got := w.mode("lab"); got != "observe" {
		t.Fatalf("lab is in %s", got)
	}
	// The configuration changes to observe, and back: the word is gone.
	w.config = observed
	if err := w.daemon.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	w.config = enforce
	if err := w.daemon.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if got := w.mode("lab"); got != "enforce" {
		t.Errorf("lab is in %s: the configuration has the last word", got)
	}
	w.until(8 * time.Hour)
	if it := w.item("lab/i-00"); it.State != "released" {
		t.Errorf("i-00 is %s", it.State)
	}
	log, err := w.client.Log(ctx, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, e := range log.Entries {
		if e.Verb == "mode" && strings.Contains(e.Text, "taken back") {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("the word was taken back %d times: %+v", taken, log.Entries)
	}
}

// A brake that is let go before any loop has run gives fresh notice all the same.
func TestObserveAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(1))
	w.until(time.Hour)
	if _, err := w.client.Observe(t.Context(), wire.ModeRequest{Account: "lab"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Enforce(t.Context(), wire.ModeRequest{Account: "lab"}); err != nil {
		t.Fatal(err)
	}
	err := w.ledger.View(t.Context(), func(v *store.View) error {
		a, _, err := v.Accounts.Get("lab")
		if !a.FreshFrom.Equal(w.at.Wall) {
			t.Errorf("fresh notice from %s, want %s", a.FreshFrom, w.at.Wall)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keptBy is a configuration that spares boxes with a tag, and one that does not.
const keptBy = "protect: {tags: {team: infra}}\n"

func kept(n int) fake.Script {
	s := boxes(n)
	for i := range s.Resources {
		s.Resources[i].Tags = map[string]string{"team": "infra"}
	}
	return s
}

// OWN-11: a reload that dooms three is taken with exactly three, after notice.
func TestReloadAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keptBy+enforce, kept(3))
	w.until(time.Minute)
	w.registerAll(3, "2h")
	w.until(5 * time.Hour)
	ctx := t.Context()
	w.config = enforce
	_, err := w.client.Reload(ctx, wire.AcceptRequest{})
	refusedWith(t, err, "3 would end", "lab/i-02", "guard reload --accept 3")
	_, err = w.client.Reload(ctx, wire.AcceptRequest{Accept: 2})
	refusedWith(t, err, "--accept 2")
	if _, err := w.client.Reload(ctx, wire.AcceptRequest{Accept: 3}); err != nil {
		t.Fatal(err)
	}
	w.until(5*time.Hour + 19*time.Minute)
	if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")); n > 0 {
		t.Fatalf("%d calls before the notice had time", n)
	}
	w.until(8 * time.Hour)
	if it := w.item("lab/i-02"); it.State != "released" {
		t.Errorf("i-02 is %s, release %s %s", it.State, it.Release, it.ReleaseReason)
	}
	// A number where nothing is doomed is a mistake, too.
	_, err = w.client.Reload(ctx, wire.AcceptRequest{Accept: 1})
	refusedWith(t, err, "dooms nothing")
}

// The same slip at a restart: guard starts, gives notice and tells.
func TestRestartThatDooms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, keptBy+enforce, kept(3))
	w.until(time.Minute)
	w.registerAll(3, "2h")
	w.until(5 * time.Hour)
	w.config = enforce
	w.boot()
	w.until(5*time.Hour + 19*time.Minute)
	if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")); n > 0 {
		t.Fatalf("%d calls before the notice had time", n)
	}
	if n := len(w.posts("newly ends 3")); n != 1 {
		t.Errorf("told %d times: %q", n, w.posts(""))
	}
	w.boot() // it is in force now, and nothing is newly doomed
	w.until(8 * time.Hour)
	if n := len(w.posts("newly ends")); n != 1 {
		t.Errorf("told %d times", n)
	}
	if it := w.item("lab/i-00"); it.State != "released" {
		t.Errorf("i-00 is %s, release %s %s", it.State, it.Release, it.ReleaseReason)
	}
}

// restore puts the ledger back to a copy, as guardd restore does.
func (w *world) restore(copied *strings.Reader) {
	w.t.Helper()
	w.putBack(copied)
	l, err := store.Open(w.t.Context(), w.backend, w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := daemon.MarkRestored(w.t.Context(), l, w.at, "yesterday.db"); err != nil {
		w.t.Fatal(err)
	}
	w.boot()
}

// OWN-04: the ledger comes back from a backup, and three are overdue by what it knows.
func TestRestoredGuardWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(4))
	w.until(time.Minute)
	w.registerAll(3, "2h")
	backup := w.copied()
	w.until(time.Hour)
	for i := range 3 {
		if _, err := w.client.Extend(t.Context(), wire.ExtendRequest{ID: fmt.Sprintf("lab/i-%02d", i), By: "20h"}); err != nil {
			t.Fatal(err)
		}
	}
	w.until(5 * time.Hour)
	w.restore(backup)
	w.until(9 * time.Hour)
	w.untouched("lab")
	ctx := t.Context()
	st, err := w.client.Status(ctx)
	if err != nil || st.Accounts[0].Mode != "observe" || !strings.Contains(strings.Join(st.Attention, "\n"), "guard resume") {
		t.Errorf("status: %+v, %v", st, err)
	}
	why, err := w.client.Why(ctx, "lab/i-00")
	if err != nil || !strings.Contains(strings.Join(why.Lines, "\n"), "guard resume") {
		t.Errorf("why: %q, %v", why.Lines, err)
	}
	if n := len(w.posts("guard acts nowhere")); n != 1 {
		t.Errorf("told %d times of the pause: %q", n, w.posts(""))
	}
	_, err = w.client.Enforce(ctx, wire.ModeRequest{Account: "lab"})
	refusedWith(t, err, "guard resume")
	// What people say meanwhile is kept.
	if _, err := w.client.Extend(ctx, wire.ExtendRequest{ID: "lab/i-00", By: "20h"}); err != nil {
		t.Fatal(err)
	}
	w.boot()
	_, err = w.client.Resume(ctx, wire.AcceptRequest{Accept: 3})
	refusedWith(t, err, "guard resume --accept 2", "lab/i-01")
	if out, err := w.client.Resume(ctx, wire.AcceptRequest{Accept: 2}); err != nil || !out.Done {
		t.Fatalf("%+v, %v", out, err)
	}
	w.until(9*time.Hour + 19*time.Minute)
	w.untouched("lab")
	if n := len(w.posts("restored from")); n < 2 {
		t.Errorf("the notice does not say why: %q", w.posts("will release"))
	}
	w.until(11 * time.Hour)
	for id, want := range map[string]string{"lab/i-00": "running", "lab/i-01": "released", "lab/i-02": "released"} {
		if it := w.item(id); it.State != want {
			t.Errorf("%s is %s, want %s", id, it.State, want)
		}
	}
	if out, err := w.client.Resume(ctx, wire.AcceptRequest{}); err != nil || out.Text != "guard is not paused" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A release that was under way when the backup was made is not taken up again.
func TestRestoredIntentRests(t *testing.T) {
	t.Parallel()
	for _, state := range []guard.ReleaseState{guard.ReleaseNoticed, guard.ReleaseIntended, guard.ReleaseIssued} {
		s := boxes(1)
		s.Faults = []fake.Fault{{Call: fake.CallRelease, Reply: fake.Reply{AcceptedIgnored: true}}}
		w := newWorld(t, enforce, s)
		w.until(time.Minute)
		w.registerAll(1, "2h")
		var backup *strings.Reader
		w.stepped = func() {
			if backup == nil && w.item("lab/i-00").Release == string(state) {
				backup = w.copied()
			}
		}
		w.until(3 * time.Hour)
		w.stepped = nil
		if backup == nil {
			t.Fatalf("never saw %s", state)
		}
		w.restore(backup)
		before := len(w.clouds["lab"].CallsOf(fake.CallRelease, ""))
		w.until(8 * time.Hour)
		if n := len(w.clouds["lab"].CallsOf(fake.CallRelease, "")) - before; n > 0 {
			t.Errorf("%s: %d calls while guard was paused", state, n)
		}
	}
}

// A twin that formed while guard ran must not keep the next start from watching all
// the rest.
func TestStartWithATwinThatGuardKnows(t *testing.T) {
	t.Parallel()
	config, scripts := twoAccounts("acct-1", "acct-2")
	scripts[1].Timeline = []fake.Event{{At: time.Hour, Identity: "acct-1"}}
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "a/i-a", TTL: "3h"})
	w.register(wire.RegisterRequest{ID: "b/i-b", TTL: "3h"})
	w.until(2 * time.Hour)
	w.boot()
	w.until(5 * time.Hour)
	st, err := w.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range st.Accounts {
		if want := map[string]string{"a": "ok", "b": "mismatch"}[a.Name]; a.State != want {
			t.Errorf("account %s is %s, want %s", a.Name, a.State, want)
		}
	}
	if it := w.item("a/i-a"); it.State != "released" {
		t.Errorf("a/i-a is %s: one bad key keeps guard from its work", it.State)
	}
	w.untouched("b")
	if _, err := w.client.Observe(t.Context(), wire.ModeRequest{Account: "b"}); err != nil {
		t.Errorf("the brake: %v", err)
	}
	_, err = w.client.Enforce(t.Context(), wire.ModeRequest{Account: "b"})
	refusedWith(t, err, "credentials")
}
