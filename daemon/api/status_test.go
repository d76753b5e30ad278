package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

// TestDoctor: the doctor is given the status, and what presses stands in both.
func TestDoctor(t *testing.T) {
	b := newBench(t)
	b.put(func(tx *store.Tx) error {
		return tx.Releases.Put(guard.Release{ID: "r", Target: b.cloud.ID(guard.Instance, "i-1"), State: guard.ReleaseBlocked, Reason: guard.BlockPermission, BlockedAt: start})
	})
	out := good[wire.Diagnosis](b, "ana", http.MethodGet, "/doctor", nil)
	if len(out.Sections) != 1 || out.Sections[0].Name != "account lab" {
		t.Errorf("%+v", out)
	}
	s := b.examined
	if len(s.Pressing) != 1 || !slices.Equal(s.Pressing, s.Attention) || s.Storage == nil || s.Storage.Path == "" {
		t.Errorf("%+v", s)
	}
}

// TestStatusOfDelivery: what quiet hours hold is shown and needs nobody; what is late or
// told elsewhere does.
func TestStatusOfDelivery(t *testing.T) {
	b := newBench(t)
	at := func(d time.Duration) *time.Time { x := start.Add(d); return &x }
	b.delivery = []wire.Channel{
		{Name: "log", Undelivered: 3, Held: 3, HeldUntil: at(9 * time.Hour), Edits: 2, Dropped: 4},
		{Name: "mail", Undelivered: 5, Held: 3, HeldUntil: at(9 * time.Hour), Oldest: at(-time.Hour), Title: "one box ends"},
		{Name: "slack", Undelivered: 2, Urgent: 1, Oldest: at(-time.Hour), Title: "one box ends", Error: "token_revoked", Failing: at(-30 * time.Minute), StandIn: "pager", StandInSince: at(-20 * time.Minute)},
		{Name: "url:1", Undelivered: 1, Oldest: at(-time.Second), Title: "another", Error: "no connection", Failing: at(-30 * time.Minute), StandIn: "log", StandInSince: at(-20 * time.Minute)},
	}
	out := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
	if out.Counts.Pending != 11 || len(out.Delivery) != 4 {
		t.Fatalf("%+v", out)
	}
	if c := out.Delivery[0]; c.Overdue || c.Held != 3 || c.HeldUntil == nil || c.HeldUntil.Format(time.RFC3339) != start.Add(9*time.Hour).In(time.FixedZone("", 8*3600)).Format(time.RFC3339) || c.Edits != 2 || c.Dropped != 4 {
		t.Errorf("%+v", c)
	}
	want := []string{"2 messages to mail are not delivered, the oldest since", "slack takes nothing since", "2 messages to slack are not delivered", "url:1 takes nothing since", "1 message to url:1 is not delivered"}
	if len(out.Attention) != len(want) {
		t.Fatalf("%q", out.Attention)
	}
	for i, text := range want {
		if !strings.HasPrefix(out.Attention[i], text) {
			t.Errorf("%q, want %q …", out.Attention[i], text)
		}
	}
	if !strings.HasSuffix(out.Attention[1], "pager is told what is urgent in its place") || !strings.HasSuffix(out.Attention[3], "so only guardd's log is told") {
		t.Errorf("%q", out.Attention)
	}
}
