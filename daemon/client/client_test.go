package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// socket is the path of one in a folder of the test's own; a relative one, for such paths
// are short, and where temporary folders are is the machine's affair.
func socket(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	return "guard.sock"
}

func serve(t *testing.T, path string, h http.Handler) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// dial makes a client that is in no hurry: a busy machine is no daemon that hangs.
func dial(t *testing.T, addr string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Addr: addr, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func unreachable(t *testing.T, err error, words ...string) {
	t.Helper()
	var u *client.UnreachableError
	if !errors.As(err, &u) {
		t.Fatalf("%v (%T) is not UnreachableError", err, err)
	}
	for _, w := range words {
		if !strings.Contains(u.Text, w) {
			t.Errorf("%q says nothing of %q", u.Text, w)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	path := socket(t)
	_, err := dial(t, "unix:"+path).Status(t.Context())
	unreachable(t, err, path, "no such socket", "Is guardd running", "GUARD_ADDR")

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	_, err = dial(t, "unix:"+path).Status(t.Context())
	unreachable(t, err, path, "nobody listens", "systemctl start guardd")

	// A port that is taken, and where nobody listens: one that was called from.
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	conn, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	addr := "http://" + conn.LocalAddr().String()
	_, err = dial(t, addr).Status(t.Context())
	unreachable(t, err, addr, "nobody listens", "listen:")
}

// wait is how long a silent daemon is waited for, where that is what a test is about.
const wait = 400 * time.Millisecond

// silent is a daemon that takes requests and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestHangs: a daemon that takes requests and never answers is left within the time-out,
// whatever is asked of it.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New(client.Options{Transport: silent{}, Timeout: wait})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = c.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1"})
		if took := time.Since(begin); took != wait {
			t.Errorf("waited %s", took)
		}
		unreachable(t, err, client.DefaultAddr, "hangs, or is stopped", "not known", "journalctl -u guardd")
	})
}

// TestStopped: a process that is stopped does not answer although connections to it open.
func TestStopped(t *testing.T) {
	path := socket(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the kernel accepts for it
	c, err := client.New(client.Options{Addr: "unix:" + path, Timeout: wait})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1"})
	unreachable(t, err, path, "stopped", "journalctl -u guardd")
}

// TestSlowIsNotDead: a daemon that lives and waits for a slow cloud is waited for, longer
// than a dead one.
func TestSlowIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := make(chan struct{}, 100)
		c, err := client.New(client.Options{Timeout: wait, Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/healthz") {
				probes <- struct{}{}
				answer(w, http.StatusServiceUnavailable, wire.Health{})
				return
			}
			for range 3 { // asked three times whether it lives
				select {
				case <-probes:
				case <-r.Context().Done():
				}
			}
			answer(w, http.StatusOK, wire.Registered{Outcome: "created"})
		}))})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		out, err := c.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1"})
		if took := time.Since(begin); err != nil || out.Outcome != "created" || took != wait/2+2*wait {
			t.Errorf("after %s: %+v, %v", took, out, err)
		}
	})
}

// TestAskedBeside: whether a daemon lives is asked on a connection of its own, while it
// carries out what it was asked on another. A machine may be too slow for a short wait.
func TestAskedBeside(t *testing.T) {
	path := socket(t)
	probed := make(chan struct{}, 100)
	serve(t, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/healthz") {
			probed <- struct{}{}
			answer(w, http.StatusOK, wire.Health{OK: true})
			return
		}
		select {
		case <-probed:
			answer(w, http.StatusOK, wire.Registered{Outcome: "created"})
		case <-r.Context().Done():
		}
	}))
	for wait := wait; ; wait *= 4 {
		c, err := client.New(client.Options{Addr: "unix:" + path, Timeout: wait})
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1"})
		if err == nil && out.Outcome == "created" {
			return
		}
		if wait > 20*time.Second {
			t.Fatalf("%+v, %v", out, err)
		}
	}
}

