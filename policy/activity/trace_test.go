package activity_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"guard"
	. "guard/policy/activity"
)

// The benchmark: one day of 143 pods that serve images (GenTD26), replayed through the
// fold and through rules of others. `go test -run Trace -v ./policy/activity` prints the
// table.

const step = 57 * time.Second

// shared is a folder of traces that stands beside the repository.
func shared(t *testing.T, name ...string) string {
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the traces are not here: %v", err)
	}
	return path
}

// pod is one trace: utilisation (percent) and memory (MiB) by Unix time, and when it was
// used.
type pod struct {
	name  string
	util  map[int64]float64
	mem   map[int64]float64
	ticks []int64
	// events are its requests and loads of models, and used those and whatever showed
	// on the GPU.
	events, used []int64
}

func (p *pod) span() (first, last int64) { return p.ticks[0], p.ticks[len(p.ticks)-1] }

// bounds are when it was used, and between them its gaps; the first and the last are the
// trace's own.
func (p *pod) bounds() []int64 {
	first, last := p.span()
	return slices.Concat([]int64{first}, p.used, []int64{last})
}

// pods are all of them, by name.
func pods(t *testing.T) []*pod {
	t.Helper()
	byName := map[string]*pod{}
	each := func(folder, file string, known bool, put func(p *pod, at int64, v float64)) {
		table(t, shared(t, folder, file), func(at int64, v float64, name string) {
			p := byName[name]
			if p == nil && known {
				return
			}
			if p == nil {
				p = &pod{name: name, util: map[int64]float64{}, mem: map[int64]float64{}}
				byName[name] = p
			}
			put(p, at, v)
		})
	}
	each("alibaba_gentd26", "pod_gpu_duty_cycle_anon.tgz", false, func(p *pod, at int64, v float64) { p.util[at] = v })
	each("alibaba_gentd26", "pod_gpu_memory_used_bytes_anon.tgz", true, func(p *pod, at int64, v float64) { p.mem[at] = v / (1 << 20) })
	for _, name := range []string{"basemodel_update_latency_anon", "controlnet_latency_data_anon", "lora_update_latency_anon", "model_predict_data_anon",
		"pipeline_inference_data_anon", "pipeline_update_latency_anon", "qps"} {
		each("gentd26_events", name+".tar.gz", true, func(p *pod, at int64, _ float64) { p.events = append(p.events, at) })
	}
	var all []*pod
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := byName[name]
		ticks := maps.Clone(p.util)
		first, last := slices.Min(slices.Collect(maps.Keys(p.util))), slices.Max(slices.Collect(maps.Keys(p.util)))
		for at := range p.mem {
			if at >= first && at <= last {
				ticks[at] = 0
			}
		}
		p.ticks = slices.Sorted(maps.Keys(ticks))
		p.used = slices.Clone(p.events)
		for at, v := range p.util {
			if v >= 2 {
				p.used = append(p.used, at)
			}
		}
		slices.Sort(p.used)
		p.used = slices.Compact(p.used)
		all = append(all, p)
	}
	return all
}

// table reads the one table in an archive.
func table(t *testing.T, path string, row func(at int64, v float64, name string)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	a := tar.NewReader(z)
	for {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".csv") || strings.HasPrefix(filepath.Base(h.Name), ".") {
			continue
		}
		rows, err := csv.NewReader(a).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		col := map[string]int{}
		for i, name := range rows[0] {
			col[name] = i
		}
		for _, r := range rows[1:] {
			at, err := strconv.ParseFloat(r[col["timestamp_anon"]], 64)
			v, err2 := strconv.ParseFloat(r[col["value"]], 64)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			row(int64(at), v, r[col["container_ip"]])
		}
	}
}

var podBox = Box{GPUs: 1, Created: time.Unix(0, 0), Running: true}

// sample is what an agent on the pod would have told. The trace has no processes: one is
// taken to be there where more memory is in use than a context takes, and where memory
// is not told neither are they. It has no CPU, network and disk either: they are taken
// to rest.
func (p *pod) sample(at int64) guard.Sample {
	x := guard.Sample{At: time.Unix(at, 0).UTC(), Interval: step, Basis: guard.Average, Source: "trace", GPUs: make([]guard.GPUSample, 1),
		CPUCores: guard.Known(0), Rx: guard.Known(0), Tx: guard.Known(0), Disk: guard.Known(0)}
	g := &x.GPUs[0]
	g.MemTotal = guard.Known(48 << 10)
	if v, ok := p.util[at]; ok {
		g.Util = guard.Known(v)
	}
	if v, ok := p.mem[at]; ok {
		g.MemUsed, x.Processes = guard.Known(v), guard.Known(0)
		if v > 600 {
			x.Processes = guard.Known(1)
		}
	}
	return x
}

