package activity_test

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	. "guard/policy/activity"
)

// bare is the pod's utilisation alone, as the expected runs are reckoned.
func (p *pod) bare() *pod {
	q := *p
	q.mem, q.ticks = nil, nil
	for at := range p.util {
		q.ticks = append(q.ticks, at)
	}
	slices.Sort(q.ticks)
	return &q
}

// runs are the stretches that the fold says are idle, ended by a hole of more than two
// steps: the longest (as the reference reckons it, from the end of the first sample to
// that of the last).
func longestRun(p *pod, busy Busy) time.Duration {
	var s State
	var longest time.Duration
	var from, last time.Time
	for _, tick := range p.ticks {
		x := p.sample(tick)
		s = s.Fold(busy, podBox, x, x.At)
		if !s.Idle.On() || !s.Idle.End.Equal(x.At) {
			from = time.Time{}
			continue
		}
		if from.IsZero() || x.At.Sub(last) > 2*step {
			from = x.At
		}
		last = x.At
		longest = max(longest, last.Sub(from))
	}
	return longest
}

// TestTraceRuns: each pod's longest idle run is the expected one within a step, so that
// no hole was taken for quiet (IDLE-11), and as many pods are flagged after 30, 60, 120
// and 240 minutes (IDLE-12).
func TestTraceRuns(t *testing.T) {
	f, err := os.Open(shared(t, "alibaba_gentd26", "expected_idle.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	strict, naive := slices.Index(rows[0], "longest_le5_min_strict"), slices.Index(rows[0], "longest_le5_min_naive_gapzero")
	want := map[string]float64{}
	lies := map[string]float64{}
	for _, r := range rows[1:] {
		want[r[0]], _ = strconv.ParseFloat(r[strict], 64)
		lies[r[0]], _ = strconv.ParseFloat(r[naive], 64)
	}
	busy := Defaults()
	busy.GPU = math.Nextafter(5, 6) // at most 5 % is idle
	flagged := map[int]int{}
	for _, p := range pods(t) {
		p = p.bare()
		run := longestRun(p, busy).Minutes()
		if math.Abs(run-want[p.name]) > step.Minutes() {
			t.Errorf("%s: the longest run is %.2f min, not %.2f", p.name[:8], run, want[p.name])
		}
		for _, m := range []int{30, 60, 120, 240} {
			if run >= float64(m) {
				flagged[m]++
			}
		}
		// Seen is what samples stand for: where the naive count finds an hour, and there
		// is none, there is none.
		fires := ours("", time.Hour, busy)(p)
		if lies[p.name] >= 60 && want[p.name] < 30 && len(fires) > 0 {
			t.Errorf("%s: an hour of idleness is found where the longest run is %.1f min", p.name[:8], want[p.name])
		}
	}
	if got, want := fmt.Sprint(flagged), fmt.Sprint(map[int]int{30: 126, 60: 109, 120: 81, 240: 19}); got != want {
		t.Errorf("pods flagged after so many minutes: %s, not %s", got, want)
	}
}

// TestTraceHeldAllDay: pods that hold memory all day and do next to nothing are flagged
// after four hours, once, whatever holes there are; one whose longest run is 130 minutes is
// not (IDLE-12). Of the pods with the most holes none is, at one hour (IDLE-11).
func TestTraceHeldAllDay(t *testing.T) {
	busy := Defaults()
	busy.GPU = math.Nextafter(5, 6)
	want := map[string]int{"673d3687": 1, "87b9247b": 1, "9032a010": 1, "41f81ea9": 1, "c602ea5b": 0}
	for _, p := range pods(t) {
		n, is := want[p.name[:8]]
		if fires := ours("", 4*time.Hour, busy)(p.bare()); is && len(fires) != n {
			t.Errorf("%s: flagged %d times, not %d: %v", p.name[:8], len(fires), n, fires)
		}
		if slices.Contains([]string{"2e6ae913", "2a2ad10c", "0ec705c2", "3ed83727"}, p.name[:8]) {
			if fires := ours("", time.Hour, busy)(p.bare()); len(fires) > 0 {
				t.Errorf("%s: idle for an hour, which no run of its samples is", p.name[:8])
			}
		}
	}
}

// h100 is a run of eight H100, in samples of so long: power, utilisation and memory read
// every 0.1 s, eight rows a reading.
func h100(t *testing.T, file string, every time.Duration) []guard.Sample {
	t.Helper()
	f, err := os.Open(shared(t, "h100_training_profile", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Scan() // the names
	var out []guard.Sample
	var sum [8]struct{ n, util, most, busy, power float64 }
	var end time.Time
	for i := 0; lines.Scan(); i++ {
		field := strings.Split(lines.Text(), ", ")
		at, err := time.Parse("2006/01/02 15:04:05.000", field[0])
		var v [3]float64
		for j, s := range field[1:4] {
			var e error
			if v[j], e = strconv.ParseFloat(strings.Fields(s)[0], 64); e != nil {
				err = e
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if end.IsZero() {
			end = at.Add(every)
		}
		if i%8 == 0 && !at.Before(end) {
			x := guard.Sample{At: end, Interval: every, Basis: guard.Summary, Source: "trace", Boot: "b", GPUs: make([]guard.GPUSample, 8)}
			for j, s := range sum {
				x.GPUs[j] = guard.GPUSample{Util: guard.Known(s.util / s.n), UtilMax: guard.Known(s.most), Busy: guard.Known(s.busy / s.n),
					Power: guard.Known(s.power / s.n), PowerLimit: guard.Known(700)}
			}
			x.Rx, x.Tx = guard.Known(2e3), guard.Known(2e3)
			out = append(out, x)
			end, sum = end.Add(every), [8]struct{ n, util, most, busy, power float64 }{}
		}
		s := &sum[i%8]
		s.n, s.util, s.most, s.power = s.n+1, s.util+v[1], max(s.most, v[1]), s.power+v[0]
		if v[1] >= 2 {
			s.busy++
		}
	}
	return out
}

// TestTraceH100: real runs are never idle while they train, and one that writes a
// checkpoint at each step looks hung on its GPUs in most samples: the disk that it writes
// to says that it is not, and where nobody tells of the disk nothing is said.
func TestTraceH100(t *testing.T) {
	box := Box{GPUs: 8, GPUModel: "NVIDIA H100 80GB HBM3", Created: time.Unix(0, 0), Running: true}
	hung := func(xs []guard.Sample, disk func(i int) guard.Gauge) (share float64, longest time.Duration) {
		var s State
		n := 0
		for i, x := range xs {
			x.Disk = disk(i)
			s = s.Fold(Defaults(), box, x, x.At)
			if s.Hung.On() {
				n++
				longest = max(longest, s.Hung.Seen)
			}
		}
		return 100 * float64(n) / float64(len(xs)), longest
	}
	for _, run := range []string{"ckpt1.csv.gz", "ckpt500.csv.gz", "ckpt1000.csv.gz", "power-trace_2025-07-26-23-32-09.csv.gz"} {
		xs := h100(t, run, 10*time.Second)
		if len(xs) < 60 {
			t.Fatalf("%s: only %d samples", run, len(xs))
		}
		still, longest := hung(xs, func(int) guard.Gauge { return guard.Known(0) })
		t.Logf("%s: with a disk that stands still it looks hung in %.0f %% of %d samples, for %s on end", run, still, len(xs), longest)
		if run == "ckpt1.csv.gz" && still < 50 {
			t.Errorf("%s looks hung in only %.0f %%: the test shows nothing", run, still)
		}
		if share, _ := hung(xs, func(int) guard.Gauge { return guard.Gauge{} }); share > 0 {
			t.Errorf("%s: hung in %.0f %% although nobody tells of the disk", run, share)
		}
		// It writes its checkpoints, of some GB, in bursts: every third sample shows it.
		if _, longest := hung(xs, func(i int) guard.Gauge { return guard.Known(float64(i%3/2) * 800e6) }); longest > 30*time.Second {
			t.Errorf("%s: hung for %s although it writes", run, longest)
		}
		if still < 50 && longest > 5*time.Minute {
			t.Errorf("%s trains, and looks hung for %s", run, longest)
		}
		var s State
		for _, x := range xs {
			s = s.Fold(Defaults(), box, x, x.At)
			if s.Idle.On() && s.Idle.Seen > 3*time.Minute {
				t.Errorf("%s: idle for %s in a run of %s", run, s.Idle.Seen, time.Duration(len(xs))*10*time.Second)
				break
			}
		}
	}
}
