//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/providers/signals/nvidiasmi"
	"guard/providers/signals/rocmsmi"
)

const (
	// silence is how long nvidia-smi may say nothing before it is started anew.
	silence = 30 * time.Second
	// readEvery is how far apart readings of the GPUs are where a program goes on.
	readEvery = time.Second
	// callFor bounds one call of a program that reads GPUs.
	callFor = 20 * time.Second
	// pollEvery is how far apart calls of a program are that takes a second itself.
	pollEvery = 10 * time.Second
	// appsEvery is how far apart lists of processes are.
	appsEvery = 20 * time.Second
	// deafAfter is after how many starts without a reading nvidia-smi is asked one by one,
	// and deafFor for how long: drivers get repaired.
	deafAfter = 3
	deafFor   = time.Hour
)

// GPUs reads the GPUs of the box until ctx ends, and hands each reading on: of the GPUs,
// for as long as its Interval, of their processes, or of both. trouble is told in a few
// words what cannot be read, and "" once it can.
type GPUs interface {
	Run(ctx context.Context, reading func(guard.Sample), trouble func(string))
}

// FindGPUs chooses how to read the GPUs of this box: by nvidia, amd, none, or whatever
// there is (auto). A binary built with the tag nvml reads those of nvidia through the
// driver's library, and through nvidia-smi where that is not there.
func FindGPUs(kind string) (GPUs, error) {
	if kind == "none" {
		return nothing{}, nil
	}
	if kind == "auto" || kind == "nvidia" {
		if g, ok := findNVML(""); ok {
			return g, nil
		}
	}
	for _, k := range []struct {
		kind, program string
		make          func(string) GPUs
	}{
		{"nvidia", nvidiasmi.Program, func(p string) GPUs { return nvidia{p} }},
		{"amd", rocmsmi.Program, func(p string) GPUs { return amd{p} }},
	} {
		if kind != "auto" && kind != k.kind {
			continue
		}
		path, err := exec.LookPath(k.program)
		if err == nil {
			return k.make(path), nil
		}
		if kind == k.kind {
			return nil, fmt.Errorf("%s is not on the PATH", k.program)
		}
	}
	if kind != "auto" {
		return nil, fmt.Errorf("%w: GPUs are read by nvidia, amd, none or auto, not %q", guard.ErrInvalid, kind)
	}
	return nothing{"there is neither nvidia-smi nor rocm-smi on the PATH: the GPUs are not seen"}, nil
}

// nothing reads no GPUs.
type nothing struct{ why string }

// Run tells why.
func (n nothing) Run(ctx context.Context, _ func(guard.Sample), trouble func(string)) {
	trouble(n.why)
	<-ctx.Done()
}

// nvidia reads by one nvidia-smi that goes on, a line a second for each GPU.
type nvidia struct{ program string }

// Run starts it anew where it ends or falls silent.
func (n nvidia) Run(ctx context.Context, reading func(guard.Sample), trouble func(string)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		poll(ctx, appsEvery, func() {
			if out, err := call(ctx, n.program, nvidiasmi.AppArgs()...); err == nil {
				if list, err := nvidiasmi.ParseApps(bytes.NewReader(out)); err == nil {
					reading(guard.Sample{Processes: guard.Known(float64(len(list))), GPUProcesses: list})
				}
			}
		})
	})
	deaf := 0
	for failures := 1; ctx.Err() == nil; failures++ {
		told := false
		err := n.stream(ctx, func(s guard.Sample) {
			if !told {
				trouble("")
			}
			told, failures, deaf = true, 1, 0
			reading(s)
		})
		if ctx.Err() != nil {
			return
		}
		if !told {
			deaf++
		}
		if deaf <= deafAfter { // later on that is known
			trouble(fmt.Sprintf("nvidia-smi: %v", err))
		}
		if deaf >= deafAfter {
			poor, stop := context.WithTimeout(ctx, deafFor)
			n.oneByOne(poor, reading, trouble)
			stop()
			continue
		}
		pause(ctx, time.Second<<min(failures, 6))
	}
}

// oneByOne asks for everything at each call: drivers that know less of a narrow query
// answer that.
func (n nvidia) oneByOne(ctx context.Context, reading func(guard.Sample), trouble func(string)) {
	poll(ctx, pollEvery, func() {
		out, err := call(ctx, n.program, nvidiasmi.Args()...)
		if err == nil {
			var s guard.Sample
			if s, err = nvidiasmi.Parse(bytes.NewReader(out)); err == nil {
				trouble("")
				s.Interval = pollEvery
				reading(s)
				return
			}
		}
		trouble(fmt.Sprintf("nvidia-smi: %v", err))
	})
}

// stream runs nvidia-smi until it ends or is silent for too long.
func (n nvidia) stream(ctx context.Context, reading func(guard.Sample)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, n.program, append(nvidiasmi.GPUArgs(), "-l", "1")...)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	alarm := time.AfterFunc(silence, func() { cancel(fmt.Errorf("it said nothing for %s", silence)) })
	defer alarm.Stop()
	// A program that it started may hold the pipe for longer than it lives.
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	var r round
	last := ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		alarm.Reset(silence)
		last = lines.Text()
		if text, whole := r.line(last); whole {
			if s, err := nvidiasmi.ParseGPUs(strings.NewReader(text)); err == nil {
				s.Interval = readEvery
				reading(s)
			}
		}
	}
	cancel(nil)
	err = cmd.Wait()
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case last != "" && !isGPU(last):
		return errors.New(word(last))
	case err != nil:
		return err
	}
	return errors.New("it ended")
}

// round puts the lines of one round of all GPUs together: a round is over where the next
// line's index is no higher.
type round struct {
	text  strings.Builder
	index int
	begun bool
}

// line takes the next line; whole tells that the text of the round before it is complete.
func (r *round) line(s string) (text string, whole bool) {
	index, ok := gpuIndex(s)
	if !ok {
		return "", false // a word about a GPU in trouble
	}
	if r.begun && index <= r.index {
		text, whole = r.text.String(), true
		r.text.Reset()
	}
	r.begun, r.index = true, index
	r.text.WriteString(s + "\n")
	return text, whole
}

func gpuIndex(s string) (int, bool) {
	cell, _, cut := strings.Cut(s, ",")
	i, err := strconv.Atoi(strings.TrimSpace(cell))
	return i, cut && err == nil && i >= 0
}

func isGPU(s string) bool { _, ok := gpuIndex(s); return ok }

// amd reads by one call of rocm-smi after the other.
type amd struct{ program string }

// Run calls it until ctx ends.
func (a amd) Run(ctx context.Context, reading func(guard.Sample), trouble func(string)) {
	poll(ctx, pollEvery, func() {
		out, err := call(ctx, a.program, rocmsmi.Args()...)
		if err == nil {
			var s guard.Sample
			if s, err = rocmsmi.Parse(bytes.NewReader(out)); err == nil {
				trouble("")
				s.Interval = pollEvery
				reading(s)
				return
			}
		}
		trouble(fmt.Sprintf("rocm-smi: %v", err))
	})
}

// call runs a program and returns what it printed.
func call(ctx context.Context, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && len(bytes.TrimSpace(out)) > 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, errors.New(word(first))
	}
	return out, err
}

// word is a line of a program, bounded, for people.
func word(s string) string {
	const most = 120
	if r := []rune(strings.TrimSpace(s)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}

// poll calls fn now and then every so often, until ctx ends.
func poll(ctx context.Context, every time.Duration, fn func()) {
	t := time.NewTicker(every)
	defer t.Stop()
	for ctx.Err() == nil {
		fn()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
