package notifytest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"guard"
)

// Editor is what a channel is to the outbox that can replace what it has posted; package
// notify says what Edit owes.
type Editor interface {
	Edit(ctx context.Context, receipt string, m guard.Message) error
}

// edits tries a channel that is an [Editor].
func edits(t *testing.T, ctx context.Context, fresh func(t *testing.T) (Channel, Far)) {
	start := func(t *testing.T) (Channel, Editor, Far) {
		c, far := fresh(t)
		e, ok := c.(Editor)
		if !ok {
			t.Skip("this channel replaces nothing")
		}
		return c, e, far
	}
	// state is the message with another card, as an edit tells it.
	state := func(m guard.Message, owner string) guard.Message {
		m.ID, m.Edit = m.Channel+"|card|"+m.Thread, true
		m.Card = &guard.Card{Name: "trainer", Owner: owner, State: guard.StateRunning, AsOf: Start}
		return m
	}

	t.Run("takes the place of what stood there", func(t *testing.T) {
		c, e, far := start(t)
		m := Message(c.Name(), "one")
		first := m
		first.Card = &guard.Card{Name: "trainer", Owner: "before", State: guard.StateRunning, AsOf: Start}
		posted, err := c.Post(ctx, first, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"after", "after", "later"} {
			if err := e.Edit(ctx, posted.Receipt, state(m, owner)); err != nil {
				t.Fatalf("edit: %v", err)
			}
			seen := far.Seen()
			if len(seen) != 1 {
				t.Fatalf("people see %d messages, want 1: %q", len(seen), seen)
			}
			for _, want := range append([]string{m.Title, owner}, m.Lines...) {
				if !strings.Contains(seen[0], want) {
					t.Errorf("people see %q, without %q", seen[0], want)
				}
			}
			if strings.Contains(seen[0], "before") {
				t.Errorf("people still see the old state: %q", seen[0])
			}
		}
		if err := e.Edit(ctx, posted.Receipt, m); err != nil {
			t.Fatal(err)
		}
		if seen := far.Seen(); strings.Contains(seen[0], "later") {
			t.Errorf("people still see a card: %q", seen)
		}
		got, found, err := c.Find(ctx, m, "")
		if !errors.Is(err, guard.ErrUnsupported) && (err != nil || !found || got.Receipt != posted.Receipt) {
			t.Errorf("find it by the ID that it was posted with: got %+v, %t, %v, want %+v", got, found, err, posted)
		}
	})

	t.Run("what is not there", func(t *testing.T) {
		c, e, far := start(t)
		for _, receipt := range []string{"", "nothing", "|||", c.Name() + "-99"} {
			err := e.Edit(ctx, receipt, state(Message(c.Name(), "one"), "ana"))
			Kind(t, err, guard.ErrNotFound)
		}
		if seen := far.Seen(); len(seen) > 0 {
			t.Errorf("people see %q", seen)
		}
	})

	t.Run("a cancelled context edits nothing", func(t *testing.T) {
		c, e, far := start(t)
		m := Message(c.Name(), "one")
		posted, err := c.Post(ctx, m, "")
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := e.Edit(gone, posted.Receipt, state(m, "after")); err == nil || strings.Contains(far.Seen()[0], "after") {
			t.Errorf("got %v, and people see %q", err, far.Seen())
		}
	})

	for _, tt := range []struct {
		name  string
		fault Fault
		want  []error // one of them
	}{
		{"throttled", Fault{Status: 429, RetryAfter: 30 * time.Second}, []error{guard.ErrThrottled}},
		{"done but times out", Fault{TimesOut: true, Stored: true}, []error{guard.ErrUncertain}},
		{"no connection", Fault{Refused: true}, []error{guard.ErrUnavailable}},
		{"server error", Fault{Status: 500, Body: "<html>oops"}, []error{guard.ErrUncertain}},
		{"a page in place of the API", Fault{Status: 200, Body: "<html><body>Welcome to Hotel Wifi"}, []error{guard.ErrBadReply}},
		{"forbidden", Fault{Status: 403, Body: "no"}, []error{guard.ErrPermission}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, e, far := start(t)
			if far.Inject == nil {
				t.Skip("this channel cannot fail")
			}
			m := Message(c.Name(), "one")
			posted, err := c.Post(ctx, m, "")
			if err != nil {
				t.Fatal(err)
			}
			tt.fault.Times, tt.fault.Edits = 1, true
			far.Inject(tt.fault)
			err = e.Edit(ctx, posted.Receipt, state(m, "after"))
			Kind(t, err, tt.want...)
			if after, ok := guard.RetryAfter(err); ok != (tt.fault.Status == 429) || ok && after < tt.fault.RetryAfter {
				t.Errorf("%v: asks to wait %s, %t", err, after, ok)
			}
			Clean(t, err, far.Secrets...)
			if err := e.Edit(ctx, posted.Receipt, state(m, "after")); err != nil {
				t.Errorf("the next edit: %v", err)
			}
			if seen := far.Seen(); len(seen) != 1 || !strings.Contains(seen[0], "after") {
				t.Errorf("people see %q", seen)
			}
		})
	}
}
