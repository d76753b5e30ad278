package nvidiasmi

import (
	"io"
	"strconv"
	"strings"

	"guard"
)

// fields are what GPUArgs asks for, in this order.
const fields = "index,utilization.gpu,memory.used,memory.total,power.draw,enforced.power.limit,mig.mode.current"

// GPUArgs ask nvidia-smi for the few numbers that ParseGPUs reads, quickly enough for
// every second. Drivers before 450 know no MIG mode and refuse; Args works there.
func GPUArgs() []string {
	return []string{"--query-gpu=" + fields, "--format=csv,noheader,nounits"}
}

// AppArgs ask nvidia-smi for the compute processes that ParseApps reads.
func AppArgs() []string {
	return []string{"--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"}
}

// ParseGPUs reads the CSV of GPUArgs: a sample of the GPUs in the order of their index,
// without processes. A GPU whose line is missing between others is there with nothing
// known, and so is one whose line cannot be read. What holds no line of a GPU is
// guard.ErrBadReply.
func ParseGPUs(r io.Reader) (guard.Sample, error) {
	b, err := read(r)
	if err != nil {
		return guard.Sample{}, err
	}
	var gpus []guard.GPUSample
	for line := range strings.Lines(string(b)) {
		i, g, ok := parseGPU(line)
		if !ok {
			continue
		}
		for len(gpus) <= i {
			gpus = append(gpus, guard.GPUSample{})
		}
		gpus[i] = g
	}
	if len(gpus) == 0 {
		return guard.Sample{}, broken("no line tells of a GPU")
	}
	return reading(gpus), nil
}

// parseGPU reads one line; false where it is none. A line that begins with an index is
// one, whatever follows.
func parseGPU(line string) (index int, g guard.GPUSample, ok bool) {
	cells := strings.Split(strings.TrimSpace(line), ",")
	index, err := strconv.Atoi(strings.TrimSpace(cells[0]))
	if err != nil || index < 0 || index >= maxGPUs || len(cells) < 2 {
		return 0, g, false
	}
	if len(cells) != strings.Count(fields, ",")+1 {
		return index, g, true
	}
	g = guard.GPUSample{
		Util: number(cells[1], ""), MemUsed: number(cells[2], ""), MemTotal: number(cells[3], ""),
		Power: number(cells[4], ""), PowerLimit: number(cells[5], ""),
		MIG: strings.TrimSpace(cells[6]) == "Enabled",
	}
	if g.MIG {
		g.Util = guard.Gauge{}
	}
	return index, g, true
}

// ParseApps reads the CSV of AppArgs: the compute processes of all GPUs, each once. No
// lines are no processes; lines that cannot be read are guard.ErrBadReply, for then
// nobody knows how many there are.
func ParseApps(r io.Reader) ([]guard.GPUProcess, error) {
	b, err := read(r)
	if err != nil {
		return nil, err
	}
	var seen processes
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		pid, mem, ok := strings.Cut(line, ",")
		n, err := strconv.Atoi(strings.TrimSpace(pid))
		if !ok || err != nil || n <= 0 {
			return nil, broken("a line tells of no process")
		}
		seen.add(n, "C", number(mem, ""))
	}
	return seen.list, nil
}
