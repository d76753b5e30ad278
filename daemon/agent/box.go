//go:build linux

package agent

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"guard"
	"guard/providers/signals/machine"
)

// initNamespace is the kernel's fixed name of the machine's own PID namespace.
const initNamespace = "pid:[4026531836]"

// Box reads what a minute's sample tells beside the GPUs.
type Box struct {
	// Root is what all paths begin with: "" but in tests.
	Root string
	// Beats is the folder in which jobs leave a file each that they touch while they run.
	Beats string
	// Self is the agent's own process, whose children are not counted.
	Self int
}

// ThisBox is the machine that this runs on.
func ThisBox(beats string) Box {
	return Box{Beats: beats, Self: os.Getpid()}
}

// Counters reads what only grows. In a container the kernel's own files tell of the whole
// machine, neighbours and all, so there it is the container's control group that counts.
func (b Box) Counters() machine.Counters {
	c := machine.Proc{Stat: b.read("stat"), NetDev: b.read("net/dev"), Diskstats: b.read("diskstats"), BootID: b.Boot()}.Counters()
	for i, n := range c.NICs {
		if mbit, err := strconv.ParseFloat(strings.TrimSpace(b.sys("class/net/"+n.Name+"/speed")), 64); err == nil && mbit > 0 {
			c.NICs[i].Speed = guard.Known(mbit * 1e6 / 8)
		}
	}
	if !b.contained() {
		return c
	}
	c.CPU, c.Disk = b.cgroupCPU(), nil
	if quota, ok := b.quota(); ok && (!c.Cores.OK || quota < c.Cores.V) {
		c.Cores = guard.Known(quota)
	}
	if total, ok := b.cgroupDisk(); ok {
		c.Disk = map[string]float64{"container": total}
	}
	return c
}

// Boot is the kernel's random ID of this boot; "" where it cannot be read.
func (b Box) Boot() string { return strings.TrimSpace(b.read("sys/kernel/random/boot_id")) }

// contained reports a container: its root is no root of the control groups.
func (b Box) contained() bool {
	for _, name := range []string{"/sys/fs/cgroup/cgroup.type", "/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(b.Root + name); err == nil {
			return true
		}
	}
	return !b.seesAll()
}

// seesAll reports that the PIDs of the machine itself are to be seen here.
func (b Box) seesAll() bool {
	ns, err := os.Readlink(b.Root + "/proc" + "/self/ns/pid")
	return err == nil && ns == initNamespace
}

// cgroupCPU is how many seconds of processors the container has used.
func (b Box) cgroupCPU() guard.Gauge {
	for line := range strings.Lines(b.sys("fs/cgroup/cpu.stat")) {
		if text, ok := strings.CutPrefix(line, "usage_usec "); ok {
			return scaled(text, 1e6)
		}
	}
	for _, dir := range []string{"cpuacct", "cpu,cpuacct"} {
		if text := b.sys("fs/cgroup/" + dir + "/cpuacct.usage"); text != "" {
			return scaled(text, 1e9)
		}
	}
	return guard.Gauge{}
}

func scaled(text string, unit float64) guard.Gauge {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return guard.Gauge{}
	}
	return guard.Known(v / unit)
}

// quota is how many cores the container may use, where that is bounded.
func (b Box) quota() (float64, bool) {
	f := strings.Fields(b.sys("fs/cgroup/cpu.max"))
	if len(f) != 2 {
		return 0, false
	}
	most, err1 := strconv.ParseFloat(f[0], 64) // "max" where it is not
	per, err2 := strconv.ParseFloat(f[1], 64)
	if err1 != nil || err2 != nil || most <= 0 || per <= 0 {
		return 0, false
	}
	return most / per, true
}

