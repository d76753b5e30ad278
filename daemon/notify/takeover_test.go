package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// reader is a channel that may be there only for what the others cannot be told.
type reader struct {
	*notifytest.Memory
	fallback bool
	lang     guard.Lang
}

func (r *reader) Fallback() bool   { return r.fallback }
func (r *reader) Lang() guard.Lang { return r.lang }
func newReader(name string) *reader {
	return &reader{Memory: &notifytest.Memory{ID: name, Every: time.Second}}
}
func spare(name string) *reader { r := newReader(name); r.fallback = true; return r }

// titles says what people read in a channel.
func titles(r *reader) string {
	var out []string
	for _, d := range r.Stored() {
		out = append(out, d.Message.Title)
	}
	return strings.Join(out, "; ")
}

// to is a message for a channel.
func (w *bench) to(channel, id string, urgent bool) guard.Message {
	m := notifytest.Message(channel, id)
	m.Title, m.CreatedAt, m.Urgent, m.Rule = id, w.at.Wall, urgent, guard.Rule("rule_"+id)
	return m
}

func dead() notifytest.Fault { return notifytest.Fault{Error: guard.ErrPermission.Error()} }

// TestTakeover: Slack takes nothing while something urgent waits. After ten minutes the
// fall-back channel is told so, once, and what is urgent, also what comes later; when Slack
// is back it gets everything, once, and the other one hears of that.
func TestTakeover(t *testing.T) {
	slack, pager, log := newReader("slack"), spare("pager"), newReader("log")
	w := newBench(t, memory.New(), slack, log, pager)
	slack.Inject(dead())
	w.queue(w.to("slack", "u1", true), w.to("slack", "n1", false), w.to("log", "u1", true))
	w.pass(9 * time.Minute)
	if got := titles(pager); got != "" {
		t.Fatalf("the pager was told %q before ten minutes were over", got)
	}
	w.pass(90 * time.Second)
	first := titles(pager)
	if !strings.HasPrefix(first, "slack takes nothing since 2026-03-06T10:00:00Z: ") || !strings.HasSuffix(first, "; for slack: u1") {
		t.Errorf("the pager was told %q", first)
	}
	if lines := strings.Join(pager.Stored()[0].Message.Lines, "\n"); !strings.Contains(lines, guard.ErrPermission.Error()) || !strings.Contains(lines, "Messages that wait there: 2, 1 of them urgent") {
		t.Errorf("the pager reads %q", lines)
	}
	if !pager.Stored()[0].Message.Urgent || !strings.HasPrefix(titles(log), "u1; slack takes nothing") {
		t.Errorf("the log was told %q", titles(log))
	}
	w.restart()
	w.pass(time.Hour)
	w.queue(w.to("slack", "u2", true), w.to("slack", "n2", false))
	w.pass(time.Hour)
	w.restart()
	w.pass(3 * time.Hour)
	if got := titles(pager); got != first+"; for slack: u2" {
		t.Errorf("the pager was told %q", got)
	}
	h := w.health()
	if h.StandIn != "pager" || h.StandInAt.Sub(h.Since) < 10*time.Minute || h.StandInAt.Sub(h.Since) > 12*time.Minute || h.Undelivered != 4 {
		t.Errorf("health: %+v", h)
	}
	slack.Mend()
	w.pass(2 * time.Hour)
	w.restart()
	w.pass(24 * time.Hour)
	if got := titles(pager); got != first+"; for slack: u2; slack is told again" {
		t.Errorf("the pager was told %q", got)
	}
	got := strings.Split(titles(slack), "; ")
	slices.Sort(got)
	if fmt.Sprint(got) != "[n1 n2 u1 u2]" {
		t.Errorf("slack was told %q", got)
	}
	if n := strings.Count(titles(log), "slack"); n != 2 {
		t.Errorf("the log was told %q", titles(log))
	}
	if h := w.health(); h.StandIn != "" || !h.Since.IsZero() {
		t.Errorf("health: %+v", h)
	}
}

