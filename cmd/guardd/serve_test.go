package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"guard/configs"
	"guard/daemon"
	"guard/daemon/client"
	"guard/daemon/wire"
)

// door is guardd's server over TLS. Each time-out that it has is set to one, so that slow
// clients need not be so slow.
func door(t *testing.T, timeout time.Duration, h http.HandlerFunc) (addr string) {
	t.Helper()
	c := &configs.Config{Ledger: configs.Ledger{Path: filepath.Join(t.TempDir(), "ledger.db")}, Listen: configs.Listen{TCP: "127.0.0.1:0"}}
	l, err := listenTCP(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(context.WithoutCancel(t.Context()), h)
	for _, d := range []*time.Duration{&s.ReadHeaderTimeout, &s.ReadTimeout, &s.WriteTimeout, &s.IdleTimeout} {
		if *d > 0 {
			*d = timeout
		}
	}
	s.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// shortened is a time-out that tests wait for, in which even a busy machine connects.
const shortened = 3 * time.Second

func knock(t *testing.T, addr string) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestSlowClients: who says nothing, or says it a byte at a time, is cut off, in
// each part of a request; meanwhile others are answered.
func TestSlowClients(t *testing.T) {
	addr := door(t, shortened, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "answered")
	})
	// drip sends text a byte at a time for as long as the other side takes it.
	drip := func(c net.Conn, text string) {
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				<-tick.C
				if _, err := c.Write([]byte{text[i%len(text)]}); err != nil {
					return
				}
			}
		}()
	}
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	slow := map[string]net.Conn{"before TLS": raw}
	for name, begin := range map[string]string{
		"without a request": "",
		"in a header":       "GET / HTTP/1.1\r\nHost: guard\r\nX-Slow: ",
		"in a body":         "POST / HTTP/1.1\r\nHost: guard\r\nContent-Length: 100000\r\n\r\n",
	} {
		c := knock(t, addr)
		if _, err := io.WriteString(c, begin); err != nil {
			t.Fatal(err)
		}
		if begin != "" {
			drip(c, "a")
		}
		slow[name] = c
	}
	quick := knock(t, addr)
	if _, err := io.WriteString(quick, "GET / HTTP/1.1\r\nHost: guard\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(bufio.NewReader(quick), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("somebody quick among them: %v", err)
	}
	for name, c := range slow {
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		// The end comes from guardd: whatever it answered, it closes.
		if _, err := io.Copy(io.Discard, c); err != nil && os.IsTimeout(err) {
			t.Errorf("slow %s: still there after a minute", name)
		}
	}
}

// TestTooManyConnections: one address does not take all the room.
func TestTooManyConnections(t *testing.T) {
	addr := door(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answered") })
	var conns []*tls.Conn
	for range 40 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, tls.Client(c, &tls.Config{InsecureSkipVerify: true}))
	}
	// Whoever is let in stays, so that it does not matter who comes first.
	var turned atomic.Int32
	var all sync.WaitGroup
	for _, c := range conns {
		all.Go(func() {
			if c.HandshakeContext(t.Context()) != nil {
				turned.Add(1)
			}
		})
	}
	all.Wait()
	if turned.Load() != 8 {
		t.Errorf("of 40 connections %d were turned away", turned.Load())
	}
}