func TestNotGuard(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"HTML": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>welcome</html>")) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.invalid/", http.StatusFound)
		},
		"other JSON error": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusInternalServerError, map[string]string{"message": "x"})
		},
		"cut JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"items":[`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := socket(t)
			serve(t, path, h)
			_, err := dial(t, "unix:"+path).List(t.Context(), client.Filter{})
			var e *wire.Error
			if !errors.As(err, &e) || e.Kind != wire.KindBadReply || !strings.Contains(e.Message, path) || e.Hint == "" {
				t.Errorf("%v (%T)", err, err)
			}
		})
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	want := wire.Error{Kind: wire.KindConflict, Message: "lab/i-1 is registered already", Hint: "talk", Details: []string{"a", "b"}}
	c, err := client.New(client.Options{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusConflict, want) }))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Show(t.Context(), "lab/i-1")
	var got *wire.Error
	if !errors.As(err, &got) || got.Kind != want.Kind || got.Message != want.Message || got.Hint != want.Hint || len(got.Details) != 2 {
		t.Errorf("%+v", err)
	}
}

// TestRequests: each verb asks the path and says the query that the API expects.
func TestRequests(t *testing.T) {
	var got string
	c, err := client.New(client.Options{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.RequestURI()
		answer(w, http.StatusOK, struct{}{})
	}))})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for want, call := range map[string]func() error{
		"POST /v1/register":            func() error { _, err := c.Register(ctx, wire.RegisterRequest{}); return err },
		"POST /v1/extend":              func() error { _, err := c.Extend(ctx, wire.ExtendRequest{}); return err },
		"POST /v1/release":             func() error { _, err := c.Release(ctx, wire.ReleaseRequest{}); return err },
		"POST /v1/hold":                func() error { _, err := c.Hold(ctx, wire.HoldRequest{}); return err },
		"POST /v1/unhold":              func() error { _, err := c.Unhold(ctx, "a/b"); return err },
		"POST /v1/protect":             func() error { _, err := c.Protect(ctx, "a/b"); return err },
		"POST /v1/unprotect":           func() error { _, err := c.Unprotect(ctx, "a/b"); return err },
		"POST /v1/backup":              func() error { return c.Backup(ctx, "/x") },
		"GET /v1/show?id=a%2Fb%2Fc":    func() error { _, err := c.Show(ctx, "a/b/c"); return err },
		"GET /v1/why?id=a%2Fb":         func() error { _, err := c.Why(ctx, "a/b"); return err },
		"GET /v1/findings?closed=true": func() error { _, err := c.Findings(ctx, true); return err },
		"GET /v1/log?id=a%2Fb&limit=7": func() error { _, err := c.Log(ctx, "a/b", 7); return err },
		"GET /v1/status":               func() error { _, err := c.Status(ctx); return err },
		"GET /v1/healthz":              func() error { _, err := c.Health(ctx); return err },
		"GET /v1/resources":            func() error { _, err := c.List(ctx, client.Filter{}); return err },
		"GET /v1/resources?all=true&tag=a%3Db%3Dc": func() error {
			_, err := c.List(ctx, client.Filter{All: true, Tags: map[string]string{"a": "b=c"}})
			return err
		},
	} {
		if err := call(); err != nil || got != want {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"":                       "",
		"unix:/run/x":            "",
		"unix:///run/x":          "",
		"/run/x":                 "",
		"https://guard.lan:7070": "",
		"http://127.0.0.1:7070":  "",
		"http://[::1]:7070":      "",
		"http://localhost:7070/": "",
		"unix:":                  "names no socket",
		"http://guard.lan:7070":  "not encrypted",
		"ftp://guard.lan":        "not an address",
		"guard.lan:7070":         "not an address",
		"https://":               "not an address",
		"https://u:p@host":       "not an address",
		"https://host/path":      "not an address",
	} {
		_, err := client.New(client.Options{Addr: addr})
		var a *client.AddrError
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", addr, err)
		case want != "" && (!errors.As(err, &a) || !strings.Contains(a.Text, want)):
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
	}
}
