// Package nvidiasmi reads what nvidia-smi prints: the XML of a whole query and the CSV
// of a narrow one. Both give readings of one moment. What the program does not tell is
// not known, and one GPU in trouble takes nothing from the others.
//
// The time that the XML carries is the machine's own, without a zone: it is not read,
// and Sample.At is left to whoever ran the program. Names and arguments of processes
// are not read either: they may hold secrets.
package nvidiasmi

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"guard"
)

// Program is what is run.
const Program = "nvidia-smi"

// MaxOutput is how many bytes of output are read: a machine with 16 GPUs and hundreds of
// processes stays below 1 MiB.
const MaxOutput = 4 << 20

// maxGPUs bounds the GPUs of one machine that are believed.
const maxGPUs = 256

// displayMiB is the most memory that a display server without windows holds. A process
// that only draws and holds no more is no work: images of clouds start one at boot.
const displayMiB = 64

// read takes the whole of a bounded output.
func read(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxOutput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read nvidia-smi's output: %w: it broke off", guard.ErrUnavailable)
	case len(b) > MaxOutput:
		return nil, fmt.Errorf("read nvidia-smi's output: %w: more than %d MiB", guard.ErrBadReply, MaxOutput>>20)
	}
	return b, nil
}

// number reads "65 %" or "1005 MiB". Whatever else stands there ("N/A", "[Not
// Supported]", "ERR!", "GPU is lost", another unit) is not known.
func number(s, unit string) guard.Gauge {
	s, ok := strings.CutSuffix(strings.TrimSpace(s), unit)
	if !ok {
		return guard.Gauge{}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return guard.Gauge{}
	}
	return guard.Known(v)
}

// first is the first of the numbers that is known.
func first(of ...guard.Gauge) guard.Gauge {
	for _, g := range of {
		if g.OK {
			return g
		}
	}
	return guard.Gauge{}
}

// reading is a sample of one moment.
func reading(gpus []guard.GPUSample) guard.Sample {
	return guard.Sample{Basis: guard.Instantaneous, GPUs: gpus}
}