// TestListenProblems: what stands in the way of an address is said, and no socket is
// left behind.
func TestListenProblems(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := short(t)
	file := filepath.Join(dir, "guard.yaml")
	for text, says := range map[string]string{
		"listen: [unix:guard.sock, \"tcp:" + taken.Addr().String() + "\"]":                  "another process listens on tcp:" + taken.Addr().String(),
		"listen: [unix:guard.sock, \"tcp:192.0.2.1:7070\"]":                                 "this machine has no such address",
		"listen: unix:guard.sock\nsocket_group: no-such-group":                              "there is no group",
		"listen: [unix:guard.sock, \"tcp:127.0.0.1:7070\"]\ntls: {cert: a.crt, key: a.key}": "a.crt does not exist",
	} {
		if err := os.WriteFile(file, []byte("ledger: bolt:ledger.db\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if status := run(t.Context(), &out, &out, "serve", "--config", file); status == exitRight || !strings.Contains(out.String(), says) {
			t.Errorf("%s\n%d: %s", text, status, &out)
		}
		if _, err := os.Stat(filepath.Join(dir, "guard.sock")); err == nil {
			t.Errorf("%s: a socket is left", text)
		}
	}
}

// TestCheckTellsTheFingerprint: what clients pin is told where guardd is.
func TestCheckTellsTheFingerprint(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "guard.yaml")
	if err := os.WriteFile(file, []byte("ledger: bolt:ledger.db\nlisten: [unix:guard.sock, \"tcp:127.0.0.1:7070\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(says string) {
		t.Helper()
		var out bytes.Buffer
		if status := run(t.Context(), &out, &out, "check", "--config", file); status != exitRight || !strings.Contains(out.String(), says) {
			t.Errorf("%d: %s", status, &out)
		}
	}
	check("a certificate that guardd makes at its first start")
	c := &configs.Config{Ledger: configs.Ledger{Path: filepath.Join(dir, "ledger.db")}, Listen: configs.Listen{TCP: "127.0.0.1:0"}}
	var log bytes.Buffer
	l, err := listenTCP(t.Context(), c, newLog(&log))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, rest, _ := strings.Cut(log.String(), "fingerprint=")
	fingerprint, _, _ := strings.Cut(rest, " ")
	check("GUARD_FINGERPRINT=" + fingerprint + "\n")
}

// TestServeOverTLS: the daemon from its start to its stop, with somebody at the socket
// who makes a token and somebody far away who uses it; what is secret of it is in
// neither the log nor any file.
func TestServeOverTLS(t *testing.T) {
	dir := short(t)
	log := &screen{}
	addr, stop := serveAnywhere(t, dir, log)
	local := dial(t, client.Options{Addr: "unix:" + filepath.Join(dir, "s")})
	made, err := local.CreateToken(t.Context(), wire.TokenRequest{Name: "ana", Role: "viewer"})
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, err := daemon.FingerprintOf(filepath.Join(dir, "ledger.crt"))
	if err != nil {
		t.Fatal(err)
	}
	far := client.Options{Addr: "https://" + addr, Token: made.Secret, Fingerprint: fingerprint}
	if _, err := dial(t, far).Status(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := dial(t, far).Tokens(t.Context()); err == nil || !strings.Contains(err.Error(), "needs the role admin") {
		t.Errorf("a viewer lists tokens: %v", err)
	}
	far.Token += "x"
	if _, err := dial(t, far).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "does not know this token") {
		t.Errorf("a wrong token: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(made.Secret, ".")
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the secret is in %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "api caller refused") || !strings.Contains(log.String(), fingerprint) {
		t.Errorf("log:\n%s", log.String())
	}
}

// serveAnywhere has guardd serve at the socket s in a folder and at a port that is free, and
// waits until it answers. stop ends it and gives what it ended with.
func serveAnywhere(t *testing.T, dir string, log io.Writer) (addr string, stop func() error) {
	t.Helper()
	file := filepath.Join(dir, "guard.yaml")
	local := dial(t, client.Options{Addr: "unix:" + filepath.Join(dir, "s")})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for tries := 1; ; tries++ {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = free.Addr().String()
		free.Close()
		if err := os.WriteFile(file, []byte("ledger: bolt:ledger.db\nlisten: [unix:s, \"tcp:"+addr+"\"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- serve(ctx, log, file) }()
		stop = func() error { cancel(); return <-served }
		for begun := time.Now(); err == nil; {
			if _, silent := local.Health(t.Context()); silent == nil {
				return addr, stop
			} else if time.Since(begun) > time.Minute {
				t.Fatal(silent, stop())
			}
			select {
			case err = <-served:
				cancel()
			case <-tick.C:
			}
		}
		// Somebody else may have taken the port meanwhile.
		if tries == 5 || !strings.Contains(err.Error(), "another process listens") {
			t.Fatal(err)
		}
	}
}

func dial(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBackupMayTakeLong: the answer to a backup is not cut off where others are.
func TestBackupMayTakeLong(t *testing.T) {
	addr := door(t, shortened, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(shortened + time.Second)
		fmt.Fprint(w, "answered")
	})
	asked := map[string]*tls.Conn{}
	for _, path := range []string{"/backup", "/status"} {
		asked[path] = knock(t, addr)
		if _, err := fmt.Fprintf(asked[path], "POST %s%s HTTP/1.1\r\nHost: guard\r\nContent-Length: 0\r\n\r\n", wire.Prefix, path); err != nil {
			t.Fatal(err)
		}
	}
	for path, c := range asked {
		answered := path == "/backup"
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); (err == nil && resp.StatusCode == http.StatusOK) != answered {
			t.Errorf("%s: answered %v, %v", path, !answered, err)
		}
	}
}
