//go:build linux && nvml && cgo

package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"guard"
)

// fakeNVML compiles the stand-in for the driver's library.
func fakeNVML(t *testing.T, flags ...string) string {
	t.Helper()
	cc, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Skip("the go command does not run here: ", err)
	}
	// Read here, so that what go test remembers of a run depends on it.
	source, err := os.Open(filepath.Join("testdata", "nvml.c"))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	lib := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	compile := exec.Command(strings.TrimSpace(string(cc)), append(flags, "-shared", "-fPIC", "-o", lib, "-x", "c", "-")...)
	compile.Stdin = source
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

// TestNVML: what is read of two GPUs is what nvidia-smi tells, in its units, and the
// energy counter; what the library does not tell is not known.
func TestNVML(t *testing.T) {
	lib := fakeNVML(t)
	known := guard.Known
	first := guard.GPUSample{Util: known(97), MemUsed: known(70_000), MemTotal: known(81_559), Power: known(512.5), PowerLimit: known(700), Energy: known(123_456.5)}
	second := guard.GPUSample{Util: known(0), MemUsed: known(4), MemTotal: known(81_559), Power: known(71.25), PowerLimit: known(700), Energy: known(1.5)}
	cut := func(g guard.GPUSample) guard.GPUSample { g.Util, g.MIG = guard.Gauge{}, true; return g }
	old := func(g guard.GPUSample, mem float64) guard.GPUSample {
		g.MemUsed, g.Energy = known(mem), guard.Gauge{}
		return g
	}
	processes := []guard.GPUProcess{{PID: 4242, MemUsed: known(70_024)}, {PID: 901}}
	for name, c := range map[string]struct {
		lib  string
		want guard.Sample
	}{
		"":     {lib, guard.Sample{GPUs: []guard.GPUSample{first, second}, Processes: known(2), GPUProcesses: processes}},
		"mig":  {lib, guard.Sample{GPUs: []guard.GPUSample{cut(first), cut(second)}, Processes: known(2), GPUProcesses: processes}},
		"lost": {lib, guard.Sample{GPUs: []guard.GPUSample{first, {}}}},
		"mute": {lib, guard.Sample{GPUs: make([]guard.GPUSample, 2)}},
		"old": {fakeNVML(t, "-DOLD"), guard.Sample{GPUs: []guard.GPUSample{old(first, 70_596), old(second, 600)},
			Processes: known(2), GPUProcesses: processes}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NVML_FAKE", name)
			g, ok := findNVML(c.lib)
			if !ok {
				t.Fatal("it is not found")
			}
			c.want.Basis = guard.Instantaneous
			s, err := g.(nvml).read(true)
			if diff := cmp.Diff(c.want, s); diff != "" || err != nil {
				t.Error(err, diff)
			}
			if s, err := g.(nvml).read(false); err != nil || s.Processes.OK || s.GPUProcesses != nil {
				t.Errorf("processes that nobody asked for: %+v, %v", s, err)
			}
		})
	}
}

// TestNVMLComesAndGoes: without the library or the driver nothing is found; a driver that
// goes is said, and one that comes back is read again.
func TestNVMLComesAndGoes(t *testing.T) {
	lib := fakeNVML(t)
	if _, ok := findNVML(filepath.Join(t.TempDir(), "libnvidia-ml.so.1")); ok {
		t.Error("a library that is not there is found")
	}
	t.Setenv("NVML_FAKE", "gone")
	if _, ok := findNVML(lib); ok {
		t.Error("a library without a driver is found")
	}
	t.Setenv("NVML_FAKE", "")
	g, ok := findNVML(lib)
	if !ok {
		t.Fatal("it is not found")
	}
	t.Setenv("NVML_FAKE", "gone")
	if s, err := g.(nvml).read(true); err == nil || err.Error() != "Driver Not Loaded" || s.GPUs != nil {
		t.Errorf("without a driver: %+v, %v", s, err)
	}
	t.Setenv("NVML_FAKE", "")
	_, first := g.(nvml).read(true)
	if s, err := g.(nvml).read(true); err != nil || len(s.GPUs) != 2 {
		t.Errorf("the driver is back: %v, then %+v, %v", first, s, err)
	}
}

// TestNVMLFirst: where the linker finds the library the GPUs are read through it, whether
// nvidia-smi is there or not; --gpus may say otherwise. It runs itself anew, for the linker
// looks at its path when a process begins.
func TestNVMLFirst(t *testing.T) {
	const inner = "NVML_INNER"
	if os.Getenv(inner) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNVMLFirst$")
		cmd.Env = append(os.Environ(), inner+"=1", "LD_LIBRARY_PATH="+filepath.Dir(fakeNVML(t)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for kind, want := range map[string]bool{"auto": true, "nvidia": true, "amd": false, "none": false} {
		g, _ := FindGPUs(kind)
		if _, is := g.(nvml); is != want {
			t.Errorf("%s reads through %T", kind, g)
		}
	}
}

// balky is a library whose calls come back when it is let go, or fail.
type balky struct {
	driver.Interface
	wait chan struct{}
	ret  driver.Return
}

func (b balky) DeviceGetCount() (int, driver.Return) { <-b.wait; return 0, b.ret }
func (balky) Shutdown() driver.Return                { return driver.SUCCESS }
func (balky) Init() driver.Return                    { return driver.SUCCESS }

// TestNVMLStuck: a call that does not come back is said, keeps nobody from ending, and is
// read on from when it does.
func TestNVMLStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := balky{wait: make(chan struct{})}
		var mu sync.Mutex
		said, readings := "", 0
		var wg sync.WaitGroup
		wg.Go(func() {
			nvml{lib: b}.Run(ctx, func(guard.Sample) { mu.Lock(); readings++; mu.Unlock() }, func(s string) { mu.Lock(); said = s; mu.Unlock() })
		})
		pause(ctx, silence+time.Second)
		mu.Lock()
		if said != "NVML: it said nothing for 30s" || readings > 0 {
			t.Errorf("said %q after %d readings", said, readings)
		}
		mu.Unlock()
		b.wait <- struct{}{}
		pause(ctx, time.Second)
		mu.Lock()
		if said != "" || readings != 1 {
			t.Errorf("said %q after %d readings", said, readings)
		}
		mu.Unlock()
		cancel()
		wg.Wait()
		close(b.wait)
	})
}

// TestNVMLFails: where it tells nothing any more nvidia-smi does.
func TestNVMLFails(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *--query-gpu*) echo '0, 50, 100, 1000, 70, 700, Disabled'; echo '0, 50, 100, 1000, 70, 700, Disabled';; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b := balky{wait: make(chan struct{}), ret: driver.ERROR_LIB_RM_VERSION_MISMATCH}
		close(b.wait)
		var said []string
		nvml{lib: b}.Run(ctx, func(s guard.Sample) {
			if len(s.GPUs) == 1 && s.GPUs[0].Util == guard.Known(50) {
				cancel()
			}
		}, func(s string) { said = append(said, s) })
		if context.Cause(ctx) != context.Canceled {
			t.Errorf("nvidia-smi is not read: %q", said)
		}
		if len(said) < deafAfter || !strings.HasPrefix(said[0], "NVML: ") {
			t.Errorf("said %q", said)
		}
	})
}
