package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/notify"
	"guard/daemon/notify/notifytest"
	"guard/store/memory"
)

// Law 9: no alert is lost; none is sent again once acknowledged, across restarts
// and outages. Whatever fails and whenever guardd is killed: in the end people saw
// each message once; no two posts were too close; nothing was posted while the
// channel had asked to wait.
func TestNothingLostNothingTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pace = time.Second
		c := &notifytest.Memory{Every: pace, Room: 3000}
		k := &chaos{Memory: c}
		w := newBench(t, memory.New(), k)
		k.w = w
		faults := rapid.SampledFrom([]notifytest.Fault{
			{TimesOut: true, Stored: true}, {TimesOut: true}, {Refused: true}, {Status: 500}, {Status: 503, Stored: true},
			{Status: 429, RetryAfter: 30 * time.Second}, {Status: 429, RetryAfter: 20 * time.Second, Stored: true}, {Status: 429},
			{Error: guard.ErrPermission.Error()}, {Error: guard.ErrConflict.Error()}, {Error: "msg_too_long"},
		})
		rules := rapid.SampledFrom([]guard.Rule{guard.RuleExpired, guard.RuleUnregistered, guard.RuleBudgetWarning, ""})
		var titles []string
		t.Repeat(map[string]func(*rapid.T){
			"queue": func(t *rapid.T) {
				rule, urgent := rules.Draw(t, "rule"), rapid.Bool().Draw(t, "urgent")
				var ms []guard.Message
				known := len(titles)
				for range rapid.IntRange(1, 12).Draw(t, "messages") {
					m := w.message(fmt.Sprintf("%04d", len(titles)))
					m.Rule, m.Urgent = rule, urgent
					m.Thread = fmt.Sprintf("lab/instance/i-%d", rapid.IntRange(1, 3).Draw(t, "instance"))
					titles = append(titles, m.Title)
					ms = append(ms, m)
				}
				if !w.queue(ms...) {
					titles = titles[:known] // the cause is lost with them, and comes again
				}
				k.revive()
			},
			"fail": func(t *rapid.T) {
				f := faults.Draw(t, "fault")
				f.Times = rapid.IntRange(1, 4).Draw(t, "times")
				c.Inject(f)
			},
			"kill":    func(*rapid.T) { w.restart() },
			"killing": func(t *rapid.T) { w.backend.left = rapid.IntRange(1, 6).Draw(t, "updates") },
			"blind": func(t *rapid.T) {
				c.Inject(notifytest.Fault{TimesOut: true, Stored: true, Times: 1})
				k.blindUntil = w.at.Wall.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			},
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

		count := map[string]int{}
		for _, d := range c.Stored() {
			for _, text := range append([]string{d.Message.Title}, d.Message.Lines...) {
				for _, title := range titles {
					if strings.HasPrefix(text, title) {
						count[title]++
					}
				}
			}
		}
		for _, title := range titles {
			if count[title] != 1 {
				t.Errorf("people saw %q %d times", title, count[title])
			}
		}
		if pending, sent := w.pending(); len(pending) != 0 || len(sent) != len(titles) {
			t.Errorf("%d pending, %d of %d sent", len(pending), len(sent), len(titles))
		}
		spaced(t, c.Posts(), pace)
		if len(k.early) > 0 {
			t.Errorf("posted during a wait: %v", k.early)
		}
	})
}

// chaos keeps an eye on the waits that the channel asked for.
type chaos struct {
	*notifytest.Memory
	w          *bench
	until      time.Time
	blindUntil time.Time
	early      []string
}

var _ notify.Limited = (*chaos)(nil)

// revive begins a new life where the last one was killed. It cannot know of a wait
// that the channel asked for in the very answer that was lost.
func (k *chaos) revive() {
	if k.w.backend.dead {
		k.until = time.Time{}
		k.w.restart()
	}
}

func (k *chaos) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	if k.w.at.Wall.Before(k.until) {
		k.early = append(k.early, m.ID)
	}
	posted, err := k.Memory.Post(ctx, m, thread)
	if wait, ok := guard.RetryAfter(err); ok {
		k.until = k.w.at.Wall.Add(wait)
	}
	return posted, err
}

// Find fails for a while now and then, never long enough for guard to give up.
func (k *chaos) Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error) {
	if k.w.at.Wall.Before(k.blindUntil) {
		return guard.Posted{}, false, fmt.Errorf("%w: look into memory", guard.ErrUnavailable)
	}
	return k.Memory.Find(ctx, m, thread)
}
