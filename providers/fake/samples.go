package fake

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"guard"
	"guard/providers"
)

// maxGPUProcesses is how many processes of one sample are kept.
const maxGPUProcesses = 1024

var _ providers.SignalSource = (*Provider)(nil)

// Signals implements providers.SignalSource, a hundred instances a call.
func (p *Provider) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, 0, len(q.Of))
	for chunk := range slices.Chunk(q.Of, mostIDs) {
		out = append(out, p.signals(ctx, chunk)...)
	}
	return out
}

type askSignals struct {
	ref
	Since time.Time `json:"since,omitzero"`
}

type signalsReply struct {
	Results []struct {
		Kind    field      `json:"kind"`
		ID      field      `json:"id"`
		Absent  bool       `json:"absent"`
		Error   *itemError `json:"error"`
		Samples field      `json:"samples"`
	} `json:"results"`
}

func (p *Provider) signals(ctx context.Context, of []providers.SignalsOf) []providers.Signals {
	out := make([]providers.Signals, len(of))
	fail := func(i int, err error) {
		out[i] = providers.Signals{Err: providers.Says("read the signals of", of[i].Resource.ID, err)}
	}
	var ask struct {
		IDs []askSignals `json:"ids"`
	}
	for _, o := range of {
		ask.IDs = append(ask.IDs, askSignals{ref{o.Resource.ID.Kind, o.Resource.ID.ID}, o.Since})
	}
	var in signalsReply
	if err := p.api.Call(providers.Read(ctx), http.MethodPost, nil, ask, &in, "v1", "signals"); err != nil {
		for i := range of {
			fail(i, err)
		}
		return out
	}
	told := map[ref]int{}
	for i, r := range in.Results {
		told[ref{guard.Kind(r.Kind.Text(maxID)), r.ID.Text(maxID)}] = i
	}
	for i, o := range of {
		n, ok := told[ref{o.Resource.ID.Kind, o.Resource.ID.ID}]
		if !ok {
			fail(i, fmt.Errorf("%w: the answer says nothing of it", guard.ErrBadReply))
			continue
		}
		var list []field
		switch r := in.Results[n]; {
		case r.Error != nil:
			fail(i, r.Error.err())
		case r.Absent:
			fail(i, guard.ErrNotFound)
		case !r.Samples.Into(&list):
			fail(i, fmt.Errorf("%w: the answer has no list of samples", guard.ErrBadReply))
		default:
			out[i].Samples = samples(list, o)
		}
	}
	return out
}

// samples are those that are newer than what was asked for, in the order of their time,
// one for each time. One that does not say when it was is none.
func samples(list []field, of providers.SignalsOf) []guard.Sample {
	var out []guard.Sample
	for _, f := range list {
		if s := f.sample(of.Resource.GPUs); s.At.After(of.Since) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b guard.Sample) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(out, func(a, b guard.Sample) bool { return a.At.Equal(b.At) })
}

// sample reads one; gpus is how many GPUs a number that stands for each of them is of.
// One without a time has the zero time.
func (f field) sample(gpus int) guard.Sample {
	var in map[string]field
	if !f.Into(&in) {
		return guard.Sample{}
	}
	s := guard.Sample{At: in["at"].Time(), Source: "fake", Boot: in["boot"].Text(maxID), Basis: in["basis"].basis(),
		CPUCores: in["cpu_cores"].Gauge(), Cores: in["cores"].Gauge(),
		Rx: in["rx_bytes_s"].Gauge(), Tx: in["tx_bytes_s"].Gauge(), Disk: in["disk_bytes_s"].Gauge(),
		Processes: in["processes"].Gauge(), Sessions: in["sessions"].Gauge(),
		InputAge: in["session_input_age"].Gauge(), HeartbeatAge: in["heartbeat_age"].Gauge(),
		NICs: in["nics"].nics(),
	}
	if sec := in["interval_s"].Gauge(); sec.V > 0 && sec.V <= (24*time.Hour).Seconds() {
		s.Interval = time.Duration(sec.V * float64(time.Second))
	}
	s.GPUs = gpuSamples(in, gpus)
	if list, ok := in["gpu_processes"].list(); ok {
		s.GPUProcesses = gpuProcesses(list)
		if in["processes"].Null() {
			s.Processes = guard.Known(float64(len(list)))
		}
	}
	return s
}

