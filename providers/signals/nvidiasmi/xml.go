package nvidiasmi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"guard"
)

// Args ask nvidia-smi for the XML that Parse reads: everything, with processes. It
// takes a second or two on a machine with 8 GPUs; GPUArgs is for every second.
func Args() []string { return []string{"-q", "-x"} }

// gpuXML is what is read of one <gpu>, in the words of schemas v10 to v13.
type gpuXML struct {
	MIG    string `xml:"mig_mode>current_mig"`
	Util   string `xml:"utilization>gpu_util"`
	Memory struct {
		Total string `xml:"total"`
		Used  string `xml:"used"`
	} `xml:"fb_memory_usage"`
	Power    powerXML `xml:"gpu_power_readings"` // since v12
	OldPower powerXML `xml:"power_readings"`
	// A list that is there and empty says that there are no processes; one that is
	// missing, or holds words instead, says nothing.
	Processes *struct {
		Text string       `xml:",chardata"`
		Info []processXML `xml:"process_info"`
	} `xml:"processes"`
}

type powerXML struct {
	Draw     string `xml:"power_draw"`
	Average  string `xml:"average_power_draw"` // since v12 of 2024
	Instant  string `xml:"instant_power_draw"`
	Current  string `xml:"current_power_limit"`
	Enforced string `xml:"enforced_power_limit"`
	Limit    string `xml:"power_limit"`
}

type processXML struct {
	PID    string `xml:"pid"`
	Type   string `xml:"type"` // C, G, C+G or M+C
	Memory string `xml:"used_memory"`
}

// Parse reads the XML of one query. GPUs that it announces and does not describe are in
// the sample, with nothing known of them. What is not the whole XML of a query is
// guard.ErrBadReply; what could not be read is guard.ErrUnavailable.
func Parse(r io.Reader) (guard.Sample, error) {
	b, err := read(r)
	if err != nil {
		return guard.Sample{}, err
	}
	d := xml.NewDecoder(bytes.NewReader(clean(b)))
	d.Strict = false // names of processes are not always escaped
	var (
		gpus     []gpuXML
		attached int
		whole    bool
	)
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return guard.Sample{}, broken("the XML is not whole")
		}
		switch e := t.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "gpu":
				var g gpuXML
				if err := d.DecodeElement(&g, &e); err != nil {
					return guard.Sample{}, broken("the XML is not whole")
				}
				if gpus = append(gpus, g); len(gpus) > maxGPUs {
					return guard.Sample{}, broken("more than %d GPUs", maxGPUs)
				}
			case "attached_gpus":
				var s string
				if err := d.DecodeElement(&s, &e); err != nil {
					return guard.Sample{}, broken("the XML is not whole")
				}
				attached, _ = strconv.Atoi(strings.TrimSpace(s)) // what is no number announces nothing
			}
		case xml.EndElement:
			whole = whole || e.Name.Local == "nvidia_smi_log"
		}
	}
	if !whole {
		return guard.Sample{}, broken("it is not the XML of a query")
	}
	if attached > maxGPUs {
		return guard.Sample{}, broken("more than %d GPUs", maxGPUs)
	}
	return sampleOf(gpus, attached), nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("read nvidia-smi's output: %w: %s", guard.ErrBadReply, fmt.Sprintf(format, args...))
}

// clean takes out what XML forbids and names of processes may hold all the same.
func clean(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return ' '
		}
		return r
	}, bytes.ToValidUTF8(b, []byte("?")))
}

func sampleOf(gpus []gpuXML, attached int) guard.Sample {
	s := reading(make([]guard.GPUSample, max(len(gpus), attached)))
	seen := processes{known: len(gpus) > 0 && len(gpus) >= attached}
	for i, g := range gpus {
		s.GPUs[i] = g.sample()
		if g.Processes == nil || len(g.Processes.Info) == 0 && strings.TrimSpace(g.Processes.Text) != "" {
			seen.known = false
			continue
		}
		for _, p := range g.Processes.Info {
			pid, _ := strconv.Atoi(strings.TrimSpace(p.PID))
			seen.add(pid, strings.TrimSpace(p.Type), number(p.Memory, "MiB"))
		}
	}
	s.GPUProcesses = seen.list
	if seen.known {
		s.Processes = guard.Known(float64(len(seen.list)))
	}
	return s
}

func (g gpuXML) sample() guard.GPUSample {
	p, old := g.Power, g.OldPower
	s := guard.GPUSample{
		Util:     number(g.Util, "%"),
		MemUsed:  number(g.Memory.Used, "MiB"),
		MemTotal: number(g.Memory.Total, "MiB"),
		Power: first(number(p.Draw, "W"), number(p.Average, "W"), number(p.Instant, "W"),
			number(old.Draw, "W")),
		PowerLimit: first(number(p.Current, "W"), number(p.Enforced, "W"),
			number(old.Enforced, "W"), number(old.Limit, "W")),
		MIG: strings.TrimSpace(g.MIG) == "Enabled",
	}
	if s.MIG {
		s.Util = guard.Gauge{} // of the whole GPU nothing is measured
	}
	return s
}

// processes collects those of all GPUs. One that runs on several is one process.
type processes struct {
	known bool
	list  []guard.GPUProcess
}

func (ps *processes) add(pid int, kind string, mem guard.Gauge) {
	if kind == "G" && mem.OK && mem.V <= displayMiB {
		return
	}
	if pid > 0 {
		for i := range ps.list {
			p := &ps.list[i]
			if p.PID != pid {
				continue
			}
			if p.MemUsed.OK && mem.OK {
				p.MemUsed.V += mem.V
			} else {
				p.MemUsed = guard.Gauge{}
			}
			return
		}
	}
	ps.list = append(ps.list, guard.GPUProcess{PID: max(pid, 0), MemUsed: mem})
}
