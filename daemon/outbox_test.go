package daemon_test

import (
	"context"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/daemon/notify/slack"
	"guard/store"
	"guard/store/memory"
)

// outbox is the notify loop over the real Slack channel and a fake Slack.
type outbox struct {
	t      *testing.T
	far    *notifytest.Slack
	ledger *store.Ledger
	loop   *notify.Loop
	at     guard.Instant
}

func newOutbox(t *testing.T) *outbox {
	o := &outbox{t: t, far: notifytest.NewSlack("xoxb-canary", "gpu-cost"), at: guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour}}
	l, err := store.Open(t.Context(), memory.New(), o.at)
	if err != nil {
		t.Fatal(err)
	}
	o.ledger = l
	o.start()
	return o
}

func (o *outbox) start() {
	c, err := slack.New(slack.Config{Token: guard.NewSecret("xoxb-canary"), Channel: "#gpu-cost", Transport: o.far})
	if err != nil {
		o.t.Fatal(err)
	}
	o.loop = notify.New(notify.Config{Ledger: o.ledger}, c)
}

func (o *outbox) queue(ms ...guard.Message) {
	for i := range ms {
		ms[i].CreatedAt = o.at.Wall
	}
	err := o.ledger.UpdateEach(o.t.Context(), len(ms), func(tx *store.Tx, i int) error { return tx.Queue(ms[i]) })
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *outbox) pass(d time.Duration) {
	for end := o.at.Add(d); ; {
		next, err := o.loop.Once(guard.WithInstant(context.Background(), o.at), o.at)
		if err != nil {
			o.t.Fatal(err)
		}
		if end.Before(next) {
			o.at = end
			return
		}
		o.at = next
	}
}

func (o *outbox) seen(want ...string) []notifytest.Post {
	o.t.Helper()
	got := o.far.Stored()
	if len(got) != len(want) {
		o.t.Fatalf("people see %d messages, want %d: %+v", len(got), len(want), got)
	}
	for i, p := range got {
		if text := html.UnescapeString(p.Blocks + p.Text); !strings.Contains(text, want[i]) {
			o.t.Errorf("message %d is %q, without %q", i, text, want[i])
		}
	}
	return got
}

func urgent(id string) guard.Message {
	m := notifytest.Message("slack", id)
	m.Urgent = true
	return m
}

// Whatever Slack does to the first post, after a restart people see it once, and
// the second one in its thread.
func TestSlackOnceAfterFaults(t *testing.T) {
	for name, f := range map[string]notifytest.Fault{
		"429":                     {Status: 429, RetryAfter: 30 * time.Second},
		"stored and 429":          {Status: 429, RetryAfter: 30 * time.Second, Stored: true},
		"delivered but times out": {TimesOut: true, Stored: true},
		"times out":               {TimesOut: true},
		"refused":                 {Refused: true},
		"500 and stored":          {Status: 500, Stored: true, Body: "<html>"},
		"half an answer, stored":  {Status: 200, Stored: true, Body: `{"ok":tr`},
		"channel_not_found":       {Error: "channel_not_found"},
		"invalid_auth":            {Error: "invalid_auth"},
		"fatal_error, stored":     {Error: "fatal_error", Stored: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOutbox(t)
			f.Times = 1
			o.far.Inject(f)
			o.queue(urgent("one"))
			o.pass(0)
			o.start() // a restart: a new channel that knows nothing, the same ledger
			o.pass(2 * time.Minute)
			second := urgent("two")
			second.Thread = urgent("one").Thread
			o.queue(second)
			o.pass(2 * time.Minute)
			got := o.seen("lab/i-one", "lab/i-two")
			if got[1].Thread != got[0].TS || !got[1].Broadcast {
				t.Errorf("the second is in thread %q, shown in the channel: %t; want %q and true", got[1].Thread, got[1].Broadcast, got[0].TS)
			}
			posts := o.far.Posts()
			if gap := posts[1].At.Sub(posts[0].At); gap < f.RetryAfter || gap < time.Second {
				t.Errorf("posted again after %s", gap)
			}
		})
	}
}

// Where the app may not read the history, the second copy says what it may be.
func TestSlackMayRepeat(t *testing.T) {
	o := newOutbox(t)
	o.far.Inject(notifytest.Fault{TimesOut: true, Stored: true, Times: 1})
	o.far.FailLookups("missing_scope")
	o.queue(urgent("one"))
	o.pass(2 * time.Minute)
	o.seen("lab/i-one", "(may repeat) lab/i-one")
}

// ALR-03 within Slack's own limits: fifty boxes are one message; three hundred
// with long names are a few, and nobody is left out.
func TestSlackDigests(t *testing.T) {
	for _, n := range []int{50, 300} {
		o := newOutbox(t)
		var ms []guard.Message
		for i := range n {
			m := notifytest.Message("slack", fmt.Sprintf("%03d", i))
			m.Rule = guard.RuleBudgetWarning
			if n > 50 {
				m.Lines = append(m.Lines, strings.Repeat("<模型>", 40))
			}
			ms = append(ms, m)
		}
		o.queue(ms...)
		o.pass(10 * time.Second)
		if n > 50 {
			o.pass(time.Minute)
		}
		posts := o.far.Stored()
		if n == 50 && len(posts) != 1 || len(posts) > 40 {
			t.Errorf("%d messages are %d posts", n, len(posts))
		}
		var all strings.Builder
		for i, p := range posts {
			all.WriteString(p.Blocks)
			if i > 0 && p.At.Sub(posts[i-1].At) < time.Second {
				t.Errorf("posts %d and %d are closer than a second", i-1, i)
			}
		}
		for _, m := range ms {
			if strings.Count(all.String(), m.Title) != 1 {
				t.Errorf("of %d: %q is told %d times", n, m.Title, strings.Count(all.String(), m.Title))
			}
		}
	}
}

// A message that Slack finds too long is posted short, and not twice.
func TestSlackTooLong(t *testing.T) {
	o := newOutbox(t)
	o.far.Inject(notifytest.Fault{Error: "msg_too_long", Times: 1})
	m := urgent("one")
	m.Lines = append(m.Lines, strings.Repeat("& so on ", 500))
	o.queue(m)
	o.pass(time.Minute)
	if p := o.seen("lab/i-one")[0]; p.Blocks != "" || len(p.Text) > 4000 {
		t.Errorf("the short form has blocks %.50q and %d bytes", p.Blocks, len(p.Text))
	}
}
