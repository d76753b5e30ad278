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

// TestNotFoundIsOfOneThing: one that comes with a wait, and the list's own, say nothing of the
// things that are not asked for any more.
func TestNotFoundIsOfOneThing(t *testing.T) {
	ids := []guard.ResourceID{instanceID("a"), instanceID("b"), instanceID("c")}
	gone := &guard.RetryError{Err: guard.ErrNotFound, After: time.Second}
	got := GetEach(ids, nil, nil, func(guard.ResourceID) (guard.Resource, error) { return guard.Resource{}, gone })
	if got[0].Verdict != guard.VerdictAbsent || got[1].Verdict != guard.VerdictUnknown || got[2].Verdict != guard.VerdictUnknown {
		t.Errorf("after the first: %+v", got)
	}
	got = GetMany(ids, 2, IsInstance, func() ([]guard.Resource, error) { return nil, gone }, nil)
	for _, l := range got {
		if l.Verdict != guard.VerdictUnknown {
			t.Errorf("where the list is not found, and asks to wait: %+v", l)
		}
	}
}

// TestGetMany: few are read by ID, of more only what the list has not, and nothing after a
// list that fails as the reads would.
func TestGetMany(t *testing.T) {
	for name, c := range map[string]struct {
		ids   string
		err   error
		read  string
		found int
	}{
		"few":                {"ab", nil, "[a b]", 2},
		"few, and twice":     {"abba", nil, "[a b]", 4},
		"many":               {"abc", nil, "[c]", 3},
		"an odd list":        {"abc", guard.ErrBadReply, "[c]", 3},
		"no list":            {"abc", guard.ErrNotFound, "[c]", 3},
		"an odd list, later": {"abc", &guard.RetryError{Err: guard.ErrBadReply, After: time.Second}, "[]", 2},
		"a broken server":    {"abc", guard.ErrUnavailable, "[]", 2},
		"no permission":      {"abc", guard.ErrPermission, "[]", 2},
	} {
		var ids []guard.ResourceID
		for _, id := range c.ids {
			ids = append(ids, instanceID(string(id)))
		}
		read := []string{}
		got := GetMany(ids, 2, IsInstance, func() ([]guard.Resource, error) {
			return []guard.Resource{{ID: instanceID("a")}, {ID: instanceID("b")}}, c.err
		}, func(id guard.ResourceID) (guard.Resource, error) {
			read = append(read, id.ID)
			return guard.Resource{ID: id}, nil
		})
		found := 0
		for i, l := range got {
			switch {
			case l.ID != ids[i]:
				t.Errorf("%s: %s for %s", name, l.ID, ids[i])
			case l.Verdict == guard.VerdictFound:
				found++
			case l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, c.err):
				t.Errorf("%s: %+v", name, l)
			}
		}
		if fmt.Sprint(read) != c.read || found != c.found {
			t.Errorf("%s: read %v, want %s; %d found, want %d", name, read, c.read, found, c.found)
		}
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
