package notify_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/store"
	"guard/store/memory"
)

// flooded is what came of many messages at once.
type flooded struct {
	drained  time.Duration   // virtual, until nothing waited
	took     []time.Duration // virtual, from finding to delivery, of all that were told
	urgent   []time.Duration // of those the urgent ones
	posts    int
	dropped  int
	bytes    int // of heap, per message, at the height
	real     time.Duration
	problems []string
}

// flood queues n messages of a bad hour at one moment: a quarter each of one kind, of
// several stages of the same findings, of single instances, and urgent ones, on n/10 boxes.
func flood(t tb, n int) flooded {
	c := &notifytest.Memory{Every: time.Second, Room: 12_000}
	w := newBench(t, memory.New(), c)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := w.at
	c.Inject(notifytest.Fault{Refused: true, Until: w.at.Wall.Add(2 * time.Hour)})
	boxes := n/10 | 1 // each has messages of all kinds
	var ms []guard.Message
	stages := map[string]int{}
	for i := range n {
		m := notifytest.Message("memory", fmt.Sprintf("%06d", i))
		m.CreatedAt = w.at.Wall.Add(time.Duration(i) * time.Millisecond)
		m.Thread = fmt.Sprintf("lab/instance/i-%d", i%boxes)
		m.Lines = append(m.Lines, strings.Repeat("a line of middling length about what it costs and what can be done; ", 3))
		switch i % 4 {
		case 0:
			m.Rule = guard.RuleUnregistered
		case 1: // stages of findings, the newest counts
			f := fmt.Sprintf("budget_warning|lab/i-%d|%d", i%boxes, start.Wall.Unix())
			stages[f]++
			m.ID, m.Rule, m.Finding = fmt.Sprintf("memory|%s|%d", f, stages[f]), guard.RuleBudgetWarning, f
		case 2:
			m.Rule, m.Release = "", fmt.Sprintf("r-%d", i)
		case 3:
			m.Rule, m.Urgent = guard.RuleBudgetExceeded, true
		}
		ms = append(ms, m)
	}
	began := time.Now()
	err := w.ledger.UpdateEach(w.ctx(), len(ms), func(tx *store.Tx, i int) error { return tx.Queue(ms[i]) })
	if err != nil {
		t.Fatal(err)
	}
	w.next = w.at
	w.pass(2 * time.Hour)
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.Mend()
	back := w.at
	var out flooded
	for {
		w.pass(10 * time.Second)
		if h := w.health(); h.Undelivered == 0 {
			out.dropped = h.Dropped
			break
		}
		if w.at.Sub(back) > 24*time.Hour {
			t.Fatal("it does not end")
		}
	}
	out.real, out.drained = time.Since(began), w.at.Sub(back)
	out.bytes = int(after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc)) / n
	_, sent := w.pending()
	posts := map[string]notifytest.Delivery{}
	order := map[string]int{}
	for i, d := range c.Stored() {
		posts[d.Receipt] = d
		order[d.Receipt] = i
	}
	out.posts = len(posts)
	last := map[string]guard.Message{}
	for _, m := range ms {
		s, ok := sent[m.ID]
		if !ok {
			continue
		}
		took := posts[s.Receipt].At.Sub(back.Wall)
		out.took = append(out.took, took)
		if m.Urgent {
			out.urgent = append(out.urgent, took)
		}
		key := fmt.Sprint(m.Thread, m.Urgent)
		if p, ok := last[key]; ok && order[sent[p.ID].Receipt] > order[s.Receipt] {
			out.problems = append(out.problems, fmt.Sprintf("%s is told before %s of the same thread", m.ID, p.ID))
		}
		last[key] = m
	}
	if len(sent)+out.dropped != n {
		out.problems = append(out.problems, fmt.Sprintf("%d told and %d dropped of %d", len(sent), out.dropped, n))
	}
	if want := len(ms)/4 - len(stages); out.dropped != want {
		out.problems = append(out.problems, fmt.Sprintf("%d dropped, want the %d stages that were overtaken", out.dropped, want))
	}
	spaced(t, c.Posts(), time.Second)
	slices.Sort(out.took)
	slices.Sort(out.urgent)
	return out
}

func quantile(ds []time.Duration, q float64) time.Duration {
	return ds[int(q*float64(len(ds)-1))]
}

// TestFlood: many at once are grouped, in order within a thread, at most one a second, the
// newest state in the place of older ones; what is urgent is told first.
func TestFlood(t *testing.T) {
	f := flood(t, 1000)
	for i, p := range f.problems {
		if i == 10 {
			t.Errorf("and %d more", len(f.problems)-i)
			break
		}
		t.Error(p)
	}
	if f.drained > 2*time.Minute || quantile(f.urgent, 1) > 30*time.Second {
		t.Errorf("drained in %s, what is urgent in %s", f.drained, quantile(f.urgent, 1))
	}
}

// BenchmarkFlood measures 10,000 messages at once, and what each takes beside one of 1,000.
func BenchmarkFlood(b *testing.B) {
	var few, many flooded
	for b.Loop() {
		few, many = flood(b, 1000), flood(b, 10_000)
	}
	if len(many.problems) > 0 {
		b.Errorf("%d problems, the first: %s", len(many.problems), many.problems[0])
	}
	b.ReportMetric(many.drained.Seconds(), "virtual-s")
	b.ReportMetric(float64(many.posts), "posts")
	b.ReportMetric(float64(many.dropped), "dropped")
	b.ReportMetric(quantile(many.took, 0.5).Seconds(), "p50-s")
	b.ReportMetric(quantile(many.took, 0.99).Seconds(), "p99-s")
	b.ReportMetric(quantile(many.urgent, 0.99).Seconds(), "urgent-p99-s")
	b.ReportMetric(float64(many.bytes), "B/message")
	b.ReportMetric(many.real.Seconds()/few.real.Seconds()/10, "x-few")
}