// What is not urgent waits an hour before another channel hears of it, and is not repeated
// there; and nobody hears anything while nothing waits.
func TestTakeoverOfWhatCanWait(t *testing.T) {
	slack, pager := newReader("slack"), spare("pager")
	w := newBench(t, memory.New(), slack, pager)
	slack.Inject(dead())
	w.queue(w.to("slack", "n1", false))
	w.pass(59 * time.Minute)
	if got := titles(pager); got != "" {
		t.Errorf("the pager was told %q within the hour", got)
	}
	w.pass(2 * time.Minute)
	if got := titles(pager); strings.Count(got, ";") != 0 || !strings.HasPrefix(got, "slack takes nothing") || pager.Stored()[0].Message.Urgent {
		t.Errorf("the pager was told %q", got)
	}

	slack, pager = newReader("slack"), spare("pager")
	w = newBench(t, memory.New(), slack, pager)
	slack.Inject(notifytest.Fault{Refused: true, Times: 1})
	w.queue(w.to("slack", "n1", false))
	w.pass(5 * time.Hour)
	if got := titles(pager); got != "" {
		t.Errorf("the pager was told %q", got)
	}
}

// The next channel that is well stands in, in the order of the configuration. One that was
// told everything anyway hears why the other is silent and nothing twice.
func TestWhoStandsIn(t *testing.T) {
	for _, tt := range []struct {
		name string
		dead string // channels that take nothing
		want map[string]string
	}{
		{"a channel that has its own", "slack", map[string]string{"feishu": "slack takes nothing; u1", "pager": "", "mail": ""}},
		{"the first that is well", "slack feishu", map[string]string{"feishu": "", "pager": "feishu takes nothing; for slack: u1; slack takes nothing", "mail": ""}},
		{"not one that is dead too", "slack feishu pager", map[string]string{"pager": "", "mail": "feishu takes nothing; for slack: u1; slack takes nothing"}},
		{"nobody but the log", "slack feishu pager mail", map[string]string{"log": "feishu takes nothing; slack takes nothing", "mail": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			by := map[string]*reader{"slack": newReader("slack"), "log": newReader("log"), "feishu": newReader("feishu"), "pager": spare("pager"), "mail": spare("mail")}
			w := newBench(t, memory.New(), by["slack"], by["log"], by["feishu"], by["pager"], by["mail"])
			for name := range strings.FieldsSeq(tt.dead) {
				by[name].Inject(dead())
			}
			ms := []guard.Message{w.to("slack", "u1", true), w.to("feishu", "u1", true)}
			// The spare ones have failed at something before.
			for _, name := range []string{"pager", "mail"} {
				if strings.Contains(tt.dead, name) {
					ms = append(ms, w.to(name, "old", false))
				}
			}
			w.queue(ms...)
			w.pass(50 * time.Minute)
			for name, want := range tt.want {
				var got []string
				for _, d := range by[name].Stored() {
					title, _, _ := strings.Cut(d.Message.Title, " since")
					got = append(got, title)
				}
				slices.Sort(got)
				if s := strings.Join(got, "; "); s != want {
					t.Errorf("%s was told %q, want %q", name, s, want)
				}
			}
		})
	}
}

// Where no channel was well at first, the first that is takes over then.
func TestTakeoverLater(t *testing.T) {
	slack, log, pager := newReader("slack"), newReader("log"), spare("pager")
	w := newBench(t, memory.New(), slack, log, pager)
	slack.Inject(dead())
	pager.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(30 * time.Minute)})
	w.queue(w.to("slack", "u1", true), w.to("pager", "old", false))
	w.pass(25 * time.Minute)
	if !strings.HasPrefix(titles(log), "slack takes nothing") || titles(pager) != "" {
		t.Errorf("the log was told %q, the pager %q", titles(log), titles(pager))
	}
	w.pass(10 * time.Minute)
	if got := titles(pager); !strings.HasPrefix(got, "old; slack takes nothing") || !strings.HasSuffix(got, "; for slack: u1") {
		t.Errorf("the pager was told %q", got)
	}
}

