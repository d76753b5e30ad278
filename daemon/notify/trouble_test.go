package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// Where guard may not look, or cannot, it tells again and says so.
func TestMayRepeat(t *testing.T) {
	for _, tt := range []struct {
		name  string
		blind error
		looks int
	}{{"may not look", guard.ErrPermission, 1}, {"cannot look", guard.ErrUnsupported, 1}, {"looking fails", guard.ErrUnavailable, 5}} {
		t.Run(tt.name, func(t *testing.T) {
			c := &notifytest.Memory{Every: time.Second, Blind: tt.blind}
			w := newBench(t, memory.New(), c)
			c.Inject(notifytest.Fault{TimesOut: true, Stored: true, Times: 1})
			w.queue(w.urgent("one"))
			w.pass(10 * time.Minute)
			expect(t, c.Stored(), "one one")
			if got := c.Stored(); strings.Contains(got[0].Message.Title, "may repeat") || !strings.HasPrefix(got[1].Message.Title, "(may repeat) ") {
				t.Errorf("titles %q and %q", got[0].Message.Title, got[1].Message.Title)
			}
			if c.Looks() != tt.looks {
				t.Errorf("looked %d times, want %d", c.Looks(), tt.looks)
			}
		})
	}
}

// A failing look keeps nobody else waiting, and one that works again keeps the
// message from repeating.
func TestLookRecovers(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second, Blind: guard.ErrUnavailable}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{TimesOut: true, Stored: true, Times: 1})
	w.queue(w.urgent("one"))
	w.pass(12 * time.Second)
	w.queue(w.message("two"))
	w.pass(3 * time.Second)
	expect(t, c.Stored(), "one two")
	c.Mend()
	w.pass(10 * time.Minute)
	expect(t, c.Stored(), "one two")
}

// A doubt outlives a definite failure of the next try.
func TestDoubtStays(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second, Blind: guard.ErrPermission}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{TimesOut: true, Stored: true, Times: 1})
	c.Inject(notifytest.Fault{Refused: true, Times: 2})
	w.queue(w.urgent("one"))
	w.pass(13 * time.Second)
	if n := len(c.Posts()); n < 2 {
		t.Fatalf("%d posts, want the second try to be over", n)
	}
	c.Mend() // now the history may be read
	w.pass(10 * time.Minute)
	expect(t, c.Stored(), "one")
}

// A channel that needs a person keeps everything, tries what is new at once and
// the rest ever more slowly up to hourly, says so, and gets well at one success.
func TestRefusingChannel(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	other := &notifytest.Memory{ID: "other", Every: time.Second}
	w := newBench(t, memory.New(), c, other)
	c.Inject(notifytest.Fault{Error: guard.ErrNotFound.Error(), Until: w.at.Wall.Add(12 * time.Hour)})
	w.queue(w.message("one"), notifytest.Message("other", "one"))
	w.pass(11 * time.Hour)
	n := len(c.Posts())
	if n < 12 || n > 20 {
		t.Errorf("%d tries in 11 hours, want a few and then one an hour", n)
	}
	if got := other.Stored(); len(got) != 2 || got[0].Message.ID != "other|one" || got[1].Message.ID[:len("other|stand_in/memory|")] != "other|stand_in/memory|" {
		t.Errorf("the other channel got %q, want its message, and that the first takes nothing", ids(got))
	}
	w.queue(w.message("two"))
	w.pass(10 * time.Second)
	if len(c.Posts()) != n+1 {
		t.Error("what is new was not tried at once")
	}
	h := w.health()
	if h.Undelivered != 2 || !h.Oldest.Equal(notifytest.Start) || !strings.Contains(h.Error, "not found") || !h.NextTry.After(w.at.Wall) {
		t.Errorf("health: %+v", h)
	}
	w.restart()
	w.pass(10 * time.Minute)
	if got := len(c.Posts()) - n - 1; got > 1 {
		t.Errorf("%d tries within ten minutes of a restart", got)
	}
	w.pass(2 * time.Hour)
	expect(t, c.Stored(), "one two")
	if h := w.health(); h.Undelivered != 0 || h.Error != "" || h.LastAck.IsZero() {
		t.Errorf("health: %+v", h)
	}
}

