package guard

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Gauge is a number that may not be known. The zero value is not known, which is not
// the same as 0: unknown is never zero. In JSON it is a number or null.
type Gauge struct {
	V  float64
	OK bool
}

// Known is a number that is known; one that is no number, or infinite, is not.
func Known(v float64) Gauge {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Gauge{}
	}
	return Gauge{v, true}
}

// IsZero reports a number that is not known, for omitzero.
func (g Gauge) IsZero() bool { return !g.OK }

// Or is the number, or another one where it is not known.
func (g Gauge) Or(v float64) float64 {
	if g.OK {
		return g.V
	}
	return v
}

// MarshalJSON implements json.Marshaler.
func (g Gauge) MarshalJSON() ([]byte, error) {
	if !g.OK {
		return []byte("null"), nil
	}
	return json.Marshal(g.V)
}

// UnmarshalJSON implements json.Unmarshaler: anything but a number is an error, null is
// not known.
func (g *Gauge) UnmarshalJSON(b []byte) error {
	var v *float64
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("%w: %s is not a number", ErrInvalid, clip(string(b)))
	}
	if *g = (Gauge{}); v != nil {
		*g = Known(*v)
	}
	return nil
}

// Basis is what the numbers of a sample stand for.
type Basis string

// The bases. An instant misses short bursts between two readings; an average hides
// them; a summary of many readings (an agent at 1 Hz) has their maximum, too.
const (
	Instantaneous Basis = "instant"
	Average       Basis = "average"
	Summary       Basis = "summary"
)

// Heartbeat is the source of a sample that tells one thing: that a job said at that time
// that it works. It is no sample of the machine.
const Heartbeat = "heartbeat"

// Sample is what one source tells of an instance's work over one interval. Its numbers
// are as they were told: what is absurd in them is judged later (policy/activity).
type Sample struct {
	// At is when the interval ends (UTC, by the clock of the source) and Interval how
	// long it is; for an instant, how far apart readings are.
	At       time.Time     `json:"at"`
	Interval time.Duration `json:"interval"`
	Basis    Basis         `json:"basis"`
	// Source says who told: "cloudwatch", "agent", "prometheus", "fake".
	Source string `json:"source"`
	// Boot tells one boot of the machine from another; "" where nobody tells.
	Boot string `json:"boot,omitzero"`

	GPUs []GPUSample `json:"gpus,omitzero"`
	// CPUCores is how many cores are busy (not a percentage), Cores how many there are.
	CPUCores Gauge `json:"cpu_cores,omitzero"`
	Cores    Gauge `json:"cores,omitzero"`
	// Rx, Tx and Disk are bytes a second: in, out, read and written together.
	Rx   Gauge `json:"rx,omitzero"`
	Tx   Gauge `json:"tx,omitzero"`
	Disk Gauge `json:"disk,omitzero"`
	// NICs are the byte counters behind Rx and Tx, where there are any.
	NICs []NICSample `json:"nics,omitzero"`
	// Processes is how many GPU processes there are. Where it is not known nobody can
	// tell an empty box from a loaded one.
	Processes    Gauge        `json:"processes,omitzero"`
	GPUProcesses []GPUProcess `json:"gpu_processes,omitzero"`
	// Sessions is how many people are logged in, and InputAge how long ago one of them
	// typed, in seconds.
	Sessions Gauge `json:"sessions,omitzero"`
	InputAge Gauge `json:"input_age,omitzero"`
	// HeartbeatAge is how long ago a job said that it works, in seconds.
	HeartbeatAge Gauge `json:"heartbeat_age,omitzero"`
}

// GPUSample is one GPU in a sample.
type GPUSample struct {
	// Util is the percentage of the interval with a kernel running: the mean of it, or
	// of the one reading. UtilMax is the highest reading and Busy the share of readings
	// at 2 % or more (0 to 1), of a summary.
	Util    Gauge `json:"util,omitzero"`
	UtilMax Gauge `json:"util_max,omitzero"`
	Busy    Gauge `json:"busy,omitzero"`
	// MemUsed and MemTotal are MiB.
	MemUsed  Gauge `json:"mem_used,omitzero"`
	MemTotal Gauge `json:"mem_total,omitzero"`
	// Power and PowerLimit are watts, Energy a counter of joules.
	Power      Gauge `json:"power,omitzero"`
	PowerLimit Gauge `json:"power_limit,omitzero"`
	Energy     Gauge `json:"energy,omitzero"`
	// Engine, Tensor and DRAM are the profiling metrics of DCGM, each 0 to 1.
	Engine Gauge `json:"engine,omitzero"`
	Tensor Gauge `json:"tensor,omitzero"`
	DRAM   Gauge `json:"dram,omitzero"`
	// MIG: the GPU is cut into instances, and Util is not told.
	MIG bool `json:"mig,omitzero"`
}

// NICSample is the byte counters of one network interface.
type NICSample struct {
	Name string `json:"name"`
	Rx   uint64 `json:"rx"`
	Tx   uint64 `json:"tx"`
	// Bits is how wide the counters are, 32 or 64; 0: nobody tells.
	Bits int `json:"bits,omitzero"`
	// Speed is the line's rate in bytes a second, where it is told.
	Speed Gauge `json:"speed,omitzero"`
}

// GPUProcess is one process on a GPU. Its name and its arguments are none of guard's
// business: they may hold secrets.
type GPUProcess struct {
	PID     int   `json:"pid"`
	Util    Gauge `json:"util,omitzero"`     // percent
	MemUsed Gauge `json:"mem_used,omitzero"` // MiB
	// Alive is no for one that is not in the table of processes any more.
	Alive Tri `json:"alive,omitzero"`
}
