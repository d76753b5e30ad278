package egress

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"guard"
)

// reading is one sample of one interface, a minute after the one before.
type reading struct {
	tx   uint64
	boot string
	nic  string // "": eth0
	from string // "": agent
	rate float64
	wait time.Duration
}

func folded(bits int, rs ...reading) guard.Egress {
	var rec guard.Egress
	at := t0
	for _, r := range rs {
		x := guard.Sample{At: at, Interval: time.Minute, Boot: r.boot, Source: "agent"}
		if r.from != "" {
			x.Source = r.from
		}
		if r.rate != 0 {
			x.Tx = guard.Known(r.rate)
		} else {
			name := "eth0"
			if r.nic != "" {
				name = r.nic
			}
			x.NICs = []guard.NICSample{{Name: "lo", Tx: 5e9 + r.tx*3}, {Name: name, Tx: r.tx, Bits: bits}}
		}
		rec = Fold(rec, x, Options{})
		at = at.Add(max(r.wait, time.Minute))
	}
	return rec
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		name                   string
		bits                   int
		readings               []reading
		sent                   uint64
		resets, wraps, dropped int
	}{
		{"a reboot begins anew", 0, []reading{{tx: 63.0e9, boot: "a"}, {tx: 63.1e9, boot: "a"}, {tx: 0.2e6, boot: "b"}, {tx: 1.1e6, boot: "b"}}, 0.1e9 + 1.1e6, 1, 0, 0},
		{"a reboot that nobody tells", 0, []reading{{tx: 63.0e9}, {tx: 63.1e9}, {tx: 0.2e6}, {tx: 1.1e6}}, 0.1e9 + 1.1e6, 1, 0, 0},
		{"more than before the reboot", 0, []reading{{tx: 1e6, boot: "a"}, {tx: 5e9, boot: "b"}, {tx: 6e9, boot: "b"}}, 6e9, 1, 0, 0},
		{"a boot that was none", 0, []reading{{tx: 9e12, boot: "a"}, {tx: 9e12 + 500, boot: "b"}}, 500, 1, 0, 0},
		{"a boot time that jitters", 0, []reading{{tx: 9e9, boot: "1772357400"}, {tx: 9e9 + 500, boot: "1772357401"}, {tx: 9e9 + 700, boot: "1772357400.5"}}, 700, 0, 0, 0},
		{"32 bits run over", 32, []reading{{tx: 4294900000, boot: "a"}, {tx: 100000, boot: "a"}}, 167296, 0, 1, 0},
		{"32 bits, told by nobody", 0, []reading{{tx: 4294900000, boot: "a"}, {tx: 100000, boot: "a"}}, 167296, 0, 1, 0},
		{"64 bits do not run over", 64, []reading{{tx: 4294900000, boot: "a"}, {tx: 100000, boot: "a"}, {tx: 100050, boot: "a"}}, 100050, 1, 0, 0},
		{"32 bits and a reboot", 32, []reading{{tx: 4294900000, boot: "a"}, {tx: 100000, boot: "b"}}, 100000, 1, 0, 0},
		{"above 32 bits nothing runs over", 32, []reading{{tx: 1 << 33, boot: "a"}, {tx: 100000, boot: "a"}, {tx: 100050, boot: "a"}}, 100050, 1, 0, 0},
		{"nonsense once", 0, []reading{{tx: 1e9}, {tx: 18446744073063945534}, {tx: 1e9 + 900}}, 900, 0, 0, 1},
		{"nonsense twice", 0, []reading{{tx: 1e9}, {tx: 18446744073063945534}, {tx: 18446744073063945634}, {tx: 1e9 + 900}}, 900, 0, 0, 2},
		{"nonsense first", 0, []reading{{tx: 18446744073063945534}, {tx: 1e9}, {tx: 1e9 + 900}}, 900, 0, 0, 1},
		{"a jump that stays", 0, []reading{{tx: 1e9}, {tx: 5e15}, {tx: 5e15 + 900}, {tx: 5e15 + 1000}}, 1000, 0, 0, 1},
		{"not told once", 0, []reading{{tx: 63e9}, {tx: 0}, {tx: 63e9 + 900}}, 900, 0, 0, 0},
		{"not told, and fast", 0, []reading{{tx: 1e9}, {tx: 0}, {tx: 145e9}}, 144e9, 0, 0, 0},
		{"begun anew in one boot", 0, []reading{{tx: 1e9, boot: "a"}, {tx: 1000, boot: "a"}, {tx: 1500, boot: "a"}, {tx: 1600, boot: "a"}}, 1600, 1, 0, 0},
		{"readings of long ago between those of now", 0, []reading{{tx: 9e10, boot: "a"}, {tx: 2e10, boot: "a"}, {tx: 9e10 + 50, boot: "a"}, {tx: 2e10 + 70, boot: "a"}, {tx: 9e10 + 100, boot: "a"}}, 100, 0, 0, 0},
		{"rates after ten minutes' silence do not count", 0, []reading{{tx: 1e9}, {tx: 1e9 + 10, wait: 10 * time.Minute}, {rate: 5e6, from: "cloud"}, {tx: 1e9 + 70}}, 70, 0, 0, 0},
		{"begun anew in one boot with far more than ever", 0, []reading{{tx: 90e9, boot: "a"}, {tx: 90e9 + 6e6, boot: "a"}, {tx: 30e9, boot: "a"}, {tx: 30e9 + 6e6, boot: "a"}, {tx: 30e9 + 12e6, boot: "a"}}, 18e6, 0, 0, 0},
		{"backwards a little", 0, []reading{{tx: 63e9, boot: "a"}, {tx: 62e9, boot: "a"}, {tx: 63e9 + 900, boot: "a"}}, 900, 0, 0, 1},
		{"backwards for good", 0, []reading{{tx: 63e9}, {tx: 62e9}, {tx: 62e9 + 900}}, 900, 0, 0, 1},
		{"as fast as nothing before, and true", 0, []reading{{tx: 1e9}, {tx: 301e9}, {tx: 601e9}}, 600e9, 0, 0, 0},
		{"as fast as nothing before, and back", 0, []reading{{tx: 1e9}, {tx: 301e9}, {tx: 1e9 + 900}}, 900, 0, 0, 0},
		{"another interface after a reboot", 0, []reading{{tx: 8e9, boot: "a"}, {tx: 700, boot: "b", nic: "ens5"}, {tx: 900, boot: "b", nic: "ens5"}}, 900, 1, 0, 0},
		{"another interface without one", 0, []reading{{tx: 8e9, boot: "a"}, {tx: 700, boot: "a", nic: "ens5"}, {tx: 900, boot: "a", nic: "ens5"}, {tx: 8e9 + 50, boot: "a"}}, 250, 0, 0, 0},
		{"rates", 0, []reading{{rate: 1000}, {rate: 2000, wait: 10 * time.Minute}, {rate: 500}}, 60_000 + 120_000 + 30_000, 0, 0, 0},
		{"a rate of no line", 0, []reading{{rate: 1000}, {rate: 1e18}, {rate: -5}}, 60_000, 0, 0, 2},
		{"counters go before rates", 0, []reading{{tx: 1e9}, {rate: 5e6, from: "cloud"}, {tx: 1e9 + 70}}, 70, 0, 0, 0},
		{"rates after an hour's silence", 0, []reading{{tx: 1e9, wait: 61 * time.Minute}, {rate: 100, from: "cloud"}, {rate: 100, from: "cloud"}, {tx: 9e9}, {tx: 9e9 + 5}}, 12005, 0, 0, 0},
		{"one of two sources", 0, []reading{{tx: 1e9}, {tx: 1e9 + 10}, {tx: 2e3, from: "other"}, {tx: 1e9 + 30}}, 30, 0, 0, 0},
		{"the other one after a silence", 0, []reading{{tx: 1e9}, {tx: 1e9 + 10, wait: 5 * time.Minute}, {tx: 2e3, from: "other"}, {tx: 3e3, from: "other"}}, 1010, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := folded(c.bits, c.readings...)
			if rec.Sent != c.sent || rec.Resets != c.resets || rec.Wraps != c.wraps || rec.Dropped != c.dropped {
				t.Errorf("sent %d, %d resets, %d wraps, %d dropped; want %d, %d, %d, %d", rec.Sent, rec.Resets, rec.Wraps, rec.Dropped, c.sent, c.resets, c.wraps, c.dropped)
			}
		})
	}
}