// fire is when a rule found a pod idle, and since when it was by its reckoning.
type fire struct{ at, since int64 }

// ours is a rule on the fold: of one sort (any: ""), after so long. It fires once a
// span, as the rules of package policy do.
func ours(sort Quiet, after time.Duration, busy Busy) func(*pod) []fire {
	return func(p *pod) []fire {
		var s State
		var fires []fire
		var last time.Time
		for _, tick := range p.ticks {
			x := p.sample(tick)
			s = s.Fold(busy, podBox, x, x.At)
			if _, is := s.Reached(s.Idle, after, x.At); is && s.Covered(s.Idle) >= busy.Coverage && s.Fresh(x.At) && s.Confident() && s.Ready(x.At, busy, podBox) &&
				(sort == "" || s.Sort == sort) && !s.Idle.Since.Equal(last) {
				last = s.Idle.Since
				fires = append(fires, fire{tick, last.Unix()})
			}
		}
		return fires
	}
}

// window is a rule on the samples of a window that slides, as others have it: it fires
// where it begins to hold.
func window(length time.Duration, holds func(utils []float64) bool) func(*pod) []fire {
	return func(p *pod) []fire {
		var fires []fire
		var ticks []int64
		var utils []float64
		was, w := false, int64(length/time.Second)
		for _, tick := range p.ticks {
			v, ok := p.util[tick]
			if !ok {
				continue
			}
			ticks, utils = append(ticks, tick), append(utils, v)
			for ticks[0] <= tick-w {
				ticks, utils = ticks[1:], utils[1:]
			}
			is := tick-p.ticks[0] >= w && holds(utils)
			if is && !was {
				fires = append(fires, fire{tick, tick - w})
			}
			was = is
		}
		return fires
	}
}

func all(is func(float64) bool) func([]float64) bool {
	return func(us []float64) bool { return !slices.ContainsFunc(us, func(u float64) bool { return !is(u) }) }
}

// score is one line of the table.
type score struct {
	name string
	// fires, those that were followed by use within the hour, those of which nobody
	// knows because the trace ends, and those in a gap of two hours or more.
	fires, used, open, inGap int
	gaps, found              int      // gaps of two hours or more, and those it fired in
	dark, foundDark          int      // such gaps of which samples tell less than a quiet window must have, which are not in gaps
	unseen                   []string // what those are
	recent                   int      // fires on a pod that was used in the hour before
	delays                   []float64
	days                     float64
}

const hour, gap = int64(3600), int64(7200)

// told is the share of a time that samples of the utilisation stand for.
func (p *pod) told(from, to int64) float64 {
	n := 0
	for at := range p.util {
		if at > from && at <= to {
			n++
		}
	}
	return float64(n) * step.Seconds() / float64(to-from)
}

func measure(name string, all []*pod, rule func(*pod) []fire) score {
	s := score{name: name}
	for _, p := range all {
		first, last := p.span()
		s.days += float64(last-first) / 86_400
		fires, bounds := rule(p), p.bounds()
		for i := 1; i < len(bounds); i++ {
			a, b := bounds[i-1], bounds[i]
			n := 0
			for _, f := range fires {
				if f.at <= a || f.at > b {
					continue
				}
				if n++; n == 1 && b-a >= gap {
					s.delays = append(s.delays, float64(f.at-a)/60)
				}
				s.fires++
				switch {
				case b-f.at <= hour && i < len(bounds)-1:
					s.used++
				case b-f.at < hour:
					s.open++
				}
				if b-a >= gap {
					s.inGap++
				}
				if f.at-a < hour && i > 1 {
					s.recent++
				}
			}
			switch told := p.told(a, b); {
			case b-a < gap:
			case told < Defaults().Coverage:
				s.dark++
				s.foundDark += min(n, 1)
				s.unseen = append(s.unseen, fmt.Sprintf("%s: %.0f %% of %d min", p.name[:8], 100*told, (b-a)/60))
			default:
				s.gaps++
				s.found += min(n, 1)
			}
		}
	}
	sort.Float64s(s.delays)
	return s
}

