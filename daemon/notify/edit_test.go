package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// state is the message that brings the thread of m up to date: state n of it.
func (w *bench) state(m guard.Message, n int) guard.Message {
	return guard.Message{ID: m.Channel + "|card|" + m.Thread, Channel: m.Channel, Thread: m.Thread, About: m.About, CreatedAt: w.at.Wall, Edit: true,
		Card: &guard.Card{Name: "trainer", GPUs: n, AsOf: w.at.Wall}, Offers: []guard.Offer{{Click: guard.ClickExtend, For: 2 * time.Hour, Key: fmt.Sprint(n)}}}
}

// states says which states were shown by edits, in order.
func states(ds []notifytest.Delivery) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprint(d.Message.Card.GPUs))
	}
	return strings.Join(out, " ")
}

// TestEdit: the first post of a thread keeps its text and shows the present state, which
// its archived message offers too; outbox and archive do not grow.
func TestEdit(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	first, second := w.message("first"), w.message("second")
	first.Card, second.Thread = &guard.Card{Name: "trainer"}, first.Thread
	w.queue(first)
	w.pass(time.Minute)
	w.queue(second)
	w.pass(time.Minute)
	for n := range 3 {
		w.queue(w.state(first, n+1))
		w.pass(time.Minute)
		w.restart()
	}
	expect(t, c.Posts(), "first second")
	if got := states(c.Edits()); got != "1 2 3" {
		t.Errorf("people saw the states %q, want 1 2 3", got)
	}
	shown := c.Stored()[0].Message
	if shown.ID != first.ID || shown.Title != first.Title || shown.Lines[1] != first.Lines[1] || shown.Offers[0].Key != "3" {
		t.Errorf("the first post shows %+v", shown)
	}
	pending, sent := w.pending()
	if len(pending) != 0 || len(sent) != 2 || sent[first.ID].Offers[0].Key != "3" || sent[first.ID].Card.GPUs != 3 || sent[first.ID].Receipt == "" {
		t.Errorf("pending %v, sent %+v", pending, sent)
	}
}

