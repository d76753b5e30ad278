package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"guard/daemon/wire"
	"guard/providers/manual"
)

// TestManualStory: a machine that only people know of is there because one registered it,
// costs what they said, is asked for at its end, and counts until somebody says that it is
// gone, whose word is the proof.
func TestManualStory(t *testing.T) {
	s := begin(t)
	s.tell("", `name: desk, provider: manual, manual: {how: "AutoDL's console, then Release"}`, factories[manual.Kind])
	for _, id := range []string{"desk/asked", "desk/early"} {
		s.register(wire.RegisterRequest{ID: id, TTL: "1h59m", Price: "3CNY/h"})
	}
	gone := func(id string) {
		t.Helper()
		out, err := s.client.Release(context.Background(), wire.ReleaseRequest{IDs: []string{id}, ConfirmGone: true})
		if err != nil || out.Results[0].Outcome != wire.OutcomeConfirmed {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	s.until(61 * time.Minute)
	gone("desk/early")
	s.until(3*time.Hour + time.Minute)
	s.is("desk/early", "gone, bills no, spent 3.00 CNY")
	s.is("desk/asked", "running, bills yes, spent 9.00 CNY") // nobody has said anything
	s.heard("desk/asked", "only a person can")
	asked := ""
	for _, m := range s.told {
		if strings.Contains(m.Title, "only a person can") {
			asked += strings.Join(m.Lines, "\n")
		}
	}
	for _, want := range []string{"AutoDL's console, then Release", "guard release desk/asked --confirm-gone"} {
		if !strings.Contains(asked, want) {
			t.Errorf("people were not told %q:\n%s", want, asked)
		}
	}
	gone("desk/asked")
	s.until(3*time.Hour + 10*time.Minute)
	s.is("desk/asked", "released, bills no, spent 9.00 CNY")
	s.heard("desk/asked", "released, with proof")
	show, err := s.client.Show(context.Background(), "desk/asked")
	if err != nil || show.Release == nil || show.Release.Proof != "confirmed by admin" {
		t.Errorf("%+v, %v", show.Release, err)
	}
	// It may be rented again under the same name.
	s.register(wire.RegisterRequest{ID: "desk/asked", TTL: "1h", Price: "3CNY/h"})
	s.until(3*time.Hour + 40*time.Minute)
	s.is("desk/asked", "running, bills yes, spent 1.50 CNY")
}
