// Package rocmsmi reads what rocm-smi prints as JSON: one reading of AMD GPUs. What the
// program does not tell is not known, and one GPU in trouble takes nothing from the
// others. Names of processes are not read: they may hold secrets.
package rocmsmi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"guard"
)

// Program is what is run.
const Program = "rocm-smi"

// MaxOutput is how many bytes of output are read; 16 GPUs fill less than 100 KiB.
const MaxOutput = 4 << 20

// maxGPUs bounds the GPUs of one machine that are believed.
const maxGPUs = 256

// Args ask rocm-smi for the JSON that Parse reads.
func Args() []string {
	return []string{"--showuse", "--showmeminfo", "vram", "--showpower", "--showmaxpower",
		"--showenergycounter", "--showdriverversion", "--showpids", "--json"}
}

const mib = 1 << 20

// Parse reads the output of Args (more is no harm). Sample.At is left to whoever ran the
// program. Cards missing between others are there with nothing known. What is not the
// JSON of at least one card is guard.ErrBadReply; what could not be read is
// guard.ErrUnavailable.
//
// rocm-smi writes nothing where there are no processes and where it failed to list
// them. No process listed is none only where the memory of all cards is known, so that
// the memory speaks up for a process that was missed.
func Parse(r io.Reader) (guard.Sample, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxOutput+1))
	switch {
	case err != nil:
		return guard.Sample{}, fmt.Errorf("read rocm-smi's output: %w: it broke off", guard.ErrUnavailable)
	case len(b) > MaxOutput:
		return guard.Sample{}, broken("more than %d MiB", MaxOutput>>20)
	}
	// Warnings stand before the JSON.
	b = b[max(bytes.IndexByte(b, '{'), 0):]
	var objects map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&objects); err != nil {
		return guard.Sample{}, broken("it is not whole JSON")
	}
	s := guard.Sample{Basis: guard.Instantaneous}
	for name, raw := range objects {
		digits, card := strings.CutPrefix(name, "card")
		i, err := strconv.Atoi(digits)
		if !card || err != nil || i < 0 {
			continue
		}
		if i >= maxGPUs {
			return guard.Sample{}, broken("more than %d GPUs", maxGPUs)
		}
		for len(s.GPUs) <= i {
			s.GPUs = append(s.GPUs, guard.GPUSample{})
		}
		s.GPUs[i] = cardOf(raw)
	}
	if len(s.GPUs) == 0 {
		return guard.Sample{}, broken("it tells of no card")
	}
	addProcesses(&s, objects["system"])
	return s, nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("read rocm-smi's output: %w: %s", guard.ErrBadReply, fmt.Sprintf(format, args...))
}

// cardOf reads one card, whose values are texts; one of another shape tells nothing.
func cardOf(raw json.RawMessage) guard.GPUSample {
	var told map[string]any
	if json.Unmarshal(raw, &told) != nil {
		return guard.GPUSample{}
	}
	get := func(keys ...string) guard.Gauge {
		for _, k := range keys {
			text, _ := told[k].(string)
			if v, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				return guard.Known(v)
			}
		}
		return guard.Gauge{}
	}
	return guard.GPUSample{
		Util:     get("GPU use (%)"),
		MemUsed:  over(get("VRAM Total Used Memory (B)"), mib),
		MemTotal: over(get("VRAM Total Memory (B)"), mib),
		Power: get("Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)",
			"Current Graphics Package Power (W)"),
		PowerLimit: get("Max Graphics Package Power (W)"),
		Energy:     over(get("Accumulated Energy (uJ)"), 1e6),
	}
}

func over(g guard.Gauge, unit float64) guard.Gauge {
	g.V /= unit
	return g
}

// addProcesses reads "PID104225": "name, GPUs, bytes of VRAM, SDMA, CU occupancy". One
// that has opened the driver and holds no GPU is no GPU process.
func addProcesses(s *guard.Sample, raw json.RawMessage) {
	var told map[string]any
	if json.Unmarshal(raw, &told) != nil {
		return
	}
	for key, value := range told {
		digits, isPID := strings.CutPrefix(key, "PID")
		pid, err := strconv.Atoi(digits)
		if !isPID || err != nil || pid <= 0 {
			continue
		}
		text, _ := value.(string)
		cells := strings.Split(text, ",") // the name may have commas: count from the end
		p := guard.GPUProcess{PID: pid}
		if n := len(cells); n >= 5 {
			gpus := strings.TrimSpace(cells[n-4])
			if v, err := strconv.ParseFloat(strings.TrimSpace(cells[n-3]), 64); err == nil {
				p.MemUsed = over(guard.Known(v), mib)
			}
			if gpus == "0" && p.MemUsed.OK && p.MemUsed.V == 0 {
				continue
			}
		}
		s.GPUProcesses = append(s.GPUProcesses, p)
	}
	slices.SortFunc(s.GPUProcesses, func(a, b guard.GPUProcess) int { return a.PID - b.PID })
	if len(s.GPUProcesses) > 0 || !slices.ContainsFunc(s.GPUs, func(g guard.GPUSample) bool { return !g.MemUsed.OK }) {
		s.Processes = guard.Known(float64(len(s.GPUProcesses)))
	}
}