// gpuFields are where the numbers of each GPU belong.
var gpuFields = map[string]func(g *guard.GPUSample) *guard.Gauge{
	"gpu_util":          func(g *guard.GPUSample) *guard.Gauge { return &g.Util },
	"gpu_util_max":      func(g *guard.GPUSample) *guard.Gauge { return &g.UtilMax },
	"gpu_busy":          func(g *guard.GPUSample) *guard.Gauge { return &g.Busy },
	"gpu_mem_mib":       func(g *guard.GPUSample) *guard.Gauge { return &g.MemUsed },
	"gpu_mem_total_mib": func(g *guard.GPUSample) *guard.Gauge { return &g.MemTotal },
	"gpu_power_w":       func(g *guard.GPUSample) *guard.Gauge { return &g.Power },
	"gpu_power_limit_w": func(g *guard.GPUSample) *guard.Gauge { return &g.PowerLimit },
	"gpu_energy_j":      func(g *guard.GPUSample) *guard.Gauge { return &g.Energy },
	"engine_active":     func(g *guard.GPUSample) *guard.Gauge { return &g.Engine },
	"tensor_active":     func(g *guard.GPUSample) *guard.Gauge { return &g.Tensor },
	"dram_active":       func(g *guard.GPUSample) *guard.Gauge { return &g.DRAM },
}

// gpuSamples are as many GPUs as the instance has, or as are told of.
func gpuSamples(in map[string]field, gpus int) []guard.GPUSample {
	columns := map[string][]field{}
	n := 0
	for name := range gpuFields {
		f, told := in[name]
		if !told {
			continue
		}
		list, many := f.list()
		if columns[name] = list; many {
			n = max(n, len(list))
		} else {
			n = max(n, gpus)
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]guard.GPUSample, min(n, maxGPUs))
	for name, list := range columns {
		for i := range out {
			switch at := gpuFields[name](&out[i]); {
			case list == nil:
				*at = in[name].Gauge()
			case i < len(list):
				*at = list[i].Gauge()
			}
		}
	}
	if in["mig"].Tri() == guard.Yes {
		for i := range out {
			out[i].MIG = true
		}
	}
	return out
}

func gpuProcesses(list []field) []guard.GPUProcess {
	var out []guard.GPUProcess
	for _, f := range list[:min(len(list), maxGPUProcesses)] {
		var in struct {
			PID     field `json:"pid"`
			Util    field `json:"util"`
			MemUsed field `json:"mem_mib"`
			Alive   field `json:"alive"`
		}
		if !f.Into(&in) {
			continue
		}
		pid, _ := in.PID.Count(math.MaxInt32)
		out = append(out, guard.GPUProcess{PID: int(pid), Util: in.Util.Gauge(), MemUsed: in.MemUsed.Gauge(), Alive: in.Alive.Tri()})
	}
	return out
}

// nics are the interfaces whose counters are both whole numbers.
func (f field) nics() []guard.NICSample {
	list, _ := f.list()
	var out []guard.NICSample
	for _, x := range list[:min(len(list), maxTags)] {
		var in struct {
			Name field `json:"name"`
			Rx   field `json:"rx"`
			Tx   field `json:"tx"`
			Bits field `json:"bits"`
		}
		if !x.Into(&in) {
			continue
		}
		rx, err1 := strconv.ParseUint(string(in.Rx.Field), 10, 64)
		tx, err2 := strconv.ParseUint(string(in.Tx.Field), 10, 64)
		name := in.Name.Text(maxName)
		if err1 != nil || err2 != nil || name == "" {
			continue
		}
		bits, _ := in.Bits.Count(64)
		out = append(out, guard.NICSample{Name: name, Rx: rx, Tx: tx, Bits: int(bits)})
	}
	return out
}

func (f field) list() ([]field, bool) {
	var out []field
	ok := len(f.Field) > 0 && f.Field[0] == '[' && f.Into(&out)
	return out, ok
}

// basis is what the numbers stand for; a word that the adapter does not know is not
// taken for more than an instant.
func (f field) basis() guard.Basis {
	switch b := guard.Basis(f.Text(maxName)); b {
	case guard.Average, guard.Summary:
		return b
	}
	return guard.Instantaneous
}
