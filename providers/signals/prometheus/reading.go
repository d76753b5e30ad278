package prometheus

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers/signals/machine"
)

// maxGPUs bounds the GPUs of one instance that are believed.
const maxGPUs = 256

// reading is what is told of one instance at one moment.
type reading struct {
	gpus map[string]*gpu // by number, or by whatever tells them apart
	// cpu and disk are rates, where a query tells them.
	cpu, disk guard.Gauge
	nics      map[string]*guard.NICSample
	counters  machine.Counters
	idle      map[string]bool // the cores that were seen
	// twice: two machines answer to the one name.
	twice bool
}

type gpu struct {
	uuid string
	// numbers are by metric, and by the part of a GPU that is cut up; "" is the whole.
	numbers map[metric]map[string]float64
}

func newReading() *reading {
	return &reading{gpus: map[string]*gpu{}, nics: map[string]*guard.NICSample{}, idle: map[string]bool{}}
}

// put takes in one number of one series. Where several series tell the same, because
// there are two exporters or the labels of a job have changed, the highest counts.
func (r *reading) put(m metric, labels func(string) string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if metrics[m].gpu != nil {
		r.putGPU(m, labels, v)
		return
	}
	switch m {
	case cpuCores:
		r.cpu = higher(r.cpu, v)
	case disk:
		r.disk = higher(r.disk, v)
	case cores:
		r.counters.Cores = higher(r.counters.Cores, v)
	case boot:
		at := machine.BootAt(v)
		r.twice = r.twice || r.counters.Boot != "" && at != r.counters.Boot
		r.counters.Boot = at
	case rx, tx:
		device := labels("device")
		if v < 0 || v >= math.MaxUint64 || !machine.NIC(device) {
			return
		}
		n := r.nics[device]
		if n == nil {
			n = &guard.NICSample{Name: device, Bits: 64}
			r.nics[device] = n
		}
		if m == rx {
			n.Rx = max(n.Rx, uint64(v))
		} else {
			n.Tx = max(n.Tx, uint64(v))
		}
	}
}

func (r *reading) putGPU(m metric, labels func(string) string, v float64) {
	uuid := cmp.Or(labels("UUID"), labels("uuid"))
	name := cmp.Or(labels("gpu"), uuid, "0")
	g := r.gpus[name]
	if g == nil {
		if len(r.gpus) >= maxGPUs {
			return
		}
		g = &gpu{uuid: uuid, numbers: map[metric]map[string]float64{}}
		r.gpus[name] = g
	}
	r.twice = r.twice || uuid != g.uuid && uuid != "" && g.uuid != ""
	g.uuid = cmp.Or(g.uuid, uuid)
	if g.numbers[m] == nil {
		g.numbers[m] = map[string]float64{}
	}
	part := labels("GPU_I_ID")
	if was, ok := g.numbers[m][part]; !ok || v > was {
		g.numbers[m][part] = v
	}
}

func higher(g guard.Gauge, v float64) guard.Gauge {
	if g.OK && g.V >= v {
		return g
	}
	return guard.Known(v)
}

// worked adds the seconds that an exporter counts of one core in one mode.
func (r *reading) worked(core, mode string, v float64) {
	c := &r.counters
	switch {
	case !guard.Known(v).OK:
	case mode == "idle":
		r.idle[core] = true
		c.Cores = guard.Known(float64(len(r.idle)))
	case mode != "iowait" && mode != "steal":
		c.CPU = guard.Known(c.CPU.V + v)
	}
}

// moved adds the bytes that an exporter counts of one disk, in one direction.
func (r *reading) moved(device string, v float64) {
	if !machine.Disk(device) || !guard.Known(v).OK {
		return
	}
	if r.counters.Disk == nil {
		r.counters.Disk = map[string]float64{}
	}
	r.counters.Disk[device] += v
}

// sample makes a sample of the reading, with rates since an earlier one where there is one.
func (r *reading) sample(source string, at time.Time, interval time.Duration, earlier *machine.Counters, dt time.Duration) guard.Sample {
	s := guard.Sample{Source: source, At: at.UTC(), Interval: interval, Basis: guard.Average, GPUs: r.samples()}
	if len(s.GPUs) > 0 {
		s.Basis = guard.Instantaneous
	}
	r.finish()
	r.counters.Fill(&s, earlier, dt)
	if r.cpu.OK {
		s.CPUCores = r.cpu
	}
	if r.disk.OK {
		s.Disk = r.disk
	}
	return s
}

// finish orders the interfaces.
func (r *reading) finish() {
	r.counters.NICs = nil
	for _, name := range slices.Sorted(maps.Keys(r.nics)) {
		r.counters.NICs = append(r.counters.NICs, *r.nics[name])
	}
}

// samples are the GPUs by their number, with one that is missing between others there
// and nothing known of it; or in the order of their names where those are no numbers.
func (r *reading) samples() []guard.GPUSample {
	if len(r.gpus) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(r.gpus))
	at := make([]int, len(names))
	most := -1
	for i, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || n >= maxGPUs {
			most = -1
			break
		}
		at[i], most = n, max(most, n)
	}
	if most < 0 {
		for i := range at {
			at[i] = i
		}
		most = len(names) - 1
	}
	out := make([]guard.GPUSample, most+1)
	for i, name := range names {
		out[at[i]] = r.gpus[name].sample()
	}
	return out
}

func (g *gpu) sample() guard.GPUSample {
	var s guard.GPUSample
	for m, numbers := range g.numbers {
		*metrics[m].gpu(&s) = whole(numbers, metrics[m].add)
		for part := range numbers {
			s.MIG = s.MIG || part != ""
		}
	}
	// Free stands where the total goes; the two make it, or it is not known.
	if s.MemTotal.OK {
		if s.MemUsed.OK {
			s.MemTotal.V += s.MemUsed.V
		} else {
			s.MemTotal = guard.Gauge{}
		}
	}
	if s.MIG {
		s.Util, s.UtilMax = guard.Gauge{}, guard.Gauge{}
	}
	return s
}

// whole is the number of a GPU: its own, or what its parts make.
func whole(numbers map[string]float64, add bool) guard.Gauge {
	if v, ok := numbers[""]; ok {
		return guard.Known(v)
	}
	var out guard.Gauge
	for _, v := range numbers {
		if add && out.OK {
			v += out.V
		}
		out = higher(out, v)
	}
	return out
}