// The newest state takes the place of one that waits, and one that comes while an older
// one is on its way is shown after it.
func TestNewestState(t *testing.T) {
	c := &during{Memory: &notifytest.Memory{Every: time.Second}}
	w := newBench(t, memory.New(), c)
	m := w.message("one")
	w.queue(m)
	w.pass(time.Minute)
	c.Inject(notifytest.Fault{Status: 429, RetryAfter: 20 * time.Second, Times: 1})
	w.queue(w.urgent("two"))
	for n := range 5 {
		w.queue(w.state(m, n))
		w.pass(time.Second)
	}
	if got := states(c.Edits()); got != "" {
		t.Errorf("edited during the wait: %q", got)
	}
	c.edit = func() {
		newer := w.state(m, 9)
		if err := w.ledger.Update(t.Context(), func(tx *store.Tx) error { return tx.Queue(newer) }); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(2 * time.Minute)
	if got := states(c.Edits()); got != "4 9" {
		t.Errorf("people saw the states %q, want 4 9", got)
	}
	if pending, _ := w.pending(); len(pending) != 0 {
		t.Errorf("pending: %v", pending)
	}
}

// during is a channel in the middle of whose first edit something happens.
type during struct {
	*notifytest.Memory
	edit func()
}

func (d *during) Edit(ctx context.Context, receipt string, m guard.Message) error {
	err := d.Memory.Edit(ctx, receipt, m)
	if f := d.edit; f != nil {
		d.edit = nil
		f()
	}
	return err
}

// Edits come behind all posts, and what is urgent does not even wait for their pace.
func TestEditsBehindPosts(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	var ms, edits []guard.Message
	for i := range 8 {
		m := w.message(fmt.Sprint(i))
		ms = append(ms, m)
	}
	w.queue(ms...)
	w.pass(time.Minute)
	for _, m := range ms {
		edits = append(edits, w.state(m, 1))
	}
	posts := []guard.Message{w.urgent("a"), w.urgent("b"), w.urgent("c")}
	w.queue(append(edits, posts...)...)
	w.pass(4500 * time.Millisecond)
	if got := len(c.Edits()); got != 2 {
		t.Errorf("%d edits, want the 2 that come after 3 posts", got)
	}
	w.queue(w.urgent("now"))
	if got := c.Posts()[len(c.Posts())-1]; got.Message.ID != "memory|now" || !got.At.Equal(w.at.Wall) {
		t.Errorf("what is urgent waited for an edit: the last post is %s", got.Message.ID)
	}
	w.pass(1500 * time.Millisecond)
	later := w.message("later")
	later.Rule = "" // it gathers no others
	w.queue(later)
	w.pass(time.Minute)
	spaced(t, c.Posts(), time.Second)
	spaced(t, c.Edits(), time.Second)
	for _, p := range c.Posts()[8:] {
		for _, e := range c.Edits() {
			if gap := e.At.Sub(p.At).Abs(); gap < time.Second && !p.Message.Urgent {
				t.Errorf("a post and an edit are %s apart", gap)
			}
			if gap := e.At.Sub(p.At); gap >= 0 && gap < time.Second {
				t.Errorf("an edit %s after a post", gap)
			}
		}
	}
	if got := len(c.Edits()); got != 8 {
		t.Errorf("%d edits, want 8", got)
	}
}

// Edits fail, and what is urgent is told all the same, at once; but a wait that the channel
// asks for counts for both.
func TestEditsFail(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	m := w.message("one")
	w.queue(m)
	w.pass(time.Minute)
	c.Inject(notifytest.Fault{TimesOut: true, Edits: true, Times: 9})
	w.queue(w.state(m, 1))
	w.pass(2 * time.Minute)
	w.queue(w.urgent("two"))
	expect(t, c.Stored(), "one two")
	if h := w.health(); h.Error != "" || h.Edits != 1 || h.Undelivered != 0 {
		t.Errorf("health: %+v", h)
	}
	w.restart()
	w.pass(10 * time.Minute)
	if got := c.Stored()[0].Message.Card; got == nil || got.GPUs != 1 {
		t.Errorf("people see %+v", got)
	}
	n := len(c.Edits())
	c.Inject(notifytest.Fault{Status: 429, RetryAfter: 30 * time.Second, Edits: true, Times: 1})
	w.queue(w.state(m, 2))
	w.pass(time.Second)
	w.queue(w.urgent("three"))
	w.restart()
	w.pass(28 * time.Second)
	if len(c.Edits()) != n+1 || len(c.Posts()) != 2 {
		t.Errorf("%d edits and %d posts during the wait", len(c.Edits())-n, len(c.Posts()))
	}
	w.pass(time.Minute)
	expect(t, c.Stored(), "one two three")
	if got := c.Stored()[0].Message.Card.GPUs; got != 2 {
		t.Errorf("people see state %d", got)
	}
}

// What cannot be edited is dropped: nothing waits for it, and the channel stays well.
func TestNothingToEdit(t *testing.T) {
	for name, tt := range map[string]struct {
		channel *notifytest.Memory
		fault   notifytest.Fault
		old     bool // the thread's record is of an older guardd
		edits   int
	}{
		"no thread":          {channel: &notifytest.Memory{Every: time.Second}},
		"no editing":         {channel: &notifytest.Memory{Every: time.Second, Still: true}, edits: 1},
		"the post is gone":   {channel: &notifytest.Memory{Every: time.Second}, fault: notifytest.Fault{Error: guard.ErrNotFound.Error(), Edits: true}, edits: 1},
		"it takes no such":   {channel: &notifytest.Memory{Every: time.Second}, fault: notifytest.Fault{Error: "invalid_blocks", Edits: true}, edits: 2},
		"a record of before": {channel: &notifytest.Memory{Every: time.Second}, old: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBench(t, memory.New(), tt.channel)
			m := w.message("one")
			posts := "two"
			if name != "no thread" {
				w.queue(m)
				w.pass(time.Minute)
				posts = "one two"
			}
			if tt.old {
				err := w.ledger.Update(t.Context(), func(tx *store.Tx) error {
					return tx.SetValue(store.ThreadName("memory:first", m.Thread), "")
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if tt.fault != (notifytest.Fault{}) {
				tt.channel.Inject(tt.fault)
			}
			w.queue(w.state(m, 1))
			w.pass(time.Minute)
			if pending, _ := w.pending(); len(pending) != 0 {
				t.Errorf("pending: %v", pending)
			}
			if got := len(tt.channel.Edits()); got != tt.edits {
				t.Errorf("%d edits, want %d", got, tt.edits)
			}
			two := w.message("two")
			two.Thread = m.Thread
			w.queue(two)
			w.pass(time.Minute)
			expect(t, tt.channel.Stored(), posts)
			if got := tt.channel.Stored(); len(got) == 2 && got[1].Thread != got[0].Receipt {
				t.Errorf("posted under %q", got[1].Thread)
			}
		})
	}
	// A channel that does not know of edits gets none, without a pace too.
	c := &unlimited{m: &notifytest.Memory{}}
	w := newBench(t, memory.New(), c)
	m := w.message("one")
	w.queue(m, w.state(m, 1))
	if pending, _ := w.pending(); len(pending) != 0 {
		t.Errorf("pending: %v", pending)
	}
}

// An edit that comes before its thread has begun waits for it, and no longer.
func TestEditWaitsForItsThread(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := newBench(t, memory.New(), c)
	c.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(time.Minute)})
	m := w.message("one")
	w.queue(m, w.state(m, 7))
	w.pass(3 * time.Minute)
	if got := states(c.Edits()); got != "7" {
		t.Errorf("people saw the states %q, want 7", got)
	}
}

// Whatever fails and whenever guardd is killed: in the end each thread shows its newest
// state, no post was repeated, and nothing is left.
func TestNewestStateIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &notifytest.Memory{Every: time.Second}
		k := &chaos{Memory: c}
		w := newBench(t, memory.New(), k)
		k.w = w
		faults := rapid.SampledFrom([]notifytest.Fault{
			{TimesOut: true, Stored: true}, {TimesOut: true}, {Refused: true}, {Status: 500}, {Status: 429, RetryAfter: 30 * time.Second},
			{Status: 429, RetryAfter: 20 * time.Second, Stored: true}, {Error: guard.ErrPermission.Error()},
		})
		newest, first := map[string]int{}, map[string]bool{}
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"state": func(t *rapid.T) {
				m := w.message(fmt.Sprint("box", rapid.IntRange(1, 3).Draw(t, "box")))
				n++
				if !first[m.ID] {
					first[m.ID] = w.queue(m)
				}
				if w.queue(w.state(m, n)) && first[m.ID] {
					newest[m.ID] = n
				}
				k.revive()
			},
			"fail": func(t *rapid.T) {
				f := faults.Draw(t, "fault")
				f.Times, f.Edits = rapid.IntRange(1, 4).Draw(t, "times"), rapid.Bool().Draw(t, "edits")
				c.Inject(f)
			},
			"kill":    func(*rapid.T) { w.restart() },
			"killing": func(t *rapid.T) { w.backend.left = rapid.IntRange(1, 6).Draw(t, "updates") },
			"pass": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "ms")) * time.Millisecond)
				k.revive()
			},
			"": func(*rapid.T) {},
		})
		c.Mend()
		k.revive()
		w.restart()
		w.pass(3 * time.Hour)
		for _, d := range c.Stored() {
			if want := newest[d.Message.ID]; want != 0 && (d.Message.Card == nil || d.Message.Card.GPUs != want) {
				t.Errorf("%s shows %+v, want state %d", d.Message.ID, d.Message.Card, want)
			}
			delete(first, d.Message.ID)
		}
		for id, queued := range first {
			if queued {
				t.Errorf("%s was never told", id)
			}
		}
		if pending, _ := w.pending(); len(pending) != 0 {
			t.Errorf("pending: %v", pending)
		}
	})
}
