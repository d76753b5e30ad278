// Package notifytest is the conformance suite of guard's channels, and what
// tests of the outbox need: a fake Slack with faults, and a channel in memory.
package notifytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"guard"
)

// Channel is what a channel is to the outbox; package notify says what its
// methods owe.
type Channel interface {
	Name() string
	Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error)
	Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error)
}

// Far is the other end of a channel under test.
type Far struct {
	// Seen is what people read, one string a message, oldest first, with the
	// channel's escapes undone.
	Seen func() []string
	// Inject makes posts fail; nil where the channel cannot fail.
	Inject func(Fault)
	// Secrets must not be in any error.
	Secrets []string
	// Mute: its answers have no form. Any success is a yes, but for a page of HTML and
	// half a JSON value.
	Mute bool
	// Once: posting a message again changes nothing, so that there is no looking for it.
	Once bool
}

// Start is the wall time at which the suite begins.
var Start = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// Run tries a channel. fresh makes one that nothing was posted to, and its far end.
func Run(t *testing.T, fresh func(t *testing.T) (Channel, Far)) {
	ctx := func(t *testing.T) context.Context {
		return guard.WithInstant(t.Context(), guard.Instant{Wall: Start, Elapsed: time.Hour})
	}
	post := func(t *testing.T, c Channel, m guard.Message, thread string) guard.Posted {
		t.Helper()
		posted, err := c.Post(ctx(t), m, thread)
		if err != nil {
			t.Fatalf("post %q: %v", m.ID, err)
		}
		if posted.Receipt == "" {
			t.Fatalf("post %q: acknowledged without a receipt", m.ID)
		}
		return posted
	}

	t.Run("all of it arrives", func(t *testing.T) {
		c, far := fresh(t)
		if name := c.Name(); name == "" || name != c.Name() {
			t.Error("a channel needs a name that stays")
		}
		m := Message(c.Name(), "one")
		first := post(t, c, m, "")
		second := post(t, c, Message(c.Name(), "two"), first.Thread)
		if first.Receipt == second.Receipt {
			t.Errorf("two messages have one receipt, %q", first.Receipt)
		}
		seen := far.Seen()
		if len(seen) != 2 {
			t.Fatalf("people see %d messages, want 2: %q", len(seen), seen)
		}
		for _, want := range append([]string{m.Title}, m.Lines...) {
			if !strings.Contains(seen[0], want) {
				t.Errorf("people see %q, without %q", seen[0], want)
			}
		}
	})

	t.Run("finds its own posts", func(t *testing.T) {
		c, far := fresh(t)
		m, reply := Message(c.Name(), "one"), Message(c.Name(), "two")
		if far.Once {
			post(t, c, m, "")
			post(t, c, m, "")
			if n := len(far.Seen()); n != 1 {
				t.Errorf("posted twice, and people see %d", n)
			}
			return
		}
		if _, found, err := c.Find(ctx(t), m, ""); found {
			t.Error("found what was never posted")
		} else if errors.Is(err, guard.ErrUnsupported) {
			t.Skip("this channel has no history to look at")
		}
		root := post(t, c, m, "")
		answer := post(t, c, reply, root.Thread)
		for _, thread := range []string{"", root.Thread} {
			if got, found, err := c.Find(ctx(t), m, thread); err != nil || !found || got.Receipt != root.Receipt {
				t.Errorf("find in thread %q: got %+v, %t, %v, want %+v", thread, got, found, err, root)
			}
		}
		if got, found, err := c.Find(ctx(t), reply, root.Thread); err != nil || !found || got.Receipt != answer.Receipt {
			t.Errorf("find the reply: got %+v, %t, %v, want %+v", got, found, err, answer)
		}
		if _, found, err := c.Find(ctx(t), Message(c.Name(), "three"), root.Thread); err != nil || found {
			t.Errorf("find what is not there: %t, %v, want false and no error", found, err)
		}
	})

	t.Run("text from outside", func(t *testing.T) {
		c, far := fresh(t)
		for i, m := range hostile(c.Name()) {
			post(t, c, m, "")
			seen := far.Seen()
			last := seen[len(seen)-1]
			if len(seen) != i+1 || !utf8.ValidString(last) || strings.TrimSpace(last) == "" {
				t.Errorf("%s: people see %d messages, the last %.200q", m.ID, len(seen), last)
			}
			for _, bad := range []string{"\x1b", "\x00", "\u202e", "\r"} {
				if strings.Contains(last, bad) {
					t.Errorf("%s: people see the control character %q in %.200q", m.ID, bad, last)
				}
			}
		}
	})

	t.Run("the short form", func(t *testing.T) {
		c, far := fresh(t)
		m := Message(c.Name(), "short")
		m.Title += strings.Repeat(" & so on", 2000)
		m.Short = true
		post(t, c, m, "")
		if seen := far.Seen()[0]; !strings.Contains(seen, "one box") {
			t.Errorf("people see %.200q, without the title's beginning", seen)
		}
	})

	t.Run("a digest that fits is not cut", func(t *testing.T) {
		c, far := fresh(t)
		l, ok := c.(interface{ Fits(guard.Message) bool })
		if !ok {
			t.Skip("this channel has no limits")
		}
		m := Message(c.Name(), "digest")
		m.Lines = nil
		for n := 0; n < 1000; n++ {
			more := m
			more.Lines = append(m.Lines, fmt.Sprintf("line %04d <&> %s", n, strings.Repeat("é", 60)))
			if !l.Fits(more) {
				break
			}
			m = more
		}
		if n := len(m.Lines); n < 10 || n == 1000 {
			t.Fatalf("%d lines of 75 characters fit", n)
		}
		post(t, c, m, "")
		for _, line := range m.Lines {
			if !strings.Contains(far.Seen()[0], line) {
				t.Fatalf("%q is missing", line)
			}
		}
	})

	t.Run("several at once", func(t *testing.T) {
		c, far := fresh(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { _, _ = c.Post(ctx(t), Message(c.Name(), fmt.Sprint(i)), "") })
		}
		wg.Wait()
		if n := len(far.Seen()); n != 8 {
			t.Errorf("people see %d messages, want 8", n)
		}
	})

	t.Run("a cancelled context posts nothing", func(t *testing.T) {
		c, far := fresh(t)
		gone, cancel := context.WithCancel(ctx(t))
		cancel()
		if _, err := c.Post(gone, Message(c.Name(), "one"), ""); err == nil || len(far.Seen()) != 0 {
			t.Errorf("got %v, and people see %q", err, far.Seen())
		}
	})

	t.Run("faults", func(t *testing.T) { faults(t, ctx(t), fresh) })
	t.Run("edits", func(t *testing.T) { edits(t, ctx(t), fresh) })
}

