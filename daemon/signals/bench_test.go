package signals

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/store/samples"
)

const boxes = 100

// fleet tells of a minute of boxes of 8 GPUs that work, some of them.
func fleet(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	now, _ := guard.InstantFrom(ctx)
	out := make([]providers.Signals, len(q.Of))
	for i := range out {
		util := float64(i * 13 % 100)
		x := sample("prometheus", now.Wall, util)
		x.Rx, x.Tx = guard.Gauge{}, guard.Gauge{} // traffic is the ledger's, and measured there
		for len(x.GPUs) < 8 {
			x.GPUs = append(x.GPUs, x.GPUs[0])
		}
		out[i].Samples = []guard.Sample{x}
	}
	return out
}

// BenchmarkPoll is one poll of 100 boxes of 8 GPUs: asked, folded, stored in the file and
// looked at; the ledger is read and not written. Beside it, in the same run, is what it
// costs to write the same samples as JSON into one file, and nothing more.
func BenchmarkPoll(b *testing.B) {
	w := newWorld(b)
	w.store = samples.Open(filepath.Join(b.TempDir(), "signals.db"), start)
	defer w.store.Close()
	w.restart()
	var all []guard.Observed
	for i := range boxes {
		all = append(all, guard.Observed{Resource: guard.Resource{ID: idOf(fmt.Sprintf("i-%03d", i)), State: guard.StateRunning, Created: start.Add(-2 * time.Hour), GPUs: 8, GPUModel: "H100"}})
	}
	w.observe(all...)
	l := w.own(&cloud{answers: fleet})
	w.fine(w.poll(30, l)...)
	written := w.backend.updates
	var plain time.Duration
	f, err := os.Create(filepath.Join(b.TempDir(), "plain.json"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var q providers.SignalQuery
	q.Of = make([]providers.SignalsOf, boxes)
	for b.Loop() {
		w.fine(w.poll(1, l)...)
		b.StopTimer()
		began := time.Now()
		var text []byte
		for _, s := range fleet(guard.WithInstant(b.Context(), instant(w.now)), q) {
			x, err := json.Marshal(s.Samples[0])
			if err != nil {
				b.Fatal(err)
			}
			text = append(append(text, x...), '\n')
		}
		if _, err := f.Write(text); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(began)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(plain), "×JSON-to-a-file")
	b.ReportMetric(float64(w.backend.updates-written), "ledger-updates")
	if w.backend.updates != written {
		b.Errorf("the ledger was written %d times", w.backend.updates-written)
	}
}

// BenchmarkPush is a minute of one agent.
func BenchmarkPush(b *testing.B) {
	w := newWorld(b)
	w.store = samples.Open(filepath.Join(b.TempDir(), "signals.db"), start)
	defer w.store.Close()
	w.restart()
	for b.Loop() {
		w.now = w.now.Add(time.Minute)
		x := sample("agent", w.now, 50)
		x.Rx, x.Tx = guard.Gauge{}, guard.Gauge{}
		w.fine(w.push(x))
	}
}
