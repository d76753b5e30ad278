package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
)

const key = "k0123456789abcdef"

// TestKey: a registration with a key is carried out once, whatever came after it.
func TestKey(t *testing.T) {
	b := newBench(t)
	r := wire.RegisterRequest{ID: "lab/i-1", Purpose: "lora", TTL: "10h", Key: key}
	if out := b.register("ana", r); out.Outcome != "created" {
		t.Fatalf("%+v", out)
	}
	good[wire.Changed](b, "ana", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "5h"})
	before, _ := b.lease("i-1")
	b.pass(time.Minute)
	for _, asked := range []*time.Time{nil, &start} {
		r.AskedAt = asked
		out := b.register("ana", r)
		if after, _ := b.lease("i-1"); out.Outcome != "unchanged" || !after.ExpiresAt.Equal(before.ExpiresAt) || len(out.Notes) != 1 {
			t.Errorf("a second time: %+v, and it ends at %s instead of %s", out, after.ExpiresAt, before.ExpiresAt)
		}
	}
	// What changed nothing was carried out, too.
	same := wire.RegisterRequest{ID: "lab/i-2", TTL: "1h"}
	b.register("ana", same)
	same.Purpose, same.TTL, same.Key = "", "", key+"2"
	if out := b.register("ana", same); out.Outcome != "unchanged" {
		t.Errorf("%+v", out)
	}
	if err := b.ledger.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAskedAt: what comes late counts from when it was typed, and undoes nothing.
func TestAskedAt(t *testing.T) {
	b := newBench(t)
	ago := func(d time.Duration) *time.Time { at := b.at.Wall.Add(-d); return &at }
	n := 0
	late := func(r wire.RegisterRequest, d time.Duration) wire.RegisterRequest {
		n++
		r.AskedAt, r.Key = ago(d), fmt.Sprint(key, n)
		return r
	}
	b.pass(2 * time.Hour)
	b.register("ana", late(wire.RegisterRequest{ID: "lab/i-1", TTL: "10h"}, time.Hour))
	if l, _ := b.lease("i-1"); l.ExpiresAt.Sub(b.at.Wall) != 9*time.Hour {
		t.Errorf("it ends in %s", l.ExpiresAt.Sub(b.at.Wall))
	}
	b.register("ana", late(wire.RegisterRequest{ID: "lab/i-2"}, time.Hour))
	if l, _ := b.lease("i-2"); l.ExpiresAt.Sub(b.at.Wall) != b.rules.Defaults.TTL-time.Hour {
		t.Errorf("by default it ends in %s", l.ExpiresAt.Sub(b.at.Wall))
	}
	// A second one that was typed after the first, and comes after it.
	out := b.register("ana", late(wire.RegisterRequest{ID: "lab/i-1", Purpose: "second"}, 30*time.Minute))
	if out.Outcome != "updated" {
		t.Errorf("%+v", out)
	}
	b.pass(time.Minute)
	good[wire.Changed](b, "bo", http.MethodPost, "/extend", wire.ExtendRequest{ID: "lab/i-1", By: "1h"})
	b.bad("ana", http.MethodPost, "/register", late(wire.RegisterRequest{ID: "lab/i-1", TTL: "1d"}, 5*time.Minute), 409, "conflict", "changed by bo", "after this was typed")

	for name, c := range map[string]struct {
		r      wire.RegisterRequest
		status int
		kind   string
		words  []string
	}{
		"over":       {late(wire.RegisterRequest{ID: "lab/i-kept", TTL: "10m"}, time.Hour), 403, "refused", []string{"ttl", "when it was typed"}},
		"to come":    {late(wire.RegisterRequest{ID: "lab/i-1"}, -time.Hour), 400, "invalid", []string{"still to come", "clocks"}},
		"old":        {late(wire.RegisterRequest{ID: "lab/i-1"}, 31*24*time.Hour), 403, "refused", []string{"30 days"}},
		"no key":     {wire.RegisterRequest{ID: "lab/i-1", AskedAt: ago(time.Hour)}, 400, "invalid", []string{"needs a key"}},
		"not a key":  {wire.RegisterRequest{ID: "lab/i-1", Key: "a b"}, 400, "invalid", []string{"key"}},
		"until over": {late(wire.RegisterRequest{ID: "lab/i-1", Until: start.Format(time.RFC3339)}, time.Hour), 400, "invalid", []string{"in the past"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{T: t, h: b.h}
			b.bad("ana", http.MethodPost, "/register", c.r, c.status, c.kind, c.words...)
		})
	}
}

// TestKeysAreBounded: the ledger does not grow with them.
func TestKeysAreBounded(t *testing.T) {
	b := newBench(t)
	for i := range 510 {
		b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: fmt.Sprint(i), Key: fmt.Sprintf("%s%d", key, i)})
	}
	if out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "x", Key: key + "509"}); out.Outcome != "unchanged" {
		t.Errorf("a key of late is forgotten: %+v", out)
	}
	if out := b.register("ana", wire.RegisterRequest{ID: "lab/i-1", Purpose: "y", Key: key + "0"}); out.Outcome != "updated" {
		t.Errorf("%+v", out)
	}
	if l, _ := b.lease("i-1"); l.Status != guard.LeaseActive {
		t.Errorf("%+v", l)
	}
}