func faults(t *testing.T, ctx context.Context, fresh func(t *testing.T) (Channel, Far)) {
	for _, tt := range []struct {
		name  string
		fault Fault
		want  []error // one of them
		wait  time.Duration
	}{
		{"throttled", Fault{Status: 429, RetryAfter: 30 * time.Second}, []error{guard.ErrThrottled}, 30 * time.Second},
		{"throttled without a wait", Fault{Status: 429}, []error{guard.ErrThrottled}, time.Second},
		{"throttled and stored", Fault{Status: 429, RetryAfter: 5 * time.Second, Stored: true}, []error{guard.ErrThrottled}, 5 * time.Second},
		{"delivered but times out", Fault{TimesOut: true, Stored: true}, []error{guard.ErrUncertain}, 0},
		{"times out", Fault{TimesOut: true}, []error{guard.ErrUncertain}, 0},
		{"no connection", Fault{Refused: true}, []error{guard.ErrUnavailable}, 0},
		{"server error", Fault{Status: 500, Body: "<html>oops"}, []error{guard.ErrUncertain}, 0},
		{"server error, stored", Fault{Status: 503, Stored: true}, []error{guard.ErrUncertain}, 0},
		{"a page in place of the API", Fault{Status: 200, Body: "<html><body>Welcome to Hotel Wifi"}, []error{guard.ErrBadReply}, 0},
		{"half an answer", Fault{Status: 200, Body: `{"ok":true,"chan`, Stored: true}, []error{guard.ErrBadReply}, 0},
		{"an empty answer", Fault{Status: 200, Body: `{}`, Stored: true}, []error{guard.ErrBadReply}, 0},
		{"null", Fault{Status: 200, Body: `null`}, []error{guard.ErrBadReply}, 0},
		{"elsewhere", Fault{Status: 302}, []error{guard.ErrNotFound, guard.ErrPermission, guard.ErrUncertain}, 0},
		{"forbidden", Fault{Status: 403, Body: "no"}, []error{guard.ErrPermission}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, far := fresh(t)
			if far.Inject == nil {
				t.Skip("this channel cannot fail")
			}
			if far.Mute && (tt.fault.Body == `{}` || tt.fault.Body == `null`) {
				t.Skip("this channel's answers say nothing")
			}
			tt.fault.Times = 1
			far.Inject(tt.fault)
			m := Message(c.Name(), "one")
			_, err := c.Post(ctx, m, "")
			Kind(t, err, tt.want...)
			if after, ok := guard.RetryAfter(err); tt.wait > 0 && (!ok || after < tt.wait) {
				t.Errorf("%v: asks to wait %s, want at least %s", err, after, tt.wait)
			}
			Clean(t, err, far.Secrets...)
			definite := errors.Is(err, guard.ErrUnavailable) || errors.Is(err, guard.ErrPermission) || errors.Is(err, guard.ErrNotFound) || errors.Is(err, guard.ErrInvalid)
			if tt.fault.Stored && definite {
				t.Errorf("%v says that nothing arrived, and it did", err)
			}
			if _, found, err := c.Find(ctx, m, ""); errors.Is(err, guard.ErrUnsupported) || far.Once {
				_ = found // it may repeat, and says so
			} else if err != nil || found != tt.fault.Stored {
				t.Errorf("find it afterwards: %t, %v, want %t", found, err, tt.fault.Stored)
			}
			if _, err := c.Post(ctx, Message(c.Name(), "two"), ""); err != nil {
				t.Errorf("the next post: %v", err)
			}
		})
	}
}

