package egress

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var t0 = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

// world is a machine whose traffic is known.
type world struct {
	t    *rapid.T
	at   time.Time
	boot int
	bits int
	nics map[string]*nic
	sent uint64 // what counters can have told
}

type nic struct {
	total   uint64 // since the boot
	told    uint64 // in the last sample
	waiting uint64 // sent and in no sample yet
	hidden  bool
	fresh   bool // not in any sample yet
}

func (w *world) reading(n *nic) uint64 {
	if w.bits == 32 {
		return n.total % (1 << 32)
	}
	return n.total
}

// advance lets time pass and bytes flow, at most what the line is known to carry.
func (w *world) advance(d time.Duration) {
	w.at = w.at.Add(d)
	most := int64(1e9 * d.Seconds())
	if w.bits == 32 {
		most = min(most, 1<<32-1)
	}
	for _, name := range slices.Sorted(maps.Keys(w.nics)) {
		n := w.nics[name]
		flow := uint64(rapid.Int64Range(0, most).Draw(w.t, "bytes"))
		if w.bits == 32 && n.waiting+flow >= 1<<32 {
			flow = 0 // ran over twice between two samples: nobody can tell
		}
		if n.total > 0 && (n.total+flow)%(1<<32) == 0 {
			flow ^= 1 // exactly 0 reads as a counter that was not told
		}
		n.total, n.waiting = n.total+flow, n.waiting+flow
	}
}

// reboot begins every counter anew. What was sent since the last sample is lost.
func (w *world) reboot() {
	w.boot++
	for _, n := range w.nics {
		n.total, n.told, n.waiting, n.fresh = 0, 0, 0, n.hidden
	}
}

func (w *world) sample() guard.Sample {
	x := guard.Sample{At: w.at, Interval: time.Minute, Source: "agent", Boot: fmt.Sprint("boot-", w.boot)}
	for name, n := range w.nics {
		if n.hidden {
			continue
		}
		x.NICs = append(x.NICs, guard.NICSample{Name: name, Tx: w.reading(n), Rx: w.reading(n), Bits: w.bits})
		if !n.fresh {
			w.sent += n.waiting
		}
		n.told, n.waiting, n.fresh = w.reading(n), 0, false
	}
	return x
}

// What is counted is what was sent, whatever the counters did in between: it is exact
// wherever they tell it, but for what is set apart over holes, and that is exact, too. It
// never falls, and the months add up to it.
func TestLawTrafficIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, at: t0, bits: rapid.SampledFrom([]int{32, 64}).Draw(t, "bits"), nics: map[string]*nic{
			"eth0": {fresh: true, total: rapid.Uint64Range(0, 1<<50).Draw(t, "start")}, "eth1": {fresh: true}}}
		if w.bits == 32 {
			w.nics["eth0"].total %= 1 << 32
		}
		rec := Fold(guard.Egress{}, w.sample(), Options{})
		if rec.Sent != 0 || !rec.First.Equal(t0) {
			t.Fatalf("the first reading counted %d from %s", rec.Sent, rec.First)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			w.advance(time.Duration(rapid.Int64Range(int64(10*time.Second), int64(3*time.Hour)).Draw(t, "gap")))
			x := w.turn()
			was := rec
			rec = Fold(rec, x, Options{})
			if rec.Sent < was.Sent || rec.Received < was.Received {
				t.Fatalf("sent fell from %d to %d", was.Sent, rec.Sent)
			}
			again := Fold(rec, x, Options{})
			if !reflect.DeepEqual(again, rec) {
				t.Fatalf("the same sample twice changed something")
			}
			if len(rec.Doubtful) > jumps {
				t.Fatalf("%d jumps are kept", len(rec.Doubtful))
			}
			if late := Fold(rec, guard.Sample{At: was.At, Source: "agent", NICs: x.NICs}, Options{}); late.Sent != rec.Sent {
				t.Fatalf("a late sample counted")
			}
		}
		w.advance(time.Minute)
		for _, n := range w.nics {
			n.hidden = false
		}
		rec = Fold(rec, w.sample(), Options{})
		w.advance(time.Minute) // whatever was doubted is confirmed now
		rec = Fold(rec, w.sample(), Options{})
		sent, received := rec.Sent, rec.Received
		for _, j := range rec.Doubtful {
			sent, received = sent+j.Sent, received+j.In
			if took := j.To.Sub(j.From); took < apart || float64(max(j.Sent, j.In)) > 1e9*(took.Seconds()+1) || j.NIC != "" && carries(ordinary, max(j.Sent, j.In), took) {
				t.Fatalf("%d sent and %d received in %s are in doubt", j.Sent, j.In, took)
			}
		}
		if sent != w.sent || received != w.sent {
			t.Fatalf("counted and in doubt are %d sent and %d received, truly %d", sent, received, w.sent)
		}
		var months uint64
		for _, m := range rec.Months {
			months += m.Sent
		}
		if months != rec.Sent {
			t.Fatalf("the months have %d of %d", months, rec.Sent)
		}
	})
}

