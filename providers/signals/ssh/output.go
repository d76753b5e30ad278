package ssh

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"guard"
	"guard/providers/signals/machine"
	"guard/providers/signals/nvidiasmi"
	"guard/providers/signals/rocmsmi"
)

// mark begins the line before each part of the output.
const mark = "==guard "

// Command is what is run on a machine, for any shell of the user's. Its parts are marked,
// so that what a shell says at login is passed over; the last mark says that all came.
var Command = "exec sh -c '" + strings.Join([]string{
	`exec 2>/dev/null`,
	`PATH=$PATH:/usr/bin:/bin:/usr/local/bin:/usr/local/nvidia/bin:/opt/rocm/bin:/usr/lib/wsl/lib`,
	`m() { echo; echo "` + mark + `$1"; }`,
	`t=; command -v timeout >/dev/null && t="timeout 20"`,
	`m stat; cat /proc/stat`,
	`m net; cat /proc/net/dev`,
	`m disk; cat /proc/diskstats`,
	`m boot; cat /proc/sys/kernel/random/boot_id`,
	`command -v nvidia-smi >/dev/null && { m nvidia; $t nvidia-smi ` + strings.Join(nvidiasmi.Args(), " ") + `; }`,
	`command -v rocm-smi >/dev/null && { m rocm; $t rocm-smi ` + strings.Join(rocmsmi.Args(), " ") + `; }`,
	`m pids; readlink /proc/self/ns/pid; for p in /proc/[0-9]*; do echo "${p#/proc/}"; done`,
	`[ -d /dev/pts ] && { m ttys; date +%s; stat -c %X /dev/pts/[0-9]*; }`,
	`m end`,
}, "; ") + "'"

// parts cuts an output at its marks. ok tells that it came to its end.
func parts(output string) (of map[string]string, ok bool) {
	of = map[string]string{}
	var name string
	var text strings.Builder
	for line := range strings.Lines(output) {
		next, marked := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark)
		if !marked {
			text.WriteString(line)
			continue
		}
		of[name] = text.String()
		text.Reset()
		if name = next; name == "end" {
			return of, true
		}
	}
	return of, false
}

// read makes a sample and counters of an output. What of the GPUs could not be read is
// in the error, and unknown in the sample.
func read(output string) (s guard.Sample, c machine.Counters, err error) {
	of, ok := parts(output)
	if !ok {
		return s, c, fmt.Errorf("%w: the output did not come to its end", guard.ErrBadReply)
	}
	nvidia, hasNvidia := of["nvidia"]
	rocm, hasROCm := of["rocm"]
	switch {
	case hasNvidia:
		s, err = nvidiasmi.Parse(strings.NewReader(nvidia))
	case hasROCm:
		s, err = rocmsmi.Parse(strings.NewReader(rocm))
	default:
		err = fmt.Errorf("%w: neither nvidia-smi nor rocm-smi is on the user's PATH there", guard.ErrNotFound)
	}
	if hasNvidia && hasROCm && err != nil { // a machine may have the other's program, and none of its GPUs
		if other, otherErr := rocmsmi.Parse(strings.NewReader(rocm)); otherErr == nil {
			s, err = other, nil
		} else {
			err = errors.Join(err, otherErr)
		}
	}
	s.Basis = guard.Instantaneous
	alive(s.GPUProcesses, of["pids"])
	if text, ok := of["ttys"]; ok {
		s.Sessions, s.InputAge = terminals(text)
	}
	c = machine.Proc{Stat: of["stat"], NetDev: of["net"], Diskstats: of["disk"], BootID: of["boot"]}.Counters()
	return s, c, err
}

// initial is the name of the first namespace of processes. Only there the numbers that
// the driver tells are those of /proc.
const initial = "pid:[4026531836]"

// alive compares the processes on the GPUs with the machine's.
func alive(on []guard.GPUProcess, text string) {
	lines := strings.Fields(text)
	if len(lines) < 2 || lines[0] != initial {
		return
	}
	here := make(map[string]bool, len(lines))
	for _, pid := range lines[1:] {
		here[pid] = true
	}
	for i := range on {
		if on[i].PID > 0 {
			on[i].Alive = guard.TriOf(here[strconv.Itoa(on[i].PID)])
		}
	}
}

// terminals are how many are open, and how many seconds ago the last key was pressed on
// one of them: Linux notes each in the terminal's time of access.
func terminals(text string) (open, input guard.Gauge) {
	lines := strings.Fields(text)
	if len(lines) == 0 {
		return open, input
	}
	now, err := strconv.ParseInt(lines[0], 10, 64)
	if err != nil {
		return open, input
	}
	open = guard.Known(float64(len(lines) - 1))
	for _, line := range lines[1:] {
		at, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return guard.Gauge{}, guard.Gauge{}
		}
		if age := float64(max(now-at, 0)); !input.OK || age < input.V {
			input = guard.Known(age)
		}
	}
	return open, input
}
