package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// FuzzAnswer: whatever answers in guardd's place, only a success with a JSON
// object is one; everything else is an error of a kind and in words.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{`{"now":"2026-03-06T18:00:00+08:00","items":[]}`, `{"items":[{"id":"i-1","rate":null}]}`, `null`, `[]`, `""`, ``, `{}`, `{"items":{}}`, `{"items":[]`, `{"items":[]}{}`,
		`{"kind":"refused","error":"no"}`, `{"kind":"","error":"no"}`, `{"kind":7}`, `{"error":"no"}`, `<html>`, "\xff"} {
		for _, status := range []int{200, 204, 302, 400, 404, 500, 503} {
			f.Add(status, "application/json", []byte(body))
		}
	}
	f.Add(200, "application/json; charset=utf-8", []byte(`{}`))
	f.Add(200, "text/html", []byte(`{"items":[]}`))
	f.Add(200, "application/json; =", []byte(`{"items":[]}`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "/v1/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})
		c, err := client.New(client.Options{Transport: client.InProcess(h)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.List(t.Context(), client.Filter{})
		check(t, err, status, kind, body)
		_, err = c.Release(t.Context(), wire.ReleaseRequest{IDs: []string{"lab/i-1"}})
		check(t, err, status, kind, body)
	})
}

func check(t *testing.T, err error, status int, kind string, body []byte) {
	t.Helper()
	var said *wire.Error
	switch {
	case err == nil && (status > 299 || !json.Valid(body) || !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "application/json")):
		t.Errorf("status %d, %q and %q are a success", status, kind, body)
	case err != nil && (!errors.As(err, &said) || said.Kind == ""):
		t.Errorf("no kind: %v", err)
	case err != nil && said.Kind == wire.KindBadReply && said.Hint == "" && status < 400:
		t.Errorf("a bad reply, and no word of what to do: %v", err)
	}
}

// FuzzAddr: an address is one that is encrypted, or stays on this machine.
func FuzzAddr(f *testing.F) {
	for _, s := range []string{"", "unix:/run/guard.sock", "unix:", "/run/guard.sock", "unix:///run/x", "https://h:1", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "http://example.com", "http://localhost.example.com",
		"https://u:p@h", "https://h/?q", "ftp://h", "://", "http://127.0.0.1@evil.example", "http://0x7f000001", "https://", "HTTP://h", "http://127.0.0.1:1#x", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		_, err := client.New(client.Options{Addr: addr})
		var wrong *client.AddrError
		switch {
		case err != nil && (!errors.As(err, &wrong) || wrong.Text == ""):
			t.Errorf("%q: %v", addr, err)
		case err == nil && strings.HasPrefix(strings.ToLower(addr), "http:"):
			host := strings.TrimLeft(addr[len("http:"):], "/")
			if !strings.HasPrefix(host, "localhost") && !strings.HasPrefix(host, "127.") && !strings.HasPrefix(host, "[::1]") && !strings.HasPrefix(host, "[::ffff:127.") && !strings.HasPrefix(host, "[") {
				t.Errorf("%q is spoken to in the clear", addr)
			}
		}
	})
}
