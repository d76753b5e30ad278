package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/store/memory"
)

// nights are quiet from 22:00 to 08:00 UTC.
func nights(at time.Time) time.Time {
	day := time.Date(at.Year(), at.Month(), at.Day(), 8, 0, 0, 0, time.UTC)
	switch {
	case at.Before(day):
		return day
	case at.Before(day.Add(14 * time.Hour)):
		return time.Time{}
	}
	return day.Add(24 * time.Hour)
}

// quietBench begins at 22:30.
func quietBench(t tb, c *notifytest.Memory) *bench {
	w := newBench(t, memory.New(), c)
	w.quiet = nights
	w.at.Wall = w.at.Wall.Add(12*time.Hour + 30*time.Minute)
	w.restart()
	return w
}

func (w *bench) waits(id string) guard.Message {
	m := w.message(id)
	m.Waits = true
	return m
}

// TestQuietHours: what can wait is told together in the morning, what cannot at once, and
// cards are kept up to date all night.
func TestQuietHours(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := quietBench(t, c)
	known, urgent := w.message("known"), w.waits("urgent")
	urgent.Urgent = true
	w.queue(w.waits("a"), known, urgent)
	w.pass(time.Minute)
	expect(t, c.Stored(), "urgent known")
	w.queue(w.state(known, 1))
	w.pass(time.Hour)
	if got := states(c.Edits()); got != "1" {
		t.Errorf("people saw the states %q", got)
	}
	w.queue(w.waits("b"))
	w.restart()
	w.pass(7 * time.Hour)
	w.queue(w.waits("c"))
	if h := w.health(); h.Undelivered != 3 || h.Held != 3 || !h.HeldUntil.Equal(nights(w.at.Wall)) || !h.Oldest.IsZero() {
		t.Errorf("health: %+v", h)
	}
	w.pass(nights(w.at.Wall).Sub(w.at.Wall) - time.Second)
	expect(t, c.Stored(), "urgent known")
	w.pass(2 * time.Second)
	expect(t, c.Stored(), "urgent known 3 messages of the quiet hours")
	if lines := c.Stored()[2].Message.Lines; len(lines) != 3 {
		t.Errorf("people read %q", lines)
	}
	if h := w.health(); h.Undelivered != 0 || h.Held != 0 {
		t.Errorf("health: %+v", h)
	}
	w.queue(w.waits("day"))
	w.pass(10 * time.Second)
	expect(t, c.Stored(), "urgent known 3 messages of the quiet hours day")
}

// guardd's own log wakes nobody: it is written at once.
func TestTheLogAtNight(t *testing.T) {
	c := &notifytest.Memory{ID: "log", Every: time.Second}
	w := quietBench(t, c)
	w.queue(w.waits("a"))
	w.pass(10 * time.Second)
	if n := len(c.Stored()); n != 1 {
		t.Errorf("the log has %d messages, want 1", n)
	}
}

// What is over by the morning is no news then; one alone is told as it is.
func TestOverByTheMorning(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := quietBench(t, c)
	f, g := w.found("f"), w.found("g")
	for _, m := range []guard.Message{w.about(f, "warn"), w.about(g, "warn")} {
		m.Waits = true
		w.queue(m)
	}
	w.pass(3 * time.Hour)
	over := w.end(f)
	over.Waits = true
	w.queue(over)
	w.pass(9 * time.Hour)
	if got := c.Stored(); len(got) != 1 || got[0].Message.Title != g.ID+" warn" {
		t.Errorf("people were told %q", ids(got))
	}
	if h := w.health(); h.Dropped != 2 {
		t.Errorf("health: %+v", h)
	}
}

// What may have arrived before the quiet hours is looked for at once, and told if it has not.
func TestInDoubtAtNight(t *testing.T) {
	c := &notifytest.Memory{Every: time.Second}
	w := quietBench(t, c)
	w.at.Wall = w.at.Wall.Add(-30*time.Minute - 10*time.Second) // ten seconds before
	c.Inject(notifytest.Fault{TimesOut: true, Times: 1})
	w.queue(w.waits("a"))
	w.pass(10 * time.Minute)
	expect(t, c.Stored(), "a")
}

// Held messages let no other channel stand in.
func TestHeldIsNotUndelivered(t *testing.T) {
	slack, pager := newReader("slack"), spare("pager")
	w := newBench(t, memory.New(), slack, pager)
	w.quiet = nights
	w.at.Wall = w.at.Wall.Add(13 * time.Hour)
	w.restart()
	slack.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(3 * time.Hour)})
	m := w.to("slack", "n", false)
	w.queue(m)
	for i := range 5 {
		m := w.to("slack", fmt.Sprint(i), false)
		m.Waits = true
		w.queue(m)
	}
	w.pass(30 * time.Minute)
	if got := titles(pager); got != "" {
		t.Errorf("the pager was told %q", got)
	}
	w.pass(time.Hour)
	if lines := fmt.Sprint(pager.Stored()[0].Message.Lines); !strings.Contains(lines, "wait there: 1, 0 of them urgent") {
		t.Errorf("the pager reads %q", lines)
	}
}
