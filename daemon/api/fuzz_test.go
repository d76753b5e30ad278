package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

// verbs are the routes that change something, and the fields of their bodies.
var verbs = []struct{ path, fields string }{
	{"/register", "id purpose owner ttl until budget price tag on_limit grace no_gpu_ok allow_unprotect reassign expect name within key asked_at"},
	{"/extend", "id by until budget"},
	{"/hold", "id for until reason"},
	{"/unhold", "id"},
	{"/protect", "id"},
	{"/unprotect", "id"},
	{"/release", "id all match reason dry_run plan goes"},
	{"/backup", "to"},
	{"/veto", "id rule for until reason"},
	{"/unveto", "id rule for until"},
	{"/snooze", "id rule for until reason"},
	{"/unsnooze", "id for until"},
}

var reads = []string{"/resources", "/show", "/why", "/findings", "/log", "/status", "/healthz"}

// raw sends bytes as they are.
func (b *bench) raw(method, target string, body []byte) (int, []byte) {
	r := httptest.NewRequest(method, "/v1/", bytes.NewReader(body))
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut("/v1"+target, "?")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.As(api.Caller{Name: "ana", Role: guard.Admin}, b.h).ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		b.Errorf("content type %q", got)
	}
	return w.Code, w.Body.Bytes()
}

