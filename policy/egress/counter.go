package egress

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
)

// virtual are the beginnings of the names of interfaces whose bytes go nowhere, or go
// through another interface, too.
var virtual = []string{"docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "tun", "tap", "wg", "tailscale", "bond", "dummy", "vxlan", "ifb"}

// accelerates is how the virtual function of an Azure machine's accelerated networking is
// named by its place on the bus: Linux's netvsc driver counts its bytes to the eth
// interface that it works for, too (netvsc_get_stats64 of drivers/net/hyperv).
var accelerates = regexp.MustCompile(`^enP[0-9]+(p[0-9]+)?s[0-9]+(f[0-9]+)?(np?[0-9]+)?$`)

// physical are the interfaces that count, each once: those that are not virtual, or
// where there is no other the virtual ones. The loopback never counts.
func physical(nics []guard.NICSample) []guard.NICSample {
	out := slices.DeleteFunc(slices.Clone(nics), func(n guard.NICSample) bool { return n.Name == "lo" || n.Name == "lo0" })
	slices.SortStableFunc(out, func(a, b guard.NICSample) int { return cmp.Compare(a.Name, b.Name) })
	out = slices.CompactFunc(out, func(a, b guard.NICSample) bool { return a.Name == b.Name })
	eth := slices.ContainsFunc(out, func(n guard.NICSample) bool { return strings.HasPrefix(n.Name, "eth") })
	wired := slices.DeleteFunc(slices.Clone(out), func(n guard.NICSample) bool {
		return eth && accelerates.MatchString(n.Name) ||
			slices.ContainsFunc(virtual, func(kind string) bool { return strings.HasPrefix(n.Name, kind) })
	})
	if len(wired) == 0 {
		return out
	}
	return wired
}

// counters counts what the counters moved since they were last believed. An interface
// that is not told any more keeps its reading until the machine boots again; one that
// was not told before counts from its first reading, or from 0 where the boot is new.
func (f *fold) counters(nics []guard.NICSample) {
	another := f.x.Source != f.rec.Source // whose boot IDs may be of another kind
	told := !another && f.rec.Boot != "" && f.x.Boot != ""
	same := told && sameBoot(f.rec.Boot, f.x.Boot)
	booted := told && !same
	last, odd := f.rec.Last, f.rec.Odd
	f.rec.Odd = maps.Clone(odd)
	if booted {
		for _, name := range slices.Sorted(maps.Keys(odd)) {
			f.abandon(last[name], odd[name])
		}
		f.rec.Last, f.rec.Odd = map[string]guard.Counter{}, nil
		f.rec.Resets++
	}
	for _, n := range nics {
		was, seen := last[n.Name]
		s := step{at: f.x.At, most: f.most(n), hole: hole(f.x), same: same}
		switch {
		case booted:
			s.from = guard.Counter{NICSample: guard.NICSample{Name: n.Name}, At: f.rec.At}
			if seen {
				s.before = &was
			}
		case !seen, another && (n.Tx < was.Tx || n.Rx < was.Rx):
			if o, ok := odd[n.Name]; ok {
				f.abandon(was, o)
			}
			f.first(n) // what another source counts may be another thing
			continue
		default:
			s.from = was
			if o, ok := odd[n.Name]; ok {
				s.odd = &o
			}
		}
		f.take(n, s)
	}
	if len(f.rec.Odd) == 0 {
		f.rec.Odd = nil
	}
	if f.x.Boot != "" || another {
		f.rec.Boot = f.x.Boot
	}
}

// first takes the first reading of an interface, which counts nothing.
func (f *fold) first(n guard.NICSample) {
	delete(f.rec.Odd, n.Name)
	if n.Tx > absurd || n.Rx > absurd {
		f.rec.Dropped++
		return
	}
	f.rec.Last[n.Name] = guard.Counter{NICSample: n, At: f.x.At.UTC()}
}

// take books one interface's step, or keeps what it was and waits for a second reading.
func (f *fold) take(n guard.NICSample, s step) {
	if n.Tx == 0 && n.Rx == 0 && (s.from.Tx|s.from.Rx > 0 || s.odd != nil) {
		return // a source that cannot read the counters tells 0 as well
	}
	s.shown, s.since = f.shown(), earlier(s.from.At, f.since)
	if still := s.from.Still; !still.IsZero() {
		s.since = earlier(s.since, still)
	}
	tx := s.move(n.Bits, s.from.Tx, n.Tx, func(c guard.Counter) uint64 { return c.Tx })
	rx := s.move(n.Bits, s.from.Rx, n.Rx, func(c guard.Counter) uint64 { return c.Rx })
	if tx.doubt || rx.doubt {
		if tx.wrong || rx.wrong {
			f.rec.Dropped++
		}
		if f.rec.Odd == nil {
			f.rec.Odd = map[string]guard.Counter{}
		}
		if max(n.Tx, n.Rx) <= absurd { // nothing can agree with what is
			f.rec.Odd[n.Name] = guard.Counter{NICSample: n, At: f.x.At.UTC()}
		}
		if s.since.Before(s.from.At) {
			s.from.Still = s.since // for when it is believed
		}
		f.rec.Last[n.Name] = s.from
		return
	}
	delete(f.rec.Odd, n.Name)
	f.rec.Resets += tx.resets | rx.resets
	f.rec.Wraps += tx.wraps + rx.wraps
	now := guard.Counter{NICSample: n, At: f.x.At.UTC()}
	now.Tx, now.Rx = tx.stands, rx.stands
	if tx.bytes|rx.bytes == 0 && n.Tx == s.from.Tx && n.Rx == s.from.Rx {
		// A source that is stuck tells the same again and again, and then all at once.
		now.Still = s.from.At
		if !s.from.Still.IsZero() {
			now.Still = s.from.Still
		}
	}
	f.book(tx.from, f.x.At, tx.bytes, 0)
	f.book(rx.from, f.x.At, 0, rx.bytes)
	if tx.jump|rx.jump > 0 {
		f.doubt(guard.Jump{NIC: n.Name, From: s.since.UTC(), To: s.odd.At, Sent: tx.jump, In: rx.jump})
	}
	f.confirm(n.Name, tx, rx)
	f.rec.Last[n.Name] = now
}

// most is the rate that an interface's line carries, in bytes a second.
func (f *fold) most(n guard.NICSample) float64 {
	if n.Speed.OK && n.Speed.V > 0 {
		return min(n.Speed.V, 10*line)
	}
	return line
}

// shown is the highest rate that has been seen lately, in bytes a second.
func (f *fold) shown() float64 {
	var highest uint64
	for _, b := range f.rec.Buckets {
		highest = max(highest, b.Sent, b.In)
	}
	return float64(highest) / bucket.Seconds()
}

// sameBoot reports whether two boot IDs are of one boot. Where an ID is the time of the
// boot it is off by a little each time that the clock is put right.
func sameBoot(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return math.Abs(x-y) < 60
	}
	t, errT := time.Parse(time.RFC3339, a)
	u, errU := time.Parse(time.RFC3339, b)
	return errT == nil && errU == nil && t.Sub(u).Abs() < time.Minute
}
