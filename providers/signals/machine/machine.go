// Package machine reads the counters of a machine's processors, disks and network
// interfaces, as Linux tells them in /proc, and makes rates of two readings.
//
// Each byte is counted once: where traffic passes through several interfaces, only
// the lowest counts (see [NIC]), and of disks only whole ones (see [Disk]).
package machine

import (
	"regexp"
	"strings"
	"time"

	"guard"
)

// Counters is one reading of what only grows while a machine is up. What could not be
// read is not known; one that runs backwards between two readings has begun anew.
type Counters struct {
	// Boot tells one boot from another; "" where nobody tells.
	Boot string
	// CPU is how many seconds all cores together have worked, Cores how many there are.
	CPU   guard.Gauge
	Cores guard.Gauge
	// Disk is bytes read and written, by disk.
	Disk map[string]float64
	NICs []guard.NICSample
}

// Fill puts a reading into a sample: the counters of the network, and, where there is an
// earlier reading of the same boot, the rates since that. Rates are over all of dt.
func (c Counters) Fill(s *guard.Sample, earlier *Counters, dt time.Duration) {
	s.Boot, s.Cores, s.NICs = c.Boot, c.Cores, c.NICs
	if earlier == nil || dt <= 0 || c.Boot != earlier.Boot {
		return
	}
	seconds := dt.Seconds()
	if c.CPU.OK && earlier.CPU.OK && c.CPU.V >= earlier.CPU.V {
		s.CPUCores = guard.Known((c.CPU.V - earlier.CPU.V) / seconds)
	}
	var disk float64
	var disks int
	for name, v := range c.Disk {
		if was, ok := earlier.Disk[name]; ok {
			disk, disks = disk+grown(was, v), disks+1
		}
	}
	if disks > 0 {
		s.Disk = guard.Known(disk / seconds)
	}
	was := make(map[string]guard.NICSample, len(earlier.NICs))
	for _, n := range earlier.NICs {
		was[n.Name] = n
	}
	var rx, tx float64
	var nics int
	for _, n := range c.NICs {
		if w, ok := was[n.Name]; ok {
			rx, tx, nics = rx+grown(float64(w.Rx), float64(n.Rx)), tx+grown(float64(w.Tx), float64(n.Tx)), nics+1
		}
	}
	if nics > 0 {
		s.Rx, s.Tx = guard.Known(rx/seconds), guard.Known(tx/seconds)
	}
}

// grown is by how much a counter grew; one that is lower now has begun at 0.
func grown(was, is float64) float64 {
	if is < was {
		return is
	}
	return is - was
}

// Virtual matches the interfaces that NIC leaves out, as a regular expression that
// matches a whole name, in the syntax of Go and of PromQL.
const Virtual = `lo|docker.*|veth.*|br[-0-9].*|virbr.*|vnet.*|cni.*|cbr.*|cali.*|cilium.*|lxc.*|lxd.*|flannel.*|weave.*|kube.*|nodelocaldns|tunl.*|tun[0-9].*|tap.*|wg.*|tailscale.*|zt.*|vxlan.*|geneve.*|genev_.*|gre.*|sit.*|ip6tnl.*|ipvl.*|macv.*|dummy.*|ifb.*|bond.*|team.*|vlan.*|.*[.][0-9]+`

// VirtualDisks matches, in the same way, disks that lie on whole ones or in memory.
const VirtualDisks = `(ram|loop|fd|sr|dm-|md|zram|nbd).*`

var (
	virtual = regexp.MustCompile(`^(?:` + Virtual + `)$`)
	disk    = regexp.MustCompile(`^(?:[svh]d[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+|pmem\d+)$`)
)

// NIC reports whether an interface counts. Left out are loopback, bridges and pairs of
// containers, tunnels, VLANs, and bonds, whose members count instead: their bytes pass
// through an interface that counts, or never leave the machine.
func NIC(name string) bool { return name != "" && !virtual.MatchString(name) }

// Disk reports whether a block device is a whole disk: what partitions, RAIDs and
// mapped devices read and write, their disks do.
func Disk(name string) bool { return disk.MatchString(name) }

// boots are how finely boot times are told apart. Linux works the time of its boot out of
// the clock, so it moves by seconds when the clock is set.
const boots = 5 * time.Minute

// BootAt names a boot by its time, in seconds since 1970; "" where that cannot be one.
func BootAt(seconds float64) string {
	if g := guard.Known(seconds); !g.OK || g.V < 1e9 || g.V > 1e11 {
		return ""
	}
	return "at " + time.Unix(int64(seconds), 0).UTC().Round(boots).Format("2006-01-02T15:04Z")
}

// text is a word out of a file of the machine, bounded.
func text(s string) string {
	s = strings.TrimSpace(s)
	return s[:min(len(s), 64)]
}
