package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// same answers every call with one status and body.
type same struct {
	status int
	kind   string
	body   []byte
}

func (s same) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r}, nil
}

// sayings is what a lookup's answer says of one ID, read as plainly as can be.
func sayings(body []byte, kind, id string) (absent, other int) {
	var in struct {
		Results []map[string]any `json:"results"`
	}
	if json.Unmarshal(body, &in) != nil {
		return 0, 0
	}
	for _, r := range in.Results {
		if fmt.Sprint(r["kind"]) != kind || fmt.Sprint(r["id"]) != id {
			continue
		}
		if r["absent"] == true && r["resource"] == nil && r["error"] == nil {
			absent++
		} else {
			other++
		}
	}
	return absent, other
}

// FuzzReplies: whatever the cloud answers, a listing is complete only if each of
// its entries was understood, and empty only if it says so; a thing is absent only
// if the answer says that and nothing else of it; a release is accepted or it is
// an error; and no error quotes the answer.
func FuzzReplies(f *testing.F) {
	c := MustCloud(Lab())
	var records []json.RawMessage
	for _, t := range c.things {
		b, err := json.Marshal(c.report(t))
		if err != nil {
			f.Fatal(err)
		}
		records = append(records, b)
	}
	add := func(status int, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(status, "application/json", b)
	}
	add(200, map[string]any{"items": records, "currency": "CNY"})
	add(200, map[string]any{"items": records[:1], "next": "p2", "currency": "CNY"})
	add(200, map[string]any{"items": append(records[:1:1], []byte("null")), "currency": "CNY"})
	for _, fields := range oddFields {
		if b, err := json.Marshal(disguise(c.report(c.things[0]), Reply{SetFields: fields})); err == nil {
			add(200, map[string]any{"items": []json.RawMessage{b}, "currency": "USD"})
			add(200, map[string]any{"results": []any{map[string]any{"kind": "instance", "id": "i-1", "resource": json.RawMessage(b)}}})
		}
	}
	for _, body := range []string{
		`{"items":[]}`, `{"items":null}`, `{"items":{}}`, `{}`, `[]`, `null`, `""`, `{"items":[]`, `{"items":[]}x`, `{"items":[null]}`, `{"items":[[]],"next":7}`,
		`{"results":[{"kind":"instance","id":"i-1","absent":true}]}`,
		`{"results":[{"kind":"instance","id":"i-1","absent":true,"resource":{"id":"i-1"}}]}`,
		`{"results":[{"kind":"instance","id":"i-1","resource":{"id":"i-1","kind":"instance"}},{"kind":"instance","id":"i-1","absent":true}]}`,
		`{"results":[{"kind":"instance","id":"i-1","absent":true},{"kind":"instance","id":"i-1","error":{"status":503}}]}`,
		`{"results":[{"kind":"instance","id":"i-2","absent":true}]}`, `{"results":[{"absent":true}]}`, `{"results":null}`,
		`{"results":[{"kind":"instance","id":"i-1","error":{"status":200}}]}`, `{"results":[{"kind":"instance","id":"i-1","absent":"true"}]}`,
		`{"identity":"acct","kind":"strong"}`, `{"identity":null}`, `{"protected":[]}`, `{"protected":null}`, `{"protected":["everything"]}`, `{"accepted":true}`, `{"accepted":1}`,
	} {
		f.Add(200, "application/json", []byte(body))
	}
	f.Add(404, "application/json", []byte(`{"error":"`+providertest.Secret+`"}`))
	f.Add(404, "text/html", []byte(`<html>no such page</html>`))
	f.Add(429, "application/json", []byte(`{"retry_after":99999999999}`))
	f.Add(200, "text/html", []byte(`<html>sign in, `+providertest.Secret))
	f.Add(204, "", []byte{})
	f.Add(500, "application/json", []byte(`{"items":[]}`))
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, Scope: "zone-a", ID: "i-1"}
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		p, err := New(Config{Account: "lab", Scopes: []string{"zone-a"}, Token: guard.NewSecret(providertest.Secret), Next: same{status, kind, body}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		success := status < 300
		inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
		errs := []error{err}
		for _, res := range inv.Results {
			errs = append(errs, res.Err)
			if res.Err == nil {
				listed(t, success, body, res.Resources)
			}
			for _, r := range res.Resources {
				sound(t, r, id.Kind)
			}
		}
		if err == nil && len(inv.Results) != 1 {
			t.Errorf("%d results for one scope", len(inv.Results))
		}
		l := p.Get(ctx, id)[0]
		errs = append(errs, l.Err)
		absent, other := sayings(body, "instance", "i-1")
		switch {
		case l.Verdict == guard.VerdictAbsent && (!success || absent == 0 || other > 0):
			t.Errorf("status %d and %q prove that it is gone", status, body)
		case l.Verdict == guard.VerdictFound && l.Resource.ID.Key() != id.Key():
			t.Errorf("found %s", l.Resource.ID)
		case l.Verdict == guard.VerdictUnknown && l.Err == nil:
			t.Error("unknown, and nobody says why")
		}
		if l.Verdict == guard.VerdictFound {
			sound(t, l.Resource, id.Kind)
		}
		who, err := p.Identity(ctx)
		if errs = append(errs, err); err == nil && (strings.TrimSpace(who.ID) == "" || !success) {
			t.Errorf("status %d and %q name %+v", status, body, who)
		}
		_, err = p.Protection(ctx, id)
		errs = append(errs, err)
		err = p.Release(ctx, id, providers.ReleaseOptions{})
		if accepted := bytes.Contains(bytes.ToLower(body), []byte("accepted")); err == nil && !(success && accepted || status == 404 || status == 410) {
			t.Errorf("status %d and %q accept a release", status, body)
		}
		for _, err := range append(errs, err) {
			if d, ok := guard.RetryAfter(err); ok && d > time.Hour {
				t.Errorf("waits %s", d)
			}
			if err != nil && strings.Contains(fmt.Sprintf("%v %+v %q", err, err, err), providertest.Secret) {
				t.Errorf("leaks: %v", err)
			}
		}
	})
}

