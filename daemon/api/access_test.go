package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
	"guard/store/memory"
)

// reply is what a stranger got.
type reply struct {
	status int
	header http.Header
	body   string
}

// shows sends a request from an address of the network with a token; "" shows none.
func (b *bench) shows(token, method, path, body string) reply {
	b.Helper()
	r := httptest.NewRequest(method, "/v1"+path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.7:4711"
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// denied checks that a stranger is refused in those words.
func (b *bench) denied(r reply, status int, words ...string) {
	b.Helper()
	if r.status != status {
		b.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, w := range words {
		if !strings.Contains(r.body, w) {
			b.Errorf("%q says nothing of %q", r.body, w)
		}
	}
}

func (b *bench) token(r wire.TokenRequest) wire.TokenMade {
	b.Helper()
	return good[wire.TokenMade](b, "root", http.MethodPost, "/token", r)
}

// TestToken: from its making to its end; every refusal has its own word.
func TestToken(t *testing.T) {
	b := newBench(t)
	made := b.token(wire.TokenRequest{Name: "ana", Role: "operator", TTL: "1d"})
	if !strings.HasPrefix(made.Secret, "guard_"+made.Token.ID+".") || !strings.HasPrefix(made.Token.ID, b.ledger.Deployment()[:6]+"-") || made.Token.State != wire.TokenValid {
		t.Errorf("%+v", made)
	}
	if r := b.shows(made.Secret, http.MethodGet, "/resources", ""); r.status != http.StatusOK {
		t.Errorf("%d: %s", r.status, r.body)
	}
	id, secret, _ := strings.Cut(made.Secret, ".")
	for name, c := range map[string]struct{ token, says string }{
		"none":             {"", "guardd wants a token"},
		"not a token":      {"hunter2", "not a token of guard"},
		"an empty secret":  {id + ".", "not a token of guard"},
		"a wrong secret":   {id + "." + secret[1:] + "A", "does not know this token"},
		"an unknown ID":    {"guard_" + made.Token.ID[:7] + "aaaaaaaa." + secret, "does not know this token"},
		"another guard's":  {"guard_ffffff-aaaaaaaa." + secret, "another guard's"},
		"far too long":     {id + "." + strings.Repeat("A", 1000), "not a token of guard"},
		"a name as its ID": {"guard_ana." + secret, "another guard's"},
	} {
		b.pass(time.Minute) // so many refusals in a row would be held against the address
		r := b.shows(c.token, http.MethodGet, "/resources", "")
		b.denied(r, http.StatusUnauthorized, `"kind":"token"`, c.says)
		if r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", name)
		}
	}
	// Whether an ID exists is told to nobody who has not its secret.
	wrong := b.shows(id+".AAAA", http.MethodGet, "/resources", "").body
	if unknown := b.shows("guard_"+made.Token.ID[:7]+"aaaaaaaa.AAAA", http.MethodGet, "/resources", "").body; unknown != wrong {
		t.Errorf("an ID that exists: %s\nand one that does not: %s", wrong, unknown)
	}
	b.pass(24 * time.Hour)
	b.denied(b.shows(made.Secret, http.MethodGet, "/resources", ""), http.StatusUnauthorized, "expired at 2026-03-07T18:00:00+08:00")
	again := b.token(wire.TokenRequest{Name: "ana", Role: "viewer"})
	good[wire.Tokens](b, "root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: again.Secret})
	b.denied(b.shows(again.Secret, http.MethodGet, "/resources", ""), http.StatusUnauthorized, "was revoked at", "by root")
	b.denied(b.shows(id+".AAAA", http.MethodGet, "/resources", ""), http.StatusUnauthorized, "does not know this token")
}

// TestRevokeAName: everybody of a name loses access at once; a token that has ended
// is listed for a while and then forgotten.
func TestRevokeAName(t *testing.T) {
	b := newBench(t)
	one, two := b.token(wire.TokenRequest{Name: "ana", Role: "viewer"}), b.token(wire.TokenRequest{Name: "ana", Role: "operator"})
	other := b.token(wire.TokenRequest{Name: "bo", Role: "viewer"})
	if out := good[wire.Tokens](b, "root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: "ana"}); len(out.Tokens) != 2 {
		t.Errorf("%+v", out)
	}
	for secret, want := range map[string]int{one.Secret: 401, two.Secret: 401, other.Secret: 200} {
		if r := b.shows(secret, http.MethodGet, "/resources", ""); r.status != want {
			t.Errorf("%d, want %d: %s", r.status, want, r.body)
		}
	}
	b.bad("root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: "ana"}, 409, "conflict", "has ended already")
	b.bad("root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: "cy"}, 404, "not_found", "guard token ls")
	if out := good[wire.Tokens](b, "root", http.MethodGet, "/tokens", nil); len(out.Tokens) != 3 {
		t.Errorf("%+v", out)
	}
	b.pass(91 * 24 * time.Hour)
	b.token(wire.TokenRequest{Name: "cy", Role: "viewer"})
	if out := good[wire.Tokens](b, "root", http.MethodGet, "/tokens", nil); len(out.Tokens) != 2 {
		t.Errorf("%+v", out)
	}
}

func TestTokenRefuses(t *testing.T) {
	b := newBench(t)
	for says, r := range map[string]wire.TokenRequest{
		"say whose":                         {Role: "viewer"},
		"one line":                          {Name: "a\nb", Role: "viewer"},
		"own in the journal":                {Name: "guard", Role: "viewer"},
		"none of viewer":                    {Name: "ana", Role: "root"},
		"is not ACCOUNT/ID":                 {Name: "ana", Role: "viewer", Scope: "i-1"},
		"is not a duration":                 {Name: "ana", Role: "viewer", TTL: "a while"},
		"ttl: \\\"-1h\\\" lies in the past": {Name: "ana", Role: "viewer", TTL: "-1h"},
	} {
		status, body := b.call("root", http.MethodPost, "/token", r)
		if status != http.StatusBadRequest || !strings.Contains(string(body), says) {
			t.Errorf("%+v: %d %s", r, status, body)
		}
	}
	b.bad("root", http.MethodPost, "/token", wire.TokenRequest{Name: "ana", Role: "viewer", Scope: "nowhere/i-1"}, 404, "not_found", "nowhere")
}

// TestRoles: what a role does not cover is refused by its name, and changes nothing.
func TestRoles(t *testing.T) {
	b := leased(t) // lab/i-1 is ana's
	viewer, operator := b.token(wire.TokenRequest{Name: "vic", Role: "viewer"}).Secret, b.token(wire.TokenRequest{Name: "olga", Role: "operator"}).Secret
	before := len(b.journal())
	b.denied(b.shows(viewer, http.MethodPost, "/extend", `{"id":"lab/i-1","by":"1h"}`), 403, "ana's", "needs the role operator", "Ask ana")
	b.denied(b.shows(viewer, http.MethodPost, "/hold", `{"id":"lab/i-1"}`), 403, "ana's")
	b.denied(b.shows(viewer, http.MethodPost, "/release", `{"ids":["lab/i-1"]}`), 403, "ana's")
	b.denied(b.shows(viewer, http.MethodPost, "/release", `{"ids":["lab/i-2"]}`), 403, "nobody has registered it")
	b.denied(b.shows(viewer, http.MethodPost, "/register", `{"id":"lab/i-1","reassign":true}`), 403, "ana's")
	// Who registers may release, so a viewer may not register what nobody has.
	b.denied(b.shows(viewer, http.MethodPost, "/register", `{"id":"lab/i-2","ttl":"1h"}`), 403, "nobody has registered it", `--owner`)
	for _, r := range []string{viewer, operator} {
		b.denied(b.shows(r, http.MethodPost, "/protect", `{"id":"lab/i-1"}`), 403, "needs the role admin")
		b.denied(b.shows(r, http.MethodPost, "/token", `{"name":"x","role":"viewer"}`), 403, "needs the role admin")
		b.denied(b.shows(r, http.MethodPost, "/backup", `{"to":"/x"}`), 403, "needs the role admin")
		b.denied(b.shows(r, http.MethodGet, "/tokens", ""), 403, "needs the role admin")
	}
	if now := len(b.journal()); now != before {
		t.Errorf("%d entries came into the journal: %v", now-before, b.journal())
	}
	// What is a viewer's own is theirs to change, and an operator's is everything.
	for _, c := range []struct{ who, path, body string }{
		{operator, "/register", `{"id":"lab/i-2","owner":"vic","ttl":"1h"}`},
		{viewer, "/register", `{"id":"lab/i-2","purpose":"eval"}`},
		{viewer, "/extend", `{"id":"lab/i-2","by":"1h"}`},
		{operator, "/extend", `{"id":"lab/i-2","by":"1h"}`},
		{operator, "/extend", `{"id":"lab/i-1","by":"1h"}`},
		{viewer, "/release", `{"ids":["lab/i-2"]}`},
	} {
		if r := b.shows(c.who, http.MethodPost, c.path, c.body); r.status != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.path, c.body, r.status, r.body)
		}
	}
	if l, _ := b.lease("i-2"); l.Owner != "vic" {
		t.Errorf("owner %q", l.Owner)
	}
}

// TestJournalNamesTheToken: every change says who, and by which token.
func TestJournalNamesTheToken(t *testing.T) {
	b := leased(t)
	made := b.token(wire.TokenRequest{Name: "olga", Role: "admin"})
	for path, body := range map[string]string{
		"/extend": `{"id":"lab/i-1","by":"1h"}`, "/protect": `{"id":"lab/i-1"}`, "/token": `{"name":"x","role":"viewer"}`, "/backup": `{"to":"/x"}`,
		"/register": `{"id":"lab/i-2","ttl":"1h"}`, "/snooze": `{"id":"lab/i-1"}`, "/release": `{"ids":["lab/i-2"]}`,
	} {
		seq := uint64(len(b.journal()))
		if r := b.shows(made.Secret, http.MethodPost, path, body); r.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, r.status, r.body)
		}
		err := b.ledger.View(t.Context(), func(v *store.View) error {
			entries, err := v.JournalSince(seq, 0)
			for _, e := range entries {
				if e.Who != "olga" || e.Data["token"] != made.Token.ID {
					t.Errorf("%s: %+v", path, e)
				}
			}
			if len(entries) == 0 {
				t.Errorf("%s: nothing is in the journal", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestScope: a token for one box sees that box and changes that box, whatever its
// role.
func TestScope(t *testing.T) {
	b := leased(t)
	b.put(func(tx *store.Tx) error {
		var errs []error
		for _, id := range []string{"i-1", "i-2"} {
			r := b.cloud.ID(guard.Instance, id)
			errs = append(errs, tx.Findings.Put(guard.Finding{ID: "f-" + id, Rule: guard.RuleUnregistered, Subject: r.String(), Resource: r, Title: "about " + id, Opened: b.at.Wall}))
		}
		return errors.Join(errs...)
	})
	for _, role := range guard.Roles {
		mine := b.token(wire.TokenRequest{Name: "trainer", Role: string(role), Scope: "lab/i-1"}).Secret
		if l := decode[wire.List](b, []byte(b.shows(mine, http.MethodGet, "/resources", "").body)); len(l.Items) != 1 || l.Items[0].ID != "i-1" {
			t.Errorf("%s lists %+v", role, l.Items)
		}
		if f := decode[wire.Findings](b, []byte(b.shows(mine, http.MethodGet, "/findings", "").body)); len(f.Findings) != 1 || f.Findings[0].Subject != "lab/i-1" {
			t.Errorf("%s finds %+v", role, f.Findings)
		}
		for _, e := range decode[wire.Log](b, []byte(b.shows(mine, http.MethodGet, "/log", "").body)).Entries {
			if e.Subject != "lab/i-1" {
				t.Errorf("%s reads of %+v", role, e)
			}
		}
		for _, path := range []string{"/show?id=lab/i-1", "/why?id=lab/i-1"} {
			if r := b.shows(mine, http.MethodGet, path, ""); r.status != http.StatusOK {
				t.Errorf("%s %s: %d %s", role, path, r.status, r.body)
			}
		}
		for _, path := range []string{"/show?id=lab/i-2", "/why?id=lab/i-2", "/log?id=lab/i-2", "/status", "/show?id=lab/v-1", "/tokens", "/doctor"} {
			b.denied(b.shows(mine, http.MethodGet, path, ""), 403)
		}
		for path, body := range map[string]string{
			"/register": `{"id":"lab/i-2","ttl":"1h"}`, "/extend": `{"id":"lab/i-2","by":"1h"}`, "/hold": `{"id":"lab/i-2"}`,
			"/release": `{"ids":["lab/i-1","lab/i-2"]}`, "/protect": `{"id":"lab/i-2"}`, "/token": `{"name":"x","role":"viewer"}`,
			"/backup": `{"to":"/x"}`, "/veto": `{"id":"lab/i-2"}`, "/revoke": `{"token":"trainer"}`,
		} {
			b.denied(b.shows(mine, http.MethodPost, path, body), 403)
		}
		b.denied(b.shows(mine, http.MethodPost, "/release", `{"all":true,"match":{"team":"nlp"},"dry_run":true}`), 403, "for lab/i-1 only")
		b.pass(time.Minute)
	}
	operator := b.token(wire.TokenRequest{Name: "trainer", Role: "operator", Scope: "lab/i-1"}).Secret
	for _, c := range []struct{ path, body string }{{"/extend", `{"id":"lab/i-1","by":"1h"}`}, {"/hold", `{"id":"lab/i-1","for":"1h"}`}, {"/release", `{"ids":["lab/i-1"]}`}} {
		if r := b.shows(operator, http.MethodPost, c.path, c.body); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", c.path, r.status, r.body)
		}
	}
	// What is not there is told without the names of what is.
	gone := b.token(wire.TokenRequest{Name: "trainer", Role: "viewer", Scope: "lab/i-9"}).Secret
	if r := b.shows(gone, http.MethodGet, "/show?id=lab/i-9", ""); r.status != http.StatusNotFound || strings.Contains(r.body, "i-1") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// endless is a body that fails the test if somebody reads far into it.
type endless struct {
	t          *testing.T
	read, most int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > e.most {
		e.t.Errorf("more than %d bytes were read", e.most)
		return 0, io.EOF
	}
	return len(p), nil
}

// TestHundredMegabytes: what is too large is refused without being read, told or
// not, and before it is known who sends it.
func TestHundredMegabytes(t *testing.T) {
	b := newBench(t)
	ana := b.token(wire.TokenRequest{Name: "ana", Role: "admin"}).Secret
	for length, most := range map[int64]int{100 << 20: 0, -1: 2 << 20} {
		for token, want := range map[string]int{ana: http.StatusRequestEntityTooLarge, "": http.StatusUnauthorized} {
			r := httptest.NewRequest(http.MethodPost, "/v1/register", &endless{t: t, most: most})
			r.ContentLength = length
			r.RemoteAddr = "192.0.2.7:4711"
			r.Header.Set("Content-Type", "application/json")
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			b.h.ServeHTTP(w, r)
			if w.Code != want || want == http.StatusRequestEntityTooLarge && !strings.Contains(w.Body.String(), `"kind":"invalid"`) {
				t.Errorf("length %d: %d %s", length, w.Code, w.Body)
			}
		}
	}
}

// TestTooManyRequests: each token has its own measure, and waiting helps; the
// connection's own admin has none.
func TestTooManyRequests(t *testing.T) {
	b := newBench(t)
	ana, bo := b.token(wire.TokenRequest{Name: "ana", Role: "viewer"}).Secret, b.token(wire.TokenRequest{Name: "bo", Role: "viewer"}).Secret
	var last reply
	for i := range 101 {
		if last = b.shows(ana, http.MethodGet, "/healthz", ""); i < 100 && last.status != http.StatusOK {
			t.Fatalf("request %d: %d %s", i+1, last.status, last.body)
		}
	}
	b.denied(last, http.StatusTooManyRequests, `"kind":"throttled"`, "Try again in 1 s")
	if last.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", last.header.Get("Retry-After"))
	}
	if r := b.shows(bo, http.MethodGet, "/healthz", ""); r.status != http.StatusOK {
		t.Errorf("somebody else: %d %s", r.status, r.body)
	}
	b.pass(time.Second)
	if r := b.shows(ana, http.MethodGet, "/healthz", ""); r.status != http.StatusOK {
		t.Errorf("a second later: %d %s", r.status, r.body)
	}
	for range 500 {
		if status, body := b.call("root", http.MethodGet, "/healthz", nil); status != http.StatusOK {
			t.Fatalf("an admin at the socket: %d %s", status, body)
		}
	}
}

// TestTooManyRefusals: an address that shows wrong tokens is soon answered without a
// line in the log each; a right one from there is let in.
func TestTooManyRefusals(t *testing.T) {
	b := newBench(t)
	var log bytes.Buffer
	b.o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.h = api.New(b.o)
	ana := b.token(wire.TokenRequest{Name: "ana", Role: "viewer"}).Secret
	statuses := map[int]int{}
	for i := range 200 {
		statuses[b.shows("guard_x."+strconv.Itoa(i), http.MethodGet, "/healthz", "").status]++
	}
	if statuses[401] != 10 || statuses[429] != 190 {
		t.Errorf("answers %v", statuses)
	}
	if n := strings.Count(log.String(), "api caller refused"); n != 10 {
		t.Errorf("%d lines in the log", n)
	}
	if !strings.Contains(log.String(), "from=192.0.2.7") {
		t.Errorf("log:\n%s", &log)
	}
	if r := b.shows(ana, http.MethodGet, "/healthz", ""); r.status != http.StatusOK {
		t.Errorf("a right token: %d %s", r.status, r.body)
	}
	b.pass(time.Minute)
	b.denied(b.shows("guard_x.1", http.MethodGet, "/healthz", ""), 401)
}

// TestManyAddresses: whoever has the whole Internet does not fill guardd's memory.
func TestManyAddresses(t *testing.T) {
	b := newBench(t)
	statuses := map[int]int{}
	for i := range 6000 {
		r := httptest.NewRequest(http.MethodGet, "/v1/healthz", nil)
		r.RemoteAddr = fmt.Sprintf("[2001:db8:%x::1]:1", i)
		w := httptest.NewRecorder()
		b.h.ServeHTTP(w, r)
		statuses[w.Code]++
	}
	if statuses[401] != 4096 || statuses[429] != 6000-4096 {
		t.Errorf("answers %v", statuses)
	}
	b.pass(time.Minute)
	b.denied(b.shows("", http.MethodGet, "/healthz", ""), 401)
}

// TestTokensStaySecret: a token is in the answer to its making and nowhere else: no
// log, journal, error, status or page of the ledger has it, nor what strangers try.
func TestTokensStaySecret(t *testing.T) {
	b := leased(t)
	var said bytes.Buffer
	b.o.Log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.h = api.New(b.o)
	live, ended := b.token(wire.TokenRequest{Name: "ana", Role: "admin"}), b.token(wire.TokenRequest{Name: "bo", Role: "viewer"})
	ask := func(token, method, path, body string) {
		said.WriteString(b.shows(token, method, path, body).body + "\n")
	}
	_, body := b.call("root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: ended.Secret})
	said.Write(body)
	_, body = b.call("root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: ended.Secret})
	said.Write(body)
	for _, token := range []string{live.Secret, ended.Secret, live.Secret + "x", "canary-of-a-stranger", "guard_ffffff-aaaaaaaa.canary-of-a-stranger"} {
		b.whyPanics = false
		for _, path := range []string{"/resources", "/status", "/log?limit=1000", "/tokens", "/findings", "/show?id=lab/i-1", "/nothing", "/show?id=lab/none"} {
			ask(token, http.MethodGet, path, "")
		}
		ask(token, http.MethodPost, "/extend", `{"id":"lab/i-1","by":"1h"}`)
		ask(token, http.MethodPost, "/register", `{`)
		ask(token, http.MethodGet, "/log?limit=1000", "")
		b.whyPanics = true
		ask(token, http.MethodGet, "/why?id=lab/i-1", "")
		b.pass(time.Minute)
	}
	if !strings.Contains(said.String(), "panicked") || !strings.Contains(said.String(), "extended") {
		t.Fatalf("the test did not do what it is for:\n%.2000s", &said)
	}
	if err := b.ledger.Backup(t.Context(), &said); err != nil {
		t.Fatal(err)
	}
	for _, canary := range []string{live.Secret, ended.Secret, "canary-of-a-stranger"} {
		_, secret, cut := strings.Cut(canary, ".")
		if !cut {
			secret = canary
		}
		if at := strings.Index(said.String(), secret); at >= 0 {
			t.Errorf("%s was said: …%q…", canary, said.String()[max(0, at-80):min(said.Len(), at+80)])
		}
	}
}

// FuzzToken: nothing that is shown opens anything, or breaks anything.
func FuzzToken(f *testing.F) {
	at := guard.Instant{Wall: start}
	ledger, err := store.Open(f.Context(), memory.New(), at)
	if err != nil {
		f.Fatal(err)
	}
	h := api.New(api.Options{Ledger: ledger, Now: func() guard.Instant { return at }, Location: func() *time.Location { return time.UTC },
		Health: func(guard.Instant) wire.Health { return wire.Health{OK: true} }})
	id := ledger.Deployment()[:6] + "-aaaaaaaa"
	err = ledger.Update(f.Context(), func(tx *store.Tx) error {
		return tx.Tokens.Put(guard.Token{ID: id, Hash: strings.Repeat("0", 64), Name: "ana", Role: guard.Admin})
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "Bearer", "Bearer guard_" + id + ".secret", "Bearer guard_" + id + "." + strings.Repeat("0", 64), "Basic YTpi", "bearer guard_.", "Bearer guard_-.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, shown string) {
		at = at.Add(time.Minute)
		r := httptest.NewRequest(http.MethodGet, "/v1/healthz", nil)
		r.Header["Authorization"] = []string{shown}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized || len(shown) > 40 && strings.Contains(w.Body.String(), shown) {
			t.Errorf("%q: %d %s", shown, w.Code, w.Body)
		}
	})
}

// BenchmarkToken is what a token costs a request, beside a caller whom the connection
// vouches for.
func BenchmarkToken(b *testing.B) {
	at := guard.Instant{Wall: start}
	ledger, err := store.Open(b.Context(), memory.New(), at)
	if err != nil {
		b.Fatal(err)
	}
	h := api.New(api.Options{Ledger: ledger, Now: func() guard.Instant { return at }, Location: func() *time.Location { return time.UTC },
		Health: func(guard.Instant) wire.Health { return wire.Health{OK: true} }})
	admin := api.As(api.Caller{Name: "root", Role: guard.Admin}, h)
	r := httptest.NewRequest(http.MethodPost, "/v1/token", strings.NewReader(`{"name":"ana","role":"viewer"}`))
	w := httptest.NewRecorder()
	admin.ServeHTTP(w, r)
	var made wire.TokenMade
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
		b.Fatal(err)
	}
	for name, h := range map[string]http.Handler{"connection": admin, "token": h} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				at = at.Add(time.Second) // or it would be too many requests
				r := httptest.NewRequest(http.MethodGet, "/v1/healthz", nil)
				if name == "token" {
					r.Header.Set("Authorization", "Bearer "+made.Secret)
				}
				if w := httptest.NewRecorder(); !served(h, w, r) {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

func served(h http.Handler, w *httptest.ResponseRecorder, r *http.Request) bool {
	h.ServeHTTP(w, r)
	return w.Code == http.StatusOK
}
