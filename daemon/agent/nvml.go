//go:build linux && nvml && cgo

package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"time"

	driver "github.com/NVIDIA/go-nvml/pkg/nvml"

	"guard"
	"guard/providers/signals/nvidiasmi"
)

// nvml reads through the driver's own library: what nvidia-smi tells, and the energy
// counter, without a process beside the agent.
type nvml struct {
	lib driver.Interface
	// Older drivers do not have these, and a call of what is not there ends the process.
	energy, memory2, mig bool
}

// findNVML loads NVML from a path ("": where the linker finds it); false where it is not
// there, or tells nothing.
func findNVML(path string) (GPUs, bool) {
	n := nvml{lib: driver.New(driver.WithLibraryPath(path))}
	if n.lib.Init() != driver.SUCCESS {
		return nil, false
	}
	has := func(symbol string) bool { return n.lib.Extensions().LookupSymbol(symbol) == nil }
	for _, symbol := range []string{"nvmlShutdown", "nvmlErrorString", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUtilizationRates",
		"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetComputeRunningProcesses"} {
		if !has(symbol) {
			return nil, false
		}
	}
	n.energy, n.memory2, n.mig = has("nvmlDeviceGetTotalEnergyConsumption"), has("nvmlDeviceGetMemoryInfo_v2"), has("nvmlDeviceGetMigMode")
	return n, true
}

// Run goes over to nvidia-smi where the library fails as a whole for some time: after an
// upgrade of the driver the one that is loaded does not fit any more.
func (n nvml) Run(ctx context.Context, reading func(guard.Sample), trouble func(string)) {
	const appsRounds = int(appsEvery / readEvery)
	own, stop := context.WithCancel(ctx)
	defer stop()
	round, failures, smi := 0, 0, ""
	poll(own, readEvery, func() {
		s, err := n.ask(own, round%appsRounds == 0, trouble)
		switch {
		case own.Err() != nil:
			return
		case err == nil:
			round, failures = round+1, 0
			trouble("")
			s.Interval = readEvery
			reading(s)
			return
		}
		round, failures = 0, failures+1
		trouble(fmt.Sprintf("NVML: %v", err))
		if failures >= deafAfter {
			if smi, err = exec.LookPath(nvidiasmi.Program); err == nil {
				stop()
			}
		}
		pause(own, time.Second<<min(failures, 6))
	})
	if ctx.Err() == nil {
		nvidia{smi}.Run(ctx, reading, trouble)
	}
}

// ask waits for one reading, or until ctx ends: a call into a driver that hangs cannot be
// ended, only left alone.
func (n nvml) ask(ctx context.Context, apps bool, trouble func(string)) (guard.Sample, error) {
	type answer struct {
		guard.Sample
		error
	}
	answers := make(chan answer, 1)
	go func() {
		s, err := n.read(apps)
		answers <- answer{s, err}
	}()
	alarm := time.NewTimer(silence)
	defer alarm.Stop()
	for {
		select {
		case a := <-answers:
			return a.Sample, a.error
		case <-ctx.Done():
			return guard.Sample{}, ctx.Err()
		case <-alarm.C:
			trouble(fmt.Sprintf("NVML: it said nothing for %s", silence))
		}
	}
}

// read asks each GPU once. One that does not answer is there with nothing known. Where
// not even their number is told the library is begun anew for the next reading. Processes
// are known only where every GPU tells its own.
func (n nvml) read(apps bool) (guard.Sample, error) {
	count, ret := n.lib.DeviceGetCount()
	if ret != driver.SUCCESS {
		why := errors.New(word(ret.Error()))
		_, _ = n.lib.Shutdown(), n.lib.Init() // what they say the next count says, too
		return guard.Sample{}, why
	}
	s := guard.Sample{Basis: guard.Instantaneous, GPUs: make([]guard.GPUSample, count)}
	whole := apps
	for i := range s.GPUs {
		d, ret := n.lib.DeviceGetHandleByIndex(i)
		if ret != driver.SUCCESS {
			whole = false
			continue
		}
		s.GPUs[i] = n.gpu(d)
		if whole {
			var list []driver.ProcessInfo
			list, ret = d.GetComputeRunningProcesses()
			whole = ret == driver.SUCCESS
			s.GPUProcesses = addProcesses(s.GPUProcesses, list)
		}
	}
	if whole {
		s.Processes = guard.Known(float64(len(s.GPUProcesses)))
	} else {
		s.GPUProcesses = nil
	}
	return s, nil
}

// gpu reads one GPU. NVML counts bytes, milliwatts and millijoules.
func (n nvml) gpu(d driver.Device) guard.GPUSample {
	var g guard.GPUSample
	if n.mig {
		current, _, ret := d.GetMigMode()
		g.MIG = ret == driver.SUCCESS && current == driver.DEVICE_MIG_ENABLE
	}
	if u, ret := d.GetUtilizationRates(); ret == driver.SUCCESS && !g.MIG {
		g.Util = guard.Known(float64(u.Gpu))
	}
	// The first version counts what the driver keeps for itself as used.
	if m, ret := d.GetMemoryInfo(); ret == driver.SUCCESS && !n.memory2 {
		g.MemUsed, g.MemTotal = mebi(m.Used), mebi(m.Total)
	}
	if n.memory2 {
		if m, ret := d.GetMemoryInfo_v2(); ret == driver.SUCCESS {
			g.MemUsed, g.MemTotal = mebi(m.Used), mebi(m.Total)
		}
	}
	if mw, ret := d.GetPowerUsage(); ret == driver.SUCCESS {
		g.Power = guard.Known(float64(mw) / 1e3)
	}
	if mw, ret := d.GetEnforcedPowerLimit(); ret == driver.SUCCESS {
		g.PowerLimit = guard.Known(float64(mw) / 1e3)
	}
	if n.energy {
		if mj, ret := d.GetTotalEnergyConsumption(); ret == driver.SUCCESS {
			g.Energy = guard.Known(float64(mj) / 1e3)
		}
	}
	return g
}

// mebi is bytes in MiB; all ones is NVML's word for not available.
func mebi(n uint64) guard.Gauge {
	if n == math.MaxUint64 {
		return guard.Gauge{}
	}
	return guard.Known(float64(n) / (1 << 20))
}

// addProcesses adds those of one more GPU: a process that is on several is one.
func addProcesses(all []guard.GPUProcess, more []driver.ProcessInfo) []guard.GPUProcess {
next:
	for _, m := range more {
		mem := mebi(m.UsedGpuMemory)
		for i := range all {
			if p := &all[i]; p.PID == int(m.Pid) {
				p.MemUsed = guard.Gauge{V: p.MemUsed.V + mem.V, OK: p.MemUsed.OK && mem.OK}
				continue next
			}
		}
		all = append(all, guard.GPUProcess{PID: int(m.Pid), MemUsed: mem})
	}
	return all
}
