package notify_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/bolt"
	"guard/store/memory"
)

// tb is what the bench needs of a test; a property's test has it too.
type tb interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// bench runs the loop on virtual time as the scheduler would.
type bench struct {
	t        tb
	backend  *mortal
	ledger   *store.Ledger
	channels []notify.Channel
	loop     *notify.Loop
	at, next guard.Instant
	kicked   []string
}

// mortal is a backend that can die, as kill -9 would have it: nothing that comes
// later is written.
type mortal struct {
	store.Backend
	dead bool
	left int // updates until it dies; 0: it lives on
}

var errKilled = errors.New("killed")

func (m *mortal) Update(ctx context.Context, fn func(store.Writer) error) error {
	if m.dead {
		return errKilled
	}
	if m.left--; m.left == 0 {
		m.dead = true
	}
	return m.Backend.Update(ctx, fn)
}

func newBench(t tb, b store.Backend, channels ...notify.Channel) *bench {
	w := &bench{t: t, channels: channels, at: guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour}}
	w.start(b)
	return w
}

// start begins a life of guardd on the backend.
func (w *bench) start(b store.Backend) {
	w.t.Helper()
	w.backend = &mortal{Backend: b}
	l, err := store.Open(context.Background(), w.backend, w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledger = l
	w.loop = notify.New(l, nil, func(name string) { w.kicked = append(w.kicked, name) }, w.channels...)
	w.next = w.at
}

// restart is kill -9 and a new life.
func (w *bench) restart() { w.start(w.backend.Backend) }

// run is one run of the loop, now.
func (w *bench) run() error {
	next, err := w.loop.Once(guard.WithInstant(context.Background(), w.at), w.at)
	w.next = next
	if err != nil && !errors.Is(err, errKilled) {
		w.t.Errorf("at %s: %v", w.at.Wall.Format(time.TimeOnly), err)
	}
	if err == nil && (next.IsZero() || next.Before(w.at)) {
		w.t.Fatalf("at %s: next is %+v", w.at.Wall.Format(time.TimeOnly), next)
	}
	return err
}

// pass lets d go by.
func (w *bench) pass(d time.Duration) {
	end := w.at.Add(d)
	for range 100_000 {
		if end.Before(w.next) || w.next.IsZero() {
			w.at = end
			return
		}
		if wait := w.next.Sub(w.at); wait > 0 {
			w.at = w.at.Add(wait) // the wall clock may have been set meanwhile
		}
		if w.run() != nil {
			w.at = end
			return
		}
	}
	w.t.Fatal("the loop asks to run without end")
}

// queue writes messages as their cause would, and kicks the loop. False: guardd
// was killed before they were durable.
func (w *bench) queue(ms ...guard.Message) bool {
	w.t.Helper()
	err := w.ledger.UpdateEach(context.Background(), len(ms), func(tx *store.Tx, i int) error { return tx.Queue(ms[i]) })
	if errors.Is(err, errKilled) {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.next = w.at
	w.pass(0)
	return true
}

// message is a normal message of its own kind, queued now: it goes out alone.
func (w *bench) message(id string) guard.Message {
	m := notifytest.Message(w.channels[0].Name(), id)
	m.CreatedAt = w.at.Wall
	m.Rule = guard.Rule("rule_" + id)
	return m
}

func (w *bench) urgent(id string) guard.Message {
	m := w.message(id)
	m.Urgent = true
	return m
}

// pending are the messages that still wait; sent those acknowledged.
func (w *bench) pending() (pending, sent map[string]guard.Message) {
	w.t.Helper()
	pending, sent = map[string]guard.Message{}, map[string]guard.Message{}
	err := w.ledger.View(context.Background(), func(v *store.View) error {
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			pending[m.ID] = m
		}
		for m, err := range v.SentMessages.All("") {
			if err != nil {
				return err
			}
			sent[m.ID] = m
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pending, sent
}

func (w *bench) health() notify.ChannelHealth {
	w.t.Helper()
	var hs []notify.ChannelHealth
	err := w.ledger.View(context.Background(), func(v *store.View) (err error) {
		hs, err = notify.Health(v, w.channels[0].Name())
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return hs[0]
}

// ids says what people saw, in order: message IDs, a digest as its title.
func ids(ds []notifytest.Delivery) string {
	var out []string
	for _, d := range ds {
		id := d.Message.ID
		if strings.Contains(id, "|digest|") {
			id = d.Message.Title
		}
		out = append(out, strings.TrimPrefix(id, "memory|"))
	}
	return strings.Join(out, " ")
}

func expect(t tb, ds []notifytest.Delivery, want string) {
	t.Helper()
	if got := ids(ds); got != want {
		t.Errorf("got the posts %q, want %q", got, want)
	}
}

func spaced(t tb, ds []notifytest.Delivery, least time.Duration) {
	t.Helper()
	for i := 1; i < len(ds); i++ {
		if gap := ds[i].At.Sub(ds[i-1].At); gap < least {
			t.Errorf("posts %d and %d are %s apart, want at least %s", i, i+1, gap, least)
		}
	}
}

// ALR-01: 429 is not final. Nothing is posted during the wait; both arrive, once.
func TestThrottled(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Status: 429, RetryAfter: 30 * time.Second, Times: 1})
	w.queue(w.urgent("firing"))
	w.pass(10 * time.Second)
	w.restart() // the wait holds across it
	w.pass(10 * time.Second)
	w.queue(w.urgent("other"))
	w.pass(9 * time.Second)
	if n := len(c.Posts()); n != 1 {
		t.Fatalf("%d posts during the wait, want the first one only", n)
	}
	w.pass(11 * time.Second)
	expect(t, c.Stored(), "firing other")
	if at := c.Stored()[0].At.Sub(notifytest.Start); at < 30*time.Second || at > 40*time.Second {
		t.Errorf("delivered at T+%s, want T+30…40 s", at)
	}
	w.pass(200 * time.Second)
	w.queue(w.message("resolved"))
	w.pass(time.Hour)
	expect(t, c.Stored(), "firing other resolved")
	if pending, _ := w.pending(); len(pending) != 0 {
		t.Errorf("still pending: %v", pending)
	}
}

// ALR-03: fifty boxes cross a threshold within three seconds: one digest within
// ten, and an urgent message does not queue behind it.
func TestFiftyAtOnce(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	many := func(i int) guard.Message {
		m := notifytest.Message("memory", fmt.Sprintf("%02d", i))
		m.Rule, m.CreatedAt = guard.RuleBudgetWarning, w.at.Wall
		return m
	}
	for i := range 50 {
		w.queue(many(i))
		w.pass(60 * time.Millisecond)
	}
	u := w.urgent("urgent")
	w.queue(u)
	expect(t, c.Posts(), "urgent")
	w.pass(10*time.Second - w.at.Wall.Sub(notifytest.Start))
	expect(t, c.Posts(), "urgent 50 messages: budget_warning")
	spaced(t, c.Posts(), time.Second)
	d := c.Posts()[1]
	if len(d.Message.Lines) != 50 || len(d.Message.About) != 50 || d.Thread != "" {
		t.Errorf("the digest has %d lines about %d things in thread %q", len(d.Message.Lines), len(d.Message.About), d.Thread)
	}
	for i, line := range d.Message.Lines {
		m := many(i)
		if !strings.HasPrefix(line, m.Title) || !strings.Contains(line, m.Lines[1]) {
			t.Errorf("line %d is %q", i, line)
		}
	}
	_, sent := w.pending()
	for i := range 50 {
		if m := sent[many(i).ID]; m.Receipt != d.Receipt || m.Acked.IsZero() {
			t.Errorf("message %d has the receipt %q, acknowledged at %s", i, m.Receipt, m.Acked)
		}
	}
}

// A digest is split where the channel's room ends, and where a transaction does.
func TestDigestSplits(t *testing.T) {
	for _, tt := range []struct {
		room int
		want string
	}{
		{100_000, "60 messages: budget_warning 60 messages: budget_warning 30 messages: budget_warning"},
		{4_000, strings.Repeat("46 messages: budget_warning ", 3) + "12 messages: budget_warning"},
		{100, ""}, // nothing but single ones fits
	} {
		c := &notifytest.Memory{Every: time.Second, Room: tt.room}
		w := newBench(t, memory.New(), c)
		var ms []guard.Message
		for i := range 150 {
			m := w.message(fmt.Sprintf("%03d", i))
			m.Rule = guard.RuleBudgetWarning
			ms = append(ms, m)
		}
		w.queue(ms...)
		w.pass(5 * time.Minute)
		if tt.want != "" {
			expect(t, c.Posts(), tt.want)
		} else if len(c.Posts()) != 150 {
			t.Errorf("room for %d bytes: %d posts, want 150", tt.room, len(c.Posts()))
		}
		spaced(t, c.Posts(), time.Second)
		if pending, sent := w.pending(); len(pending) != 0 || len(sent) != 150 {
			t.Errorf("room for %d bytes: %d pending, %d sent", tt.room, len(pending), len(sent))
		}
	}
}

// Urgent ones go first, a few alike are told one by one, in their threads.
func TestOrderAndThreads(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Refused: true, Times: 1})
	w.queue(w.urgent("z"))
	a, b, u := w.message("a"), w.message("b"), w.urgent("u")
	b.Thread, u.Thread = a.Thread, a.Thread
	b.CreatedAt = b.CreatedAt.Add(time.Millisecond)
	w.queue(a, b, u)
	w.pass(time.Minute)
	expect(t, c.Stored(), "u z a b")
	got := c.Stored()
	if got[0].Thread != "" || got[1].Thread != "" || got[2].Thread != got[0].Receipt || got[3].Thread != got[0].Receipt {
		t.Errorf("threads: %q %q %q %q, want one for u, a and b", got[0].Thread, got[1].Thread, got[2].Thread, got[3].Thread)
	}
	w.restart()
	late := w.message("late")
	late.Thread = a.Thread
	w.queue(late)
	w.pass(time.Minute)
	if d := c.Stored()[4]; d.Thread != got[0].Receipt {
		t.Errorf("after a restart: thread %q, want %q", d.Thread, got[0].Receipt)
	}
}

// A thread that is gone is not asked for twice.
func TestThreadGone(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	first, second := w.message("first"), w.message("second")
	second.Thread = first.Thread
	w.queue(first)
	w.pass(time.Minute)
	c.Inject(notifytest.Fault{Error: guard.ErrConflict.Error(), Times: 1})
	w.queue(second)
	w.pass(time.Minute)
	expect(t, c.Posts(), "first second second")
	if d := c.Posts()[2]; d.Thread != "" {
		t.Errorf("posted again in thread %q", d.Thread)
	}
}

// What was delivered and not acknowledged is found in the history; a message that
// did not arrive is posted again; each is seen once.
func TestUncertain(t *testing.T) {
	for name, f := range map[string]notifytest.Fault{
		"delivered but times out": {TimesOut: true, Stored: true, Times: 1},
		"times out":               {TimesOut: true, Times: 1},
		"stored and 429":          {Status: 429, RetryAfter: 5 * time.Second, Stored: true, Times: 1},
		"stored and 500":          {Status: 500, Stored: true, Times: 1},
		"500":                     {Status: 500, Times: 3},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %t", name, restart), func(t *testing.T) {
				c := &notifytest.Memory{Every: time.Second}
				w := newBench(t, memory.New(), c)
				c.Inject(f)
				w.queue(w.urgent("one"))
				if restart {
					w.restart()
				}
				w.pass(5 * time.Minute)
				expect(t, c.Stored(), "one")
				pending, sent := w.pending()
				if m := sent["memory|one"]; len(pending) != 0 || m.Receipt != c.Stored()[0].Receipt || m.MayRepeat || m.Uncertain {
					t.Errorf("pending %v, sent %+v", pending, m)
				}
				if c.Looks() == 0 {
					t.Error("never looked")
				}
			})
		}
	}
}