// cgroupDisk is the bytes that the container has read and written; false where nobody
// tells.
func (b Box) cgroupDisk() (total float64, ok bool) {
	text, err := os.ReadFile(b.Root + "/sys/fs/cgroup/io.stat")
	if err != nil {
		return 0, false
	}
	for _, f := range strings.Fields(string(text)) {
		for _, name := range []string{"rbytes=", "wbytes="} {
			if v, found := strings.CutPrefix(f, name); found {
				total += scaled(v, 1).Or(0)
			}
		}
	}
	return total, true
}

// Sessions is how many terminals are open, and how long ago somebody typed in one of
// them: the kernel writes down when a terminal was last read from.
func (b Box) Sessions(now time.Time) (sessions, inputAge guard.Gauge) {
	entries, err := os.ReadDir(b.Root + "/dev/pts")
	if err != nil {
		return sessions, inputAge
	}
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue // ptmx
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		n++
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			age := max(now.Sub(time.Unix(stat.Atim.Unix())), 0).Seconds()
			inputAge = guard.Known(min(age, inputAge.Or(math.MaxFloat64)))
		}
	}
	return guard.Known(float64(n)), inputAge
}

// Heartbeat is how long ago a job said that it runs; not known where none does.
func (b Box) Heartbeat(now time.Time) guard.Gauge {
	entries, err := os.ReadDir(b.Beats)
	if err != nil {
		return guard.Gauge{}
	}
	var age guard.Gauge
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			age = guard.Known(min(max(now.Sub(info.ModTime()), 0).Seconds(), age.Or(math.MaxFloat64)))
		}
	}
	return age
}

// Processes puts what this box knows of GPU processes into a sample that lists them. In a
// container nvidia-smi lists none, or PIDs that mean nothing here: there the processes
// are counted that hold a GPU's device open, and where not all can be looked at, none is
// not zero.
func (b Box) Processes(s *guard.Sample) {
	if b.seesAll() {
		for i, p := range s.GPUProcesses {
			_, err := os.Stat(b.Root + "/proc" + "/" + strconv.Itoa(p.PID))
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				s.GPUProcesses[i].Alive = guard.TriOf(err == nil)
			}
		}
		return
	}
	pids, all := b.holders()
	if len(pids) == 0 {
		s.GPUProcesses = nil
		if s.Processes.V == 0 {
			if s.Processes = (guard.Gauge{}); all {
				s.Processes = guard.Known(0)
			}
		}
		return
	}
	s.Processes, s.GPUProcesses = guard.Known(float64(len(pids))), nil
	for _, pid := range pids {
		s.GPUProcesses = append(s.GPUProcesses, guard.GPUProcess{PID: pid, Alive: guard.Yes})
	}
}

// holders are the processes that hold a GPU's device open; all: every process could be
// looked at.
func (b Box) holders() (pids []int, all bool) {
	entries, err := os.ReadDir(b.Root + "/proc")
	if err != nil {
		return nil, false
	}
	all = true
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == b.Self || b.parent(pid) == b.Self {
			continue
		}
		switch holds, err := b.holds(pid); {
		case errors.Is(err, fs.ErrNotExist): // it ended
		case err != nil:
			all = false
		case holds:
			pids = append(pids, pid)
		}
	}
	return pids, all
}

func (b Box) holds(pid int) (bool, error) {
	dir := b.Root + "/proc" + "/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if number, ok := strings.CutPrefix(to, "/dev/nvidia"); ok {
			if _, err := strconv.Atoi(number); err == nil {
				return true, nil
			}
		}
		if to == "/dev/kfd" {
			return true, nil
		}
	}
	return false, nil
}

// parent is the parent of a process; 0 where it cannot be told.
func (b Box) parent(pid int) int {
	text := b.read(strconv.Itoa(pid) + "/stat")
	// The name in parentheses may hold anything.
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(f[1])
	if err != nil {
		return 0
	}
	return ppid
}

func (b Box) read(name string) string { return content(b.Root + "/proc/" + name) }
func (b Box) sys(name string) string  { return content(b.Root + "/sys/" + name) }

// content is a small file of the kernel's; "" where it cannot be read.
func content(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}
