package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"guard"
)

// Signals is what a monitor tells of a box from a moment on, until the next one.
type Signals struct {
	// Lost, where set, is how the readings go wrong; nothing else is told then.
	Lost SignalLoss
	// Of are the readings by their field; one that is left out is not reported.
	Of map[string]Reading
	// GPUProcesses are the processes one by one; nil is not reported.
	GPUProcesses []GPUProcess
	// MIG: the GPUs are cut into instances.
	MIG bool
	// TxStart and RxStart put the network's counters to a value; nil lets them run on.
	TxStart, RxStart *uint64

	// How it is told. What is not set stays as it was.
	Basis       guard.Basis   // default instant: what was just before the end of the interval
	Interval    time.Duration // default a minute; readings are at multiples of it from Start on
	CounterBits int           // 32 or 64 (default): how wide the network's counters are
}

// SignalLoss is a way in which readings go wrong.
type SignalLoss string

// The ways.
const (
	SignalsMissing SignalLoss = "missing" // there are none
	SignalsFrozen  SignalLoss = "frozen"  // the last one again and again, with its old time
	SignalsStuck   SignalLoss = "stuck"   // the last one again and again, with new times and the counters still
)

// signalField is one number of the readings.
type signalField struct {
	gpu  bool // one for each GPU
	mean bool // an average over the interval tells of it
}

// signalFields are the numbers by the names of a scenario file, which are the API's.
// Ages are seconds, all others what their names say.
var signalFields = map[string]signalField{
	"gpu_util": {true, true}, "gpu_mem_mib": {true, true}, "gpu_power_w": {true, true},
	"gpu_mem_total_mib": {true, false}, "gpu_power_limit_w": {true, false},
	"engine_active": {true, true}, "tensor_active": {true, true}, "dram_active": {true, true},
	"cpu_cores": {false, true}, "cores": {false, false},
	"rx_bytes_s": {false, true}, "tx_bytes_s": {false, true}, "disk_bytes_s": {false, true},
	"processes": {false, false}, "sessions": {false, false}, "session_input_age": {false, false}, "heartbeat_age": {false, false},
}

// SignalFields are the names of the readings, and whether there is one for each GPU.
func SignalFields() map[string]bool {
	out := map[string]bool{}
	for name, f := range signalFields {
		out[name] = f.gpu
	}
	return out
}

// Value is one number as an API may tell it: a number, a word in its place ("N/A"), or
// null, which is the zero value.
type Value struct {
	guard.Gauge
	Word string
}

// Num is a number; what JSON has no number for, such as NaN, is told as a word.
func Num(v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Value{Word: fmt.Sprint(v)}
	}
	return Value{Gauge: guard.Known(v)}
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.Word != "" {
		return json.Marshal(v.Word)
	}
	return json.Marshal(v.Gauge)
}

// mostRate is a number of bytes or joules a second beyond which a reading is nonsense:
// it is told as it stands, and moves no counter.
const mostRate = 5e10

// rate is the value as something that a counter adds up.
func (v Value) rate() float64 {
	if v.Or(0) > mostRate {
		return 0
	}
	return max(v.Or(0), 0)
}

// Reading is the value of a field: one, which is that of every GPU, or where Each is
// set one for each GPU.
type Reading struct {
	All  Value
	Each []Value
}

// Every is a reading of one number.
func Every(v float64) Reading { return Reading{All: Num(v)} }

// of is the reading of one GPU, or of the box.
func (r Reading) of(gpu int) Value {
	switch {
	case r.Each == nil:
		return r.All
	case gpu < len(r.Each):
		return r.Each[gpu]
	}
	return Value{}
}

// GPUProcess is one process on the box's GPUs.
type GPUProcess struct {
	PID         int
	Util, MemMB Value // percent, MiB
	Alive       guard.Tri
}

// Pulse is bursts over what holds, the first of them at once.
type Pulse struct {
	Of         map[string]Reading
	Every, For time.Duration
}

// Trace are readings that were recorded. While they are played they are the only ones,
// at their own times, each of which stands for their usual step: holes are holes.
type Trace struct {
	Rows []TraceRow // in the order of their time
	step time.Duration
}

// TraceRow is one of them, at a time from the event on. The first tells of a time
// before the event where At is 0, and is not told then.
type TraceRow struct {
	At time.Duration
	Of map[string]Reading // over what holds; null takes a field away
}

// usual is the median distance of the rows.
func (tr *Trace) usual() time.Duration {
	var gaps []time.Duration
	for i, r := range tr.Rows {
		if i > 0 {
			gaps = append(gaps, r.At-tr.Rows[i-1].At)
		}
	}
	if len(gaps) == 0 {
		return time.Minute
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// watched reports whether an event is about what a monitor tells.
func (e Event) watched() bool {
	return e.Signals != nil || e.SignalsFile != nil || e.SampleOffset != nil || e.Pulse != nil || e.Reboot
}

// checkWatched finds what is wrong with such an event.
func (e Event) checkWatched() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	fields := func(key string, of map[string]Reading) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			f, known := signalFields[name]
			switch {
			case !known:
				bad("%s: %q is not one of %s", key, name, strings.Join(slices.Sorted(maps.Keys(signalFields)), ", "))
			case of[name].Each != nil && !f.gpu:
				bad("%s: %s is one number", key, name)
			case len(of[name].Each) > maxGPUs:
				bad("%s: %s is of at most %d GPUs", key, name, maxGPUs)
			}
		}
	}
	if s := e.Signals; s != nil {
		fields("signals", s.Of)
		if !slices.Contains([]SignalLoss{"", SignalsMissing, SignalsFrozen, SignalsStuck}, s.Lost) {
			bad("signals: %q must be missing, frozen or stuck", s.Lost)
		}
		if !slices.Contains([]guard.Basis{"", guard.Instantaneous, guard.Average, guard.Summary}, s.Basis) {
			bad("signals: basis %q must be instant, average or summary", s.Basis)
		}
		if s.Interval != 0 && (s.Interval < time.Second || s.Interval > 24*time.Hour) {
			bad("signals: interval must be from 1s to 1d")
		}
		if s.CounterBits != 0 && s.CounterBits != 32 && s.CounterBits != 64 {
			bad("signals: counter_bits must be 32 or 64")
		}
	}
	if p := e.Pulse; p != nil {
		fields("pulse", p.Of)
		if len(p.Of) > 0 && (p.For <= 0 || p.Every <= p.For) {
			bad("pulse: for must be longer than 0s and shorter than every")
		}
	}
	if tr := e.SignalsFile; tr != nil {
		for i, r := range tr.Rows {
			if i > 0 && r.At <= tr.Rows[i-1].At || r.At < 0 {
				bad("signals_file: row %d is not later than the one before", i+1)
				break
			}
			fields("signals_file", r.Of)
		}
		if len(tr.Rows) == 0 {
			bad("signals_file: it has no rows")
		}
	}
	return errors.Join(errs...)
}
