package machine

import (
	"regexp"
	"strconv"
	"strings"

	"guard"
)

// hertz is the unit of /proc/stat, the same on every Linux that runs GPUs.
const hertz = 100

// sector is the unit of /proc/diskstats, whatever the disk's own is.
const sector = 512

// maxDevices bounds the interfaces and disks of one machine.
const maxDevices = 512

// Proc is the text of the files in /proc that a reading is made of; "" where one could
// not be read.
type Proc struct {
	Stat, NetDev, Diskstats string
	BootID                  string // of /proc/sys/kernel/random/boot_id
}

// Counters reads them. What one file does not tell is not known.
func (p Proc) Counters() Counters {
	c := Counters{NICs: netDev(p.NetDev), Disk: diskstats(p.Diskstats)}
	if id := text(p.BootID); bootID.MatchString(id) {
		c.Boot = id
	}
	c.CPU, c.Cores = stat(p.Stat)
	return c
}

var bootID = regexp.MustCompile(`^[0-9a-fA-F-]{8,64}$`)

// stat reads the seconds that all cores worked: user, nice, system, irq and softirq.
// Waiting for a disk and what a neighbour took are no work of this machine's.
func stat(s string) (busy, cores guard.Gauge) {
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			cores = guard.Known(cores.V + 1)
			continue
		}
		var ticks float64
		for _, i := range []int{1, 2, 3, 6, 7} {
			v, err := strconv.ParseUint(f[i], 10, 64)
			if err != nil {
				return guard.Gauge{}, guard.Gauge{}
			}
			ticks += float64(v)
		}
		busy = guard.Known(ticks / hertz)
	}
	return busy, cores
}

// netDev reads "eth0: bytes packets errs drop fifo frame compressed multicast bytes …".
func netDev(s string) []guard.NICSample {
	var out []guard.NICSample
	for line := range strings.Lines(s) {
		name, rest, ok := strings.Cut(line, ":")
		name = text(name)
		f := strings.Fields(rest)
		if !ok || len(f) < 9 || !NIC(name) || len(out) >= maxDevices {
			continue
		}
		rx, err1 := strconv.ParseUint(f[0], 10, 64)
		tx, err2 := strconv.ParseUint(f[8], 10, 64)
		if err1 == nil && err2 == nil {
			out = append(out, guard.NICSample{Name: name, Rx: rx, Tx: tx, Bits: 64})
		}
	}
	return out
}

// diskstats reads "8 0 sda reads merged sectors ms writes merged sectors …".
func diskstats(s string) map[string]float64 {
	var out map[string]float64
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 10 || !Disk(f[2]) || len(out) >= maxDevices {
			continue
		}
		read, err1 := strconv.ParseUint(f[5], 10, 64)
		written, err2 := strconv.ParseUint(f[9], 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[f[2]] = (float64(read) + float64(written)) * sector
	}
	return out
}