// Many new messages, each tried once, do not push the next try of the old away.
func TestNewOnesDoNotPush(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Error: guard.ErrPermission.Error()})
	for i := range 20 {
		w.queue(w.urgent(fmt.Sprint(i)))
		w.pass(2 * time.Second)
	}
	if n := len(c.Posts()); n != 20 {
		t.Errorf("%d tries, want one each", n)
	}
	if next := w.health().NextTry; next.After(notifytest.Start.Add(time.Minute)) {
		t.Errorf("the next try is at %s, want a minute after the first", next)
	}
}

// One refusal is over as soon as another message gets through.
func TestOneRefusal(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Error: guard.ErrPermission.Error(), Times: 1})
	w.queue(w.urgent("one"))
	w.pass(5 * time.Second)
	w.queue(w.urgent("two"))
	w.pass(5 * time.Second)
	expect(t, c.Stored(), "two one")
}

// A message that the channel will not take is tried in its short form, then ever
// more slowly; the others pass it.
func TestRefusedMessage(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Error: "msg_too_long", Times: 1})
	w.queue(w.urgent("one"))
	w.pass(3 * time.Second)
	if got := c.Stored(); len(got) != 1 || !got[0].Message.Short {
		t.Errorf("got %+v, want the short form", got)
	}
	c.Inject(notifytest.Fault{Error: "invalid", Times: 4})
	w.queue(w.urgent("two"))
	w.pass(1200 * time.Millisecond)
	c.Mend()
	w.queue(w.urgent("three"))
	w.pass(2 * time.Second)
	expect(t, c.Stored(), "one three")
	if h := w.health(); h.Undelivered != 1 || h.Error == "" {
		t.Errorf("health: %+v", h)
	}
	w.pass(time.Hour)
	expect(t, c.Stored(), "one three two")
}

// A digest that is refused does not take its members down with it.
func TestRefusedDigest(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Error: "invalid_blocks", Times: 1})
	var ms []guard.Message
	for i := range 6 {
		m := w.message(fmt.Sprint(i))
		m.Rule = guard.RuleUnregistered
		ms = append(ms, m)
	}
	w.queue(ms...)
	w.pass(time.Minute)
	expect(t, c.Stored(), "0 1 2 3 4 5")
}

// A digest of unknown fate is looked for under its own ID; all members are
// acknowledged with what is found, or told again together.
func TestUncertainDigest(t *testing.T) {
	for _, stored := range []bool{true, false} {
		c := &notifytest.Memory{Every: time.Second}
		w := newBench(t, memory.New(), c)
		c.Inject(notifytest.Fault{TimesOut: true, Stored: stored, Times: 1})
		var ms []guard.Message
		for i := range 50 {
			m := w.message(fmt.Sprintf("%02d", i))
			m.Rule = guard.RuleUnregistered
			ms = append(ms, m)
		}
		w.queue(ms...)
		w.pass(6 * time.Second)
		w.restart()
		extra := w.message("extra")
		extra.Rule = guard.RuleUnregistered
		w.queue(extra)
		w.pass(time.Minute)
		if got := ids(c.Stored()); got != "50 messages: unregistered extra" && got != "extra 50 messages: unregistered" {
			t.Errorf("stored %t: people saw %q", stored, got)
		}
		if pending, _ := w.pending(); len(pending) != 0 {
			t.Errorf("stored %t: %d pending", stored, len(pending))
		}
	}
}

// ALR-04: what was acknowledged stays acknowledged, for days, across restarts.
func TestNeverAgain(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	m := w.message("orphan")
	for range 12 {
		w.queue(m) // the condition still holds: the same cause writes the same message
		w.pass(24 * time.Hour)
		w.restart()
	}
	expect(t, c.Posts(), "orphan")
}

