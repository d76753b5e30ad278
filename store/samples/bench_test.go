package samples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"guard"
)

// load is how a box works that samples are made of.
type load struct {
	name string
	gpus int
	busy bool
}

var loads = []load{{"idle-1", 1, false}, {"idle-8", 8, false}, {"busy-1", 1, true}, {"busy-8", 8, true}}

// aDay is one of an agent's samples, a minute each: what an H100 box tells, with the noise
// that utilisation, power and traffic have.
func (l load) aDay() []guard.Sample {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(mean, sd, most float64) guard.Gauge { return known(min(most, max(0, mean+sd*r.NormFloat64()))) }
	out := make([]guard.Sample, 24*60)
	for i := range out {
		x := &out[i]
		*x = guard.Sample{At: day.Add(time.Duration(i+1)*time.Minute + time.Duration(r.IntN(300))*time.Millisecond), Interval: time.Minute,
			Basis: guard.Summary, Source: "agent", Boot: "1f7f63b8-2a39-4d6c-9d8a-6f5b7f3f2a11", Cores: known(96), Sessions: known(0),
			CPUCores: noise(0.1, 0.05, 96), Rx: noise(2000, 500, 1e10), Tx: noise(1500, 500, 1e10), Disk: noise(20_000, 10_000, 1e10), Processes: known(0)}
		if l.busy {
			x.CPUCores, x.Rx, x.Tx, x.Disk = noise(12, 2, 96), noise(4e6, 1e6, 1e10), noise(9e5, 3e5, 1e10), noise(3e7, 2e7, 1e10)
			x.Processes, x.HeartbeatAge = known(float64(l.gpus)), noise(30, 10, 1e9)
		}
		for range l.gpus {
			g := guard.GPUSample{Util: known(0), UtilMax: known(0), Busy: known(0), MemUsed: known(4), MemTotal: known(81559),
				Power: noise(71, 1, 700), PowerLimit: known(700), Energy: known(float64(i) * 4260)}
			if l.busy {
				g.Util, g.UtilMax, g.Busy, g.MemUsed, g.Power = noise(93, 4, 100), known(100), known(1), noise(61_000, 300, 81559), noise(540, 25, 700)
			}
			x.GPUs = append(x.GPUs, g)
		}
	}
	return out
}

// sizeOf is how many bytes of a file samples of one instance are in the end.
func sizeOf(tb testing.TB, samples []guard.Sample) int64 {
	s := Open(filepath.Join(tb.TempDir(), "signals.db"), day)
	defer s.Close()
	for _, x := range samples {
		s.Append(x.At, Entry{Key: "lab/instance/i-1", Samples: []guard.Sample{x}})
	}
	s.seal("lab/instance/i-1", s.series["lab/instance/i-1"], new(bytes.Buffer))
	if err := s.file.rewrite(s); err != nil {
		tb.Fatal(err)
	}
	return s.Health().Size
}

// dayOf is how many bytes of a file a day has, and of plain JSON.
func dayOf(tb testing.TB, l load) (kept, plain int64) {
	samples := l.aDay()
	for _, x := range samples {
		b, err := json.Marshal(x)
		if err != nil {
			tb.Fatal(err)
		}
		plain += int64(len(b))
	}
	return sizeOf(tb, samples), plain
}

// BenchmarkDay tells how large a day of minutes is, and how many times larger as plain
// JSON.
func BenchmarkDay(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				kept, plain := dayOf(b, l)
				b.ReportMetric(float64(kept), "B/day")
				b.ReportMetric(float64(kept)/(24*60), "B/sample")
				b.ReportMetric(float64(plain)/float64(kept), "×smaller-than-JSON")
			}
		})
	}
}

// A day of one-minute samples of an 8-GPU box is a few kilobytes.
func TestDayIsSmall(t *testing.T) {
	most := map[string]int64{"idle-1": 4 << 10, "idle-8": 6 << 10, "busy-1": 8 << 10, "busy-8": 22 << 10}
	for _, l := range loads {
		kept, plain := dayOf(t, l)
		t.Logf("%s: %d bytes, %.1f a sample, JSON %.0f times as many", l.name, kept, float64(kept)/(24*60), float64(plain)/float64(kept))
		if kept > most[l.name] {
			t.Errorf("a day of %s is %d bytes, more than %d", l.name, kept, most[l.name])
		}
	}
}

// BenchmarkAppend is one poll of 100 boxes of 8 GPUs.
func BenchmarkAppend(b *testing.B) {
	s := Open(filepath.Join(b.TempDir(), "signals.db"), day)
	defer s.Close()
	samples := load{"", 8, true}.aDay()
	state := make([]byte, 1000)
	at, i := day, 0
	for b.Loop() {
		at = at.Add(time.Minute)
		entries := make([]Entry, 100)
		for j := range entries {
			x := samples[(i+j)%len(samples)]
			x.At = at
			entries[j] = Entry{Key: fmt.Sprintf("lab/instance/i-%03d", j), Samples: []guard.Sample{x}, State: state}
		}
		i++
		s.Append(at, entries...)
	}
}