// listed checks a listing that counts as complete against the answer.
func listed(t *testing.T, success bool, body []byte, got []guard.Resource) {
	t.Helper()
	var in struct {
		Items []map[string]any `json:"items"`
		Next  string           `json:"next"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Items == nil || in.Next != "" || !success {
		t.Fatalf("a complete list: %q", body)
	}
	ids := map[string]bool{}
	for _, r := range got {
		ids[r.ID.ID] = true
	}
	if len(ids) != len(got) || len(got) > len(in.Items) || len(got) == 0 && len(in.Items) > 0 {
		t.Fatalf("%d things of %q", len(got), body)
	}
}

// sound checks what the ledger is going to count with.
func sound(t *testing.T, r guard.Resource, kind guard.Kind) {
	t.Helper()
	switch {
	case r.ID.ID == "" || len([]rune(r.ID.ID)) > maxID || r.ID.Account != "lab" || r.ID.Kind != kind:
		t.Errorf("ID %+v", r.ID)
	case r.GPUs < 0 || r.GPUs > maxGPUs || r.SizeGB < 0 || r.SizeGB > maxGB:
		t.Errorf("%d GPUs, %d GB", r.GPUs, r.SizeGB)
	case r.State == guard.StateUnknown && r.Bills != guard.Yes:
		t.Errorf("an unknown state bills: %s", r.Bills)
	case !r.Created.IsZero() && (r.Created.Year() < 2000 || r.Created.Year() > 2100):
		t.Errorf("created %s", r.Created)
	}
	for _, rate := range []guard.Rate{r.Rate, r.StoppedRate} {
		if rate == (guard.Rate{}) {
			continue
		}
		if h, ok := rate.Hourly(); !ok || h.Currency() == "" || h.IsNegative() || rate.Amount.IsZero() && !rate.Free {
			t.Errorf("rate %+v", rate)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// FuzzDecode: whatever bytes stand in a record, decoding ends, and what comes out
// can be counted with.
func FuzzDecode(f *testing.F) {
	c := MustCloud(Lab())
	for _, t := range c.things {
		b, err := json.Marshal(c.report(t))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "CNY")
	}
	for _, fields := range oddFields {
		if b, err := json.Marshal(disguise(c.report(c.things[0]), Reply{SetFields: fields})); err == nil {
			f.Add(b, "USD")
		}
	}
	p := c.Provider()
	f.Fuzz(func(t *testing.T, b []byte, currency string) {
		if r, ok := p.decode(field{b}, currency); ok {
			sound(t, r, r.ID.Kind)
		}
	})
}
