package simulate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/configs"
	"guard/providers/fake"
)

// signalsPart is what a monitor tells from a moment on: missing, frozen, stuck, or the
// numbers by their names.
type signalsPart struct{ told fake.Signals }

// ReadNode implements configs.NodeReader.
func (s *signalsPart) ReadNode(n configs.Node) {
	if word, ok := n.Text(); ok {
		switch s.told.Lost = fake.SignalLoss(word); s.told.Lost {
		case fake.SignalsMissing, fake.SignalsFrozen, fake.SignalsStuck:
		default:
			n.Unknown(word, []string{string(fake.SignalsMissing), string(fake.SignalsFrozen), string(fake.SignalsStuck)})
		}
		return
	}
	if !n.IsGroup() {
		n.Problem("is %s: write missing, frozen, stuck or numbers such as {gpu_util: 93}", n.Shape())
		return
	}
	s.told.Of = map[string]fake.Reading{}
	own := signalKeys{told: &s.told}
	for _, f := range n.Fields() {
		if !own.read(f.Key, f.Value) {
			readSignal(s.told.Of, f, signalOwn)
		}
	}
	switch {
	case own.average && own.summary:
		n.Problem("a source tells an average or a summary: write one of them")
	case own.average:
		s.told.Basis = guard.Average
	case own.summary:
		s.told.Basis = guard.Summary
	case n.Has("average") || n.Has("summary"):
		s.told.Basis = guard.Instantaneous
	}
}

// signalKeys are those that are not one number of the readings.
type signalKeys struct {
	told             *fake.Signals
	average, summary bool
}

var signalOwn = strings.Fields("average summary interval mig tx_start rx_start counter_bits gpu_processes")

// read takes in one key; false where it is not one of them.
func (k *signalKeys) read(key string, n configs.Node) bool {
	switch key {
	case "average":
		n.Decode(&k.average)
	case "summary":
		n.Decode(&k.summary)
	case "mig":
		n.Decode(&k.told.MIG)
	case "interval":
		var d span
		if n.Decode(&d) && (d.Duration < time.Second || d.Duration > 24*time.Hour) {
			n.Problem("write from 1s to 1d")
		}
		k.told.Interval = d.Duration
	case "counter_bits":
		var bits number
		if n.Decode(&bits) && bits.n != 32 && bits.n != 64 {
			n.Problem("write 32 or 64")
		}
		k.told.CounterBits = bits.n
	case "tx_start":
		k.told.TxStart = counterStart(n)
	case "rx_start":
		k.told.RxStart = counterStart(n)
	case "gpu_processes":
		k.told.GPUProcesses = gpuProcesses(n)
	default:
		return false
	}
	return true
}

// counterStart is where a 64-bit counter begins: 63000000000 or 9e12.
func counterStart(n configs.Node) *uint64 {
	text, _ := n.Text()
	if v, err := strconv.ParseUint(text, 10, 64); err == nil {
		return &v
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < math.MaxUint64 && f == math.Trunc(f) {
		v := uint64(f)
		return &v
	}
	n.Problem("write a whole number of bytes below 2^64")
	return nil
}

func gpuProcesses(n configs.Node) []fake.GPUProcess {
	out := []fake.GPUProcess{}
	for _, item := range n.Items() {
		var keys struct {
			PID    number       `yaml:"pid"`
			Util   configs.Node `yaml:"util"`
			MemMiB configs.Node `yaml:"mem_mib"`
			Alive  *bool        `yaml:"alive"`
		}
		if !item.IsGroup() {
			item.Problem("is %s: write {pid: 4711, util: 90, mem_mib: 61000, alive: true}", item.Shape())
			continue
		}
		if !item.Decode(&keys) {
			continue
		}
		p := fake.GPUProcess{PID: keys.PID.n}
		if keys.Alive != nil {
			p.Alive = guard.TriOf(*keys.Alive)
		}
		if !keys.Util.IsZero() {
			p.Util = signalValue(keys.Util, false)
		}
		if !keys.MemMiB.IsZero() {
			p.MemMB = signalValue(keys.MemMiB, false)
		}
		out = append(out, p)
	}
	return out
}

// readSignal reads one number of the readings, or one for each GPU, into a map.
func readSignal(into map[string]fake.Reading, f configs.Field, others []string) {
	known := fake.SignalFields()
	perGPU, ok := known[f.Key]
	age := strings.HasSuffix(f.Key, "_age")
	switch {
	case !ok:
		f.Value.Unknown(f.Key, slices.Sorted(slices.Values(slices.Concat(others, slices.Collect(maps.Keys(known))))))
	case !f.Value.IsList():
		into[f.Key] = fake.Reading{All: signalValue(f.Value, age)}
	case !perGPU:
		f.Value.Problem("is a list: write one number, for the whole box")
	default:
		each := []fake.Value{}
		for _, i := range f.Value.Items() {
			each = append(each, signalValue(i, age))
		}
		into[f.Key] = fake.Reading{Each: each}
	}
}

// signalValue is a number, null, or a word that a source has in its place, such as N/A.
// An age is a duration.
func signalValue(n configs.Node, age bool) fake.Value {
	text, plain := n.Text()
	_, isBool := n.Bool()
	switch {
	case n.IsNull():
		return fake.Value{}
	case !plain && n.Shape() == "a number": // .nan and .inf
		return fake.Value{Word: "NaN"}
	case !plain || isBool:
		n.Problem("is %s: write a number, null or a word such as N/A", n.Shape())
		return fake.Value{}
	case age && text != "0":
		d, err := parseSpan(text)
		if err != nil && hasDigit(text) {
			n.Problem("%v", err)
		}
		if err == nil {
			return fake.Num(d.Seconds())
		}
		return fake.Value{Word: text}
	}
	v, err := signalNumber(text)
	if err != nil {
		n.Problem("%v", err)
	}
	return v
}

// signalNumber is a number as a source has it. What has digits and is none is taken
// for a mistake.
func signalNumber(text string) (fake.Value, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && !math.IsNaN(f) && !math.IsInf(f, 0):
		return fake.Num(f), nil
	case err != nil && hasDigit(text):
		return fake.Value{}, fmt.Errorf("%q is not a number: write one without a unit, or a word such as N/A", clip(text))
	}
	return fake.Value{Word: text}, nil
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// pulsePart is bursts over what holds, or off.
type pulsePart struct{ pulse fake.Pulse }

// ReadNode implements configs.NodeReader.
func (p *pulsePart) ReadNode(n configs.Node) {
	if word, _ := n.Text(); word == "off" || word == "none" {
		return
	}
	if !n.IsGroup() {
		n.Problem("is %s: write {gpu_util: 95, every: 50m, for: 2m}, or off", n.Shape())
		return
	}
	p.pulse.Of = map[string]fake.Reading{}
	var every, long span
	for _, f := range n.Fields() {
		switch f.Key {
		case "every":
			f.Value.Decode(&every)
		case "for":
			f.Value.Decode(&long)
		default:
			readSignal(p.pulse.Of, f, []string{"every", "for"})
		}
	}
	p.pulse.Every, p.pulse.For = every.Duration, long.Duration
	if len(p.pulse.Of) == 0 && n.Read() {
		n.Problem("says nothing of what bursts: write {gpu_util: 95, every: 50m, for: 2m}")
	}
}
