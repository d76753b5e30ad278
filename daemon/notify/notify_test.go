package notify_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/store/bolt"
	"guard/store/memory"
)

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
	expect(t, c.Posts(), "urgent 50 messages: budget warning")
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

// A digest names its rule as whoever reads it does.
func TestDigestNamesItsRule(t *testing.T) {
	for lang, want := range map[guard.Lang]string{guard.English: "4 messages: idle empty", guard.Chinese: "4 条消息：空闲：无任务"} {
		c := &notifytest.Memory{Every: time.Second}
		w := newBench(t, memory.New(), c)
		var ms []guard.Message
		for i := range 4 {
			m := w.message(fmt.Sprint(i))
			m.Rule, m.Lang = guard.RuleIdleEmpty, lang
			ms = append(ms, m)
		}
		w.queue(ms...)
		w.pass(time.Minute)
		expect(t, c.Posts(), want)
	}
}

// A digest is split where the channel's room ends, and where a transaction does.
func TestDigestSplits(t *testing.T) {
	for _, tt := range []struct {
		room int
		want string
	}{
		{100_000, "60 messages: budget warning 60 messages: budget warning 30 messages: budget warning"},
		{4_000, strings.Repeat("46 messages: budget warning ", 3) + "12 messages: budget warning"},
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

// What follows in a thread waits for what gathers others, and for what is in doubt.
func TestOrderWithinAThread(t *testing.T) {
	for name, wait := range map[string]time.Duration{"gathers": 0, "in doubt": 3 * time.Second} {
		c := &notifytest.Memory{Every: time.Second}
		w := newBench(t, memory.New(), c)
		if wait > 0 {
			c.Inject(notifytest.Fault{TimesOut: true, Times: 1})
		}
		first := w.message("first")
		w.queue(first)
		w.pass(wait)
		second := w.message("second")
		second.Thread, second.Rule = first.Thread, "" // it gathers no others
		second.CreatedAt = second.CreatedAt.Add(time.Millisecond)
		w.queue(second)
		w.pass(time.Minute)
		if got := ids(c.Stored()); got != "first second" {
			t.Errorf("%s: people saw %q", name, got)
		}
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

// TestDigestKeepsGroups: a message about several machines names each of them,
// told alone or with others.
func TestDigestKeepsGroups(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	group := notifytest.Message("memory", "group")
	group.Rule, group.CreatedAt, group.Lines, group.About = guard.RuleUnregistered, w.at.Wall, nil, nil
	for i := range 6 {
		id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: fmt.Sprintf("i-%017d", i)}
		group.About = append(group.About, id)
		group.Lines = append(group.Lines, id.String()+" (a name of middling length): nobody registered it; 10m old, for 32.77 USD per hour")
	}
	w.queue(group)
	last := "To keep it longer: guard extend"
	for i := range 3 {
		single := notifytest.Message("memory", fmt.Sprintf("single %d", i))
		single.Lines = append(single.Lines, strings.Repeat("x", 400), last)
		single.Rule, single.CreatedAt = guard.RuleUnregistered, w.at.Wall
		w.queue(single)
	}
	w.pass(time.Minute)
	expect(t, c.Stored(), "4 messages: unregistered")
	told := ""
	for _, s := range c.Stored() {
		told += s.Message.Title + "\n" + strings.Join(s.Message.Lines, "\n")
	}
	if strings.Count(told, last) != 3 {
		t.Errorf("%s has lost its last lines", told)
	}
	for _, line := range group.Lines {
		if !strings.Contains(told, line) {
			t.Errorf("%s says nothing of %s", told, line)
		}
	}
}