// ALR-05: kill -9 right after the post, before its receipt is durable; and a
// digest whose receipt took two transactions, killed between them.
func TestKilledBeforeTheReceipt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	open := func() *bolt.Backend {
		b, err := bolt.Open(t.Context(), file, bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c := &notifytest.Memory{Every: time.Second}
	k := &killer{Memory: c}
	w := newBench(t, open(), k)
	k.w = w
	for i := range 50 { // old news: acknowledged, never to be seen again
		m := w.message(fmt.Sprintf("old%02d", i))
		m.Rule = guard.RuleOrphanVolume
		w.queue(m)
	}
	w.pass(time.Minute)
	seen := ids(c.Stored())
	again := func(step string) {
		t.Helper()
		w.pass(time.Second)
		if err := w.backend.Backend.Close(); err != nil {
			t.Fatal(err)
		}
		w.start(open())
		w.pass(5 * time.Minute)
		if got := ids(c.Stored()); got != seen {
			t.Fatalf("%s: people saw %q, want %q", step, got, seen)
		}
		if pending, _ := w.pending(); len(pending) != 0 {
			t.Fatalf("%s: pending %v", step, pending)
		}
	}
	again("idle")
	k.after = true
	w.queue(w.urgent("after"))
	seen += " after"
	again("killed after the post")
	k.before = true
	w.queue(w.urgent("before"))
	if got := ids(c.Stored()); got != seen {
		t.Fatalf("posted before it was killed: %s", got)
	}
	seen += " before"
	again("killed before the post")
	k.between = true
	var ms []guard.Message
	for i := range 60 {
		m := w.message(fmt.Sprintf("new%02d", i))
		m.Rule = guard.RuleUnregistered
		ms = append(ms, m)
	}
	w.queue(ms...)
	w.pass(10 * time.Second)
	if pending, _ := w.pending(); len(pending) == 0 || len(pending) == 60 {
		t.Fatalf("%d members are left, want some", len(pending))
	}
	seen += " 60 messages: unregistered"
	again("killed between the receipts of a digest")
}

// killer is a channel during whose post guardd dies.
type killer struct {
	*notifytest.Memory
	w                      *bench
	before, after, between bool
}

func (k *killer) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	if k.before {
		k.before, k.w.backend.dead = false, true
		return guard.Posted{}, errKilled
	}
	posted, err := k.Memory.Post(ctx, m, thread)
	if k.after {
		k.after, k.w.backend.dead = false, true
	}
	if k.between {
		k.between, k.w.backend.left = false, 1
	}
	return posted, err
}

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
	if len(other.Stored()) != 1 {
		t.Error("the other channel got nothing")
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
		hs, err := notify.Health(v, "memory")
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
