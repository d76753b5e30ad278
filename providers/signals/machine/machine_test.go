package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
)

const (
	statText = `cpu  1000 20 300 90000 70 5 15 400 0 0
cpu0 500 10 150 45000 35 3 7 200 0 0
cpu1 500 10 150 45000 35 2 8 200 0 0
intr 12345
btime 1772000000
`
	netText = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1114804074 1519329    0    0    0     0          0         0 1114804074 1519329    0    0    0     0       0          0
  eth0:9000000000 1    0    0    0     0          0         0 700 1    0    0    0     0       0          0
  ib0: 5 1    0    0    0     0          0         0 6 1    0    0    0     0       0          0
docker0: 77 1    0    0    0     0          0         0 77 1    0    0    0     0       0          0
eth0.100: 77 1    0    0    0     0          0         0 77 1    0    0    0     0       0          0
  bad: x 1    0    0    0     0          0         0 77 1    0    0    0     0       0          0
`
	diskText = `   7       0 loop0 1 0 8 0 0 0 0 0 0 0 0
 259       0 nvme0n1 10 0 2000 5 20 0 4000 9 0 1 1 0 0 0 0 0 0
 259       1 nvme0n1p1 10 0 2000 5 20 0 4000 9 0 1 1
   8       0 sda 1 0 10 1 1 0 0 1 0 1 1
   8       1 sda1 1 0 10 1 1 0 0 1 0 1 1
 253       0 dm-0 1 0 10 1 1 0 0 1 0 1 1
`
)

func TestProc(t *testing.T) {
	got := Proc{Stat: statText, NetDev: netText, Diskstats: diskText, BootID: "5f0c6f1e-8a55-4bd4-9e6f-6f3cf9c4d2b1\n"}.Counters()
	want := Counters{
		Boot: "5f0c6f1e-8a55-4bd4-9e6f-6f3cf9c4d2b1", CPU: guard.Known(13.4), Cores: guard.Known(2),
		Disk: map[string]float64{"nvme0n1": 6000 * 512, "sda": 10 * 512},
		NICs: []guard.NICSample{{Name: "eth0", Rx: 9_000_000_000, Tx: 700, Bits: 64}, {Name: "ib0", Rx: 5, Tx: 6, Bits: 64}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Counters{}, Proc{Stat: "cpu x y z 1 2 3 4 5\ncpu0", NetDev: "eth0", Diskstats: "8 0 sda", BootID: "no ID\x1b"}.Counters()); diff != "" {
		t.Error(diff)
	}
}

func TestFill(t *testing.T) {
	nic := func(name string, rx, tx uint64) guard.NICSample { return guard.NICSample{Name: name, Rx: rx, Tx: tx} }
	was := Counters{Boot: "a", CPU: guard.Known(100), Cores: guard.Known(8), Disk: map[string]float64{"sda": 1000, "gone": 5},
		NICs: []guard.NICSample{nic("eth0", 1000, 5000), nic("eth1", 9000, 9000)}}
	is := Counters{Boot: "a", CPU: guard.Known(115), Cores: guard.Known(8), Disk: map[string]float64{"sda": 3000, "new": 1e12},
		NICs: []guard.NICSample{nic("eth0", 2000, 5000), nic("eth1", 500, 9000), nic("eth2", 1e12, 1e12)}}
	var s guard.Sample
	is.Fill(&s, &was, 10*time.Second)
	want := guard.Sample{Boot: "a", CPUCores: guard.Known(1.5), Cores: guard.Known(8), Disk: guard.Known(200), Rx: guard.Known(150), Tx: guard.Known(0), NICs: is.NICs}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}

	none := guard.Sample{Boot: "a", Cores: guard.Known(8), NICs: is.NICs}
	rebooted := was
	rebooted.Boot = "b"
	for name, c := range map[string]struct {
		earlier *Counters
		dt      time.Duration
	}{"nothing earlier": {nil, time.Second}, "no time between": {&was, 0}, "another boot": {&rebooted, time.Second}} {
		var s guard.Sample
		is.Fill(&s, c.earlier, c.dt)
		if diff := cmp.Diff(none, s); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}

	var back guard.Sample
	is.CPU = guard.Known(99)
	is.Fill(&back, &was, time.Second)
	if back.CPUCores.OK {
		t.Errorf("processors that ran backwards: %v", back.CPUCores)
	}
}

func TestNIC(t *testing.T) {
	for name, want := range map[string]bool{
		"eth0": true, "ens5": true, "enp0s31f6": true, "enP5p9s0": true, "ib0": true, "wlan0": true, "venet0": true, "bnxt0": true,
		"lo": false, "docker0": false, "veth12ab": false, "br-5f0c": false, "br0": false, "virbr0": false, "bond0": false, "team0": false,
		"eth0.100": false, "vlan7": false, "tun0": false, "wg0": false, "tailscale0": false, "cali12": false, "": false,
	} {
		if NIC(name) != want {
			t.Errorf("%s: counts %v", name, !want)
		}
	}
}

func TestDisk(t *testing.T) {
	for name, want := range map[string]bool{
		"sda": true, "sdaa": true, "vda": true, "xvda": true, "hda": true, "nvme0n1": true, "mmcblk0": true,
		"sda1": false, "vda15": false, "nvme0n1p1": false, "dm-0": false, "md0": false, "loop1": false, "ram0": false, "sr0": false,
	} {
		if Disk(name) != want {
			t.Errorf("%s: counts %v", name, !want)
		}
	}
}

// Linux works the time of its boot out of the clock: it moves a little, and stays a boot.
func TestBootAt(t *testing.T) {
	if a, b := BootAt(1_772_000_000), BootAt(1_772_000_003.25); a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := BootAt(1_772_000_000), BootAt(1_772_001_000); a == b {
		t.Errorf("another boot is %q too", a)
	}
	for _, v := range []float64{0, -1, 1e18} {
		if got := BootAt(v); got != "" {
			t.Errorf("%v: %q", v, got)
		}
	}
}

// FuzzProc: whatever stands there, no reading is below nothing.
func FuzzProc(f *testing.F) {
	f.Add(statText, netText, diskText, "5f0c6f1e")
	f.Fuzz(func(t *testing.T, stat, net, disk, boot string) {
		c := Proc{stat, net, disk, boot}.Counters()
		var s guard.Sample
		c.Fill(&s, &c, time.Second)
		for _, g := range []guard.Gauge{c.CPU, c.Cores, s.CPUCores, s.Rx, s.Tx, s.Disk} {
			if g.OK && g.V < 0 {
				t.Errorf("below nothing: %+v", c)
			}
		}
		if len(c.NICs) > maxDevices || len(c.Disk) > maxDevices {
			t.Error("no bound")
		}
	})
}
