package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/store"
)

// onceAs makes a request whose change is made once.
func (b *bench) onceAs(who, key, path string, in any) (int, string) {
	b.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.As(api.Caller{Name: who, Role: guard.Operator, Once: key, Data: map[string]string{"slack_user": "U-" + who}}, b.h).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (b *bench) clicked() (out []guard.Clicked) {
	b.Helper()
	err := b.ledger.View(b.Context(), func(v *store.View) error {
		_, err := v.Value(guard.ClicksName, &out)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// A change under a key is made once; one that is refused is not used up, and what is
// remembered of them is bounded.
func TestOnce(t *testing.T) {
	b := leased(t)
	before := *good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Item.ExpiresAt
	if status, body := b.onceAs("bo", "k-1", "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "soon"}); status != http.StatusBadRequest || len(b.clicked()) != 0 {
		t.Errorf("%d: %s, %+v", status, body, b.clicked())
	}
	if status, body := b.onceAs("bo", "k-1", "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "1h"}); status != http.StatusOK {
		t.Fatalf("%d: %s", status, body)
	}
	for path, in := range map[string]any{"/extend": wire.ExtendRequest{ID: "lab/i-1", By: "1h"}, "/hold": wire.HoldRequest{ID: "lab/i-1"}, "/ack": wire.MuteRequest{ID: "lab/i-1"},
		"/release": wire.ReleaseRequest{IDs: []string{"lab/i-1"}}, "/register": wire.RegisterRequest{ID: "lab/i-2", TTL: "1h"}} {
		entries := b.entries()
		if status, body := b.onceAs("cy", "k-1", path, in); status != http.StatusConflict || !strings.Contains(body, "done already, by bo at 2026-03-06T18:00:00+08:00") || b.entries() != entries {
			t.Errorf("%s: %d: %s", path, status, body)
		}
	}
	after := *good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Item.ExpiresAt
	if after.Sub(before) != time.Hour {
		t.Errorf("from %s to %s", before, after)
	}
	e := good[wire.Log](b, "ana", http.MethodGet, "/log?id=lab/i-1&limit=1", nil).Entries[0]
	if e.Who != "bo" || e.Verb != "extended" || e.Data["slack_user"] != "U-bo" || e.Data["expires_at"] == "" {
		t.Errorf("%+v", e)
	}
	for i := range 600 {
		if status, body := b.onceAs("bo", fmt.Sprint("n-", i), "/snooze", wire.MuteRequest{ID: "lab/i-1", For: fmt.Sprintf("%dm", i+1)}); status != http.StatusOK {
			t.Fatalf("%d: %s", status, body)
		}
	}
	if n := b.clicked(); len(n) != 500 || n[499].Key != "n-599" {
		t.Errorf("%d are remembered", len(n))
	}
}

// Who sees to a thing says so for a day; it quiets nothing and puts nothing off.
func TestAck(t *testing.T) {
	b := leased(t)
	out := good[wire.Changed](b, "bo", http.MethodPost, "/ack", wire.MuteRequest{ID: "lab/i-1", Reason: "asking the provider"})
	if m := b.mutes(); len(m) != 1 || m[0].Kind != guard.Ack || m[0].By != "bo" || m[0].Until.Sub(b.at.Wall) != 24*time.Hour || m[0].Reason != "asking the provider" {
		t.Errorf("%+v", m)
	}
	if len(out.Item.Mutes) != 1 || out.Item.Mutes[0].Kind != "ack" || out.Limits[0].Does != "release" {
		t.Errorf("%+v", out)
	}
	if j := b.journal(); j[len(j)-1] != "bo acknowledged lab/i-1" {
		t.Errorf("%q", j)
	}
	b.bad("bo", http.MethodPost, "/ack", wire.MuteRequest{ID: "lab/i-1", Rule: "expired"}, 400, "invalid", "sees to all that is wrong")
	b.bad("bo", http.MethodPost, "/ack", wire.MuteRequest{ID: "lab/i-1", For: "8d"}, 400, "invalid", "an ack lasts at most 7 days")
	b.bad("bo", http.MethodPost, "/ack", wire.MuteRequest{ID: "lab/nope"}, 404, "not_found", "lab/nope")
}
