//go:build linux

package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guard"
)

// machineFiles are what a box's kernel tells, cut down.
var machineFiles = map[string]string{
	"proc/stat":                      "cpu  1000 0 500 90000 300 20 30 0 0 0\ncpu0 500 0 250 45000 150 10 15 0 0 0\ncpu1 500 0 250 45000 150 10 15 0 0 0\n",
	"proc/net/dev":                   "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes\n    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n  eth0: 1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n",
	"proc/diskstats":                 " 259 0 nvme0n1 10 0 100 0 10 0 200 0 0 0 0\n",
	"proc/sys/kernel/random/boot_id": "11111111-1111-1111-1111-111111111111\n",
	"sys/class/net/eth0/speed":       "10000\n",
	"sys/fs/cgroup/cgroup.procs":     "",
	"dev/pts/ptmx":                   "",
	"proc/self/stat":                 "",
	"proc/4711/stat":                 "4711 (python (x)) S 9 1 1",
	"proc/4712/stat":                 "4712 (nvidia-smi) S 1 1 1",
}

// fill makes the files of a machine below a folder, whose PIDs are its own.
func fill(t *testing.T, root string) {
	t.Helper()
	for name, text := range machineFiles {
		write(t, root, name, text)
	}
	pids(t, root, initNamespace)
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pids sets the namespace of PIDs.
func pids(t *testing.T, root, namespace string) {
	t.Helper()
	link := filepath.Join(root, "proc/self/ns/pid")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.Symlink(namespace, link); err != nil {
		t.Fatal(err)
	}
}

func TestCounters(t *testing.T) {
	root := t.TempDir()
	fill(t, root)
	b := Box{Root: root}
	c := b.Counters()
	if c.CPU != guard.Known(15.5) || c.Cores != guard.Known(2) || c.Disk["nvme0n1"] != 300*512 || c.Boot == "" ||
		len(c.NICs) != 1 || c.NICs[0].Rx != 1000 || c.NICs[0].Speed != guard.Known(1.25e9) {
		t.Errorf("%+v", c)
	}
	// In a container the kernel's files tell of the neighbours, too: its control group
	// tells of itself, and what that does not tell is not known.
	write(t, root, "sys/fs/cgroup/cgroup.type", "domain\n")
	if c := b.Counters(); c.CPU.OK || c.Disk != nil || len(c.NICs) != 1 {
		t.Errorf("a container that tells nothing: %+v", c)
	}
	write(t, root, "sys/fs/cgroup/cpu.stat", "usage_usec 7000000\nuser_usec 1\n")
	write(t, root, "sys/fs/cgroup/cpu.max", "150000 100000\n")
	write(t, root, "sys/fs/cgroup/io.stat", "259:0 rbytes=100 wbytes=50 rios=1 wios=1 dbytes=7 dios=0\n8:0 rbytes=1 wbytes=2 rios=0\n")
	if c := b.Counters(); c.CPU != guard.Known(7) || c.Cores != guard.Known(1.5) || c.Disk["container"] != 153 {
		t.Errorf("a container: %+v", c)
	}
	write(t, root, "sys/fs/cgroup/cpu.max", "max 100000\n")
	if c := b.Counters(); c.Cores != guard.Known(2) {
		t.Errorf("without a bound: %+v", c.Cores)
	}
}

func TestPresence(t *testing.T) {
	root := t.TempDir()
	fill(t, root)
	b := Box{Root: root, Beats: filepath.Join(root, "beats")}
	now := time.Now()
	if n, age := b.Sessions(now); n != guard.Known(0) || age.OK {
		t.Errorf("nobody: %v %v", n, age)
	}
	if b.Heartbeat(now).OK {
		t.Error("a heartbeat of nobody")
	}
	for name, ago := range map[string]time.Duration{"dev/pts/0": time.Hour, "dev/pts/1": 90 * time.Second, "beats/job-1": 20 * time.Minute, "beats/job-2": 7 * time.Second} {
		write(t, root, name, "")
		if err := os.Chtimes(filepath.Join(root, name), now.Add(-ago), now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	if n, age := b.Sessions(now); n != guard.Known(2) || age.V != 90 {
		t.Errorf("%v %v", n, age)
	}
	if age := b.Heartbeat(now); age.V != 7 {
		t.Errorf("%v", age)
	}
	if age := b.Heartbeat(now.Add(-time.Minute)); age != guard.Known(0) {
		t.Errorf("of the future: %v", age)
	}
	if n, _ := (Box{Root: filepath.Join(root, "nowhere")}).Sessions(now); n.OK {
		t.Error("terminals that cannot be seen are none")
	}
}

// TestProcesses: a PID counts as alive or not where PIDs mean something; in a container
// the holders of the devices are counted, and not seeing is not none.
func TestProcesses(t *testing.T) {
	root := t.TempDir()
	fill(t, root)
	b := Box{Root: root, Self: 1}
	listed := func() guard.Sample {
		return guard.Sample{Processes: guard.Known(2), GPUProcesses: []guard.GPUProcess{{PID: 4711}, {PID: 999999}}}
	}
	s := listed()
	b.Processes(&s)
	if s.GPUProcesses[0].Alive != guard.Yes || s.GPUProcesses[1].Alive != guard.No || s.Processes != guard.Known(2) {
		t.Errorf("%+v", s)
	}
	pids(t, root, "pid:[4026532000]")
	hold := func(pid, device string) {
		t.Helper()
		dir := filepath.Join(root, "proc", pid, "fd")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(device, filepath.Join(dir, "3")); err != nil {
			t.Fatal(err)
		}
	}
	// 4711 cannot be looked at yet: it has no folder of files that can be read.
	if err := os.Remove(filepath.Join(root, "proc/self/stat")); err != nil {
		t.Fatal(err)
	}
	s = guard.Sample{Processes: guard.Known(0)}
	write(t, root, "proc/4711/fd", "not a folder")
	b.Processes(&s)
	if s.Processes.OK {
		t.Errorf("a process that cannot be looked at, and yet %v", s.Processes)
	}
	if err := os.Remove(filepath.Join(root, "proc/4711/fd")); err != nil {
		t.Fatal(err)
	}
	hold("4711", "/dev/null")
	s = guard.Sample{Processes: guard.Known(0)}
	b.Processes(&s)
	if s.Processes != guard.Known(0) {
		t.Errorf("nobody holds a GPU: %v", s.Processes)
	}
	hold("4712", "/dev/nvidia0") // our own nvidia-smi
	hold("4713", "/dev/nvidiactl")
	hold("4714", "/dev/nvidia12")
	write(t, root, "proc/4713/stat", "4713 (a) S 9 1 1")
	write(t, root, "proc/4714/stat", "4714 (b) S 9 1 1")
	s = listed()
	b.Processes(&s)
	if s.Processes != guard.Known(1) || len(s.GPUProcesses) != 1 || s.GPUProcesses[0].PID != 4714 || s.GPUProcesses[0].Alive != guard.Yes {
		t.Errorf("%+v", s)
	}
}

// TestRounds: the lines of a long-running nvidia-smi are put together by rounds of all
// GPUs, whatever stands between them.
func TestRounds(t *testing.T) {
	var r round
	var got []string
	for line := range strings.Lines("0, 1, a\n1, 2, b\n0, 3, c\nUnable to determine the device handle: GPU is lost\n1, 4, d\n\n1, 5, e\n1, 6, f\n0, 7, g\n") {
		if text, whole := r.line(strings.TrimSpace(line)); whole {
			got = append(got, strings.ReplaceAll(text, "\n", "|"))
		}
	}
	want := "0, 1, a|1, 2, b|;0, 3, c|1, 4, d|;1, 5, e|;1, 6, f|"
	if strings.Join(got, ";") != want {
		t.Errorf("%q, want %q", strings.Join(got, ";"), want)
	}
}

// TestNoNames: what is sent of a process is its PID, and neither its name nor its
// arguments.
func TestNoNames(t *testing.T) {
	root := t.TempDir()
	fill(t, root)
	write(t, root, "proc/4711/cmdline", "python\x00--wandb-key=hunter2")
	s := guard.Sample{Processes: guard.Known(1), GPUProcesses: []guard.GPUProcess{{PID: 4711}}}
	b := Box{Root: root, Self: 1}
	b.Processes(&s)
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "python") || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "4711") {
		t.Errorf("%s (%v)", text, err)
	}
}
