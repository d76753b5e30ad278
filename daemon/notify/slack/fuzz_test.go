package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// outcomes are the kinds that the drain tells apart.
var outcomes = []error{guard.ErrNotFound, guard.ErrPermission, guard.ErrConflict, guard.ErrThrottled, guard.ErrUncertain, guard.ErrUnavailable, guard.ErrInvalid, guard.ErrBadReply, guard.ErrUnsupported}

// FuzzReply: whatever answers in Slack's place, a post counts as delivered only if
// the answer says so and where to; one that cannot be read leaves its fate
// unknown; a message is missing from the history only where a history was read;
// and an error has a kind, a wait of an hour at most and nothing of the token.
func FuzzReply(f *testing.F) {
	const id = "slack|one"
	ours := `{"metadata":{"event_type":"guard_message","event_payload":{"id":"slack|one"}},"ts":"1772784000.000100"}`
	for _, body := range []string{
		`{"ok":true,"channel":"C0001","ts":"1772784000.000100","message":{"thread_ts":"1772784000.000001"}}`,
		`{"ok":true,"channel":"C0001"}`, `{"ok":true}`, `{"ok":"true"}`, `{}`, `null`, `[]`, ``, `ok`, `{"ok":true`, `{"ok":false}`, `{"ok":false,"error":""}`,
		`{"ok":true,"channel":null,"ts":1772784000.0001}`, `{"ok":true,"channel":"C|1","ts":"|"}`, `<html>` + token,
		`{"ok":false,"error":"` + token + `"}`, `{"ok":false,"error":"not_in_channel"}`, `{"ok":false,"error":"ratelimited"}`, `{"ok":false,"error":"internal_error"}`, `{"ok":false,"error":"thread_not_found"}`,
		`{"ok":true,"messages":[],"has_more":false}`, `{"ok":true,"messages":null}`, `{"ok":true,"messages":[],"has_more":true}`, `{"ok":true,"messages":{}}`,
		`{"ok":true,"messages":[` + ours + `]}`, `{"ok":true,"messages":[null,7,` + ours + `]}`,
		`{"ok":true,"messages":[` + strings.Replace(ours, `"slack|one"`, `["slack|one"]`, 1) + `]}`, `{"ok":true,"messages":[` + strings.Replace(ours, "1772784000.000100", "", 1) + `]}`,
		`{"ok":true,"messages":[],"response_metadata":{"next_cursor":"again"}}`,
	} {
		f.Add(200, "", []byte(body))
	}
	for _, after := range []string{"", "30", "0", "-5", "9223372036854775807", "99999999999999999999", "1e9", "Fri, 06 Mar 2026 08:01:30 GMT"} {
		f.Add(429, after, []byte(`{"ok":false,"error":"ratelimited"}`))
	}
	for _, status := range []int{201, 204, 302, 400, 403, 404, 408, 500, 502} {
		f.Add(status, "10", []byte(token))
	}
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		c, err := New(Config{Token: guard.NewSecret(token), Channel: "C0001", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			h := http.Header{"Content-Type": {"application/json"}, "Retry-After": {after}, "Location": {"https://elsewhere.invalid/" + token}}
			return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			OK       bool              `json:"ok"`
			Error    string            `json:"error"`
			Channel  string            `json:"channel"`
			TS       string            `json:"ts"`
			Messages []json.RawMessage `json:"messages"`
			More     bool              `json:"has_more"`
		}
		read := status == 200 && json.NewDecoder(bytes.NewReader(body)).Decode(&said) == nil
		m := notifytest.Message("slack", "one")
		m.ID = id
		posted, err := c.Post(ctxAt(t, 0), m, "")
		muted(t, err)
		switch {
		case err == nil && (!read || !said.OK || said.Channel == "" || said.TS == "" || posted.Receipt == ""):
			t.Errorf("status %d and %q are delivered as %+v", status, body, posted)
		case err != nil && status == 200 && (!read || said.OK) && !errors.Is(err, guard.ErrUncertain):
			t.Errorf("%q leaves it open what became of the post: %v", body, err)
		}
		for _, thread := range []string{"", c.receipt("C0001", "1772784000.000001")} {
			posted, found, err := c.Find(ctxAt(t, 0), m, thread)
			muted(t, err)
			switch {
			case err == nil && !found && (!read || said.Messages == nil || said.More || !said.OK && said.Error != "thread_not_found"):
				t.Errorf("status %d and %q are a history without it", status, body)
			case found && (err != nil || !bytes.Contains(body, []byte("slack|one")) && !bytes.Contains(body, []byte(`\u`)) || posted.Receipt == ""):
				t.Errorf("status %d and %q have it as %+v", status, body, posted)
			}
		}
	})
}

// muted checks an error.
func muted(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if !slices.ContainsFunc(outcomes, func(k error) bool { return errors.Is(err, k) }) {
		t.Errorf("no kind: %v", err)
	}
	if d, ok := guard.RetryAfter(err); ok != errors.Is(err, guard.ErrThrottled) || d < 0 || d > time.Hour {
		t.Errorf("a wait of %s, %t: %v", d, ok, err)
	}
	if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, token) {
		t.Errorf("leaks: %s", text)
	}
}
