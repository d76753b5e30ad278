package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"guard"
)

// FuzzReply: whatever comes back, a call ends with one whole JSON value or with
// an error that has a kind, quotes nothing of the reply, and asks to wait an hour
// at most. Not found is a word of the API's own, and what a write's lost or
// unreadable reply leaves open is said to be open.
func FuzzReply(f *testing.F) {
	for _, r := range []struct {
		status                  uint16
		kind, retry, date, body string
	}{
		{200, "application/json", "", "", `{"items":[],"next":null}`},
		{200, "text/html", "", "", `<!doctype html><title>` + canary + `</title>`},
		{200, "", "", "", `{"a":1}{"b":2}`},
		{200, "application/json", "", "", `null`},
		{404, "application/json", "", "", `{"error":"no such thing as ` + canary + `"}`},
		{404, "text/html", "", "", `<html>nginx`},
		{429, "", "99999999999999999999", "", `{"retry_after": -3}`},
		{429, "", "Fri, 06 Mar 2026 08:01:30 GMT", "Fri, 06 Mar 2027 08:00:00 GMT", `again in 1e400 hours`},
		{503, "", "1e9", "", `try again in 99999999999999 h`},
		{302, "", "", "", canary},
		{504, "", "", "", ``},
		{101, "", "", "", ``},
	} {
		for _, write := range []bool{false, true} {
			f.Add(r.status, r.kind, r.retry, r.date, []byte(r.body), write)
		}
	}
	f.Fuzz(func(t *testing.T, status uint16, kind, retry, date string, body []byte, write bool) {
		if status < 100 || status > 599 {
			return
		}
		api, _ := over(reply(int(status), string(body), "Content-Type", kind, "Retry-After", retry, "Date", date,
			"Location", "/"+canary, "X-Request-Id", canary))
		api.Sign = func(r *http.Request) error { r.Header.Set("Authorization", canary); return nil }
		method := http.MethodGet
		if write {
			method = http.MethodDelete
		}
		var out any
		err := api.Call(t.Context(), method, nil, nil, &out, "v1", canary)
		page := isHTML(http.Header{"Content-Type": {kind}}, body)
		success := status >= 200 && status < 300
		if err == nil {
			if !success || page || !json.Valid(body) || bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
				t.Fatalf("status %d and %q are a success", status, body)
			}
			return
		}
		if !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }) {
			t.Errorf("no kind: %v", err)
		}
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, canary) {
			t.Errorf("leaks: %s", text)
		}
		if d, ok := guard.RetryAfter(err); ok && d > time.Hour {
			t.Errorf("waits %s", d)
		}
		if errors.Is(err, guard.ErrNotFound) && (status != 404 && status != 410 || page) {
			t.Errorf("status %d and %q say that there is no such thing", status, body)
		}
		if open := errors.Is(err, guard.ErrUncertain); !write && open || write && success && !open {
			t.Errorf("write %t: %v", write, err)
		}
	})
}

// FuzzRedact: a known secret is gone from whatever text it stood in, its error
// keeps its kind, and the text is fit to be shown.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{
		"", "Authorization: Bearer %", `{"api_key":"%"}`, "https://user:%@host/%?x=%#%", "a%b%%", "%://%", "\x00%\xff\u202e%", "token=%;", strings.Repeat("x%", 300), strings.Repeat("token=x ", 1<<11) + "%", "key % is not \"%",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "%", canary)
		err := Redact(fmt.Errorf("%w: %s", guard.ErrPermission, text), guard.NewSecret(canary))
		if s := err.Error(); strings.Contains(s, canary) || !utf8.ValidString(s) || utf8.RuneCountInString(s) > 500 || strings.ContainsAny(s, "\x00\n\u202e") {
			t.Errorf("%q became %q", text, s)
		}
		if !errors.Is(err, guard.ErrPermission) {
			t.Errorf("%q has lost its kind", text)
		}
	})
}

// FuzzHint: a wait is above zero and at most an hour, or there is none.
func FuzzHint(f *testing.F) {
	f.Add("30", "", `{"retry_after": 30}`)
	f.Add("Fri, 06 Mar 2026 08:01:30 GMT", "Fri, 06 Mar 2026 08:00:00 GMT", "retry in 1e9 hours")
	f.Add("1.7e308", "", `again in 9999999999999999999999999999999 h`)
	f.Add("-1", "", `{"retryDelay": "0.000000000000000001ms"}`)
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "")
	f.Add("Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "")
	f.Add("99999999999999999999.", "", "")
	f.Fuzz(func(t *testing.T, after, date, body string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			resp := &http.Response{Header: http.Header{name: {after}, "Date": {date}}}
			d, ok := Hint(resp, []byte(body))
			if ok != (d > 0) || d > time.Hour {
				t.Errorf("wait %s, %t", d, ok)
			}
		}
	})
}

// FuzzText: text from outside is valid, short, and has nothing that a terminal obeys.
func FuzzText(f *testing.F) {
	f.Add("日本\xff語", 3)
	f.Add(strings.Repeat("\U0001f5a5", 300), 256)
	f.Add("\x1b[31m\u202eexe.gnp\u2069\x00", 20)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 1000 {
			return
		}
		if out := Text(s, most); !utf8.ValidString(out) || utf8.RuneCountInString(out) > most || strings.ContainsAny(out, "\x00\x1b\n\r\u202e\u2069") {
			t.Errorf("Text(%q, %d) = %q", s, most, out)
		}
	})
}
