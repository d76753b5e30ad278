package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/wire"
)

func TestBackoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.IntRange(1, 1_000_000).Draw(t, "failures")
		asked := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "asked"))
		chance := rapid.Float64Range(0, 0.999).Draw(t, "chance")
		d := backoff(failures, asked, chance)
		if d < firstWait/2 || d < asked || d > max(mostWait, asked+firstWait) {
			t.Fatalf("%s after %d failures, asked %s", d, failures, asked)
		}
		if asked == 0 && failures > 1 && d < backoff(failures-1, 0, 0) {
			t.Fatalf("%s after %d failures, less than before", d, failures)
		}
	})
	for failures, want := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 7: 5 * time.Minute, 99: 5 * time.Minute} {
		if d := backoff(failures, 0, 0.999999); d.Round(time.Second) != want {
			t.Errorf("%d failures: %s, want %s", failures, d, want)
		}
	}
}

func sampleOf(x wire.AgentSample) (guard.Sample, error) {
	var s guard.Sample
	err := json.Unmarshal(x.Sample, &s)
	return s, err
}

// TestBufferOrder: whatever is pushed, taken and kept between restarts comes out once, in
// order, but for the oldest of too many.
func TestBufferOrder(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		file := dir + "/samples"
		b := &buffer{most: 20, stream: "s0", file: file}
		if err := replace(file, nil); err != nil {
			t.Fatal(err)
		}
		var want []float64 // what is to come out still
		n, restarts := 0.0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"push", "push", "push", "take", "keep", "restart"}).Draw(t, "what") {
			case "push":
				n++
				b.push(guard.Sample{CPUCores: guard.Known(n)}, "one", moment(0))
				if want = append(want, n); len(want) > b.most {
					want = want[1:]
				}
			case "take":
				batch, rest, _, err := b.batch("one", moment(0), mostBatch)
				if err != nil || rest != 0 || len(batch) != len(want) {
					t.Fatalf("%d samples and %d after them, want %d (%v)", len(batch), rest, len(want), err)
				}
				for i, x := range batch {
					s, err := sampleOf(x)
					if err != nil || s.CPUCores.V != want[i] {
						t.Fatalf("sample %d is %v, want %v (%v)", i, s.CPUCores.V, want[i], err)
					}
				}
				// The answer was lost, or came.
				if rapid.Bool().Draw(t, "answered") {
					b.took(batch)
					want = nil
				}
			case "keep":
				if err := b.keep(); err != nil {
					t.Fatal(err)
				}
			case "restart":
				if err := b.keep(); err != nil {
					t.Fatal(err)
				}
				restarts++
				b = &buffer{most: 20, stream: string(rune('a' + restarts)), file: file}
				if err := b.load(); err != nil {
					t.Fatal(err)
				}
			}
			if b.len() > b.most {
				t.Fatalf("%d wait", b.len())
			}
		}
	})
}

// TestBufferTimes: a clock that was set while samples waited has put their times wrong;
// in the same boot they are put right, in another nobody can.
func TestBufferTimes(t *testing.T) {
	b := &buffer{most: 10, stream: "s"}
	taken := moment(0)
	b.push(guard.Sample{At: taken.Wall}, "one", taken)
	for _, c := range []struct {
		boot string
		set  time.Duration
		want time.Duration // of the sample's time from what it was
	}{{"one", 0, 0}, {"one", 4 * time.Second, 0}, {"one", -3 * time.Hour, -3 * time.Hour}, {"one", 3 * time.Hour, 3 * time.Hour}, {"two", 3 * time.Hour, 0}} {
		at := moment(10 * time.Minute)
		at.Wall = at.Wall.Add(c.set)
		batch, _, _, err := b.batch(c.boot, at, mostBatch)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := sampleOf(batch[0]); err != nil || s.At.Sub(taken.Wall) != c.want {
			t.Errorf("boot %s, set by %s: moved by %s, want %s", c.boot, c.set, s.At.Sub(taken.Wall), c.want)
		}
	}
}

// TestBufferBatches: a batch is bounded in samples and bytes, and so is what waits.
func TestBufferBatches(t *testing.T) {
	b := &buffer{most: mostWaiting, stream: "s"}
	big := guard.Sample{GPUs: make([]guard.GPUSample, 16)}
	for i := range big.GPUs {
		big.GPUs[i] = guard.GPUSample{Util: guard.Known(33.333333333), UtilMax: guard.Known(99), Busy: guard.Known(0.3333333333), MemUsed: guard.Known(80000), Power: guard.Known(555.5)}
	}
	for range mostWaiting + 50 {
		b.push(big, "one", moment(0))
	}
	total, requests := 0, 0
	for b.len() > 0 {
		batch, rest, lost, err := b.batch("one", moment(0), mostBatch)
		if err != nil || len(batch) == 0 || len(batch) > mostBatch || lost != 50 || rest != b.len()-len(batch) {
			t.Fatalf("%d in a batch, %d after it, %d lost (%v)", len(batch), rest, lost, err)
		}
		body, err := json.Marshal(wire.AgentRequest{Samples: batch})
		if err != nil || len(body) > 900<<10 {
			t.Fatalf("a body of %d bytes (%v)", len(body), err)
		}
		b.took(batch)
		total, requests = total+len(batch), requests+1
	}
	if total != mostWaiting {
		t.Errorf("%d samples in %d requests", total, requests)
	}
}

// TestBufferFile: a file that was cut off or overwritten costs what was lost in it, and
// no more.
func TestBufferFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "samples")
	b := &buffer{most: 10, stream: "s", file: file}
	for i := range 3 {
		b.push(guard.Sample{CPUCores: guard.Known(float64(i))}, "one", moment(0))
	}
	if err := b.keep(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want int
	}{"whole": {string(text), 3}, "cut off": {string(text[:len(text)-10]), 2}, "nonsense before it": {"nonsense\n\x00{}\n" + string(text), 3}, "empty": {"", 0}} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		again := &buffer{most: 10, stream: "t", file: file}
		if err := again.load(); err != nil || again.len() != c.want {
			t.Errorf("%s: %d samples, want %d (%v)", name, again.len(), c.want, err)
		}
		// What is kept from then on can be read again.
		again.push(guard.Sample{}, "one", moment(0))
		if err := again.keep(); err != nil {
			t.Fatal(err)
		}
		third := &buffer{most: 10, stream: "u", file: file}
		if err := third.load(); err != nil || third.len() != c.want+1 {
			t.Errorf("%s, and one more: %d samples (%v)", name, third.len(), err)
		}
	}
}