// What was sent in a gap is spread over it, and over the months that it lies in.
func TestGap(t *testing.T) {
	at := time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)
	rec := Fold(guard.Egress{}, guard.Sample{At: at, NICs: []guard.NICSample{{Name: "eth0"}}}, Options{})
	rec = Fold(rec, guard.Sample{At: at.Add(4 * time.Hour), NICs: []guard.NICSample{{Name: "eth0", Tx: 4801}}}, Options{})
	want := []guard.Bytes{{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Sent: 1200}, {From: at.Add(time.Hour), Sent: 3601}}
	if !reflect.DeepEqual(rec.Months, want) {
		t.Errorf("months %v", rec.Months)
	}
	if len(rec.Buckets) != 48 || rec.Buckets[0].Sent != 100 || len(rec.Hours) != 4 || rec.Hours[3].Sent != 1201 {
		t.Errorf("%d buckets, hours %v", len(rec.Buckets), rec.Hours)
	}
	if rec.Lag != 4*time.Hour {
		t.Errorf("lag %s", rec.Lag)
	}
}

// What goes through two interfaces of one machine counts once: the names show it.
func TestPhysical(t *testing.T) {
	for _, c := range []struct{ told, counts string }{
		{"eth0", "eth0"},
		{"lo eth0 docker0 veth12 br-0a", "eth0"},
		{"eth0 enP52582s1", "eth0"}, // Azure, accelerated
		{"eth0 eth1 enP1s1 enP30832p0s2", "eth0 eth1"},
		{"enP2p1s0f0 enP2p1s0f1", "enP2p1s0f0 enP2p1s0f1"}, // a bus of many domains, and no Azure
		{"enP2p1s0f0np0 lo", "enP2p1s0f0np0"},
		{"ens5 ens6", "ens5 ens6"},
		{"eth0 enp3s0", "enp3s0 eth0"},
		{"bond0 lo", "bond0"},
		{"eth0 eth0", "eth0"},
		{"lo", ""},
	} {
		var nics []guard.NICSample
		for name := range strings.FieldsSeq(c.told) {
			nics = append(nics, guard.NICSample{Name: name})
		}
		var got []string
		for _, n := range physical(nics) {
			got = append(got, n.Name)
		}
		if strings.Join(got, " ") != c.counts {
			t.Errorf("%s: %s count, want %s", c.told, got, c.counts)
		}
	}
}

