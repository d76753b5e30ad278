package url

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"guard"
	"guard/daemon/notify/notifytest"
)

// FuzzAnswer: whatever a service answers, the post ends with a receipt or with an error of
// a kind that the outbox knows, and nothing of the answer but a code is in it.
func FuzzAnswer(f *testing.F) {
	for _, s := range fakes {
		_, yes := s.yes(1)
		f.Add(200, []byte(yes))
		for body := range s.refusals {
			f.Add(200, []byte(body))
		}
	}
	for _, body := range []string{"", "null", "[]", "{", `{"code":"0"}`, `{"errcode":1e99}`, `{"ok":1}`, "HTTP error ", "HTTP error 4", `{"id":7}`, `{"result":{"message_id":-1},"ok":true}`, "\xff\xfe"} {
		f.Add(200, []byte(body))
		f.Add(429, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		for service, s := range fakes {
			far := &far{t: t, take: s.take, yes: s.yes, no: s.no}
			far.Inject(notifytest.Fault{Status: status, Body: string(body)})
			c, err := New(Config{Name: "x", URL: guard.NewSecret(s.address), Transport: far})
			if err != nil {
				t.Fatal(err)
			}
			posted, err := c.Post(t.Context(), notifytest.Message("x", "one"), "")
			if (err == nil) != (posted.Receipt != "") || err == nil && (status < 200 || status > 299) {
				t.Errorf("%s, %d %q: %+v, %v", service, status, body, posted, err)
			}
			if err == nil {
				continue
			}
			known := false
			for _, kind := range []error{guard.ErrThrottled, guard.ErrUncertain, guard.ErrInvalid, guard.ErrNotFound, guard.ErrPermission} {
				known = known || errors.Is(err, kind)
			}
			if text := fmt.Sprintf("%+v", err); !known || len(text) > 500 || strings.Contains(text, canary) || strings.ContainsAny(text, "\n\x00<>") {
				t.Errorf("%s, %d %q: %s", service, status, body, text)
			}
		}
	})
}

// FuzzNew: whatever stands under notify.urls, it is a channel or ErrInvalid, and neither
// shows the address.
func FuzzNew(f *testing.F) {
	for _, s := range fakes {
		f.Add(s.address)
	}
	f.Add(mailAddress)
	f.Add("alertmanager://u:" + canary + "@h:9093/x")
	f.Add("smtp://[::1]:25?from=a@b&to=\"" + canary + "\"@c")
	f.Add("%zz" + canary)
	f.Fuzz(func(t *testing.T, address string) {
		c, err := New(Config{Name: "x", URL: guard.NewSecret(address)})
		if err != nil {
			if notifytest.Kind(t, err, guard.ErrInvalid); strings.Contains(err.Error(), canary) {
				t.Errorf("%q: %v", address, err)
			}
			return
		}
		if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, canary) && !strings.Contains(c.Place(), canary) && !strings.Contains(text, "Address:\"") {
			t.Errorf("%q is printed as %s", address, text)
		}
	})
}
