package api_test

import (
	"net/http"
	"slices"
	"testing"

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