// What a source that was stuck tells at once was sent while it was, not in the minute in
// which it came; it is believed although no line carries it in a minute, but only once a
// second reading agrees. So it is where samples come hours late, for the clock of their
// source was off, and not where one source's samples waited and come all together.
func TestComesAtOnce(t *testing.T) {
	const rate = 200e6 // bytes a second
	sample := func(at time.Time, tx float64) guard.Sample {
		return guard.Sample{At: at, Interval: time.Minute, Source: "agent", Boot: "a", NICs: []guard.NICSample{{Name: "eth0", Tx: uint64(tx), Rx: uint64(tx) / 50}}}
	}
	most := func(rec guard.Egress) (hour uint64) {
		for _, h := range rec.Hours {
			hour = max(hour, h.Sent)
		}
		return hour
	}
	const minutes = 8 * 60
	total := uint64(rate * 60 * minutes)
	for name, told := range map[string]func(i int) (float64, time.Duration){
		"stuck": func(i int) (float64, time.Duration) {
			if i > 60 && i < minutes-60 {
				i = 60
			}
			return float64(i), 0
		},
		"a clock that is behind": func(i int) (float64, time.Duration) {
			if i > 60 {
				return float64(i), -time.Hour * 2
			}
			return float64(i), 0
		},
	} {
		var rec guard.Egress
		for i := range minutes + 1 {
			at := t0.Add(time.Duration(i) * time.Minute)
			tx, off := told(i)
			rec = Fold(rec, sample(at.Add(off), 1e9+rate*60*tx), Options{At: at})
		}
		if rec.Sent != total || rec.Dropped > 1 {
			t.Errorf("%s: %d sent of %d, %d dropped", name, rec.Sent, total, rec.Dropped)
		}
		if got := most(rec); float64(got) > 2.1*rate*3600 {
			t.Errorf("%s: %d bytes in one hour, %.0f were sent", name, got, rate*3600)
		}
	}
	// An agent that was cut off sends what it has kept, each minute with its own time.
	rec := Fold(guard.Egress{}, sample(t0, 1e9), Options{At: t0})
	for i := range 8 * 60 {
		tx := 1e9
		if i > 7*60 {
			tx += 50e6 * 60 * float64(i-7*60)
		}
		rec = Fold(rec, sample(t0.Add(time.Duration(i+1)*time.Minute), tx), Options{At: t0.Add(8*time.Hour + time.Minute)})
	}
	if u := Look(rec, rec.At); float64(u.Hour) < 50e6*60*58 || rec.Sent != uint64(50e6*60*59) {
		t.Errorf("%d in the last hour, of %d", u.Hour, rec.Sent)
	}
	// What begins to send after hours of silence is seen at once, but for the first minute.
	rec = guard.Egress{}
	for i := range 6 * 60 {
		at, tx := t0.Add(time.Duration(i)*time.Minute), 1e9
		if i > 5*60+50 {
			tx += 50e6 * 60 * float64(i-5*60-50)
		}
		rec = Fold(rec, sample(at, tx), Options{At: at})
	}
	if u := Look(rec, rec.At); float64(u.Hour) < 50e6*60*8 {
		t.Errorf("%d in the last hour, of %d", u.Hour, rec.Sent)
	}
}

// What a spike was told of is flagged, and what is old is dropped.
func TestKeep(t *testing.T) {
	var rec guard.Egress
	at, spike := t0, time.Time{}
	for i := range 9 * 24 * 12 {
		if i == 12*30 {
			spike = at.Add(-30 * time.Minute)
		}
		rec = Fold(rec, guard.Sample{At: at, NICs: []guard.NICSample{{Name: "eth0", Tx: uint64(i) * 100}}}, Options{Spike: spike})
		if i == 12*36 {
			spike = time.Time{}
		}
		at = at.Add(5 * time.Minute)
	}
	flagged := 0
	for _, h := range rec.Hours {
		if h.Flagged {
			flagged++
		}
	}
	if len(rec.Buckets) > 290 || len(rec.Hours) > 193 || flagged != 7 {
		t.Errorf("%d buckets, %d hours, %d of them flagged", len(rec.Buckets), len(rec.Hours), flagged)
	}
	b, err := json.Marshal(rec)
	if err != nil || len(b) > 16_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	var back guard.Egress
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back.Hours, rec.Hours) || !reflect.DeepEqual(back.Buckets, rec.Buckets) {
		t.Errorf("read back: %v", err)
	}
}