// entries is how much the ledger has been told.
func (b *bench) entries() int {
	b.Helper()
	n := 0
	if err := b.ledger.View(b.Context(), func(v *store.View) error {
		es, err := v.JournalSince(0, 0)
		n = len(es)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return n
}

// refused checks an answer that is not a success: the mistake is the caller's, it
// is told in words that name the field, and nothing was written.
func (b *bench) refused(status int, body []byte, fields string) {
	b.Helper()
	e := decode[wire.Error](b, body)
	if status == http.StatusInternalServerError || status < 400 || e.Kind == "" || e.Kind == wire.KindInternal || e.Message == "" {
		b.Fatalf("status %d: %s", status, body)
	}
	text := strings.ToLower(e.Message + " " + strings.Join(e.Details, " "))
	if e.Kind != wire.KindInvalid || strings.Contains(text, "account/id") || strings.Contains(text, "lab/") || strings.Contains(text, "the id in") || strings.Contains(text, "body") {
		return
	}
	for _, f := range strings.Fields(fields) {
		if strings.Contains(text, f) {
			return
		}
	}
	b.Errorf("it does not say what is wrong: %s", body)
}

// FuzzBodies: whatever is sent to a route that changes something, the answer is
// never a failure of guard's own; what is refused names its field and has written
// nothing; and the ledger is whole afterwards.
func FuzzBodies(f *testing.F) {
	for i := range verbs {
		for _, body := range []string{
			"", "null", "{}", "[]", `""`, "{", `{"id":"lab/i-1"}`, `{"id":"lab/i-1","id":"lab/i-2"}`, `{"id":7}`, `{"id":"lab"}`, `{"id":"else/i-1"}`, `{"id":"lab/` + strings.Repeat("i", 300) + `"}`, `{"ID":"lab/i-1"}`,
			`{"id":"lab/i-1","by":"1h","until":"2026-03-09 18:00"}`, `{"id":"lab/i-1","for":"9999w"}`, `{"id":"lab/i-1","budget":"+-5CNY"}`, `{"id":"lab/i-1","reason":"a\u0000b"}`, `{"to":"/x/../y"}`, `{"id":"lab/i-1"}{}`,
		} {
			f.Add(byte(i), []byte(body))
		}
	}
	for _, rest := range []string{
		`"ttl":"10h","budget":"2000CNY"`, `"ttl":"-1h"`, `"ttl":"1h","until":"2030-01-01T00:00:00Z"`, `"ttl":10`, `"ttl":null`, `"until":"0000-00-00"`, `"budget":"1e9CNY"`, `"budget":"NaN USD"`, `"budget":"40USD"`, `"budget":"0CNY"`,
		`"price":"999999999999999USD/s"`, `"price":"2USD"`, `"price":"2CNY/h","budget":"999999999999999.999999999999999999CNY"`, `"price":"0.000000000000000001CNY/month","budget":"2000CNY"`, `"tags":{"":""}`, `"tags":{"guard:keep":"x"}`, `"tags":{"a":null}`, `"tags":[]`,
		`"purpose":"\u202e"`, `"purpose":"` + strings.Repeat("x", 301) + `"`, `"owner":"a\nb"`, `"on_limit":"explode"`, `"on_limit":"stop"`, `"grace":"11y"`, `"reassign":"yes"`, `"colour":"red"`,
		`"key":"x"`, `"key":"0123456789abcdef","asked_at":"2026-03-06T10:00:00Z"`, `"asked_at":"9999-12-31T23:59:59Z"`, `"key":"0123456789abcdef","asked_at":"0001-01-01T00:00:00Z"`, `"expect":{}`, `"expect":{"name":"x","within":"-1h"}`,
	} {
		f.Add(byte(0), []byte(`{"id":"lab/i-1",`+rest+`}`))
	}
	for _, body := range []string{`{"ids":["lab/i-1","lab/i-2","lab/i-1"]}`, `{"ids":["lab/i-1","nonsense"]}`, `{"all":true}`, `{"all":true,"match":{"team":"nlp"}}`, `{"ids":[null]}`, `{"ids":["lab/v-1"],"dry_run":true}`, `{"ids":["lab/i-kept"]}`} {
		f.Add(byte(6), []byte(body))
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		verb := verbs[int(which)%len(verbs)]
		b := newBench(t)
		b.register("ana", wire.RegisterRequest{ID: "lab/i-2", TTL: "10h", Budget: "2000CNY"})
		before := b.entries()
		status, answer := b.raw(http.MethodPost, verb.path, body)
		switch {
		case status != http.StatusOK:
			b.refused(status, answer, verb.fields)
			if b.entries() != before {
				t.Errorf("refused, and written: %s", answer)
			}
		case !json.Valid(answer):
			t.Errorf("the answer is %q", answer)
		}
		if err := b.ledger.Check(t.Context()); err != nil {
			t.Error(err)
		}
		b.sane()
	})
}

// sane is that no lease has a limit that nobody could have meant.
func (b *bench) sane() {
	b.Helper()
	err := b.ledger.View(b.Context(), func(v *store.View) error {
		for l, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			far := b.at.Wall.Add(21 * 365 * 24 * time.Hour)
			if l.Owner == "" || l.Budget.IsSet() && !l.Budget.IsPositive() || !l.ExpiresAt.After(b.at.Wall) || l.ExpiresAt.After(far) || l.Grace <= 0 ||
				l.Price != (guard.Rate{}) && !l.Price.Known() || l.HeldUntil(b.at.Wall).After(far) {
				b.Errorf("lease %+v", l)
			}
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}

// FuzzQueries: whatever is asked, the answer is JSON and never a failure of
// guard's own, and asking changes nothing.
func FuzzQueries(f *testing.F) {
	for i := range reads {
		for _, q := range []string{"", "id=lab/i-1", "id=lab", "id=%", "id=%00", "id=lab/i-1&id=lab/i-2", "all=maybe", "all=true&tag=a%3Db&tag=", "tag=%3D", "limit=-1", "limit=99999999999999999999", "limit=1e3", "kind=toaster", "account=%ff", "colour=red", ";", "closed=true", "owner=" + strings.Repeat("x", 5000)} {
			f.Add(byte(i), q)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, query string) {
		path := reads[int(which)%len(reads)]
		b := newBench(t)
		before := b.entries()
		status, answer := b.raw(http.MethodGet, path+"?"+query, nil)
		if status != http.StatusOK {
			names := "id account kind owner tag all closed limit query " + query
			if values, err := url.ParseQuery(query); err == nil {
				for k := range values {
					names += " " + strings.ToLower(k)
				}
			}
			b.refused(status, answer, names)
		} else if !json.Valid(answer) {
			t.Errorf("the answer is %q", answer)
		}
		if b.entries() != before {
			t.Error("asking has written")
		}
	})
}