// Kind fails the test unless err is of one of the kinds.
func Kind(t testing.TB, err error, kinds ...error) {
	t.Helper()
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	t.Errorf("got the error %v, want one of %v", err, kinds)
}

// Clean fails the test where a secret shows in err, however it is printed.
func Clean(t testing.TB, err error, secrets ...string) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for _, s := range secrets {
			if s != "" && strings.Contains(text, s) {
				t.Errorf("the secret shows in %T: %s", err, text)
			}
		}
	}
}

// Message is an ordinary message for tests, queued at Start.
func Message(channel, id string) guard.Message {
	about := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-" + id}
	return guard.Message{ID: channel + "|" + id, Channel: channel, Rule: guard.RuleExpired, Thread: about.Key(),
		About: []guard.ResourceID{about}, CreatedAt: Start,
		Title: "lab/i-" + id + ": one box ends in 1h", Lines: []string{"lora 70b, of ana", "spend 2310.00 CNY of 2400.00 CNY"}}
}

func hostile(channel string) []guard.Message {
	titled := func(id, title string, lines ...string) guard.Message {
		m := Message(channel, id)
		m.Title, m.Lines = title, lines
		return m
	}
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf("line %d & more", i)
	}
	return []guard.Message{
		titled("mention", "<!channel> *free* <http://evil|click>", "<@U0123>", "a&b<c>", "@here @everyone #general"),
		titled("control", "a\x1b[31mred\x00\r\nb\u202egnp.exe", "\tc\r\n\x07d", "\u202e"),
		titled("broken", "\xff\xfe half \xe4\xb8", "\xc3"),
		titled("empty", "", "", " "),
		titled("nothing", "\x00"),
		titled("long title", strings.Repeat("&", 20_000)),
		titled("long line", "t", strings.Repeat("<模型>", 10_000)),
		titled("many lines", "t", many...),
		titled("emoji", ":fire: 🔥 `code` ~no~ _it_ *b* > quote", "• 中文 — 日本語"),
	}
}
