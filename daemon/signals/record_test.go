package signals

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy/activity"
	"guard/store/samples"
)

// What is stored of a state is all of it: folding on from it is folding on.
func TestStateIsStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, box, at := activity.State{}, activity.Box{GPUs: 1, GPUModel: "H100", Created: start.Add(-2 * time.Hour), Running: true}, start
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.IntRange(1, 4).Draw(t, "minutes")) * time.Minute)
			x := sample("agent", at, rapid.SampledFrom([]float64{0, 0, 0, 1, 50, 100}).Draw(t, "util"))
			x.Boot = rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "boot")
			x.Rx = guard.Known(rapid.SampledFrom([]float64{0, 1e6}).Draw(t, "rx"))
			x.Processes = rapid.SampledFrom([]guard.Gauge{{}, guard.Known(0), guard.Known(1)}).Draw(t, "processes")
			text, err := record{State: s}.bytes()
			if err != nil {
				t.Fatal(err)
			}
			back, err := readRecord(text)
			if err != nil {
				t.Fatal(err)
			}
			s = s.Fold(activity.Defaults(), box, x, at)
			stored := back.State.Fold(activity.Defaults(), box, x, at)
			one, _ := json.Marshal(s)
			two, _ := json.Marshal(stored)
			if !s.Same(stored) || string(one) != string(two) {
				t.Fatalf("from memory\n%s\nfrom the store\n%s", one, two)
			}
		}
	})
}

// A state that cannot be read costs that instance its clock, and nothing else.
func TestStateIsDamaged(t *testing.T) {
	w := newWorld(t)
	w.store.Append(start, samples.Entry{Key: box1, State: []byte("{nonsense")}, samples.Entry{Key: "lab/instance/i-2", State: []byte(`{"seen":"2026-03-06T10:00:00Z"}`)})
	w.restart()
	w.fine(w.poll(1, w.own(&cloud{name: "cloud"}))...)
	if _, ok := w.book.Activity(box1); !ok {
		t.Error("it does not begin anew")
	}
}