// An acknowledged notice lets its release go on.
func TestKicksTheRelease(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	m := w.urgent("notice")
	m.Release = "r-1"
	w.queue(m)
	if fmt.Sprint(w.kicked) != "[release/lab]" {
		t.Errorf("kicked %v", w.kicked)
	}
}

// A clock that is set back by hours delays nothing for longer than it takes to
// notice.
func TestClockSetBack(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{TimesOut: true, Times: 1})
	w.queue(w.urgent("one"), w.message("two"))
	w.at.Wall = w.at.Wall.Add(-5 * time.Hour)
	w.pass(time.Minute)
	if len(c.Stored()) != 2 {
		t.Errorf("people saw %q", ids(c.Stored()))
	}
	c.Inject(notifytest.Fault{Status: 429, RetryAfter: 30 * time.Minute, Times: 1})
	w.queue(w.urgent("three"))
	w.at.Wall = w.at.Wall.Add(-5 * time.Hour)
	w.restart()
	w.pass(time.Minute)
	if len(c.Stored()) != 3 {
		t.Errorf("after a restart people saw %q", ids(c.Stored()))
	}
}

// Messages for a channel that nobody configured are kept and shown.
func TestUnknownChannel(t *testing.T) {
	w := newBench(t, memory.New(), &notifytest.Memory{Every: time.Second})
	w.queue(notifytest.Message("pager", "one"))
	w.pass(time.Hour)
	err := w.ledger.View(t.Context(), func(v *store.View) error {
		hs, err := notify.Health(v, w.at.Wall, nil, "memory")
		if len(hs) != 2 || hs[1].Channel != "pager" || hs[1].Undelivered != 1 || hs[1].Error == "" {
			t.Errorf("health: %+v", hs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A channel without a pace takes everything at once, one by one.
func TestNoPace(t *testing.T) {
	c := &unlimited{m: &notifytest.Memory{}}
	w := newBench(t, memory.New(), c)
	var ms []guard.Message
	for i := range 100 {
		m := w.message(fmt.Sprintf("%03d", i))
		m.Rule = guard.RuleUnregistered
		ms = append(ms, m)
	}
	w.queue(ms...)
	if n := len(c.m.Posts()); n != 100 {
		t.Errorf("%d posts, want 100 at once", n)
	}
}

type unlimited struct{ m *notifytest.Memory }

func (u *unlimited) Name() string { return u.m.Name() }
func (u *unlimited) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	return u.m.Post(ctx, m, thread)
}
func (u *unlimited) Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error) {
	return u.m.Find(ctx, m, thread)
}

// A record that cannot be read is reported, and a channel that panics is; all the
// others are told.
func TestDamage(t *testing.T) {
	c, bad := &notifytest.Memory{Every: time.Second}, &panicky{notifytest.Memory{ID: "bad"}}
	w := newBench(t, memory.New(), c, bad)
	err := w.backend.Backend.Update(t.Context(), func(w store.Writer) error { return w.Put("outbox", "memory|0", []byte("null")) })
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	ms := []guard.Message{w.urgent("one"), notifytest.Message("bad", "two")}
	ms[1].Urgent = true
	if err := w.ledger.UpdateEach(t.Context(), 2, func(tx *store.Tx, i int) error { return tx.Queue(ms[i]) }); err != nil {
		t.Fatal(err)
	}
	next, err := w.loop.Once(guard.WithInstant(t.Context(), w.at), w.at)
	notifytest.Kind(t, err, guard.ErrDamaged)
	if err == nil || !strings.Contains(err.Error(), "memory|0") || !strings.Contains(err.Error(), "channel bad panicked") {
		t.Errorf("got %v", err)
	}
	if next.IsZero() {
		t.Error("nothing is tried again")
	}
	expect(t, c.Stored(), "one")
	err = w.ledger.View(t.Context(), func(v *store.View) error {
		m, ok, err := v.Outbox.Get("bad|two")
		if !ok || !m.Uncertain {
			t.Errorf("a post that panicked is not in doubt: %+v", m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

type panicky struct{ notifytest.Memory }

func (*panicky) Post(context.Context, guard.Message, string) (guard.Posted, error) { panic("oops") }
