package samples

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
)

// shared opens a packed file of the traces that stand beside the repository.
func shared(t *testing.T, name ...string) io.Reader {
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, name...)...)
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("the traces are not here: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// duty are numbers of pods over time, by pod and Unix time.
func duty(t *testing.T, file string) map[string]map[int64]float64 {
	a := tar.NewReader(shared(t, "alibaba_gentd26", file))
	for {
		h, err := a.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".csv") && !strings.HasPrefix(filepath.Base(h.Name), ".") {
			break
		}
	}
	out := map[string]map[int64]float64{}
	lines := bufio.NewScanner(a)
	for lines.Scan(); lines.Scan(); {
		row := strings.Split(lines.Text(), ",")
		if out[row[2]] == nil {
			out[row[2]] = map[int64]float64{}
		}
		out[row[2]][int64(number(t, row[1]))] = number(t, row[0])
	}
	return out
}

// agent is a sample as an agent sends it of a box of such GPUs; what a trace lacks of the
// machine itself is what a quiet one tells.
func agent(at time.Time, gpus []guard.GPUSample) guard.Sample {
	x := guard.Sample{At: at, Interval: time.Minute, Basis: guard.Summary, Source: "agent", Boot: "1f7f63b8-2a39-4d6c-9d8a-6f5b7f3f2a11",
		CPUCores: known(0.1), Cores: known(96), Processes: known(8), Sessions: known(0), GPUs: gpus}
	for i := range gpus {
		gpus[i].MemTotal, gpus[i].PowerLimit = known(81559), known(700)
	}
	return x
}

// gentd is a day of eight pods of the trace as one box, the first by name or those that
// were used most; their power is what such a load draws.
func gentd(t *testing.T, most bool) (day []guard.Sample) {
	util, mem := duty(t, "pod_gpu_duty_cycle_anon.tgz"), duty(t, "pod_gpu_memory_used_bytes_anon.tgz")
	used := func(pod string) (n float64) {
		if !most {
			return 0
		}
		for _, v := range util[pod] {
			n += v
		}
		return n
	}
	pods := slices.SortedFunc(maps.Keys(util), func(a, b string) int { return cmp.Or(cmp.Compare(used(b), used(a)), cmp.Compare(a, b)) })[:8]
	ticks := map[int64]bool{}
	for _, p := range pods {
		for at := range util[p] {
			ticks[at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(ticks)) {
		gpus := make([]guard.GPUSample, 8)
		for i, p := range pods {
			if u, ok := util[p][at]; ok {
				gpus[i] = guard.GPUSample{Util: known(u), UtilMax: known(u), Busy: known(u / 100), Power: known(70 + 5*u)}
			}
			if m, ok := mem[p][at]; ok {
				gpus[i].MemUsed = known(m / (1 << 20))
			}
		}
		day = append(day, agent(time.Unix(at, 0).UTC(), gpus))
	}
	return day
}

// training is a run on eight H100s over and over for a day, as summaries of its minutes;
// of the readings of 100 ms each eighth is of the same GPU.
func training(t *testing.T, file string) (all []guard.Sample) {
	var util, mem, watt [8][]float64
	lines := bufio.NewScanner(shared(t, "h100_training_profile", file))
	lines.Scan()
	for i := 0; lines.Scan(); i++ {
		row := strings.Split(lines.Text(), ", ")
		g := i % 8
		if len(row) != 4 {
			continue
		}
		field := func(n int) float64 { return number(t, strings.Fields(row[n])[0]) }
		watt[g], util[g], mem[g] = append(watt[g], field(1)), append(util[g], field(2)), append(mem[g], field(3))
	}
	const each = 600
	n := len(util[7])
	for i := range 24 * 60 {
		gpus := make([]guard.GPUSample, 8)
		for g := range gpus {
			var u, m, w [each]float64
			busy := 0.0
			for j := range each {
				at := (i*each + j) % n // no run takes whole minutes: no two are cut alike
				u[j], m[j], w[j] = util[g][at], mem[g][at], watt[g][at]
				if u[j] > 0 {
					busy++
				}
			}
			gpus[g] = guard.GPUSample{Util: known(mean(u[:])), UtilMax: known(slices.Max(u[:])), Busy: known(busy / each),
				MemUsed: known(slices.Max(m[:])), Power: known(mean(w[:]))}
		}
		all = append(all, agent(day.Add(time.Duration(i+1)*time.Minute), gpus))
	}
	return all
}

func mean(vs []float64) float64 {
	sum := 0.0
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// A real day of a box of eight GPUs is a few kilobytes, and hardly more than twelve.
func TestRealDayIsSmall(t *testing.T) {
	for name, c := range map[string]struct {
		day  func(*testing.T) []guard.Sample
		most int64
	}{
		"eight pods that serve images":         {func(t *testing.T) []guard.Sample { return gentd(t, false) }, 10 << 10},
		"the eight that are used most":         {func(t *testing.T) []guard.Sample { return gentd(t, true) }, 12 << 10},
		"training, a checkpoint in 500 steps":  {func(t *testing.T) []guard.Sample { return training(t, "ckpt500.csv.gz") }, 13 << 10},
		"training, a checkpoint in every step": {func(t *testing.T) []guard.Sample { return training(t, "ckpt1.csv.gz") }, 10 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			samples := c.day(t)
			kept := sizeOf(t, samples)
			t.Logf("%d samples are %d bytes, %.1f each", len(samples), kept, float64(kept)/float64(len(samples)))
			if kept > c.most {
				t.Errorf("%d bytes, more than %d", kept, c.most)
			}
		})
	}
}