// ceiling is the most (percent) of the alerts of any rule that can go without use within
// the hour, if it waits for two hours and finds so many (percent) of the gaps that are as
// long, whatever else it knows: one that knew when each gap ends would tell at two hours,
// and keep quiet in as many of the gaps that end within the hour as it may.
func ceiling(all []*pod, recall float64) float64 {
	n, good, used := 0, 0, 0
	for _, p := range all {
		bounds := p.bounds()
		for i := 1; i < len(bounds); i++ {
			left := bounds[i] - bounds[i-1] - gap
			if left < 0 {
				continue
			}
			n++
			switch {
			case left > hour:
				good++
			case i < len(bounds)-1:
				used++
			}
		}
	}
	missed := int(float64(n) * (100 - recall) / 100)
	return share(good, good+max(0, used-missed))
}

// half is one half of the pods, by a hash of their names: what holds only by chance does
// so in one of them.
func half(all []*pod, which uint32) []*pod {
	return slices.DeleteFunc(slices.Clone(all), func(p *pod) bool { return crc32.ChecksumIEEE([]byte(p.name))%2 != which })
}

func (s score) precision() float64    { return share(s.fires-s.open-s.used, s.fires-s.open) }
func (s score) gapPrecision() float64 { return share(s.inGap, s.fires) }
func (s score) recall() float64       { return share(s.found, s.gaps) }

func share(a, b int) float64 {
	if b == 0 {
		return math.NaN()
	}
	return 100 * float64(a) / float64(b)
}

func (s score) row() string {
	delay := math.NaN()
	if n := len(s.delays); n > 0 {
		delay = s.delays[n/2]
	}
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%.0f %%\t%.0f %%\t%.0f %%\t%.0f\t%.0f", s.name, s.fires, s.used, s.open, s.precision(), s.gapPrecision(), s.recall(), delay,
		100*float64(s.used)/s.days)
}

// TestTraceTable prints what each rule would have done on the day, and holds ours to
// what they promise.
//
// Of resident, told at 120 min, 85 % without use within the hour at a recall of 93 % was
// wanted. On this day no rule that waits for two hours can have that, not even one that
// knew when each gap ends (see ceiling): 18 of the gaps end within the third hour. One that
// tells sooner must know which gaps last. What was tried, on both halves of the pods:
// lone blips of utilisation that do not count (no alert changes: use comes back with work
// of 20 % and memory that moves), a wait that grows with a pod's own earlier pauses (85.1 %
// at 89.8 %), and an earlier word where the rest of the fleet is quiet (84.5 % at 93.2 %,
// the best of 192 settings; each that is best in one half falls short in the other).
func TestTraceTable(t *testing.T) {
	all143 := pods(t)
	if len(all143) != 143 {
		t.Fatalf("%d pods, not 143", len(all143))
	}
	d := Defaults()
	below := func(v float64) func([]float64) bool { return all(func(u float64) bool { return u < v }) }
	empty := measure("ours: empty, told at 30 min", all143, ours(Empty, 30*time.Minute, d))
	stop := measure("ours: empty, stopped at 60 min", all143, ours(Empty, time.Hour, d))
	early := measure("ours: resident, told at 60 min", all143, ours(Resident, time.Hour, d))
	late := measure("ours: resident, told at 120 min", all143, ours(Resident, 2*time.Hour, d))
	scores := []score{empty, stop, early, late,
		measure("dstack: all < 10 %, 60 min", all143, window(time.Hour, below(10))),
		measure("GCP: 97 % of it < 3 %, 6 h", all143, window(6*time.Hour, func(us []float64) bool {
			n := 0
			for _, u := range us {
				if u < 3 {
					n++
				}
			}
			return float64(n) >= 0.97*float64(len(us))
		})),
		measure("Princeton: all == 0, 120 min", all143, window(2*time.Hour, all(func(u float64) bool { return u == 0 }))),
		measure("naive: mean < 5 %, 30 min", all143, window(30*time.Minute, func(us []float64) bool {
			sum := 0.0
			for _, u := range us {
				sum += u
			}
			return sum < 5*float64(len(us))
		})),
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "rule\tfires\tFK60\topen\tnot used in 60 min\tin a gap ≥ 2 h\trecall of gaps ≥ 2 h\tdelay, min\tFK60 per 100 pod-days")
	for _, s := range scores {
		fmt.Fprintln(w, s.row())
	}
	w.Flush()
	t.Logf("143 pods, none left out, %.0f pod-days, %d gaps of two hours or more\n%s", late.days, late.gaps+late.dark, &b)
	t.Logf("used is any request, load of a model, or utilisation of 2 %% or more; open are fires of which the trace ends within the hour, in no precision; " +
		"a rule that waits for two hours fires in such gaps alone")
	t.Logf("recall is of the %d gaps of which samples tell 80 %%, which a quiet window must have; with the %d others (%s) that of resident, 120 min, is %.1f %%",
		late.gaps, late.dark, strings.Join(late.unseen, ", "), share(late.found+late.foundDark, late.gaps+late.dark))
	best := ceiling(all143, 93)
	t.Logf("resident, 120 min: %.1f %% not used within the hour at a recall of %.1f %%; no rule that waits as long can pass %.1f %% at 93 %%",
		late.precision(), late.recall(), best)
	for i := range uint32(2) {
		s := measure("", half(all143, i), ours(Resident, 2*time.Hour, d))
		t.Logf("  half %d of the pods: %d fires, %d used, %d open, %.1f %% at a recall of %.1f %%", i+1, s.fires, s.used, s.open, s.precision(), s.recall())
	}

	if stop.recent > 0 || stop.used > 0 {
		t.Errorf("%d stops of a pod that was used in the hour before, %d of one that was in the hour after", stop.recent, stop.used)
	}
	if late.inGap < late.fires || late.recall() < 93 {
		t.Errorf("resident, 120 min: %.1f %% of the alerts are in gaps of two hours, and %.1f %% of those are found", late.gapPrecision(), late.recall())
	}
	if late.precision() < 80 {
		t.Errorf("resident, 120 min: only %.1f %% of the alerts were not followed by use within the hour", late.precision())
	}
	if best >= 85 {
		t.Errorf("a rule that waits for two hours could have %.1f %%: ask resident, 120 min, for 85 %%", best)
	}
}

