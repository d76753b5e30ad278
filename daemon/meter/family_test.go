package meter

import (
	"fmt"
	"testing"
	"time"

	"guard"
)

// on hangs a disk on an instance, first seen there at a time and known elsewhere
// until another.
func (b *bench) on(id string, after, at time.Duration) func(*guard.Observed) {
	return func(o *guard.Observed) {
		o.Instance, o.AttachedAt, o.AttachedAfter, o.Pending = b.cloud.ID(guard.Instance, id), b.wall(at), b.wall(after), nil
	}
}

func TestADiskCountsToWhatItHangsOn(t *testing.T) {
	b := newBench(t)
	b.see(guard.Volume, "v-1", -60*24*hour, cny("1", hour), nil)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
	b.see(guard.Instance, "i-2", 0, cny("10", hour), nil)
	b.see(guard.Instance, "i-3", 0, cny("10", hour), nil)
	b.lease("i-1", "100 CNY", 0, nil)
	b.lease("i-2", "100 CNY", 0, nil)
	b.once(time.Minute)
	want := func(at time.Duration, sums ...string) {
		t.Helper()
		for i, sum := range sums {
			if got := b.spent(fmt.Sprintf("i-%d", i+1), at); got != sum {
				t.Errorf("at %v i-%d owes %s, want %s", at, i+1, got, sum)
			}
		}
	}
	b.see(guard.Volume, "v-1", hour, cny("1", hour), b.on("i-1", 55*time.Minute, hour))
	b.once(hour)
	want(2*hour, "21.00 CNY", "20.00 CNY")
	if d := b.budget("i-1"); d.Limit.Before(b.wall(9 * hour)) {
		t.Errorf("what the disk cost before is in the budget: %+v", d)
	}
	// Detached it goes on counting, also on what nobody claims.
	b.see(guard.Volume, "v-1", 2*hour, cny("1", hour), func(o *guard.Observed) { o.DetachedAt, o.Pending = b.wall(2*hour), nil })
	b.once(2 * hour)
	b.see(guard.Volume, "v-1", 3*hour, cny("1", hour), b.on("i-3", 2*hour, 3*hour))
	b.once(3 * hour)
	want(4*hour, "43.00 CNY", "40.00 CNY")
	b.restart() // and the meter is down while it moves on
	b.see(guard.Volume, "v-1", 4*hour, cny("1", hour), b.on("i-2", 3*hour, 4*hour))
	b.once(5 * hour)
	want(6*hour, "63.00 CNY", "62.00 CNY")
	for _, id := range []string{"i-1", "i-2"} {
		if got := b.plan(id).Family; len(got) != 1 || got[0] != "lab/volume/v-1" {
			t.Errorf("the family of %s: %v", id, got)
		}
	}
	// A lease of what ended takes no money from one in force.
	b.lease("i-3", "", 0, func(l *guard.Lease) { l.Status, l.EndedAt = guard.LeaseGone, b.wall(hour) })
	b.see(guard.Volume, "v-1", 6*hour, cny("1", hour), b.on("i-3", 5*hour, 6*hour))
	b.once(6 * hour)
	want(7*hour, "73.00 CNY", "73.00 CNY", "70.00 CNY")
}

// A lease that waits for its box: what hangs on that is not counted before anybody
// knows since when.
func TestADiskIsSeenBeforeItsInstance(t *testing.T) {
	b := newBench(t)
	b.lease("i-1", "100 CNY", 0, nil)
	b.see(guard.Volume, "v-1", -60*24*hour, cny("1", hour), func(o *guard.Observed) {
		o.FirstSeen, o.Instance = b.wall(0), b.cloud.ID(guard.Instance, "i-1")
	})
	b.once(time.Minute)
	b.see(guard.Instance, "i-1", 2*time.Minute, cny("10", hour), nil)
	b.once(2 * time.Minute)
	if got := b.spent("i-1", time.Hour+2*time.Minute); got != "11.00 CNY" {
		t.Errorf("owes %s", got)
	}
}
