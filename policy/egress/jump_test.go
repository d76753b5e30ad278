package egress

import (
	"testing"
	"time"

	"guard"
)

// leg is some time in which a counter moves evenly; it is read each minute of it, or where
// it is a hole only at its end. Stuck: it is read, and tells the same until the end.
type leg struct {
	long        time.Duration
	moves       float64
	hole, stuck bool
	boots       bool // at its end
}

// Of a jump over a hole nobody knows whether it was traffic. Counted wrongly it releases a
// box that works; not counted it is money that no cap sees. So it counts at once where it
// is slow or as before, or the hole is short, and else once what follows is like it.
func TestJumpOverAHole(t *testing.T) {
	const minute, mb, gb, tb = time.Minute, 1e6, 1e9, 1e12
	hour := func(rate float64) leg { return leg{long: time.Hour, moves: rate * 3600} }
	hole := func(long time.Duration, moves float64) leg { return leg{long: long, moves: moves, hole: true} }
	for _, c := range []struct {
		name        string
		interval    time.Duration // 0: a minute
		legs        []leg
		sent, doubt float64
	}{
		{"to another counter", 0, []leg{hour(4 * mb), hole(57*minute, 9*tb), hour(4 * mb)}, 28.8 * gb, 9 * tb},
		{"to another counter, out of a stuck one", 0, []leg{hour(4 * mb), {long: 57 * minute, moves: 9 * tb, stuck: true}, hour(4 * mb)}, 28.8 * gb, 9 * tb},
		{"to another counter, over a night", 0, []leg{hour(4 * mb), hole(10*time.Hour, 9*tb), hour(4 * mb)}, 28.8 * gb, 9 * tb},
		{"to another counter, and the box rests", 0, []leg{hour(0), hole(57*minute, 9*tb), hour(0)}, 0, 9 * tb},
		{"to another counter, at a reboot", 0, []leg{hour(4 * mb), {long: 57 * minute, moves: 9 * tb, hole: true, boots: true}, hour(4 * mb)}, 28.8 * gb, 9 * tb},
		{"to another counter, and on to a third", 0, []leg{hour(4 * mb), hole(57*minute, 3*tb), hole(20*minute, 5*tb), hour(4 * mb)}, 28.8 * gb, 8 * tb},
		{"and back", 0, []leg{hour(4 * mb), hole(57*minute, 9*tb), hole(minute, -9*tb), hour(4 * mb)}, 28.8 * gb, 0},
		{"and a reboot before a second reading", 0, []leg{hour(4 * mb), hole(57*minute, 9*tb), {long: minute, moves: gb, hole: true, boots: true}, hour(4 * mb)}, 29.8 * gb, 9 * tb},
		{"a leak that began in it", 0, []leg{hour(0), hole(57*minute, 684*gb), hour(200 * mb)}, 1404 * gb, 0},
		{"a leak that began late in it", 0, []leg{hour(0), hole(57*minute, 200*gb), hour(200 * mb)}, 920 * gb, 0},
		{"a leak that is read in holes only", 0, []leg{hour(1000), hole(30*minute, 360*gb), hole(57*minute, 684*gb), hole(20*minute, 240*gb)}, 1284 * gb, 0},
		{"a leak that ended in it", 0, []leg{hour(200 * mb), hole(57*minute, 400*gb), hour(0)}, 1120 * gb, 0},
		{"an export within it", 0, []leg{hour(0), hole(30*minute, 140*gb), hour(0)}, 0, 140 * gb},
		{"an export within it, and another one soon", 0, []leg{hour(0), hole(30*minute, 140*gb), {long: 20 * minute}, {long: 10 * minute, moves: 47 * gb}}, 187 * gb, 0},
		{"an export within it, and another one later", 0, []leg{hour(0), hole(30*minute, 140*gb), hour(0), hour(0), {long: 10 * minute, moves: 47 * gb}}, 47 * gb, 140 * gb},
		{"a slow one within it", 0, []leg{hour(0), hole(time.Hour, 80*gb), hour(0)}, 80 * gb, 0},
		{"of a few minutes", 0, []leg{hour(0), hole(4*minute, 200*gb), hour(0)}, 200 * gb, 0},
		{"of a few minutes, at 20 Gbit/s", 0, []leg{hour(1000), hole(4*minute, 600*gb), hour(0)}, 600 * gb, 0},
		{"after hours in which it sent nothing at all", 0, []leg{hour(0), hour(0), {long: minute, moves: 60 * gb}, hour(0)}, 60 * gb, 0},
		{"of a source that is seldom read", 10 * minute, []leg{hour(0), hole(10*minute, 120*gb), hour(0)}, 120 * gb, 0},
	} {
		var rec guard.Egress
		at, tx, boot, every := t0, 5e9, "a", max(c.interval, minute)
		read := func() {
			rec = Fold(rec, guard.Sample{At: at, Interval: every, Source: "agent", Boot: boot, NICs: []guard.NICSample{{Name: "eth0", Tx: uint64(tx + 0.5), Rx: 7}}}, Options{At: at})
		}
		read()
		for _, l := range c.legs {
			start := tx
			for gone := every; gone <= l.long; gone += every {
				at = at.Add(every)
				switch last := gone+every > l.long; {
				case !l.hole && !l.stuck, last:
					tx = start + l.moves*gone.Seconds()/l.long.Seconds()
					if last && l.boots {
						boot, tx = boot+"'", l.moves
					}
				}
				if !l.hole || gone+every > l.long {
					read()
				}
			}
		}
		var doubt uint64
		for _, j := range rec.Doubtful {
			doubt += j.Sent
		}
		if near := func(got uint64, want float64) bool { return float64(got) > want*0.999-1 && float64(got) < want*1.001+1 }; !near(rec.Sent, c.sent) || !near(doubt, c.doubt) {
			t.Errorf("%s: %s sent and %s in doubt, want %s and %s", c.name, guard.ByteText(rec.Sent), guard.ByteText(doubt), guard.ByteText(uint64(c.sent)), guard.ByteText(uint64(c.doubt)))
		}
	}
}