// TestTraceInjected: into each pod's day two windows of two to four hours are put in
// which it is empty; nearly all are stopped, and nothing that is used is.
func TestTraceInjected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n, caught, early, short := 0, 0, 0, 0
	var delays []float64
	var missed []string
	for _, p := range pods(t) {
		first, last := p.span()
		// An hour before and after it tells what it is stopped for.
		room := last - first - 2*hour - gap
		if room <= 0 {
			short++
			continue
		}
		for range 2 {
			length := gap + r.Int64N(min(room, gap))
			from := first + hour + r.Int64N(room+gap-length+1)
			q := p.emptied(from, from+length)
			n++
			var in []fire
			for _, f := range ours(Empty, time.Hour, Defaults())(q) {
				switch {
				case f.at > from && f.at <= from+length:
					in = append(in, f)
				case slices.ContainsFunc(p.used, func(at int64) bool { return at <= f.at && at > f.at-hour }):
					early++
				}
			}
			if len(in) == 0 {
				missed = append(missed, fmt.Sprintf("%s at %d for %d min", p.name[:8], from, length/60))
				continue
			}
			caught++
			delays = append(delays, float64(in[0].at-from)/60)
		}
	}
	sort.Float64s(delays)
	t.Logf("%d empty windows (none in %d pods with less than four hours), %.1f %% stopped, after %.0f min (median) to %.0f; not, for the holes in their traces: %q",
		n, short, share(caught, n), delays[len(delays)/2], delays[len(delays)-1], missed)
	if n < 200 || share(caught, n) < 95 {
		t.Errorf("%d of %d empty windows are stopped", caught, n)
	}
	if early > 0 {
		t.Errorf("%d stops of a pod that was used within the hour", early)
	}
}

// emptied is the pod with nothing on it for a time; what was not told then is not told.
func (p *pod) emptied(from, to int64) *pod {
	q := *p
	q.util, q.mem = maps.Clone(p.util), maps.Clone(p.mem)
	for at := range q.util {
		if at > from && at <= to {
			q.util[at] = 0
		}
	}
	for at := range q.mem {
		if at > from && at <= to {
			q.mem[at] = 17
		}
	}
	lo, _ := slices.BinarySearch(p.ticks, from-2*hour)
	hi, _ := slices.BinarySearch(p.ticks, to+hour)
	q.ticks = p.ticks[lo:hi]
	return &q
}