// turn is what happens before the next sample, and what the sample tells.
func (w *world) turn() guard.Sample {
	switch rapid.SampledFrom([]string{"", "", "", "reboot", "change", "hide", "show", "plug", "absurd", "zero"}).Draw(w.t, "turn") {
	case "reboot":
		w.reboot()
		w.advance(time.Minute)
	case "change": // another interface after the reboot
		w.reboot()
		delete(w.nics, "eth1")
		w.nics[fmt.Sprint("ens", w.boot)] = &nic{}
		w.advance(time.Minute)
	case "hide":
		w.nics["eth0"].hidden = true
	case "show":
		w.nics["eth0"].hidden = false
	case "plug": // what it sent before it was first read nobody knows
		w.nics[fmt.Sprint("plug", w.at.Unix())] = &nic{fresh: true, total: rapid.Uint64Range(0, 1<<31).Draw(w.t, "start")}
	case "absurd":
		return w.odd(18446744073063945534)
	case "zero":
		return w.odd(0)
	}
	return w.sample()
}

// odd is a sample of which one interface tells nonsense, so that what it truly sent is
// told by the next one.
func (w *world) odd(v uint64) guard.Sample {
	n := w.nics["eth0"]
	if n.hidden || n.fresh || v == 0 && n.told == 0 {
		return w.sample()
	}
	told, waiting := n.told, n.waiting
	n.waiting = 0
	x := w.sample()
	n.told, n.waiting = told, waiting
	for i := range x.NICs {
		if x.NICs[i].Name == "eth0" {
			x.NICs[i].Tx, x.NICs[i].Rx = v, v
		}
	}
	return x
}

// Whatever a sample holds, nothing falls, runs over or is more than a line carries.
func FuzzFold(f *testing.F) {
	f.Add(uint64(63.0e9), uint64(63.1e9), uint64(0.2e6), uint64(1.1e6), 0, "a", "b", int64(60), 1e6)
	f.Add(uint64(4294900000), uint64(100000), uint64(18446744073063945534), uint64(0), 32, "a", "a", int64(60), math.NaN())
	f.Fuzz(func(t *testing.T, a, b, c, d uint64, bits int, bootA, bootB string, gap int64, rate float64) {
		rec, at := guard.Egress{}, t0
		for i, v := range []uint64{a, b, c, d, c, b, a} {
			boot := bootA
			if i >= 3 {
				boot = bootB
			}
			x := guard.Sample{At: at, Boot: boot, Source: "s", Tx: guard.Known(rate)}
			if i != 5 {
				x.NICs = []guard.NICSample{{Name: "eth0", Tx: v, Rx: a, Bits: bits, Speed: guard.Known(rate)}, {Name: "lo", Tx: v}}
			}
			was := rec
			rec = Fold(rec, x, Options{})
			took := at.Sub(rec.First).Seconds()
			if rec.Sent < was.Sent || float64(rec.Sent) > 10*line*2*(took+float64(i)+1) {
				t.Fatalf("after %d: sent %d, before %d", i, rec.Sent, was.Sent)
			}
			if len(rec.Buckets) > 290 || len(rec.Hours) > 194 {
				t.Fatalf("%d buckets and %d hours", len(rec.Buckets), len(rec.Hours))
			}
			at = at.Add(time.Duration(1+(uint64(gap)>>1)%uint64(1<<40)) * time.Microsecond)
		}
	})
}
