package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// found opens a finding now.
func (w *bench) found(id string) guard.Finding {
	f := guard.Finding{Rule: guard.Rule("rule_" + id), Subject: "lab/i-" + id, Opened: w.at.Wall, Resource: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-" + id}}
	f.ID = fmt.Sprintf("%s|%d", f.Key(), f.Opened.Unix())
	err := w.ledger.Update(w.ctx(), func(tx *store.Tx) error { return tx.Findings.Put(f) })
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// about is a message of a stage of a finding.
func (w *bench) about(f guard.Finding, stage string) guard.Message {
	return guard.Message{ID: w.channels[0].Name() + "|" + f.ID + "|" + stage, Channel: w.channels[0].Name(), Rule: f.Rule, Finding: f.ID,
		About: []guard.ResourceID{f.Resource}, Thread: f.Resource.Key(), Title: f.ID + " " + stage, CreatedAt: w.at.Wall}
}

// end closes a finding and says so.
func (w *bench) end(f guard.Finding) guard.Message {
	f.Closed = w.at.Wall
	err := w.ledger.Update(w.ctx(), func(tx *store.Tx) error { return tx.CloseFinding(f) })
	if err != nil {
		w.t.Fatal(err)
	}
	return w.about(f, "over")
}

// TestOvertaken: after hours without Slack only what is still news is told.
func TestOvertaken(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w *bench, c *notifytest.Memory)
		want string // stages, in order
		drop int
	}{
		{"an older stage", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			for _, stage := range []string{"80%", "90%", "95%"} {
				w.queue(w.about(f, stage))
				w.pass(time.Hour)
			}
		}, "95%", 2},
		{"nobody was told that it began", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			w.queue(w.about(f, "warn"))
			w.pass(time.Hour)
			w.queue(w.end(f))
		}, "", 2},
		{"what was tried may have been read", func(w *bench, c *notifytest.Memory) {
			f := w.found("a")
			m := w.about(f, "warn")
			m.Attempts = 1
			w.queue(m)
			w.pass(time.Hour)
			w.queue(w.end(f))
		}, "warn over", 0},
		{"the first was told with others", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			group := w.message("group")
			group.Title = "lab: 7 × group"
			w.queue(group)
			w.pass(time.Hour)
			w.queue(w.about(f, "later"))
			w.pass(time.Hour)
			w.queue(w.end(f))
		}, "group over", 1},
		{"urgent ones are all told", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			for _, stage := range []string{"warn", "due"} {
				m := w.about(f, stage)
				m.Urgent = true
				w.queue(m)
				w.pass(time.Hour)
			}
			w.queue(w.end(f))
		}, "warn due over", 0},
		{"a notice is told", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			m := w.about(f, "warn")
			m.Release = "lab/instance/i-a|expiry|1"
			w.queue(m)
			w.pass(time.Hour)
			w.queue(w.about(f, "later"))
			w.pass(time.Hour)
			w.queue(w.end(f))
		}, "warn over", 1},
		{"two of one moment", func(w *bench, _ *notifytest.Memory) {
			f := w.found("a")
			w.queue(w.about(f, "one"), w.about(f, "two"))
		}, "one two", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &notifytest.Memory{Every: time.Second}
			w := newBench(t, memory.New(), c)
			// Another channel's refusal of something else keeps all that is new from being tried.
			c.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(12 * time.Hour)})
			w.queue(w.urgent("probe"))
			w.pass(time.Minute)
			tt.do(w, c)
			w.pass(13 * time.Hour)
			var got []string
			for _, d := range c.Stored() {
				if title := d.Message.Title; !strings.Contains(title, "probe") {
					got = append(got, title[strings.LastIndex(title, " ")+1:])
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("people were told %q, want %q", s, tt.want)
			}
			if h := w.health(); h.Dropped != tt.drop || h.Undelivered != 0 {
				t.Errorf("health: %+v, want %d dropped", h, tt.drop)
			}
		})
	}
}

// Law 9 for what is dropped: whatever waits for how long, everything urgent and everything
// of a release is told; of each finding that is open the newest; that one is over where
// anybody was told that it began, alone or with others; nothing twice; and what is not told
// is counted.
func TestNothingNeededIsDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &notifytest.Memory{Every: time.Second}
		k := &chaos{Memory: c}
		w := newBench(t, memory.New(), k)
		k.w = w
		type story struct {
			guard.Finding
			grouped, closed bool
			said            []guard.Message
		}
		var all []*story
		must := map[string]bool{}
		queued := 0
		say := func(t *rapid.T, s *story, m guard.Message) {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				m.Urgent = true
			case 1:
				m.Release = "lab/instance/i|expiry|1"
			}
			must[m.Title] = m.Urgent || m.Release != ""
			s.said = append(s.said, m)
			queued++
			w.queue(m)
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				s := &story{Finding: w.found(fmt.Sprint(len(all)))}
				all = append(all, s)
				say(t, s, w.about(s.Finding, "first"))
			},
			"open many": func(t *rapid.T) {
				m := w.message(fmt.Sprint("group", len(all)))
				m.Title = "group of"
				for range 2 {
					s := &story{Finding: w.found(fmt.Sprint(len(all))), grouped: true}
					all = append(all, s)
					m.Title += " " + s.ID
				}
				must[m.Title] = true
				queued++
				w.queue(m)
			},
			"stage": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nothing is open")
				}
				if s := rapid.SampledFrom(all).Draw(t, "finding"); !s.closed {
					w.pass(time.Second) // no moment is judged twice
					say(t, s, w.about(s.Finding, fmt.Sprint("stage", queued)))
				}
			},
			"close": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nothing is open")
				}
				if s := rapid.SampledFrom(all).Draw(t, "finding"); !s.closed {
					s.closed = true
					say(t, s, w.end(s.Finding))
				}
			},
			"outage": func(t *rapid.T) {
				c.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "minutes")) * time.Minute)})
			},
			"lost answer": func(t *rapid.T) {
				c.Inject(notifytest.Fault{TimesOut: true, Stored: rapid.Bool().Draw(t, "stored"), Times: 2})
			},
			"kill": func(*rapid.T) { w.restart() },
			"pass": func(t *rapid.T) { w.pass(time.Duration(rapid.IntRange(1, 5000).Draw(t, "s")) * time.Second) },
			"":     func(*rapid.T) {},
		})
		c.Mend()
		w.pass(5 * time.Hour)

		seen := map[string]int{}
		for _, d := range c.Stored() {
			texts := []string{d.Message.Title}
			if strings.Contains(d.Message.ID, "|digest|") {
				texts = d.Message.Lines
			}
			for _, text := range texts {
				title, _, _ := strings.Cut(text, " · ")
				seen[title]++
			}
		}
		for title, n := range seen {
			if n != 1 {
				t.Errorf("people saw %q %d times", title, n)
			}
		}
		for title, needed := range must {
			if needed && seen[title] == 0 {
				t.Errorf("%q was never told", title)
			}
		}
		for _, s := range all {
			if len(s.said) == 0 {
				continue
			}
			told := s.grouped || slices.ContainsFunc(s.said, func(m guard.Message) bool { return seen[m.Title] > 0 })
			if last := s.said[len(s.said)-1].Title; seen[last] == 0 && (told || !s.closed) {
				t.Errorf("%q, the newest of its finding, was never told (closed %t, told of it %t)", last, s.closed, told)
			}
		}
		if h := w.health(); h.Dropped != queued-len(seen) || h.Undelivered != 0 {
			t.Errorf("%d were queued and %d told: %+v", queued, len(seen), h)
		}
	})
}