// Many urgent messages are no flood in the channel that stands in.
func TestTakeoverOfMany(t *testing.T) {
	slack, pager := newReader("slack"), spare("pager")
	w := newBench(t, memory.New(), slack, pager)
	slack.Inject(dead())
	var ms []guard.Message
	for i := range 150 {
		m := w.to("slack", fmt.Sprintf("%03d", i), true)
		m.Rule = guard.RuleBudgetExceeded
		ms = append(ms, m)
	}
	w.queue(ms...)
	w.pass(11 * time.Minute)
	if n := len(pager.Stored()); n < 3 || n > 5 {
		t.Errorf("%d posts of 150 urgent messages: %s", n, titles(pager))
	}
	spaced(t, pager.Posts(), time.Second)
}

// Killed wherever it is: the channel that stands in is told everything once.
func TestTakeoverKilled(t *testing.T) {
	for left := 1; left < 14; left++ {
		slack, pager := newReader("slack"), spare("pager")
		w := newBench(t, memory.New(), slack, pager)
		slack.Inject(dead())
		w.queue(w.to("slack", "u1", true), w.to("slack", "u2", true))
		w.pass(9*time.Minute + 30*time.Second)
		w.backend.left = left
		w.pass(90 * time.Second)
		w.restart()
		w.pass(20 * time.Minute)
		got := titles(pager)
		if strings.Count(got, "slack takes nothing") != 1 || strings.Count(got, "for slack: u1") != 1 || strings.Count(got, "for slack: u2") != 1 {
			t.Errorf("killed after %d updates, the pager was told %q", left, got)
		}
	}
}

// A channel that stood in and is not configured any more is replaced.
func TestStandInRemoved(t *testing.T) {
	slack, pager, mail := newReader("slack"), spare("pager"), spare("mail")
	w := newBench(t, memory.New(), slack, pager)
	slack.Inject(dead())
	w.queue(w.to("slack", "u1", true))
	w.pass(20 * time.Minute)
	w.channels = []notify.Channel{slack, mail}
	w.restart()
	w.pass(time.Minute)
	if got := titles(mail); !strings.HasPrefix(got, "slack takes nothing") || !strings.HasSuffix(got, "; for slack: u1") {
		t.Errorf("mail was told %q", got)
	}
}

// A stand-in that is said in another language, and of a clock that was set meanwhile.
func TestTakeoverByAClockThatSteps(t *testing.T) {
	slack, pager := newReader("slack"), spare("pager")
	w := newBench(t, memory.New(), slack, pager)
	slack.Inject(dead())
	w.queue(w.to("slack", "u1", true))
	w.pass(time.Minute)
	w.at.Wall = w.at.Wall.Add(-5 * time.Hour)
	w.pass(10 * time.Minute)
	if got := titles(pager); !strings.HasPrefix(got, "slack takes nothing") {
		t.Errorf("the pager was told %q", got)
	}
}

// A fall-back channel's copies go under the ID that the message would have had there.
func TestCopiesHaveOneID(t *testing.T) {
	slack, pager := newReader("slack"), spare("pager")
	w := newBench(t, memory.New(), slack, pager)
	slack.Inject(notifytest.Fault{TimesOut: true})
	slack.Blind = guard.ErrPermission // the first is in doubt, its copy is not
	m := w.to("slack", "u1", true)
	m.Release = "lab/instance/i-u1|expiry|1"
	w.queue(m)
	w.pass(15 * time.Minute)
	_, sent := w.pending()
	if got, ok := sent["pager|u1"]; !ok || got.Release != m.Release || got.MayRepeat || got.Attempts != 1 || pager.Looks() > 0 {
		t.Errorf("sent: %+v", sent)
	}
	if !slices.Contains(w.kicked, "release/lab") {
		t.Errorf("kicked %v: the release does not hear that people were told", w.kicked)
	}
	err := w.ledger.View(t.Context(), func(v *store.View) error {
		hs, err := notify.Health(v, w.at.Wall, nil, "slack", "pager")
		if hs[0].Channel != "pager" || hs[1].StandIn != "pager" {
			t.Errorf("health: %+v", hs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
