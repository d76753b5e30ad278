package providers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"guard"
)

func instanceID(id string) guard.ResourceID {
	return guard.ResourceID{Account: "lab", Kind: guard.Instance, Scope: "global", ID: id}
}

// TestGetEach: each thing is read once, what a listing has is not, and a wait that was asked
// for ends it all.
func TestGetEach(t *testing.T) {
	var read []string
	ids := []guard.ResourceID{instanceID("a"), instanceID("listed"), instanceID("gone"), instanceID("a"), instanceID("odd"), instanceID("busy"), instanceID("left")}
	got := GetEach(ids, []guard.Resource{{ID: instanceID("listed")}}, nil, func(id guard.ResourceID) (guard.Resource, error) {
		read = append(read, id.ID)
		switch id.ID {
		case "gone":
			return guard.Resource{}, guard.ErrNotFound
		case "odd":
			return guard.Resource{}, guard.ErrBadReply
		case "busy":
			return guard.Resource{}, guard.ErrThrottled
		}
		return guard.Resource{ID: id}, nil
	})
	if fmt.Sprint(read) != "[a gone odd busy]" {
		t.Errorf("read %v", read)
	}
	for i, want := range []guard.Verdict{guard.VerdictFound, guard.VerdictFound, guard.VerdictAbsent, guard.VerdictFound, guard.VerdictUnknown, guard.VerdictUnknown, guard.VerdictUnknown} {
		if got[i].Verdict != want || got[i].ID != ids[i] {
			t.Errorf("%s: %+v, want %s", ids[i], got[i], want)
		}
	}
	if err := got[6].Err; !errors.Is(err, guard.ErrThrottled) {
		t.Errorf("what is left: %v", err)
	}
}

func TestListScope(t *testing.T) {
	read := func(_ context.Context, kind guard.Kind) ([]guard.Resource, error) {
		switch kind {
		case guard.Instance:
			return []guard.Resource{{ID: instanceID("a")}}, nil
		case guard.Volume:
			return nil, guard.ErrThrottled
		}
		t.Errorf("%s is read after an error that ends all", kind)
		return nil, guard.ErrUnsupported
	}
	q := Query{Kinds: []guard.Kind{guard.Instance, guard.Volume, guard.Address}}
	inv := ListScope(t.Context(), q, "lab", "global", read)
	if len(inv.Results) != 3 || inv.Results[0].Err != nil || len(inv.Results[0].Resources) != 1 {
		t.Fatalf("%+v", inv)
	}
	if err := inv.Results[2].Err; !errors.Is(err, guard.ErrThrottled) || err.Error() != "list the addresses of lab: "+guard.ErrThrottled.Error() {
		t.Errorf("%v", err)
	}
	q.Scopes = []string{"elsewhere"}
	if inv := ListScope(t.Context(), q, "lab", "global", read); inv.Results != nil {
		t.Errorf("%+v", inv)
	}
}

// TestHeld: a listing answers once; what is known, or old, is read again.
func TestHeld(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var h Held
	reads := 0
	ask := func(at, since time.Time) Signals {
		q := SignalQuery{Of: []SignalsOf{{Resource: guard.Resource{ID: instanceID("a")}, Since: since}}}
		return h.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: at}), q, func(ctx context.Context) error {
			reads++
			h.Hold(Clock(ctx), map[string]guard.Sample{"a": {}})
			return nil
		})[0]
	}
	h.Hold(start, map[string]guard.Sample{"a": {}})
	for _, c := range []struct {
		after, since time.Duration
		reads        int
		interval     time.Duration
	}{
		{10 * time.Second, -time.Hour, 0, time.Minute},
		{20 * time.Second, 0, 1, 20 * time.Second},
		{2 * time.Minute, 0, 2, 100 * time.Second},
		{time.Hour, 0, 3, time.Minute},
	} {
		got := ask(start.Add(c.after), start.Add(c.since))
		if reads != c.reads || len(got.Samples) != 1 || got.Samples[0].Interval != c.interval {
			t.Errorf("after %s: %d listings, %+v", c.after, reads, got)
		}
	}
}
